//! What proxies are told.

use std::net::Ipv4Addr;

use super::*;

fn place(directory: &Path) -> Place<'_> {
    let host = Ipv4Addr::new(127, 70, 1, 2);
    Place {
        front: SocketAddrV4::new(host, 8080),
        admin: SocketAddr::from((host, 9900)),
        application: SocketAddrV4::new(host, 9000),
        directory,
        mean: Duration::from_millis(1),
    }
}

fn settings(weir: &str) -> Settings {
    Settings {
        out: "/tmp".into(),
        data: None,
        weir: weir.into(),
        weir_lab: "/nowhere/weir-lab".into(),
        side_by_side: 1,
        keep_records: false,
    }
}

fn found(system: &str, place: &Place<'_>, weir: &str) -> Result<Option<Program>> {
    program(system, place, Path::new("/nowhere/error.log"), &settings(weir))
}

#[test]
fn weir_is_a_proxy_with_its_own_defaults_and_the_cell_s_flags() {
    let directory = Path::new("/nowhere");
    let words = |system: &str| {
        let program = found(system, &place(directory), "/bin/sh").expect("weir");
        program.expect("something in front").words()
    };
    let after = |words: &[String], flag: &str| {
        let at = words.iter().position(|word| word == flag).expect("the flag");
        words[at + 1].clone()
    };
    let plain = words("weir:proxy");
    assert_eq!(after(&plain, "--proxy"), "/=http://127.70.1.2:9000");
    assert_eq!(after(&plain, "--listen"), "127.70.1.2:8080");
    for flag in ["--policy", "--backend-limit", "--backend-order", "--uplink"] {
        assert!(!plain.iter().any(|word| word == flag), "{flag} is left to weir");
    }
    let own = words("weir:srpt --backend-order edf --workers 2");
    assert_eq!(after(&own, "--policy"), "srpt");
    assert_eq!(after(&own, "--backend-order"), "edf");
    assert_eq!(own.iter().filter(|word| *word == "--workers").count(), 1);
}

#[test]
fn what_nobody_knows_is_refused_with_the_names_that_are_known() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = place(directory.path());
    let error = |system: &str| {
        found(system, &place, "/nowhere/weir").expect_err("no such system").to_string()
    };
    assert!(error("iis").contains("haproxy-expert"), "{}", error("iis"));
    assert!(error("weir:proxy").contains("/nowhere/weir"), "{}", error("weir:proxy"));
    for system in SYSTEMS.into_iter().filter(|system| !system.starts_with("weir:")) {
        match found(system, &place, "/nowhere/weir") {
            Ok(found) => assert_eq!(found.is_none(), ["direct", "checking"].contains(&system)),
            Err(error) => assert!(error.to_string().contains("apt-get install"), "{error}"),
        }
    }
}
