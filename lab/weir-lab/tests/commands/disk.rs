//! The laboratory's cells with files on a slow disk, from beginning to end, with a small set and a disk
//! that is not very slow. These tests need root outside of containers, /dev/fuse, loop devices and two
//! cores.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use weir_experiments::cell::{Demand, Disk, Files, Load, Network, Phase, Users, What};
use weir_experiments::outcome::{FilesOutcome, PhaseOutcome};
use weir_experiments::{Cell, Outcome, Result, Settings, run_cell};

const RATE: f64 = 200.0;

fn at(what: What) -> Phase {
    Phase { load: Load::Rate(RATE), what }
}

fn cell(system: &str, phases: Vec<Phase>) -> Cell {
    Cell {
        system: system.into(),
        network: Network::default(),
        users: Users { requests_per_connection: 5, ..Users::default() },
        demand: Demand::Files(Files {
            set: 150 << 20,
            memory: 96 << 20,
            disk: Disk { seek_ms: 0.2, rate: 400_000_000 },
            connections: 16,
            warm: 1.0,
            seconds: 1.0,
            phases,
        }),
        seed: 1,
    }
}

/// Cells of one process share a disk, which is below the directory of the first.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn run(system: &str, phases: Vec<Phase>, out: &Path) -> Result<Outcome> {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let settings = Settings {
        out: out.to_owned(),
        data: None,
        weir: crate::programs::weir_beside(),
        weir_lab: env!("CARGO_BIN_EXE_weir-lab").into(),
        side_by_side: 1,
        keep_records: true,
    };
    run_cell(&cell(system, phases), &settings, &out.join(system))
}

/// Whether a phase was not run since the server it is a share of kept up with no rate.
fn had_no_rate(phase: &PhaseOutcome) -> bool {
    phase.invalid.iter().any(|reason| reason.contains("kept up with no rate"))
}

fn reads(found: &FilesOutcome, what: What) -> f64 {
    found.phase(Load::Rate(RATE), what).expect("the phase").reads_per_1000
}

#[test]
fn a_server_goes_through_its_phases_and_reads_from_the_disk_what_memory_has_no_room_for() {
    let out = tempfile::tempdir().expect("a directory");
    let phases = vec![
        Phase::SATURATED,
        Phase { load: Load::Saturated, what: What::Watched },
        at(What::Set),
        at(What::Scanned),
        Phase::of(Load::Own(0.5)),
        at(What::InMemory),
    ];
    let outcome = run("weir:files", phases.clone(), out.path()).expect("this test needs root");
    let found = outcome.files.expect("phases");
    assert_eq!(found.phases.iter().map(|phase| phase.phase).collect::<Vec<_>>(), phases);
    for phase in found.phases.iter().filter(|phase| !had_no_rate(phase)) {
        assert!(phase.requests > 50 && phase.per_second > 0.0, "{phase:?}");
        assert_eq!(phase.all.percentiles.len(), 101, "{phase:?}");
        assert!(phase.inversion.is_some() && phase.composition.is_some());
        assert_eq!(phase.offered.is_some(), phase.phase.load != Load::Saturated);
        assert_eq!(phase.waiting.is_some(), phase.phase == Phase::SATURATED, "{phase:?}");
    }
    let at_rate = found.phase(Load::Rate(RATE), What::Set).expect("the phase");
    assert!(at_rate.hot.count > 0 && at_rate.hot.count < at_rate.all.count);
    // On a busy machine no rate may do.
    let own = found.phase(Load::Own(0.5), What::Set).expect("the phase");
    assert_eq!(found.capacity.is_none(), had_no_rate(own), "{found:?}");
    assert!(found.search_end.is_some() && found.nginx.is_none());
    // A scan reads what nobody asks for; in memory the disk takes no time.
    assert!(reads(&found, What::Scanned) > 2.0 * reads(&found, What::Set).max(1.0), "{found:?}");
    let busy = |phase: Option<&PhaseOutcome>| phase.expect("the phase").busy;
    assert!(busy(found.phase(Load::Saturated, What::Set)) > 0.0, "{found:?}");
    assert_eq!(busy(found.phase(Load::Rate(RATE), What::InMemory)), 0.0, "{found:?}");
    // The phase ends with the tree, or after twelve times a second.
    let scanned = found.phase(Load::Rate(RATE), What::Scanned).expect("the phase");
    let all = scanned.scanned.is_some_and(|times| times >= 1.0);
    assert!(all || scanned.requests as f64 > 11.0 * RATE, "{scanned:?}");
    let watched = found.phase(Load::Saturated, What::Watched).expect("the phase");
    let observed = watched.observed.as_ref().expect("tracepoints");
    assert!(observed.ready.as_ref().is_some_and(|ready| ready.mean >= 1.0), "{observed:?}");
    let all: f64 = observed.runnable.iter().flatten().sum();
    assert!((all - 1.0).abs() < 1e-6, "{observed:?}");
    let directory = out.path().join("weir:files");
    let metrics = std::fs::read_to_string(directory.join("metrics.txt")).expect("metrics");
    assert!(metrics.contains("weir_disk"), "{metrics}");
    assert!(directory.join("records.csv.zst").is_file());
    assert!(!out.path().join("slow/set").exists(), "the disk is gone");
}

#[test]
fn a_share_of_nginx_is_measured_once() {
    let out = tempfile::tempdir().expect("a directory");
    let phases = vec![Phase::SATURATED, Phase::of(Load::Nginx(0.5))];
    let first = run("nginx", phases.clone(), out.path()).expect("this test needs root and nginx");
    let first = first.files.expect("phases").nginx;
    let again = run("nginx", phases, out.path()).expect("this test needs root and nginx");
    let again_found = again.files.expect("phases");
    // Written as text in between, which rounds the last digit.
    let apart = |a: f64, b: f64| (a / b - 1.0).abs();
    let same = again_found.nginx.zip(first).is_none_or(|(again, first)| apart(again, first) < 1e-9);
    assert!(same && again_found.nginx.is_some() == first.is_some(), "{again_found:?}, {first:?}");
    // A busy machine makes the cell void, and no error.
    match first {
        Some(first) => {
            let offered = again_found.phases[1].offered.expect("a rate");
            assert!((offered / first - 0.5).abs() < 1e-9, "{offered} of {first}");
        }
        None => {
            assert!(had_no_rate(&again_found.phases[1]));
            assert!(again.invalid.iter().any(|reason| reason.starts_with("nginx's capacity")));
        }
    }
}

#[test]
fn what_cannot_be_run_is_refused_in_words() {
    let out = tempfile::tempdir().expect("a directory");
    let refused = |system: &str, phases: Vec<Phase>| {
        run(system, phases, out.path()).expect_err("it cannot run").to_string()
    };
    let error = refused("iis", vec![Phase::SATURATED]);
    assert!(error.contains("nginx-aio"), "{error}");
    let error = refused("weir:files", vec![Phase::of(Load::Own(0.5))]);
    assert!(error.contains("saturation before it"), "{error}");
}
