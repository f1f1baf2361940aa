//! A law of sizes cut into pieces that can be integrated: its atoms (sizes that have a share of their
//! own), and stretches where its quantile function is smooth. [`super::sizes`] integrates over them.

use weir_workload::Invalid;
use weir_workload::law::Law;

use super::quadrature::{Rule, Values, dot};

/// How well a stretch must be met by the polynomial through its nodes, relative to the size.
const TOLERANCE: f64 = 1e-10;
/// Stretches are not halved below this: near 1 quantiles have no finer arguments.
const NARROWEST: f64 = 4.0 * f64::EPSILON;
/// Halvings towards 0 and 1 that are always made.
pub(super) const HALVINGS: i32 = 50;
/// Sizes next to what a float can hold, in any unit, count for nothing.
const NEGLIGIBLE: f64 = 1e-290;
/// Pieces that a law may have: so many sizes, or bends.
const MOST_PIECES: usize = 2_000_000;

/// One of the ascending pieces of a law.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Atom { size: f64, share: f64 },
    Smooth { width: f64, start: f64, end: f64, sizes: Values },
}

impl Piece {
    /// The least size in it.
    pub(super) fn start(&self) -> f64 {
        match self {
            Piece::Atom { size, .. } => *size,
            Piece::Smooth { start, .. } => *start,
        }
    }
}

/// The pieces of a law in ascending order, and what the coarse arguments near 1 may cost the second
/// moment.
///
/// # Errors
///
/// A law with more than [`MOST_PIECES`] sizes or bends.
pub(super) fn of(law: &dyn Law, rule: &Rule) -> Result<(Vec<Piece>, f64), Invalid> {
    let mut build = Build { law, rule, pieces: Vec::new(), second_error: 0.0 };
    let halves = |k: i32| 0.5_f64.powi(k);
    let mut bounds: Vec<f64> = vec![0.0];
    bounds.extend((1..=HALVINGS).rev().map(halves));
    bounds.extend((2..=HALVINGS).map(|k| 1.0 - halves(k)));
    bounds.push(1.0);
    for pair in bounds.windows(2) {
        build.stretch(pair[0], pair[1]);
    }
    let Build { pieces, second_error, .. } = build;
    if pieces.len() >= MOST_PIECES {
        return Err(Invalid(format!(
            "{law}: more than {MOST_PIECES} different sizes or bends; round its sizes"
        )));
    }
    Ok((pieces, second_error))
}

/// The pieces of a law while they are found.
struct Build<'a> {
    law: &'a dyn Law,
    rule: &'a Rule,
    pieces: Vec<Piece>,
    second_error: f64,
}

impl Build<'_> {
    /// Adds the pieces of the shares from `from` to `to`.
    fn stretch(&mut self, from: f64, to: f64) {
        if self.pieces.len() >= MOST_PIECES {
            return;
        }
        let width = to - from;
        let (start, end) = (self.law.quantile(from), self.law.quantile(to.next_down()));
        if start == end {
            return self.atom(start, width);
        }
        let at_middle = self.law.quantile(from + width / 2.0);
        if width <= NARROWEST {
            return self.atom(at_middle, width);
        }
        // A flat half means a law of atoms: no polynomial will do.
        let flat = start == at_middle || at_middle == end;
        if !flat && let Some(piece) = self.smooth(from, width, [start, at_middle, end]) {
            return self.pieces.push(piece);
        }
        let middle = from + width / 2.0;
        self.stretch(from, middle);
        self.stretch(middle, to);
    }

    fn atom(&mut self, size: f64, share: f64) {
        match self.pieces.last_mut() {
            Some(Piece::Atom { size: last, share: sum }) if *last == size => *sum += share,
            _ => self.pieces.push(Piece::Atom { size, share }),
        }
    }

    /// The piece, if a polynomial meets it: at its ends, in the middle and at one place more.
    fn smooth(&mut self, from: f64, width: f64, known: [f64; 3]) -> Option<Piece> {
        let [start, at_middle, end] = known;
        let sizes = self.rule.nodes.map(|node| self.law.quantile(from + width * node));
        // Arguments near 1 are multiples of 2^-53, so quantiles are no better than this.
        let noise = (end - start) / width * 8.0 * f64::EPSILON * from;
        let other = self.law.quantile(from + width * 0.27);
        for (at, size) in [(0.0, start), (0.5, at_middle), (1.0, end), (0.27, other)] {
            let found = dot(&self.rule.basis(at), &sizes);
            // What is no number is not met either.
            let met = (found - size).abs() <= TOLERANCE * size + noise + NEGLIGIBLE;
            if !met {
                return None;
            }
        }
        self.second_error += 2.0 * width * end * noise;
        Some(Piece::Smooth { width, start, end, sizes })
    }
}
