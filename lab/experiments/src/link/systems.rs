//! The servers of documents under test, by name: what each is told for a cell. The run of a cell starts
//! one of them.

use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;

use weir_peers::nginx::{FileCache, Nginx};
use weir_peers::{Certificate, Content, Error, Options, Program, Result};
use weir_peers::{apache, caddy, h2o, lighttpd, nginx, weir};

use crate::settings::Settings;

/// Seconds after which idle connections are closed: Apache's old default, the same for all.
const KEEP_ALIVE: u32 = 15;
/// Processes of Apache prefork, as Schroeder 2003, section 3.2.
const PREFORK: u32 = 350;
/// Connections at once; of nginx, connections of its worker, in which others are counted too.
const CONNECTIONS: usize = 8192;
const NGINX_CONNECTIONS: usize = 16_384;
/// Where weir's figures are.
pub(crate) const ADMIN: ([u8; 4], u16) = ([127, 0, 0, 1], 9900);

/// What a system is told.
pub(crate) struct Place<'a> {
    /// Where it listens.
    pub(crate) address: SocketAddrV4,
    /// What it serves.
    pub(crate) root: &'a Path,
    /// Where its configuration, its log and its temporary files go.
    pub(crate) directory: &'a Path,
    /// TLS with this certificate; clear text without.
    pub(crate) certificate: Option<&'a Certificate>,
    /// Connections that wait to be accepted.
    pub(crate) backlog: u32,
    /// Bits per second of the bottleneck.
    pub(crate) rate: u64,
}

/// weir whose queue is in the kernel's bands.
const IN_KERNEL: &str = "weir-kernel";

/// Whether a system has an admin address with figures of its own.
pub(crate) fn has_metrics(system: &str) -> bool {
    system.starts_with("weir:") || has_bands(system)
}

/// Whether a system sends through the kernel's bands, which `weir uplink install` makes.
pub(crate) fn has_bands(system: &str) -> bool {
    system.split(':').next() == Some(IN_KERNEL)
}

/// How the system of a cell is started, in the foreground. Each serves with `sendfile`, where it has
/// it, and without an access log; errors go to `error_log`.
///
/// # Errors
///
/// A system that nobody knows, or whose program is not installed (with the Debian package).
pub(crate) fn program(
    system: &str,
    place: &Place<'_>,
    error_log: &Path,
    settings: &Settings,
) -> Result<Program> {
    match system.split_once(':') {
        Some(("weir", options)) => {
            let uplink = weir::rate(place.rate);
            return weir_program(options, ("protective", uplink), place, settings);
        }
        Some((IN_KERNEL, options)) => {
            return weir_program(options, ("bands", "kernel".into()), place, settings);
        }
        Some(("command", line)) => return given(line, place),
        _ => {}
    }
    let options = Options {
        listen: place.address,
        tls: place.certificate,
        backlog: place.backlog,
        content: Content::Files(place.root),
        directory: place.directory,
        error_log: Some(error_log),
        critical_only: false,
        user: Some("root"),
        connections: CONNECTIONS,
        open_files: None,
        idle_timeout: Some(KEEP_ALIVE),
        requests_per_connection: None,
    };
    match system {
        "nginx" => {
            let cache = FileCache { files: 2000, inactive: 600, valid: 600, errors: false };
            let nginx =
                Nginx { file_cache: Some(cache), send_timeout: Some(300), ..Nginx::default() };
            nginx::program(&Options { connections: NGINX_CONNECTIONS, ..options }, &nginx)
        }
        "apache-prefork" => apache::program(&options, apache::Workers::Prefork(PREFORK)),
        "apache-event" => apache::program(&options, apache::Workers::Event),
        "lighttpd" => lighttpd::program(&Options { open_files: Some(16_384), ..options }),
        "h2o" => h2o::program(&options),
        "caddy" => caddy::program(&options),
        _ => Err(Error(format!(
            "no system {system}: use weir:POLICY, weir-kernel:POLICY, nginx, apache-prefork, apache-event, lighttpd, \
             h2o, caddy or command:PROGRAM …"
        ))),
    }
}

/// `options` are the policy and then flags of `weir serve`; `usual` are the policy without any, and the
/// uplink.
fn weir_program(
    options: &str,
    usual: (&str, String),
    place: &Place<'_>,
    settings: &Settings,
) -> Result<Program> {
    let (policy, flags) = weir::words(options);
    let (usual_policy, uplink) = usual;
    let mut defaults = vec![
        ("--listen", place.address.to_string()),
        ("--admin", SocketAddr::from(ADMIN).to_string()),
        ("--access-log", "off".into()),
        ("--policy", policy.unwrap_or(usual_policy).into()),
        ("--uplink", uplink),
        ("--workers", "1".into()),
        ("--idle-timeout", format!("{KEEP_ALIVE}s")),
    ];
    defaults.extend(place.certificate.into_iter().flat_map(weir::tls));
    Ok(weir::program(&settings.weir, &defaults, &flags)?.arg(place.root))
}

/// A command of the user's own; its words are separated by blanks.
fn given(line: &str, place: &Place<'_>) -> Result<Program> {
    let filled = |word: &str| {
        word.replace("{address}", &place.address.ip().to_string())
            .replace("{port}", &place.address.port().to_string())
            .replace("{root}", &place.root.display().to_string())
    };
    let mut words = line.split_whitespace().map(filled);
    let program = words.next().ok_or_else(|| {
        Error("the system `command:` has no command: write command:PROGRAM {address} …".into())
    })?;
    Ok(Program::new(program).args(words))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn place(root: &Path) -> Place<'_> {
        let address = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 1), 8080);
        Place { address, root, directory: root, certificate: None, backlog: 512, rate: 10_000_000 }
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

    fn words(system: &str, root: &Path, settings: &Settings) -> Vec<String> {
        program(system, &place(root), Path::new("/nowhere"), settings).expect("it is known").words()
    }

    #[test]
    fn a_command_is_told_where_to_listen_and_what_to_serve() {
        let system = "command:python3 -m http.server --bind {address} -d {root} {port}";
        let words = words(system, Path::new("/srv/x"), &settings("/nowhere"));
        assert_eq!(words, ["-m", "http.server", "--bind", "10.77.0.1", "-d", "/srv/x", "8080"]);
    }

    #[test]
    fn weirs_own_flags_stand_in_place_of_the_defaults() {
        let words = |system: &str| words(system, Path::new("/srv/x"), &settings("/bin/sh"));
        let plain = words("weir:srpt");
        let after = |words: &[String], flag: &str| {
            let at = words.iter().position(|word| word == flag).expect("the flag");
            assert_eq!(words.iter().filter(|word| *word == flag).count(), 1);
            words[at + 1].clone()
        };
        assert_eq!(after(&plain, "--policy"), "srpt");
        assert_eq!(after(&plain, "--uplink"), "10mbit");
        assert_eq!(after(&plain, "--workers"), "1");
        let own = words("weir:fair --workers 4 --uplink 5mbit");
        assert_eq!(
            (after(&own, "--workers"), after(&own, "--uplink")),
            ("4".into(), "5mbit".into())
        );
    }

    #[test]
    fn weir_in_the_kernel_is_told_so_and_has_bands() {
        let words = words(
            "weir-kernel:bands --uplink-bands paper",
            Path::new("/srv/x"),
            &settings("/bin/sh"),
        );
        let line = words.join(" ");
        assert!(line.contains("--policy bands --uplink kernel "), "{line}");
        assert!(line.contains(" --uplink-bands paper"), "{line}");
        assert!(has_bands("weir-kernel:bands") && has_metrics("weir-kernel:bands"));
        assert!(!has_bands("weir:bands") && !has_bands("nginx"));
    }

    #[test]
    fn what_nobody_knows_is_refused_with_the_names_that_are_known() {
        let place = place(Path::new("/srv/x"));
        let start = |system| program(system, &place, Path::new("/x"), &settings("/nowhere/weir"));
        for system in ["iis", "command:", "weir", "weir:srpt"] {
            assert!(start(system).is_err(), "{system}");
        }
        let error = start("iis").expect_err("unknown");
        assert!(error.to_string().contains("apache-prefork"), "{error}");
    }
}
