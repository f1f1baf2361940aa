//! The stream of requests of [`super::Arrivals`]: one at a time, so that memory does not grow with
//! them.

use std::fmt;
use std::sync::Arc;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::classes::Classes;
use super::paths::Paths;
use super::{Offered, Spacing};
use crate::law::Law;
use crate::request::Request;
use crate::shape::Span;

/// What a request is, apart from its time.
#[derive(Debug)]
struct Draws {
    random: Xoshiro256PlusPlus,
    law: Arc<dyn Law>,
    paths: Paths,
    classes: Classes,
    index: u64,
}

impl Draws {
    fn new(offered: &Offered) -> Draws {
        Draws {
            random: Xoshiro256PlusPlus::seed_from_u64(offered.seed),
            law: offered.law.clone(),
            paths: Paths::new(offered.directories, offered.seed),
            classes: Classes::new(&offered.classes, offered.seed),
            index: 0,
        }
    }

    fn request(&mut self, at: f64) -> Request {
        let size = self.law.size(self.random.random::<f64>());
        let index = self.index;
        self.index += 1;
        Request {
            at,
            client: index as u32,
            class: self.classes.of(index),
            path: self.paths.of(index, size),
            size: Some(size),
        }
    }
}

/// Requests whose load follows a shape. Each is a client of its own, counted from 0.
pub struct Arrivals {
    draws: Draws,
    spans: Box<dyn Iterator<Item = Span> + Send>,
    span: Span,
    at: f64,
    end: f64,
    spacing: Spacing,
    /// With equal spacing, the part of the next gap that is still to come.
    left: f64,
    /// Arrivals per second at a load of 1 are `bytes_per_second / mean_work`.
    bytes_per_second: f64,
    mean_work: f64,
}

impl Arrivals {
    pub(super) fn new(offered: &Offered, mean_work: f64) -> Arrivals {
        let end = offered.seconds;
        let mut spans = offered.shape.spans();
        let nothing = Span { start: end, end, load: 0.0 };
        let span = spans.next().unwrap_or(nothing);
        Arrivals {
            draws: Draws::new(offered),
            spans: Box::new(spans),
            span,
            at: span.start,
            end,
            spacing: offered.spacing,
            left: 1.0,
            bytes_per_second: offered.bytes_per_second,
            mean_work,
        }
    }
}

impl Arrivals {
    /// The time to the next arrival, as a multiple of the mean.
    fn gap(&mut self) -> f64 {
        match self.spacing {
            Spacing::Poisson => -(1.0 - self.draws.random.random::<f64>()).ln(),
            Spacing::Equal => self.left.max(0.0),
        }
    }
}

impl Iterator for Arrivals {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        while self.span.start < self.end {
            let per_second = self.span.load * self.bytes_per_second / self.mean_work;
            let before = self.at;
            if per_second > 0.0 {
                self.at += self.gap() / per_second;
                if self.at < self.span.end.min(self.end) {
                    self.left = 1.0;
                    return Some(self.draws.request(self.at));
                }
            }
            // Poisson arrivals have no memory, so each period may start afresh; equal ones go on.
            self.left -= (self.span.end - before) * per_second;
            self.span = self.spans.next()?;
            self.at = self.span.start;
        }
        None
    }
}

impl fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrivals").field("at", &self.at).field("span", &self.span).finish()
    }
}

/// Requests without end, all at time 0.
#[derive(Debug)]
pub struct Endless {
    draws: Draws,
}

impl Endless {
    pub(super) fn new(offered: &Offered) -> Endless {
        Endless { draws: Draws::new(offered) }
    }
}

impl Iterator for Endless {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        Some(self.draws.request(0.0))
    }
}

#[cfg(test)]
mod tests;
