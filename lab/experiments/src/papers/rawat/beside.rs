//! What Rawat & Kshemkalyani do not give: what the requests beside the server pay, other policies, equal
//! round trips, and the effect of what the paper leaves open. Part of the simulated experiment.

use weir_sched::policy::{BANDS, BURST, PROTECTIVE, SRPT, SRRT, SWIFT};
use weir_sched::{PolicyKind, policy};

use super::claims::gain;
use super::played::{Times, Trials};
use super::scene::{Added, Scene, Site};
use crate::choice::Scale;
use crate::findings::{Bar, Ours, Row, Section, Table, Unit};

/// Where other policies and other choices are looked at.
const LOOKED_AT: Scene = Scene::new(Site::Austin, 0.9, 250);

/// The policies that a scene of the figures has beside those of the figures. A quick run leaves out
/// variants.
pub(super) fn policies(scene: &Scene, scale: Scale) -> Vec<PolicyKind> {
    if *scene != LOOKED_AT {
        return Vec::new();
    }
    let others = [SRRT, BURST, PROTECTIVE, BANDS];
    let variants =
        PolicyKind::ORDERS.iter().chain(PolicyKind::VARIANTS).filter(|_| scale != Scale::Quick);
    others.iter().chain(variants).copied().collect()
}

/// What the paper leaves open about its requests: what is chosen otherwise, and the scene with that.
fn choices() -> [(&'static str, Scene); 6] {
    let base = LOOKED_AT;
    [
        ("a quarter is monitored", Scene { monitored: 0.25, ..base }),
        ("three quarters are monitored", Scene { monitored: 0.75, ..base }),
        ("the others' round trip is 20 ms", Scene { background_ms: 20.0, ..base }),
        ("the others' round trip is 100 ms", Scene { background_ms: 100.0, ..base }),
        ("the others' round trip is 350 ms", Scene { background_ms: 350.0, ..base }),
        ("the added delay is constant", Scene { added: Added::Constant, ..base }),
    ]
}

/// All round trips are equal, so SWIFT has the size alone to go by.
fn equal() -> Scene {
    let far = f64::from(LOOKED_AT.round_trip_ms);
    Scene { background_ms: far, added: Added::Constant, ..LOOKED_AT }
}

/// The scenes beside those of the figures; a quick run has equal round trips alone.
pub(super) fn scenes(scale: Scale) -> Vec<(Scene, Vec<PolicyKind>)> {
    let others = choices().map(|(_, scene)| (scene, vec![SWIFT, SRPT]));
    others
        .into_iter()
        .filter(|_| scale != Scale::Quick)
        .chain([(equal(), vec![SWIFT, SRPT, BANDS])])
        .collect()
}

/// Rows and tables.
pub(super) fn report(trials: &Trials, figures: &[Scene], section: &mut Section) {
    let mut loads: Vec<f64> = figures.iter().map(|scene| scene.load).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    for load in loads {
        let of = |scene: &Scene| figures.contains(scene) && scene.load == load;
        let ours = trials.paired((SWIFT, SRPT), of, background);
        let what = format!("load {load}: requests beside the server, SWIFT ÷ SRPT, means");
        section.row(Row::new(what, "", ours, Unit::Times));
    }
    let of_null = |figure: fn(&Times, &Times) -> f64, than| {
        trials.paired((SWIFT, than), |scene| *scene == equal(), figure)
    };
    section.row(
        Row::new(
            "all round trips equal: large responses, gain of SWIFT",
            "",
            of_null(large, SRPT),
            Unit::Percent,
        )
        .bar(Bar::AtMost(0.025))
        .note("SWIFT has classes of size alone then; a gain would not come from distance"),
    );
    section.row(Row::new(
        "all round trips equal: large responses, gain of SWIFT over bands",
        "",
        of_null(large, BANDS),
        Unit::Percent,
    ));
    let at = format!(
        "{}, load {}, round trip {} ms",
        LOOKED_AT.site.name(),
        LOOKED_AT.load,
        LOOKED_AT.round_trip_ms
    );
    let mut table =
        table(format!("Policies, {at}: gains over SRPT in %, the others' mean ÷ SRPT's"));
    let all = [SWIFT, policy::FAIR].into_iter().chain(policies(&LOOKED_AT, section.scale));
    for policy in all {
        table.row(policy.name(), &figures_of(trials, policy, &LOOKED_AT));
    }
    section.table(table);
    let caption = format!("What the paper leaves open, {at}: SWIFT's gains over SRPT in %");
    let mut table = self::table(caption);
    table.row("as in the figures", &figures_of(trials, SWIFT, &LOOKED_AT));
    for (name, scene) in choices() {
        table.row(name, &figures_of(trials, SWIFT, &scene));
    }
    table.row("all round trips are equal", &figures_of(trials, SWIFT, &equal()));
    section.table(table);
}

fn table(caption: String) -> Table {
    Table::new(caption, &["", "large", "largest tenth", "all monitored", "others ÷ SRPT"])
}

fn figures_of(trials: &Trials, policy: PolicyKind, scene: &Scene) -> [(Ours, Unit); 4] {
    let of = |figure: fn(&Times, &Times) -> f64| {
        trials.paired((policy, SRPT), |other| other == scene, figure)
    };
    [
        (of(large), Unit::Percent),
        (of(|one, srpt| gain_between(one, srpt, 90.0)), Unit::Percent),
        (of(|one, srpt| gain_between(one, srpt, 0.0)), Unit::Percent),
        (of(background), Unit::Times),
    ]
}

fn large(one: &Times, srpt: &Times) -> f64 {
    gain(one.large.seconds(), srpt.large.seconds())
}

fn gain_between(one: &Times, srpt: &Times, from: f64) -> f64 {
    gain(one.between(from, 100.0).seconds(), srpt.between(from, 100.0).seconds())
}

fn background(one: &Times, srpt: &Times) -> f64 {
    one.background.seconds() / srpt.background.seconds()
}
