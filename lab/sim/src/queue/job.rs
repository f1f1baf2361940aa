//! Jobs of a server in virtual time, before and after. Used by every server of [`super`].

/// What the server must do: when it is asked, and how much work it is. The server does one unit of
/// work in one unit of time, so a size is also the time that the job takes alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// Not before the arrival of the job before it.
    pub arrival: f64,
    /// Above 0.
    pub size: f64,
}

/// A job that has left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// Its place in the order of arrival, from 0.
    pub index: u64,
    /// The job itself.
    pub job: Job,
    /// When it left.
    pub finish: f64,
    /// When it would have left under exact processor sharing of the same jobs, if that was asked.
    pub sharing: Option<f64>,
}

impl Departure {
    /// Time from arrival to departure: at least the size, whatever was rounded.
    pub fn response(&self) -> f64 {
        (self.finish - self.job.arrival).max(self.job.size)
    }
}
