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

fn words(command: &Command) -> Vec<String> {
    command.get_args().map(|word| word.to_string_lossy().into_owned()).collect()
}

#[test]
fn weir_is_a_proxy_with_its_own_defaults_and_the_cell_s_flags() {
    let directory = Path::new("/nowhere");
    let words = |system: &str| {
        let command = command(system, &place(directory), &settings("/bin/sh")).expect("weir");
        words(&command.expect("something in front"))
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
fn only_experts_bound_the_wait() {
    let directory = Path::new("/nowhere");
    let place = place(directory);
    let (plain, expert) = (nginx::text(&place, false), nginx::text(&place, true));
    assert!(!plain.contains("limit_conn") && !plain.contains("keepalive"));
    assert!(expert.contains("limit_conn all 100;") && expert.contains("keepalive 256;"));
    let plain = haproxy::text(&place, "");
    assert!(plain.contains("server one 127.70.1.2:9000\n") && !plain.contains("abortonclose"));
    let expert = haproxy::text(&place, &haproxy::expert(&place));
    assert!(expert.contains("timeout queue 100ms") && expert.contains(":9000 maxconn 4\n"));
}

#[test]
fn what_nobody_knows_is_refused_with_the_names_that_are_known() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = place(directory.path());
    let error = |system: &str| {
        let found = command(system, &place, &settings("/nowhere/weir"));
        found.expect_err("no such system").to_string()
    };
    assert!(error("iis").contains("haproxy-expert"), "{}", error("iis"));
    assert!(error("weir:proxy").contains("/nowhere/weir"), "{}", error("weir:proxy"));
    for system in SYSTEMS.into_iter().filter(|system| !system.starts_with("weir:")) {
        match command(system, &place, &settings("/nowhere/weir")) {
            Ok(found) => assert_eq!(found.is_none(), ["direct", "checking"].contains(&system)),
            Err(error) => assert!(error.to_string().contains("apt-get install"), "{error}"),
        }
    }
}
