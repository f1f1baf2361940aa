//! The offered load: when clients come and how large what they ask for is. Both models draw from
//! here, so equal seeds give every strategy and every gate the same clients.

use std::fmt;
use std::sync::Arc;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use weir_workload::law::Law;
use weir_workload::shape::{Shape, Span};

/// Cells of the table of sizes.
const CELLS: usize = 4096;

/// A law of sizes that draws fast where it has steps: in most cells of [0, 1) a law of few sizes
/// has but one, and need not be asked.
pub(crate) struct Sizes {
    law: Arc<dyn Law>,
    /// The size of each cell, or 0 where there are several; empty for a law without steps.
    cells: Vec<f64>,
}

impl Sizes {
    pub(crate) fn new(law: Arc<dyn Law>) -> Sizes {
        let edge = |cell: usize| cell as f64 / CELLS as f64;
        let only = |cell: usize| {
            let (low, high) = (law.quantile(edge(cell)), law.quantile(edge(cell + 1).next_down()));
            if low == high { low } else { 0.0 }
        };
        let mut cells: Vec<f64> = (0..CELLS).map(only).collect();
        if cells.iter().all(|size| *size == 0.0) {
            cells.clear();
        }
        Sizes { law, cells }
    }

    /// The size that a uniform number in [0, 1) stands for, in bytes.
    pub(crate) fn size(&self, u: f64) -> f64 {
        match self.cells.get((u * CELLS as f64) as usize) {
            Some(&size) if size > 0.0 => size,
            _ => self.law.quantile(u),
        }
    }
}

impl fmt::Debug for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sizes({})", self.law)
    }
}

/// Poisson arrivals whose rate follows a shape.
pub(crate) struct Stream {
    random: Xoshiro256PlusPlus,
    spans: Box<dyn Iterator<Item = Span>>,
    span: Span,
    /// Seconds between arrivals at a load of 1.
    gap: f64,
    now: f64,
    /// Nobody comes after this, in seconds.
    end: f64,
}

impl Stream {
    pub(crate) fn new(shape: &Shape, rate: f64, end: f64, seed: u64) -> Stream {
        Stream {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            spans: Box::new(shape.spans()),
            span: Span { start: 0.0, end: 0.0, load: 0.0 },
            gap: 1.0 / rate,
            now: 0.0,
            end,
        }
    }

    /// When the next client comes, in seconds; infinity when no more come.
    pub(crate) fn next(&mut self) -> f64 {
        let mut left = self.gap * -(1.0 - self.uniform()).ln();
        loop {
            let room = (self.span.end - self.now) * self.span.load;
            if left < room {
                self.now += left / self.span.load;
                return self.now;
            }
            left -= room;
            self.now = self.span.end;
            match self.spans.next() {
                Some(span) if self.now <= self.end => self.span = span,
                _ => return f64::INFINITY,
            }
        }
    }

    /// A uniform number in [0, 1), for what the client asks for.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.random.random::<f64>()
    }
}
