//! Names of cells, made from what is in them: equal cells have equal names, so experiments that share
//! a cell share its run. Names are directories.

use std::fmt::Write as _;

use super::{Cell, Demand, Files, LoadIs, Network, Users};

/// A name that people can read, and a checksum of the whole cell that tells apart what reads alike.
pub fn cell_name(cell: &Cell) -> String {
    let mut name = slug(&cell.system);
    match &cell.demand {
        Demand::Open { law, periods, load_is, duration } => {
            let law = slug(&format!("{law:?}"));
            let _ = write!(name, "_{law}_{}", periods_of(periods, *load_is, *duration));
        }
        Demand::Trace { file, periods, load_is, duration } => {
            let stem = slug(file.split('.').next().unwrap_or(file));
            let _ = write!(name, "_{stem}_{}", periods_of(periods, *load_is, *duration));
        }
        Demand::Classes { law, loads, duration } => {
            let law = slug(&format!("{law:?}"));
            let loads: Vec<String> = loads.iter().map(f64::to_string).collect();
            let _ = write!(name, "_{law}_{}_{duration}s", loads.join("-"));
        }
        Demand::Closed { users, duration } => {
            let _ = write!(name, "_{users}users_{duration}s");
        }
        Demand::Application { service, load, warm_up, window, after } => {
            let ms = service * 1e3;
            let _ = write!(name, "_application{ms}ms_load{load}_{warm_up}s-{window}s-{after}s");
        }
        Demand::Files(files) => files_on_disk(&mut name, files),
    }
    // The loopback interface is the same for all.
    if !matches!(cell.demand, Demand::Application { .. } | Demand::Files(_)) {
        network(&mut name, &cell.network);
    }
    users(&mut name, &cell.users);
    let _ = write!(name, "_s{}_{:08x}", cell.seed, checksum(&format!("{cell:?}")));
    name
}

/// Sizes in MB; the phases are told apart by the checksum.
fn files_on_disk(name: &mut String, files: &Files) {
    let Files { set, memory, disk, phases, seconds, .. } = files;
    let (set, memory) = (set >> 20, memory >> 20);
    let _ = write!(name, "_files{set}-in{memory}MB_seek{}ms", disk.seek_ms);
    let _ = write!(name, "_{}x{seconds}s", phases.len());
}

fn network(name: &mut String, network: &Network) {
    let _ = write!(name, "_q{}", network.queue);
    if network.router {
        name.push_str("_router");
    }
    if network.round_trip_ms > 0.0 {
        let _ = write!(name, "_rtt{}", network.round_trip_ms);
    }
    if !network.class_round_trips_ms.is_empty() {
        let each: Vec<String> = network.class_round_trips_ms.iter().map(f64::to_string).collect();
        let _ = write!(name, "_rtt{}", each.join("-"));
    }
    if network.loss > 0.0 {
        let _ = write!(name, "_loss{}", network.loss);
    }
    if network.mtu != Network::default().mtu {
        let _ = write!(name, "_mtu{}", network.mtu);
    }
    if let Some(rto) = network.initial_rto_ms {
        let _ = write!(name, "_rto{rto}");
    }
}

fn users(name: &mut String, users: &Users) {
    if users.requests_per_connection > 1 {
        let _ = write!(name, "_{}rpc", users.requests_per_connection);
    }
    if users.tls {
        name.push_str("_tls");
    }
    if let Some(after) = users.abort_after {
        let _ = write!(name, "_abort{after}x{}", users.retries);
    }
}

fn periods_of(periods: &[(f64, f64)], load_is: LoadIs, duration: f64) -> String {
    let each: Vec<String> = periods.iter().map(|(s, load)| format!("{s}s{load}")).collect();
    let of = if load_is == LoadIs::File { "-file" } else { "" };
    format!("{}{of}_{duration}s", each.join("-"))
}

/// Letters, digits, points and dashes only.
fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let all: String = text.chars().map(plain).collect();
    all.to_ascii_lowercase()
        .split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// FNV-1a of 32 bits.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
