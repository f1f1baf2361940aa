//! What a server is and what is known of its jobs beforehand. [`super`] serves jobs with it.

use weir_sched::policy::{self, Choice};

use super::discipline::Discipline;
use super::units::Sizes;

/// A server and what is known of its jobs beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// The order of service.
    pub discipline: Discipline,
    /// What sizes to expect.
    pub sizes: Sizes,
    /// Work that is served at a time where sharing is by quantum: always under `fair`
    /// ([`Queue::FAIR_QUANTUM`] of the mean size if not given), under `las` only if given. Without
    /// it `las` shares exactly among those who have had the least.
    pub quantum: Option<f64>,
    /// The work of one byte, for the size classes of `bands`.
    pub byte: f64,
    /// Whether exact processor sharing runs beside it, for [`Departure::sharing`](super::Departure::sharing).
    pub reference: bool,
}

impl Queue {
    /// The quantum of `fair` as a share of the mean size.
    pub const FAIR_QUANTUM: f64 = 0.01;

    /// A server whose unit of work is a byte, with the reference beside it.
    pub fn new(discipline: Discipline, sizes: Sizes) -> Queue {
        Queue { discipline, sizes, quantum: None, byte: 1.0, reference: true }
    }

    /// The quantum that is used, if service is by quantum.
    pub fn quantum_used(&self) -> Option<f64> {
        match self.discipline {
            Discipline::Policy(kind) if kind == policy::LAS => self.quantum,
            Discipline::Policy(policy) if policy.needs().choice == Choice::Grant => {
                Some(self.quantum.unwrap_or(Queue::FAIR_QUANTUM * self.sizes.mean))
            }
            _ => None,
        }
    }
}
