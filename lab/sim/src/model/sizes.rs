//! A law of sizes made ready for integrals: its moments, and the one integral that size-based
//! policies need. The formulas of [`super::mg1`] and [`super::onoff`] are sums over its places.
//!
//! Everything is integrated over the share u instead of the size, so that any law will do, and in
//! steps that halve towards both ends, where heavy tails have their bytes.

use std::ops::RangeInclusive;

use weir_workload::Invalid;
use weir_workload::law::Law;

use super::pieces::{self, HALVINGS, Piece};
use super::quadrature::{NODES, Rule};

/// The least and the largest mean of a law, whose squares and quotients are then numbers.
const MEANS: RangeInclusive<f64> = 1e-15..=1e15;
/// The least and the largest size that may be asked about, in mean sizes.
const ASKED: RangeInclusive<f64> = 1e-30..=1e15;
/// How far the mean by quantiles may be from the law's own.
const MEAN_TOLERANCE: f64 = 1e-6;

/// The share of the jobs below some size, and their part of the first and second moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    pub(super) share: f64,
    pub(super) first: f64,
    pub(super) second: f64,
}

impl Moments {
    fn add(&mut self, size: f64, share: f64) {
        self.share += share;
        self.first += size * share;
        self.second += size * size * share;
    }

    /// With an atom of this size.
    pub(super) fn with(mut self, size: f64, share: f64) -> Moments {
        self.add(size, share);
        self
    }

    /// E[min(X, x)] and E[min(X, x)²], of the moments below `x`.
    pub(super) fn cut_at(&self, x: f64) -> (f64, f64) {
        let above = (1.0 - self.share).max(0.0);
        (self.first + x * above, self.second + x * x * above)
    }
}

/// A size of the law and what lies below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) size: f64,
    /// What it counts for in an expectation over the law.
    pub(super) weight: f64,
    /// The jobs that are smaller.
    pub(super) below: Moments,
    /// The share of the jobs of this very size.
    pub(super) atom: f64,
    /// The integral of dt / (1 - ρ(t)) from 0 to the size, where ρ(t) is the load of the jobs
    /// smaller than t.
    pub(super) residence: f64,
}

/// How far a pass over the pieces has come.
#[derive(Clone, Copy, Debug, Default)]
struct Pass {
    below: Moments,
    residence: f64,
    size: f64,
}

impl Pass {
    /// On to a size with no jobs in between.
    fn to(&mut self, size: f64, rate: f64) {
        self.residence += (size - self.size) / (1.0 - rate * self.below.first);
        self.size = size;
    }
}

/// A law of sizes, ready for integrals.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    rule: Rule,
    pieces: Vec<Piece>,
    total: Moments,
    /// What the coarse arguments near 1 may cost the second moment, relative to it.
    pub(super) second_error: f64,
    /// E[1/X], `None` where it diverges.
    pub(super) inverse: Option<f64>,
}

impl Sizes {
    /// # Errors
    ///
    /// A law whose quantiles are no finite sizes above 0, or whose mean is no reasonable number or
    /// lies in a tail that the quantile function cannot tell from 1.
    pub(super) fn new(law: &dyn Law) -> Result<Sizes, Invalid> {
        let own = law.mean();
        if !MEANS.contains(&own) {
            return Err(Invalid(format!(
                "{law}: its mean is {own:e}; give sizes in a unit in which it is {:e} to {:e}",
                MEANS.start(),
                MEANS.end()
            )));
        }
        let rule = Rule::new();
        let (pieces, second_error) = pieces::of(law, &rule)?;
        let none =
            Sizes { rule, pieces, total: Moments::default(), second_error: 0.0, inverse: None };
        let places = none.places(0.0);
        let mut total = Moments::default();
        for place in &places {
            if !(place.size.is_finite() && place.size > 0.0) {
                return Err(Invalid(format!(
                    "{law}: a size is {}; models need finite sizes above 0",
                    place.size
                )));
            }
            total.add(place.size, place.weight);
        }
        if !((total.first / own - 1.0).abs() < MEAN_TOLERANCE && total.second.is_finite()) {
            return Err(Invalid(format!(
                "{law}: its mean is {own:.6e}, but sizes up to the share 1 - 2^-53 have only {:.6e} \
                 of it; take a law with a lighter or a shorter tail",
                total.first
            )));
        }
        let inverse = none.inverse_mean(law, &places);
        let second_error = second_error / total.second;
        Ok(Sizes { total, second_error, inverse, ..none })
    }

    pub(super) fn mean(&self) -> f64 {
        self.total.first
    }

    /// # Errors
    ///
    /// A size that is not above 0, or so far from the mean that formulas have no digits left.
    pub(super) fn check(&self, size: f64) -> Result<(), Invalid> {
        if ASKED.contains(&(size / self.mean())) {
            return Ok(());
        }
        Err(Invalid(format!(
            "the size is {size}; give a number above 0, {:e} to {:e} times the mean size, which is \
             {}",
            ASKED.start(),
            ASKED.end(),
            self.mean()
        )))
    }

    pub(super) fn second_moment(&self) -> f64 {
        self.total.second
    }

    /// Sizes, ascending, whose weighted sums are expectations over the law of functions that are
    /// smooth between its atoms; `rate` is the arrival rate that [`Place::residence`] is for (0 if
    /// nobody asks for it). The rate times the mean is below 1.
    pub(super) fn places(&self, rate: f64) -> Vec<Place> {
        let mut places = Vec::with_capacity(self.pieces.len() * NODES);
        let mut pass = Pass::default();
        for piece in &self.pieces {
            self.over(piece, rate, &mut pass, &mut |place| places.push(place));
        }
        places
    }

    /// The place of any size, of the law or not. Its weight is the share of the size itself.
    pub(super) fn place(&self, size: f64, rate: f64) -> Place {
        let (before, here) = self.split(size);
        let mut pass = Pass::default();
        for piece in before {
            self.over(&piece, rate, &mut pass, &mut |_| ());
        }
        if here.is_empty() {
            // To the last digit, or the share above would be rounding times a large size.
            pass.below.share = 1.0;
        }
        pass.to(size, rate);
        let atom = match here.first() {
            Some(Piece::Atom { size: own, share }) if *own == size => *share,
            _ => 0.0,
        };
        Place { size, weight: atom, below: pass.below, atom, residence: pass.residence }
    }

    /// The law with a cut at `size`, so that functions with a kink there are integrated well.
    pub(super) fn cut(&self, size: f64) -> Sizes {
        let (mut pieces, after) = self.split(size);
        pieces.extend(after);
        Sizes { pieces, ..self.clone() }
    }

    /// The least size whose jobs, and all smaller ones, make a share `part` of the mean, below 1.
    pub(super) fn size_of_part(&self, part: f64) -> f64 {
        let wanted = part * self.mean();
        let mut pass = Pass::default();
        let mut last = self.pieces.last().map_or(0.0, Piece::start);
        for piece in &self.pieces {
            let before = pass.below.first;
            self.over(piece, 0.0, &mut pass, &mut |_| ());
            if pass.below.first < wanted {
                continue;
            }
            last = match piece {
                Piece::Atom { size, .. } => *size,
                Piece::Smooth { width, sizes, .. } => {
                    let first = |at: f64| {
                        let inner = self.rule.nodes.map(|node| self.rule.between(sizes, node * at));
                        before + width * at * self.rule.whole(&inner)
                    };
                    self.rule.between(sizes, bisect(|at| first(at) < wanted))
                }
            };
            break;
        }
        last
    }

    /// The pieces below `size`, and those from there on.
    fn split(&self, size: f64) -> (Vec<Piece>, Vec<Piece>) {
        let count = self.pieces.partition_point(|piece| piece.start() < size);
        let mut before = self.pieces[..count].to_vec();
        let mut after = self.pieces[count..].to_vec();
        if let Some(Piece::Smooth { width, start, end, sizes }) = before.last().cloned()
            && end > size
        {
            let at = bisect(|at| self.rule.between(&sizes, at) < size);
            let part = |from: f64, to: f64| {
                self.rule.nodes.map(|node| self.rule.between(&sizes, from + (to - from) * node))
            };
            before.pop();
            before.push(Piece::Smooth {
                width: width * at,
                start,
                end: size,
                sizes: part(0.0, at),
            });
            let rest =
                Piece::Smooth { width: width * (1.0 - at), start: size, end, sizes: part(at, 1.0) };
            after.insert(0, rest);
        }
        (before, after)
    }

    /// Passes over a piece.
    fn over(&self, piece: &Piece, rate: f64, pass: &mut Pass, visit: &mut dyn FnMut(Place)) {
        match piece {
            Piece::Atom { size, share } => {
                pass.to(*size, rate);
                let Pass { below, residence, .. } = *pass;
                visit(Place { size: *size, weight: *share, below, atom: *share, residence });
                pass.below.add(*size, *share);
            }
            Piece::Smooth { width, start, end, sizes } => {
                pass.to(*start, rate);
                let rule = &self.rule;
                let squares = sizes.map(|size| size * size);
                let mut below = [pass.below; NODES];
                for (k, below) in below.iter_mut().enumerate() {
                    below.share += width * rule.nodes[k];
                    below.first += width * rule.up_to(k, sizes);
                    below.second += width * rule.up_to(k, &squares);
                }
                // By parts, so that the quantile function need not be differentiated.
                let mut parts = [0.0; NODES];
                for (k, part) in parts.iter_mut().enumerate() {
                    let idle = 1.0 - rate * below[k].first;
                    *part = rate * width * (sizes[k] - start) * sizes[k] / (idle * idle);
                }
                for k in 0..NODES {
                    let idle = 1.0 - rate * below[k].first;
                    let inside = (sizes[k] - start) / idle - rule.up_to(k, &parts);
                    visit(Place {
                        size: sizes[k],
                        weight: width * rule.weights[k],
                        below: below[k],
                        atom: 0.0,
                        residence: pass.residence + inside,
                    });
                }
                pass.below.share += width;
                pass.below.first += width * rule.whole(sizes);
                pass.below.second += width * rule.whole(&squares);
                let idle = 1.0 - rate * pass.below.first;
                pass.residence += (end - start) / idle - rule.whole(&parts);
                pass.size = *end;
            }
        }
    }

    /// E[1/X], `None` where it diverges.
    fn inverse_mean(&self, law: &dyn Law, places: &[Place]) -> Option<f64> {
        let of = |places: &[Place]| places.iter().map(|place| place.weight / place.size).sum();
        if law.quantile(0.0) > 0.0 {
            return Some(of(places));
        }
        // Next to 0, where the pieces end, halving by halving.
        let known = places.partition_point(|place| place.below.share < 0.5_f64.powi(HALVINGS));
        let halving = |k: i32| {
            let width = 0.5_f64.powi(k + 1);
            let inverses = self.rule.nodes.map(|node| 1.0 / law.quantile(width * (1.0 + node)));
            width * self.rule.whole(&inverses)
        };
        let rest: f64 = of(&places[known..]);
        let inverse = rest + (HALVINGS..1000).map(halving).sum::<f64>();
        (inverse.is_finite() && halving(1000) < 1e-9 * inverse).then_some(inverse)
    }
}

/// Where in [0, 1] a condition that holds at first ceases to.
fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut from, mut to) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(from, to);
        if holds(middle) {
            from = middle;
        } else {
            to = middle;
        }
    }
    f64::midpoint(from, to)
}
