//! In which conditions the papers' experiments run, and what rows say of papers, seeds and commits.

use std::collections::BTreeSet;

use weir_experiments::cell::{Demand, LoadIs};
use weir_experiments::findings::Verdict;
use weir_experiments::papers::{EXPERIMENTS, FIGURES, State, find};
use weir_experiments::{Cell, Choice, Outcome, Scale};

use crate::experiments::{GAIN, row, section};
use crate::made_up;

/// The papers' rows are in the papers' conditions: Schroeder 2003, Table 2 and section 3.3.2.
#[test]
fn what_is_as_the_paper_ran_it_has_load_queue_and_timeout_of_the_paper_together() {
    let choice = Choice::of(Scale::Full);
    let cells =
        |name: &str| find(name).expect(name).cells(&choice).into_iter().map(|(_, cell)| cell);
    let repeated = FIGURES.iter().filter(|figure| figure.paper == "Schroeder 2003");
    let names: BTreeSet<&str> = repeated
        .flat_map(|figure| match figure.state {
            State::Here(names) => names,
            State::Nothing => &[],
        })
        .copied()
        .filter(|name| !find(name).expect(name).is_simulated())
        .collect();
    assert_eq!(names.len(), 13, "{names:?}");
    for name in names {
        let of_files = |cell: &Cell| {
            let (Demand::Open { load_is, .. } | Demand::Trace { load_is, .. }) = &cell.demand
            else {
                return false;
            };
            *load_is == LoadIs::File
        };
        let (paper, today): (Vec<Cell>, Vec<Cell>) = cells(name).partition(of_files);
        for system in ["apache-prefork", "weir:srpt"] {
            assert!(paper.iter().any(|cell| cell.system == system), "{name}: {system}");
        }
        assert!(!today.is_empty() || name == "schroeder-syn-cookies", "{name}");
        for cell in paper {
            let network = &cell.network;
            assert_eq!(network.backlog == 512, network.backlog != 8192, "{name}");
            assert!(network.queue == 100 || name == "schroeder-why", "{name}: {network:?}");
            let timeout = network.initial_rto_ms.expect("a timeout");
            let is_about_it = ["schroeder-rto", "schroeder-why", "schroeder-nasa"].contains(&name);
            assert!(timeout == 3000 || is_about_it, "{name}: {network:?}");
        }
    }
}

#[test]
fn ranges_are_those_of_table_2() {
    let values = |name: &str, of: fn(&Cell) -> String| {
        let cells = find(name).expect(name).cells(&Choice::of(Scale::Full));
        let apache = cells.into_iter().filter(|(_, cell)| {
            cell.system == "apache-prefork" && cell.network.initial_rto_ms.is_some()
        });
        apache.map(|(_, cell)| of(&cell)).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    let link = |cell: &Cell| format!("{} {}", cell.network.round_trip_ms, cell.network.loss);
    let range = values("schroeder-wan-range", link);
    assert_eq!(range, ["0 0", "0 0.05", "0 0.1", "0 0.15", "100 0", "150 0", "50 0"]);
    let rpc = values("schroeder-persistent-connections", |cell| {
        cell.users.requests_per_connection.to_string()
    });
    assert_eq!(rpc, ["1", "10", "5"]);
    let abort = |cell: &Cell| match cell.users.abort_after {
        Some(after) => format!("{after} s, {}", cell.users.retries),
        None => "never".to_owned(),
    };
    let aborts = values("schroeder-aborts", abort);
    for after in ["3", "10", "15"] {
        for retries in [2, 4, 6, 8] {
            assert!(aborts.contains(&format!("{after} s, {retries}")), "{after} s, {retries}");
        }
    }
    assert!(aborts.contains(&"10 s, 3".to_owned()) && aborts.contains(&"never".to_owned()));
    // Appendix B repeats all of them on the NASA trace.
    let of_nasa = |of: fn(&Cell) -> String| values("schroeder-nasa", of);
    assert!(range.iter().all(|value| of_nasa(link).contains(value)));
    assert!(aborts.iter().all(|value| of_nasa(abort).contains(value)));
}

#[test]
fn a_limit_of_the_paper_is_judged_on_one_side_and_a_contradiction_is_said() {
    let what = |order: &str| {
        format!("Apache prefork ÷ {order}, least of the choices, as the paper ran it")
    };
    let good = section("schroeder-aborts", |_| ());
    let found = row(&good, &what("weir srpt"));
    assert_eq!(
        (found.paper.as_str(), found.verdict()),
        ("at least a factor of 8 for all", Verdict::Agrees)
    );
    // One choice of all is enough to contradict "for all".
    let bad = section("schroeder-aborts", |outcome| {
        if outcome.cell.users.retries == 8 && outcome.cell.system == "apache-prefork" {
            outcome.measured.mean /= 10.0;
        }
    });
    let found = row(&bad, &what("weir srpt"));
    assert_eq!(found.verdict(), Verdict::Differs, "{}", found.words());
    assert!(found.words().contains("retries"), "{}", found.words());
    let few = section("schroeder-realistic", |outcome| outcome.incomplete = 0.0176);
    let found = row(&few, "Apache prefork, incomplete, W4, as the paper ran it");
    assert!(
        found.words().starts_with("not as the paper says, by 82.4 % (5 seeds)"),
        "{}",
        found.words()
    );
}

#[test]
fn rows_have_the_commits_of_all_runs_behind_them() {
    let two = section("schroeder-w1", |outcome| {
        if outcome.cell.seed == 5 {
            outcome.commit = "abcdef0123".to_owned();
        }
    });
    assert_eq!(row(&two, GAIN).commits(), "0123456789, abcdef0123");
    // Outcomes that were written before they had one, nor other fields of today.
    let cell = EXPERIMENTS[0].cells(&Choice::of(Scale::Quick)).remove(0).1;
    let mut text = serde_json::to_value(made_up::outcome(&cell)).expect("JSON");
    let fields = text.as_object_mut().expect("an object");
    for field in ["commit", "srpt_at_full_rate", "read_lag_p99"] {
        assert!(fields.remove(field).is_some(), "{field}");
    }
    let demand = &mut fields["cell"]["demand"]["Open"];
    assert!(demand.as_object_mut().expect("an object").remove("load_is").is_some());
    let old: Outcome = serde_json::from_value(text).expect("an outcome");
    assert_eq!((old.commit.as_str(), old.srpt_at_full_rate), ("unknown", None));
    assert_eq!((old.lag_p99, old.read_lag_p99), (0.1, None));
}
