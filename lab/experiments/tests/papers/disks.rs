//! What experiments with files on a slow disk run, and what they say of outcomes that are made up.

use weir_experiments::cell::{Cell, Demand, Load, Phase, What};
use weir_experiments::findings::{Section, Verdict};
use weir_experiments::outcome::{PhaseOutcome, SearchEnd};
use weir_experiments::papers::find;
use weir_experiments::{Choice, Scale};

use crate::experiments::{row, section};

const COMMON: Phase = Phase { load: Load::Nginx(0.8), what: What::Set };

/// Ruan & Pai, sections 2.3 and 3.4.
#[test]
fn disks_are_asked_in_the_papers_conditions_and_nobody_shares_the_machine() {
    for name in ["ruan-load", "ruan-sets", "ruan-steps", "ruan-bursts", "ruan-hot"] {
        for (cell_name, cell) in find(name).expect(name).cells(&Choice::of(Scale::Full)) {
            let Demand::Files(files) = &cell.demand else { panic!("{cell_name} has no disk") };
            assert_eq!(cell.users.requests_per_connection, 5, "{cell_name}");
            assert_eq!((files.connections, files.memory), (1024, 1 << 30), "{cell_name}");
            assert!(files.set == 3 << 30 || name == "ruan-sets", "{cell_name}");
        }
    }
    let sets = |name: &str| -> Vec<f64> {
        let cells = find(name).expect(name).cells(&Choice::of(Scale::Full));
        let set = |(_, cell): &(_, Cell)| match &cell.demand {
            Demand::Files(files) => files.set as f64 / f64::from(1 << 30),
            _ => f64::NAN,
        };
        let mut sets: Vec<f64> = cells.iter().map(set).collect();
        sets.sort_by(f64::total_cmp);
        sets.dedup();
        sets
    };
    assert_eq!(sets("ruan-sets"), [0.5, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(sets("ruan-generations"), [0.5, 3.0]);
    let loads = find("ruan-load").expect("it").cells(&Choice::of(Scale::Full)).remove(0).1;
    let Demand::Files(files) = loads.demand else { panic!("no disk") };
    let own = |phase: &Phase| if let Load::Own(share) = phase.load { Some(share) } else { None };
    let shares: Vec<f64> = files.phases.iter().filter_map(own).collect();
    assert_eq!(shares, [0.2, 0.4, 0.6, 0.8, 0.9, 0.95]);
}

#[test]
fn every_server_is_measured_over_loads_sets_steps_bursts_and_disks() {
    for name in ["ruan-load", "ruan-sets", "ruan-steps", "ruan-bursts", "ruan-generations"] {
        let cells = find(name).expect(name).cells(&Choice::of(Scale::Full));
        for server in [
            "weir:files",
            "nginx",
            "nginx-aio",
            "lighttpd",
            "apache-prefork",
            "apache-worker",
            "apache-event",
        ] {
            assert!(cells.iter().any(|(_, cell)| cell.system == server), "{name} without {server}");
        }
    }
}

#[test]
fn hot_requests_that_wait_for_the_disk_miss_their_bars() {
    let what = "weir, p99 of hot requests ÷ in memory, at 0.8 of nginx's capacity";
    let good = section("ruan-hot", |_| ());
    assert_eq!(row(&good, what).verdict(), Verdict::Reached);
    let bad = section("ruan-hot", |outcome| {
        let phases = outcome.files.iter_mut().flat_map(|files| &mut files.phases);
        for phase in phases.filter(|phase| phase.phase.what == What::Set) {
            phase.hot.percentiles.iter_mut().for_each(|time| *time *= 2.0);
        }
    });
    assert_eq!(row(&bad, what).verdict(), Verdict::Missed);
    // A scan that changes nothing does not become a gain by it.
    let scan = "weir, p99 of hot requests while the whole tree is read ÷ without, at 0.8 of nginx's capacity";
    assert_eq!(row(&good, scan).verdict(), Verdict::Reached);
}

#[test]
fn one_disturbed_round_of_three_decides_nothing() {
    let what = "weir, p99 of hot requests ÷ in memory, at 0.8 of nginx's capacity";
    let of = |disturb: &dyn Fn(&mut PhaseOutcome), count: usize| {
        section("ruan-hot", |outcome| {
            let phases = outcome.files.iter_mut().flat_map(|files| &mut files.phases);
            let rounds = phases.filter(|phase| phase.phase == COMMON);
            rounds.take(count).for_each(disturb);
        })
    };
    let slower: &dyn Fn(&mut PhaseOutcome) =
        &|phase| phase.hot.percentiles.iter_mut().for_each(|time| *time *= 9.0);
    assert_eq!(row(&of(slower, 1), what).verdict(), Verdict::Reached);
    assert_eq!(row(&of(slower, 2), what).verdict(), Verdict::Missed);
    let void: &dyn Fn(&mut PhaseOutcome) = &|phase| phase.invalid.push("clients late".to_owned());
    assert!(row(&of(void, 2), what).ours.interval.is_some(), "one round counts");
    assert!(row(&of(void, 3), what).ours.interval.is_none());
}

#[test]
fn the_longest_response_is_compared_with_the_jobs_that_wait() {
    let what = "weir, longest response in saturation ÷ all disk jobs that wait in turn";
    let of = |jobs: Option<u64>, longest: f64| {
        section("ruan-hot", |outcome| {
            let phases = outcome.files.iter_mut().flat_map(|files| &mut files.phases);
            for phase in phases.filter(|phase| phase.phase == Phase::SATURATED) {
                (phase.waiting, phase.reads_per_second) = (jobs, 200.0);
                phase.all.percentiles[100] = longest;
            }
        })
    };
    // 400 take a disk of 200 operations per second 2 s.
    let bounded = of(Some(400), 5_000.0);
    assert_eq!(row(&bounded, what).ours.interval.expect("a figure").middle, 2.5);
    assert_eq!(row(&bounded, what).verdict(), Verdict::Reached);
    assert_eq!(row(&of(Some(400), 7_000.0), what).verdict(), Verdict::Missed);
    let untold = of(None, 5_000.0);
    assert!(row(&untold, what).ours.interval.is_none(), "it is not known how many waited");
}

#[test]
fn scheduling_that_helps_blocking_servers_alone_is_an_interaction() {
    let what = "interaction of not blocking and protective, median";
    let of = |section: &Section| row(section, what).ours.interval.expect("a figure").middle;
    let none = section("ruan-factorial", |_| ());
    assert!((of(&none) - 1.0).abs() < 0.2, "{}", of(&none));
    let section = section("ruan-factorial", |outcome| {
        let system = &outcome.cell.system;
        if system.starts_with("weir:protective") && system.contains("blocks") {
            let phases = outcome.files.iter_mut().flat_map(|files| &mut files.phases);
            phases.for_each(|phase| phase.all.percentiles.iter_mut().for_each(|t| *t /= 4.0));
        }
    });
    let ratio = of(&section) / of(&none);
    assert!((ratio - 4.0).abs() < 0.01, "{ratio}");
}

#[test]
fn an_old_server_that_follows_the_disk_more_is_one_that_gains_less_by_the_processor() {
    let what = "nginx ÷ weir, mean at 0.95, slowest disk ÷ fastest";
    let of = |section: &Section| row(section, what).ours.interval.expect("a figure").middle;
    let none = section("ruan-generations", |_| ());
    let section = section("ruan-generations", |outcome| {
        let slow = matches!(&outcome.cell.demand, Demand::Files(files) if files.disk.seek_ms > 2.0);
        if slow && outcome.cell.system == "nginx" {
            let phases = outcome.files.iter_mut().flat_map(|files| &mut files.phases);
            phases.for_each(|phase| phase.all.mean *= 4.0);
        }
    });
    let ratio = of(&section) / of(&none);
    assert!((ratio - 4.0).abs() < 0.01, "{ratio}");
}

#[test]
fn generations_are_compared_at_every_load() {
    let section = section("ruan-generations", |_| ());
    for load in ["0.2", "0.6", "0.95"] {
        let what = format!("weir, median at {load}, slowest disk ÷ fastest");
        assert_eq!(row(&section, &what).verdict(), Verdict::Agrees, "{what}");
    }
    // Three loads, three disks and none, eight systems.
    assert_eq!(column(&section, "hot p99").len(), 3 * 4 * 8);
}

/// The cells of a column of a table, by the name of the column.
fn column<'a>(section: &'a Section, name: &str) -> Vec<(&'a str, &'a str)> {
    let found = section.tables.iter().find_map(|table| {
        let place = table.columns.iter().position(|column| column == name)?;
        Some(table.rows.iter().map(move |row| (row[0].as_str(), row[place].as_str())))
    });
    found.expect(name).collect()
}

#[test]
fn what_else_than_the_server_ended_a_search_is_in_the_table() {
    let of = |end: SearchEnd, capacity: Option<f64>| {
        let section = section("ruan-load", |outcome| {
            if let Some(files) = &mut outcome.files
                && outcome.cell.system == "apache-prefork"
                && outcome.cell.seed == 1
            {
                (files.search_end, files.capacity) = (Some(end), capacity);
            }
        });
        let rows = column(&section, "keeps up with, requests/s");
        let apache =
            rows.iter().map(|(name, _)| *name).find(|name| name.starts_with("Apache prefork"));
        apache.expect("a row").to_owned()
    };
    assert_eq!(of(SearchEnd::Server, Some(4000.0)), "Apache prefork");
    for (end, capacity, words) in [
        (SearchEnd::Clients, Some(4000.0), "the clients were late above it (1 run)"),
        (SearchEnd::Bracket, Some(4000.0), "no higher rate was tried (1 run)"),
        (SearchEnd::Server, None, "kept up with no rate (1 run)"),
    ] {
        assert_eq!(of(end, capacity), format!("Apache prefork; {words}"));
    }
}
