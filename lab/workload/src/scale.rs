//! A trace made to have a given offered load: its own requests and interarrivals, stretched or
//! compressed over each period of a load shape (Schroeder & Harchol-Balter, section 3.3.2: "To
//! obtain a particular load we scale the interarrival times in the trace appropriately"). For
//! `weir-lab trace scale`, `load` and the experiments.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::invalid::Invalid;
use crate::shape::{LONGEST, Shape, Span};
use crate::{Request, Wire};

/// What counts as load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Wire bytes of the responses, as the link sees them.
    Wire(Wire),
    /// Bytes of the files, as Schroeder counts.
    File,
}

/// What one factor holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Each period takes as many of the trace's next requests as have the period's work, within half
    /// a response (the rest is carried over), and one factor fits their interarrivals to its length.
    /// So every period offers what is asked, and what is bursty inside a period stays so.
    Period,
    /// One factor per load, from the mean work per second of the whole trace. The periods' loads are
    /// right only on average over a long trace: with sizes as heavy-tailed as the web's, one period
    /// may offer a multiple of what is asked.
    Overall,
}

/// How a trace is scaled.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// Load over time.
    pub shape: Shape,
    /// Seconds until the workload ends.
    pub duration: f64,
    /// Bits per second of the link that a load of 1 fills.
    pub rate: f64,
    /// What counts as load.
    pub work: Work,
    /// What one factor holds for.
    pub fit: Fit,
    /// Longer gaps between two requests of the trace, in its own seconds, count as this long: logs
    /// may lack whole days.
    pub longest_gap: f64,
    /// The trace begins again when it ends.
    pub repeat: bool,
    /// With a seed, the trace begins at a request that follows from it and goes on from its end to
    /// its beginning. So several seeds take different parts of a long trace.
    pub start: Option<u64>,
}

impl Scaling {
    /// Wire bytes of Ethernet, fitted by period, gaps of at most a minute, once through from the
    /// beginning.
    pub fn new(shape: Shape, duration: f64, rate: f64) -> Scaling {
        Scaling {
            shape,
            duration,
            rate,
            work: Work::Wire(Wire::default()),
            fit: Fit::Period,
            longest_gap: 60.0,
            repeat: false,
            start: None,
        }
    }
}

/// A scaled trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaled {
    /// The requests; their times are seconds from the start of the workload.
    pub requests: Vec<Request>,
    /// The periods up to the end.
    pub periods: Vec<Offered>,
    /// The trace ended before the workload: at this time. `None` if it lasted.
    pub ended: Option<f64>,
    /// How many gaps were cut to the longest.
    pub gaps_cut: usize,
    /// Requests of unknown size among `requests`, which counted as responses without a body.
    pub unknown_sizes: usize,
}

/// A period of a scaled trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// The period and the load that was asked.
    pub span: Span,
    /// The load that the requests in it have.
    pub load: f64,
    /// How many they are.
    pub requests: usize,
}

/// Scales the interarrivals of `trace`, whose times must be in order.
///
/// # Errors
///
/// An empty trace or one without any work, or without any time between its requests where one
/// factor is to fit them all; a duration, rate or gap that is not above 0, or a duration above a
/// thousand million seconds.
pub fn scale(trace: &[Request], scaling: &Scaling) -> Result<Scaled, Invalid> {
    for (value, what) in
        [(scaling.duration, "duration in seconds"), (scaling.rate, "rate in bits per second")]
    {
        if !(value.is_finite() && value > 0.0) {
            return Err(Invalid(format!("a {what} of {value}; give a number above 0")));
        }
    }
    if scaling.duration > LONGEST {
        return Err(Invalid(format!(
            "a duration of {} s; give at most {LONGEST}",
            scaling.duration
        )));
    }
    if scaling.longest_gap.is_nan() || scaling.longest_gap <= 0.0 {
        return Err(Invalid(format!(
            "a longest gap of {} s; give a number above 0",
            scaling.longest_gap
        )));
    }
    let mut walk = Walk::new(trace, scaling)?;
    if scaling.fit == Fit::Overall && walk.gaps.iter().all(|gap| *gap <= 0.0) {
        return Err(Invalid(
            "all requests of the trace have the same time; one factor cannot scale them (leave \
             out --overall)"
                .into(),
        ));
    }
    let mut scaled = Scaled {
        requests: Vec::new(),
        periods: Vec::new(),
        ended: None,
        gaps_cut: walk.gaps_cut,
        unknown_sizes: 0,
    };
    let mut carried = 0.0;
    for mut span in scaling.shape.spans() {
        if span.start >= scaling.duration || scaled.ended.is_some() {
            break;
        }
        span.end = span.end.min(scaling.duration);
        let before = scaled.requests.len();
        let capacity = (span.end - span.start) * scaling.rate / 8.0;
        let (work, ended) = match scaling.fit {
            Fit::Period => {
                let asked = span.load * capacity + carried;
                let taken = walk.fit(span, asked, &mut scaled.requests);
                carried = asked - taken.0;
                taken
            }
            Fit::Overall => walk.stretch(span, scaling.rate, &mut scaled.requests),
        };
        scaled.ended = ended;
        let requests = scaled.requests.len() - before;
        scaled.periods.push(Offered { span, load: work / capacity, requests });
    }
    scaled.unknown_sizes = scaled.requests.iter().filter(|r| r.size.is_none()).count();
    Ok(scaled)
}

/// The trace from some request on, in its own time with long gaps cut.
struct Walk<'a> {
    trace: &'a [Request],
    work: Work,
    /// Seconds before each request; for the first of the trace the mean.
    gaps: Vec<f64>,
    gaps_cut: usize,
    /// Bytes of one time through.
    total: f64,
    first: usize,
    /// Requests taken so far.
    taken: usize,
    repeat: bool,
    /// `Fit::Overall`: trace seconds from the point reached to the next request.
    ahead: f64,
}

impl<'a> Walk<'a> {
    fn new(trace: &'a [Request], scaling: &Scaling) -> Result<Walk<'a>, Invalid> {
        if trace.is_empty() {
            return Err(Invalid("the trace has no requests; there is nothing to scale".into()));
        }
        let mut gaps_cut = 0;
        let mut gaps = vec![0.0];
        gaps.extend(trace.windows(2).map(|pair| {
            let gap = (pair[1].at - pair[0].at).max(0.0);
            gaps_cut += usize::from(gap > scaling.longest_gap);
            gap.min(scaling.longest_gap)
        }));
        let between = (gaps.len() - 1).max(1);
        gaps[0] = gaps.iter().sum::<f64>() / between as f64;
        let first = match scaling.start {
            Some(seed) => Xoshiro256PlusPlus::seed_from_u64(seed).random_range(0..trace.len()),
            None => 0,
        };
        let ahead = gaps[first] / 2.0;
        let (work, repeat) = (scaling.work, scaling.repeat);
        let mut walk =
            Walk { trace, work, gaps, gaps_cut, total: 0.0, first, taken: 0, repeat, ahead };
        walk.total = trace.iter().map(|request| walk.bytes(request)).sum();
        if walk.total <= 0.0 {
            return Err(Invalid(
                "the trace's responses have no bytes; it cannot have a load".into(),
            ));
        }
        Ok(walk)
    }

    fn bytes(&self, request: &Request) -> f64 {
        let size = request.size.unwrap_or(0);
        match self.work {
            Work::Wire(wire) => wire.bytes(size) as f64,
            Work::File => size as f64,
        }
    }

    /// The next request and the gap before it; `None` at the end of the trace.
    fn next(&self) -> Option<(&'a Request, f64)> {
        if !self.repeat && self.taken >= self.trace.len() {
            return None;
        }
        let place = (self.first + self.taken) % self.trace.len();
        Some((&self.trace[place], self.gaps[place]))
    }

    /// Takes requests of `asked` bytes and fits their interarrivals to the span, which begins and
    /// ends half a gap from them. Gives their bytes and, if the trace ended before, when.
    fn fit(&mut self, span: Span, asked: f64, out: &mut Vec<Request>) -> (f64, Option<f64>) {
        let start = out.len();
        let (mut work, mut place) = (0.0, 0.0);
        let mut half = None;
        while let Some((request, gap)) = self.next() {
            let bytes = self.bytes(request);
            if work + bytes / 2.0 > asked {
                break;
            }
            place += if half.is_none() { gap / 2.0 } else { gap };
            // After the last of the trace, the first would come again, after its gap.
            half.get_or_insert(gap / 2.0);
            work += bytes;
            self.taken += 1;
            out.push(Request { at: place, ..request.clone() });
        }
        let last = self.next().map(|(_, gap)| gap / 2.0);
        let whole = place + last.or(half).unwrap_or(0.0);
        let mut length = span.end - span.start;
        let mut ended = None;
        // Less than a mean response may be missing from the last period by rounding.
        if last.is_none() && asked - work > self.total / self.trace.len() as f64 {
            length *= work / asked;
            ended = Some(span.start + length);
        }
        let count = out.len() - start;
        for (index, request) in out[start..].iter_mut().enumerate() {
            let part =
                if whole > 0.0 { request.at / whole } else { (index as f64 + 0.5) / count as f64 };
            // Rounding must not put it into the next period.
            request.at = (span.start + length * part).min(span.end);
        }
        (work, ended)
    }

    /// Takes what comes while the trace advances at the speed at which its mean work per second is
    /// the span's load.
    fn stretch(&mut self, span: Span, rate: f64, out: &mut Vec<Request>) -> (f64, Option<f64>) {
        let own: f64 = self.gaps.iter().sum();
        let speed = span.load * rate / 8.0 * own / self.total;
        let (mut work, mut now) = (0.0, span.start);
        if speed <= 0.0 {
            return (work, None);
        }
        loop {
            let Some((request, _)) = self.next() else {
                return (work, Some(now));
            };
            let wait = if self.ahead > 0.0 { self.ahead / speed } else { 0.0 };
            if now + wait >= span.end {
                self.ahead -= (span.end - now) * speed;
                return (work, None);
            }
            now += wait;
            work += self.bytes(request);
            self.taken += 1;
            out.push(Request { at: now, ..request.clone() });
            self.ahead = self.next().map_or(0.0, |(_, gap)| gap);
        }
    }
}

#[cfg(test)]
mod tests;
