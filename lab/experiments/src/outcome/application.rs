//! The figures of a run with an application, as they are kept: shares of its capacity and of its
//! clients. The backend's figures make them, `carter-proxy` reports them.

use serde::{Deserialize, Serialize};

/// A mean over the window with half the width of its 95 % interval, by batches of the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// To either side; 0 without enough batches.
    pub half_width: f64,
}

/// Clients of a size class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// Those who came.
    pub asked: usize,
    /// Those who were answered before they left.
    pub answered: usize,
}

impl Class {
    /// The clients of several classes.
    pub fn total(classes: &[Class]) -> Class {
        classes.iter().fold(Class::default(), |sum, class| Class {
            asked: sum.asked + class.asked,
            answered: sum.answered + class.answered,
        })
    }

    /// Share of those who came; `None` if nobody did.
    pub fn success(&self) -> Option<f64> {
        (self.asked > 0).then(|| self.answered as f64 / self.asked as f64)
    }
}

/// What an application's time was spent on, and what became of its clients. Clients are those who came
/// in the window, but not so shortly before its end that the load fell while they still waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Clients answered before they left, per second of the window ÷ capacity.
    pub useful_requests: Estimate,
    /// Share of the window that the application worked for them.
    pub useful_work: Estimate,
    /// Share of the window that the application worked.
    pub busy: f64,
    /// Share of the window that it worked for nobody: the client had left before the answer came.
    pub wasted: f64,
    /// Clients by size: 100 to 900 bytes, 1 to 9 KB, 10 to 90 KB, 100 to 900 KB.
    pub classes: [Class; 4],
    /// How far the success of a class lies from that of all clients, beyond its own 95 % interval; 0
    /// if all classes may be equal.
    pub inequality: f64,
    /// Share of the clients who were answered before they left.
    pub success: f64,
    /// Share that got another status, mostly 503.
    pub refused: f64,
    /// Share that left without any answer.
    pub given_up: f64,
    /// Share whose connection failed otherwise.
    pub failed: f64,
    /// Mean response time of clients who were answered, from their first attempt, in milliseconds.
    pub mean_ms: Option<f64>,
    /// Its 99th percentile.
    pub p99_ms: Option<f64>,
    /// The mean from the attempt that was answered: without the patience that went before it.
    pub attempt_ms: Option<f64>,
    /// Seconds from the fall of the load until all who come are answered at their first attempt, or
    /// until the end if that does not come; `None` without a fall of the load.
    pub recovery: Option<f64>,
    /// 99th percentile of the time by which answers were sent late, in milliseconds: the machine's
    /// fault.
    pub late_p99_ms: f64,
    /// Seconds of each value of the series: 100 mean service times.
    pub bin: f64,
    /// Useful work over the whole run, as a share of the time.
    pub series_work: Vec<f64>,
}
