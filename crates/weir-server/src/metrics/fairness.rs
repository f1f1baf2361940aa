//! The fairness ledger: seconds won or lost by each response against the virtual fair server. The
//! promise of `protective` is that (almost) nobody loses; here it is audited on every real response.
//! The uplink's owner tells it; `/metrics` and the admin page show it.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use weir_sched::FairnessRecord;

use super::size_classes::{Label, SIZES, size_class, size_label};

type Seconds = Counter<f64, AtomicU64>;

/// Less than this is neither won nor lost: a grant that was under way, a late wake-up.
const EVEN: f64 = 0.005;

/// What the ledger says of one size class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settlement {
    pub(crate) size: &'static str,
    pub(crate) sooner: u64,
    pub(crate) even: u64,
    pub(crate) later: u64,
    /// Later, for their clients did not read.
    pub(crate) slow: u64,
    /// Seconds, as `lost` and `worst`.
    pub(crate) won: f64,
    pub(crate) lost: f64,
    /// The most that one response lost.
    pub(crate) worst: f64,
}

/// Totals by size class.
#[derive(Debug)]
pub(crate) struct Fairness {
    classes: Vec<Class>,
}

#[derive(Debug)]
struct Class {
    sooner: Counter,
    even: Counter,
    later: Counter,
    slow: Counter,
    won: Seconds,
    lost: Seconds,
    worst: Gauge<f64, AtomicU64>,
}

impl Fairness {
    pub(super) fn register(registry: &mut Registry) -> Fairness {
        let responses = Family::<[(&'static str, &'static str); 2], Counter>::default();
        let won = Family::<Label, Seconds>::default();
        let lost = Family::<Label, Seconds>::default();
        let worst = Family::<Label, Gauge<f64, AtomicU64>>::default();
        registry.register(
            "fairness_responses",
            "Responses that ended sooner or later than under fair sharing, or within 5 ms of it; \
             slow: later, and their clients did not read for much of that; none in kernel mode, \
             where the link's rate is not known",
            responses.clone(),
        );
        let seconds = Unit::Seconds;
        registry.register_with_unit(
            "fairness_won",
            "Seconds by which responses ended before fair sharing would have ended them; 0 in kernel mode",
            seconds.clone(),
            won.clone(),
        );
        registry.register_with_unit(
            "fairness_lost",
            "Seconds by which responses ended after fair sharing would have ended them; 0 in kernel mode",
            seconds.clone(),
            lost.clone(),
        );
        registry.register_with_unit(
            "fairness_worst_loss",
            "The most that a single response lost; 0 in kernel mode",
            seconds,
            worst.clone(),
        );
        let class = |class| {
            let label: Label = size_label(class);
            let ended = |how| responses.get_or_create(&[label[0], ("ended", how)]).clone();
            Class {
                sooner: ended("sooner"),
                even: ended("even"),
                later: ended("later"),
                slow: ended("slow"),
                won: won.get_or_create(&label).clone(),
                lost: lost.get_or_create(&label).clone(),
                worst: worst.get_or_create(&label).clone(),
            }
        };
        Fairness { classes: (0..SIZES.len()).map(class).collect() }
    }

    /// What was settled so far, by size class, the smallest first.
    pub(crate) fn settlements(&self) -> impl Iterator<Item = Settlement> + '_ {
        self.classes.iter().zip(SIZES).map(|(class, (_, size))| Settlement {
            size,
            sooner: class.sooner.get(),
            even: class.even.get(),
            later: class.later.get(),
            slow: class.slow.get(),
            won: class.won.get(),
            lost: class.lost.get(),
            worst: class.worst.get(),
        })
    }

    /// A response ended before fair sharing would have ended it, or after.
    pub(crate) fn settled(&self, response: &FairnessRecord) {
        let FairnessRecord { size, won, client_was_slow: slow } = *response;
        let class = &self.classes[size_class(size)];
        if slow {
            class.slow.inc();
            return;
        }
        if won.abs() < EVEN {
            class.even.inc();
        } else if won > 0.0 {
            class.sooner.inc();
        } else {
            class.later.inc();
        }
        if won > 0.0 {
            class.won.inc_by(won);
        } else if won < 0.0 {
            class.lost.inc_by(-won);
            if -won > class.worst.get() {
                class.worst.set(-won);
            }
        }
    }
}
