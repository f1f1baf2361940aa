//! The demand that the flags describe: which requests, when, and a line of the plan for each.
//! Traces are left to [`super::replay`]. Called by the command.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use weir_load::Demand;
use weir_units::RequestRate;
use weir_workload::Request;
use weir_workload::arrivals::{Offered, Spacing};
use weir_workload::law::{self, Deterministic, Law};
use weir_workload::shape::Shape;
use weir_workload::surge::Model;

use super::arguments::Arguments;
use super::describe::{load_words, meaning, what};
use super::planned::{Counted, Open, Planned, link_bytes_per_second, shape, under, wire};
use super::replay;
use super::target::Target;
use super::thinkers::{SurgeEquivalents, Thinkers};
use super::values::Arrivals;
use crate::failure::{Failure, invalid_usage};
use crate::words::{bits, count, time};

/// Requests a second when nothing else is said.
const RATE: f64 = 50.0;
/// Seconds when nothing else is said.
const SECONDS: f64 = 30.0;
/// Seconds a closed-loop user thinks when nothing else is said.
const THINK: f64 = 1.0;

/// The demand that the flags describe, asked of `target`.
///
/// # Errors
///
/// Flags that contradict each other, an unknown law or shape, a trace with errors (status 2).
pub(crate) fn plan(arguments: &Arguments, target: &Target) -> Result<Planned, Failure> {
    if let Some(file) = &arguments.trace {
        return replay::plan(file, arguments, target);
    }
    let law = arguments.law.as_deref().map(law::parse).transpose()?;
    if let Some(users) = arguments.closed {
        return closed(arguments, target, law, users.get());
    }
    if let Some(under_way) = arguments.saturate {
        let mut words = what(target, law.as_ref());
        let number = under_way.get();
        words.push((
            "demand".into(),
            format!("infinite: {} requests under way at all times", count(number.into())),
        ));
        let requests = offered(arguments, law.clone(), Shape::constant(1.0)?, 1.0).endless()?;
        let requests = Box::new(to_target(requests, target, law.is_some()));
        return Ok(Planned {
            demand: Demand::Saturate(requests, number),
            words,
            open: Open::Exactly(number.into()),
            ..Planned::lasting(arguments, SECONDS)
        });
    }
    open(arguments, target, law)
}

/// Requests at their own times: a rate, or a load on the link.
fn open(
    arguments: &Arguments,
    target: &Target,
    law: Option<Arc<dyn Law>>,
) -> Result<Planned, Failure> {
    let mut words = what(target, law.as_ref());
    let has_law = law.is_some();
    let asked = arguments.load.is_some() || arguments.shape.is_some();
    if asked && !has_law {
        return Err(invalid_usage(
            "a load is bytes over time, so --load and --shape need sizes: give --law or --trace",
        ));
    }
    let shape = if asked { shape(arguments)? } else { Shape::constant(1.0)? };
    let usual = if arguments.shape.is_some() { shape.cycle() } else { SECONDS };
    let planned = Planned::lasting(arguments, usual);
    let seconds = planned.duration.unwrap_or(usual);
    let mut offered = offered(arguments, law, shape.clone(), seconds);
    let work = offered.mean_work();
    let link = link_bytes_per_second(arguments);
    let spacing = match offered.spacing {
        Spacing::Poisson => "Poisson arrivals",
        Spacing::Equal => "equal gaps",
    };
    let peak = match link.filter(|_| asked) {
        Some(link) => {
            offered.bytes_per_second = link;
            let mean = shape.mean_load() * link / work;
            words.push(("load".into(), load_words(&shape, link, arguments)));
            words.push(("rate".into(), format!("{mean:.1}/s on average, {spacing}")));
            shape.periods().iter().map(|period| period.load).fold(0.0, f64::max) * link / work
        }
        None => {
            let rate = arguments.rate.map_or(RATE, RequestRate::per_second);
            offered.bytes_per_second = rate * work;
            words.push(("rate".into(), format!("{rate}/s, {spacing}")));
            if let Some(link) = link.filter(|_| has_law) {
                let load = rate * work / link;
                words.push((
                    "load".into(),
                    format!("{load:.3} of {}, {}", bits(link * 8.0), meaning(arguments)),
                ));
            }
            rate
        }
    };
    let scheduled = Arc::new(AtomicU64::new(0));
    let requests = to_target(offered.arrivals()?, target, has_law);
    let requests = Counted { requests, scheduled: scheduled.clone(), first: true };
    Ok(Planned {
        demand: Demand::Open(Box::new(requests)),
        scheduled: Some(scheduled),
        words,
        open: Open::PerSecond(peak),
        ..planned
    })
}

/// Users who think.
fn closed(
    arguments: &Arguments,
    target: &Target,
    law: Option<Arc<dyn Law>>,
    users: u32,
) -> Result<Planned, Failure> {
    if arguments.law.as_deref().is_some_and(|name| name.trim() == "surge") {
        return surge(arguments, target, users);
    }
    let mut words = what(target, law.as_ref());
    let think = arguments.think.unwrap_or(THINK);
    let each = format!(
        "closed loop: {} users, who think {} on average, exponentially distributed",
        count(users.into()),
        time(think * 1e3)
    );
    words.push(("demand".into(), each));
    let requests = offered(arguments, law.clone(), Shape::constant(1.0)?, 1.0).endless()?;
    let requests = Box::new(to_target(requests, target, law.is_some()));
    Ok(Planned {
        demand: Demand::Closed(Box::new(Thinkers::new(users, think, arguments.seed, requests))),
        words,
        open: Open::Exactly(users.into()),
        ..Planned::lasting(arguments, SECONDS)
    })
}

/// SURGE's user equivalents.
fn surge(arguments: &Arguments, target: &Target, users: u32) -> Result<Planned, Failure> {
    if arguments.think.is_some() {
        return Err(invalid_usage(
            "SURGE's users have pauses of their own: --think is for other laws",
        ));
    }
    let classes = arguments.class.iter().map(|class| class.weight).collect();
    let model = Model { classes, ..Model::new(users, arguments.seed) };
    let surge = SurgeEquivalents::new(model.users()?, target.base());
    let files = format!(
        "{} files under {} by SURGE: popularity, locality, pages of several files",
        count(model.files.into()),
        target.base()
    );
    let each = format!(
        "closed loop: {} user equivalents, who pause between files and between pages",
        count(users.into())
    );
    Ok(Planned {
        demand: Demand::Closed(Box::new(surge)),
        words: vec![("asks for".into(), files), ("demand".into(), each)],
        open: Open::Exactly(users.into()),
        ..Planned::lasting(arguments, SECONDS)
    })
}

/// The workload as the library makes it; without a law all responses count the same.
fn offered(
    arguments: &Arguments,
    law: Option<Arc<dyn Law>>,
    shape: Shape,
    seconds: f64,
) -> Offered {
    let law = law.unwrap_or_else(|| Arc::new(Deterministic { size: 1.0 }));
    Offered {
        wire: wire(arguments),
        load_is: arguments.load_is.into(),
        spacing: match arguments.arrivals {
            Arrivals::Poisson => Spacing::Poisson,
            Arrivals::Even => Spacing::Equal,
        },
        seed: arguments.seed,
        classes: arguments.class.iter().map(|class| class.weight).collect(),
        ..Offered::new(law, shape, seconds, 1.0)
    }
}

/// Asks for the URL's own path, or for the workload's under it.
fn to_target(
    requests: impl Iterator<Item = Request> + Send + 'static,
    target: &Target,
    has_law: bool,
) -> impl Iterator<Item = Request> + Send + 'static {
    let own: Arc<str> = target.path.as_str().into();
    let base = target.base();
    requests.map(move |request| match has_law {
        true => under(&base, request),
        false => Request { path: own.clone(), size: None, ..request },
    })
}
