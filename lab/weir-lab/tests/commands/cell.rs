//! One short cell of the laboratory from beginning to end, against the `weir` that was just built.
//! These tests make network namespaces and need root.

use std::fs;
use std::path::Path;

use weir_experiments::cell::{Demand, Law, LoadIs, Network, Users};
use weir_experiments::{Cell, Outcome, Progress, Settings, run_cell, run_cells};

fn settings(out: &Path) -> Settings {
    Settings {
        out: out.to_owned(),
        data: None,
        weir: crate::programs::weir_beside(),
        weir_lab: env!("CARGO_BIN_EXE_weir-lab").into(),
        side_by_side: 2,
        keep_records: true,
    }
}

fn cell(system: &str) -> Cell {
    Cell {
        system: system.into(),
        network: Network::default(),
        users: Users::default(),
        demand: Demand::Open {
            law: Law::WorldCup,
            periods: vec![(2.0, 1.2), (2.0, 0.2)],
            load_is: LoadIs::Wire,
            duration: 4.0,
        },
        seed: 1,
    }
}

/// Namespaces of this process that are there now.
fn namespaces() -> Vec<String> {
    let ours = format!("weirlab{}-", std::process::id());
    let names = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&ours)).collect()
}

/// Counts cells that were run.
#[derive(Default)]
struct Told(std::sync::Mutex<Vec<String>>);

impl Progress for Told {
    fn started(&self, name: &str) {
        self.0.lock().expect("nobody panicked").push(format!("started {name}"));
    }

    fn finished(&self, name: &str, outcome: &weir_experiments::Result<Outcome>) {
        let how =
            outcome.as_ref().map_or_else(|error| format!("failed: {error}"), |_| "finished".into());
        self.0.lock().expect("nobody panicked").push(format!("{how} {name}"));
    }

    fn left(&self, done: usize, of: usize, seconds_left: f64) {
        assert!(done <= of && seconds_left >= 0.0, "{done} of {of}, {seconds_left} s");
    }
}

#[test]
fn cells_run_side_by_side_leave_their_files_and_run_only_once() {
    let out = tempfile::tempdir().unwrap();
    let settings = settings(out.path());
    let router =
        Cell { network: Network { router: true, ..Network::default() }, ..cell("weir:srpt") };
    let far = Network { round_trip_ms: 20.0, loss: 0.01, mtu: 576, ..Network::default() };
    let cells = vec![
        ("plain".to_owned(), cell("weir:srpt")),
        ("router".to_owned(), router),
        ("far".to_owned(), Cell { network: far, ..cell("weir:fair --workers 2") }),
        ("broken".to_owned(), cell("weir:nonsense")),
    ];
    let told = Told::default();
    let outcomes = run_cells(&cells, &settings, &told).expect("this test needs root");
    assert_eq!(namespaces(), [] as [String; 0]);
    let [Some(plain), Some(router), Some(far), None] = &outcomes[..] else {
        panic!("{outcomes:?} {:?}", told.0)
    };

    for outcome in [plain, router, far] {
        assert_eq!(outcome.outcomes["ok"], outcome.requests, "{:?}", outcome.outcomes);
        assert!(outcome.requests > 300 && outcome.measured.count == outcome.requests);
        assert_eq!((outcome.incomplete, outcome.incomplete_largest), (0.0, 0.0));
        assert!((100..400).contains(&outcome.head_bytes), "{}", outcome.head_bytes);
        assert!(outcome.samples.len() >= 4 && outcome.samples[1].memory > 100_000);
        assert_eq!(outcome.link_use.len(), 1);
        assert!(outcome.link_use[0] > 0.5 && outcome.link_use[0] < 1.05, "{:?}", outcome.link_use);
        assert_eq!(outcome.distribution.len(), 13);
    }
    // The same requests; smaller packets have more headers, so fewer requests are the same load.
    assert_eq!(plain.requests, router.requests);
    assert!(far.requests < plain.requests);
    let ideal = plain.ideal.as_ref().expect("exact servers");
    assert!(
        plain.measured.mean > ideal.srpt.mean * 0.5,
        "{} {}",
        plain.measured.mean,
        ideal.srpt.mean
    );
    assert!(router.ideal.is_some() && far.ideal.is_none());
    // Nobody is answered within less than the two round trips of connection and request.
    assert!(far.distribution[0] > 40.0 && plain.distribution[0] < 40.0, "{:?}", far.distribution);

    let plain_files = out.path().join("plain");
    for file in [
        "cell.json",
        "outcome.json",
        "records.csv.zst",
        "server.log",
        "metrics.txt",
        "tcp-server.txt",
        "tcp-client.txt",
    ] {
        assert!(plain_files.join(file).is_file(), "{file}");
    }
    assert!(out.path().join("far/wan.txt").is_file());

    // Whatever the machine did meanwhile: valid cells are not run again.
    for name in ["plain", "router", "far"] {
        let file = out.path().join(name).join("outcome.json");
        let mut kept: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        kept["invalid"] = serde_json::json!([]);
        std::fs::write(&file, kept.to_string()).unwrap();
    }
    let again = Told::default();
    let second = run_cells(&cells[..3], &settings, &again).unwrap();
    assert_eq!(second.iter().flatten().count(), 3);
    assert_eq!(*again.0.lock().unwrap(), ["finished plain", "finished router", "finished far"]);
}

#[test]
fn the_kernels_bands_are_a_bottleneck_with_the_rate_of_the_cell() {
    let out = tempfile::tempdir().unwrap();
    let settings = settings(out.path());
    let far = Network { round_trip_ms: 20.0, ..Network::default() };
    let cells = vec![
        ("near".to_owned(), cell("weir-kernel:bands --uplink-bands paper")),
        ("far".to_owned(), Cell { network: far, ..cell("weir-kernel:bands") }),
    ];
    let outcomes = run_cells(&cells, &settings, &Told::default()).expect("this test needs root");
    let [Some(near), Some(far)] = &outcomes[..] else { panic!("{outcomes:?}") };
    for (name, outcome) in [("near", near), ("far", far)] {
        assert_eq!(outcome.outcomes["ok"], outcome.requests, "{:?}", outcome.outcomes);
        assert!(outcome.link_use[0] > 0.5 && outcome.link_use[0] < 1.05, "{:?}", outcome.link_use);
        assert_eq!(outcome.dropped, 0);
        let metrics = fs::read_to_string(out.path().join(name).join("metrics.txt")).unwrap();
        let bands = "weir_uplink_kernel_bands{device=\"narrow\"} 1";
        assert!(metrics.contains(bands), "{metrics}");
    }
    let routed = Network { router: true, ..Network::default() };
    let routed = Cell { network: routed, ..cell("weir-kernel:bands") };
    let error = run_cell(&routed, &settings, &out.path().join("x")).expect_err("it cannot run");
    assert!(error.to_string().contains("router"), "{error}");
}

#[test]
fn a_cell_that_cannot_run_says_why() {
    let out = tempfile::tempdir().unwrap();
    let settings = settings(out.path());
    let error = |cell: &Cell| {
        run_cell(cell, &settings, &out.path().join("x")).expect_err("it cannot run").to_string()
    };
    let ends = error(&cell("command:sh -c exit"));
    assert!(ends.contains("the server ended"), "this test needs root: {ends}");
    assert!(error(&cell("command:/nowhere/server")).contains("server"));
    assert!(error(&cell("iis")).contains("no system iis"));
    let slow = Network { rate: 1, ..Network::default() };
    assert!(error(&Cell { network: slow, ..cell("weir:srpt") }).contains("rate"));
}
