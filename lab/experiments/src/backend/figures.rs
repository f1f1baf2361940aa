//! From the clients' records and the application's log: what of its time was of use, and to whom. The
//! run of a cell keeps it as its outcome.

use std::collections::HashMap;

use weir_stats::confidence::batch_means;
use weir_stats::{Outcome as End, Record, Samples};

use super::demand::Parameters;
use super::service::{CLASSES, class};
use super::service_log::ServedRequest;
use crate::outcome::{Class, Estimate, Figures};

/// Batches of the window: of 60 s, 3 s each, which is longer than most requests wait.
const BATCHES: usize = 20;
/// Mean service times in a value of the series.
const BIN: f64 = 100.0;
/// Standard errors of an interval that four classes keep together with 95 % (Bonferroni).
const DEVIATIONS: f64 = 2.498;

/// What a run showed. Records are in the order of the requests, whose sizes are in `sizes`; `origin`
/// is their time zero on the application's clock, in nanoseconds.
pub(super) struct Observation<'a> {
    pub(super) parameters: Parameters,
    pub(super) sizes: &'a [u64],
    pub(super) records: &'a [Record],
    pub(super) served: &'a [ServedRequest],
    pub(super) origin: u64,
}

/// One stretch of the application's work, in seconds of the run.
struct Work {
    from: f64,
    to: f64,
    useful: bool,
}

impl Observation<'_> {
    /// All figures.
    pub(super) fn figures(&self) -> Figures {
        let Parameters { service, window, warm_up, .. } = self.parameters;
        let (from, to) = (warm_up, self.parameters.end());
        let (work, ends) = (self.work(), self.ends());
        let share = |from: f64, to: f64, wanted: &dyn Fn(&Work) -> bool| {
            let within = work.iter().filter(|work| wanted(work));
            within.map(|w| (w.to.min(to) - w.from.max(from)).max(0.0)).sum::<f64>() / (to - from)
        };
        let useful = |from: f64, to: f64| share(from, to, &|work| work.useful);
        let requests = |from: f64, to: f64| {
            let within = ends.iter().filter(|end| (from..to).contains(*end)).count();
            within as f64 * service / (to - from)
        };
        let bin = BIN * service;
        // What rounding leaves over is no bin.
        let bins = ((to + self.parameters.after) / bin - 1e-6).ceil() as usize;
        let series_work =
            (0..bins).map(|at| useful(at as f64 * bin, (at + 1) as f64 * bin)).collect();
        let busy = share(from, to, &|_| true);
        let useful_work = estimate(&useful, from, window);
        let clients = self.clients();
        let part = |wanted: &dyn Fn(End) -> bool| {
            let found = clients.iter().filter(|&&place| wanted(self.records[place].outcome));
            found.count() as f64 / clients.len().max(1) as f64
        };
        let times = clients.iter().filter_map(|&place| self.records[place].response_time());
        let times = Samples::new(times.map(|time| time * 1e3));
        let last = clients.iter().filter_map(|&place| attempt(&self.records[place]));
        let classes = self.classes(&clients);
        let late = self.served.iter().map(|served| served.late as f64 / 1e6);
        Figures {
            useful_requests: estimate(&requests, from, window),
            useful_work,
            busy,
            wasted: (busy - useful_work.mean).max(0.0),
            inequality: inequality(&classes),
            classes,
            success: part(&|end| end == End::Ok),
            refused: part(&|end| end == End::Status),
            given_up: part(&|end| end == End::Abandoned),
            failed: part(&|end| !matches!(end, End::Ok | End::Status | End::Abandoned)),
            mean_ms: times.mean(),
            p99_ms: times.percentile(0.99),
            attempt_ms: Samples::new(last.map(|time| time * 1e3)).mean(),
            recovery: self.recovery(),
            late_p99_ms: Samples::new(late).percentile(0.99).unwrap_or(0.0),
            bin,
            series_work,
        }
    }

    /// The application's work. Of a client who asked again, the last attempt that was begun before the
    /// answer came is the one that was answered; others were for nobody.
    fn work(&self) -> Vec<Work> {
        let seconds = |at: u64| (at as f64 - self.origin as f64) / 1e9;
        let answered = |id: u64| {
            let record = self.records.get(usize::try_from(id).ok()?)?;
            record.last_byte.filter(|_| record.outcome == End::Ok)
        };
        let mut of_use: HashMap<u64, usize> = HashMap::new();
        for (place, served) in self.served.iter().enumerate() {
            let Some(id) = served.id else { continue };
            if answered(id).is_some_and(|end| seconds(served.begin) < end) {
                of_use.insert(id, place);
            }
        }
        let work = self.served.iter().enumerate().map(|(place, served)| Work {
            from: seconds(served.begin),
            to: seconds(served.begin + served.service),
            useful: served.id.is_some_and(|id| of_use.get(&id) == Some(&place)),
        });
        work.collect()
    }

    /// When clients were answered.
    fn ends(&self) -> Vec<f64> {
        let ok = self.records.iter().filter(|record| record.outcome == End::Ok);
        ok.filter_map(|record| record.last_byte).collect()
    }

    /// Places of the clients whose fate the load of the window decided: those that came in it, but not
    /// those who may have waited on into a lower load.
    fn clients(&self) -> Vec<usize> {
        let Parameters { warm_up, window, after, .. } = self.parameters;
        let end = self.parameters.end();
        let last = match after > 0.0 {
            true => (end - self.parameters.longest()).max(warm_up + window / 2.0),
            false => end,
        };
        let within = |record: &Record| (warm_up..last).contains(&record.scheduled);
        let places = self.records.iter().enumerate().filter(|(_, record)| within(record));
        places.map(|(place, _)| place).collect()
    }

    fn classes(&self, clients: &[usize]) -> [Class; CLASSES] {
        let mut classes = [Class::default(); CLASSES];
        for &place in clients {
            let class = &mut classes[class(self.sizes.get(place).copied().unwrap_or(0))];
            class.asked += 1;
            class.answered += usize::from(self.records[place].outcome == End::Ok);
        }
        classes
    }

    /// Seconds from the end of the window to the arrival of the first client from whom on everybody was
    /// answered at the first attempt; all the time there was if the last client was not.
    fn recovery(&self) -> Option<f64> {
        let (end, after) = (self.parameters.end(), self.parameters.after);
        let later = self.records.iter().filter(|record| record.scheduled >= end);
        let served = |record: &Record| record.outcome == End::Ok && record.attempts == 1;
        let mut since = None;
        let mut any = false;
        for record in later {
            any = true;
            match served(record) {
                true => since = since.or(Some(record.scheduled - end)),
                false => since = None,
            }
        }
        any.then(|| since.unwrap_or(after))
    }
}

/// Response time from the attempt that was answered, in seconds.
fn attempt(record: &Record) -> Option<f64> {
    let whole = record.response_time()?;
    match record.attempts {
        1 => Some(whole),
        _ => Some(record.last_byte? - record.connected?),
    }
}

/// The mean of a figure of a stretch of time over the window, with its interval.
fn estimate(figure: &dyn Fn(f64, f64) -> f64, from: f64, window: f64) -> Estimate {
    let length = window / BATCHES as f64;
    let at = |batch: usize| from + batch as f64 * length;
    let batches: Vec<f64> = (0..BATCHES).map(|batch| figure(at(batch), at(batch + 1))).collect();
    let found = batch_means(&batches, BATCHES).map(|found| found.interval);
    Estimate {
        mean: figure(from, from + window),
        half_width: found.map_or(0.0, |interval| interval.half_width),
    }
}

/// The most by which the success of a class differs from that of all beyond its interval.
fn inequality(classes: &[Class; CLASSES]) -> f64 {
    let Some(success) = Class::total(classes).success() else { return 0.0 };
    let beyond = |class: &Class| {
        let error = (success * (1.0 - success) / class.asked as f64).sqrt();
        Some((class.success()? - success).abs() - DEVIATIONS * error)
    };
    classes.iter().filter_map(beyond).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
