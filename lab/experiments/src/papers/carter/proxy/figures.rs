//! Figures of cells with an application, over the seeds: what rows and tables are made of.

use super::conditions::Conditions;
use crate::experiment::Evidence;
use crate::findings::{Interval, Ours};
use crate::outcome::{Estimate, Figures, Outcome};

/// A mean over the window.
pub(super) type Mean = fn(&Figures) -> Estimate;

/// What is asked of the outcomes of some conditions.
#[derive(Clone, Copy)]
pub(super) struct Comparison<'a, 'b> {
    evidence: &'a Evidence<'b>,
    conditions: Conditions,
}

impl<'a, 'b> Comparison<'a, 'b> {
    pub(super) fn of(evidence: &'a Evidence<'b>, conditions: Conditions) -> Comparison<'a, 'b> {
        Comparison { evidence, conditions }
    }

    /// A figure over the seeds; what has no value is none.
    pub(super) fn value(&self, system: &str, figure: impl Fn(&Figures) -> Option<f64>) -> Ours {
        let cell = self.conditions.cell(self.evidence.choice.scale, system);
        // Those who left had no response time; they are told elsewhere.
        let ours = self.evidence.runs.value(&cell, |outcome| of(outcome, &figure));
        Ours { incomplete: 0.0, ..ours }
    }

    /// A mean over the window. Of a single seed the interval is that of its batches.
    pub(super) fn estimate(&self, system: &str, figure: Mean) -> Ours {
        let ours = self.value(system, |comparison| Some(figure(comparison).mean));
        let half = self.value(system, |comparison| Some(figure(comparison).half_width)).middle();
        let widened = ours.interval.map(|interval| match (interval.count, half) {
            (1, Some(half)) => Interval {
                low: (interval.middle - half).max(0.0),
                high: interval.middle + half,
                ..interval
            },
            _ => interval,
        });
        Ours { interval: widened, ..ours }
    }

    /// A figure of one system over that of another, seed by seed on the same arrivals.
    pub(super) fn ratio(
        &self,
        above: &str,
        below: &str,
        figure: impl Fn(&Figures) -> Option<f64>,
    ) -> Ours {
        let scale = self.evidence.choice.scale;
        let cell = |system: &str| self.conditions.cell(scale, system);
        // Those who left had no response time on either side; they are told elsewhere.
        let ours = self.evidence.runs.ratio(&cell(above), &cell(below), |o| of(o, &figure));
        Ours { incomplete: 0.0, ..ours }
    }

    /// The first run that counts.
    pub(super) fn first(&self, system: &str) -> Option<&'a Figures> {
        let cell = self.conditions.cell(self.evidence.choice.scale, system);
        self.evidence.runs.first(&cell)?.application.as_ref()
    }
}

fn of(outcome: &Outcome, figure: &impl Fn(&Figures) -> Option<f64>) -> f64 {
    outcome.application.as_ref().and_then(figure).unwrap_or(f64::NAN)
}

/// Useful requests.
pub(super) fn requests(comparison: &Figures) -> Estimate {
    comparison.useful_requests
}

/// Useful work.
pub(super) fn work(comparison: &Figures) -> Estimate {
    comparison.useful_work
}

/// Milliseconds until service is full again, as they would be at the paper's pace.
pub(super) fn recovery(pace: f64) -> impl Fn(&Figures) -> Option<f64> {
    move |comparison| comparison.recovery.map(|seconds| seconds * 1e3 * pace)
}
