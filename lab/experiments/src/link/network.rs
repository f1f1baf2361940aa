//! The network of a cell: a namespace for the server, one for the users, with a router one between
//! them, joined by veth pairs or the emulated link; the bottleneck is an HTB class with a packet
//! queue, or weir's bands. All of it is removed when the value is dropped.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use weir_peers::tool::{output, run};
use weir_peers::{Error, Result, interrupt, weir};
use weir_wan::{Direction, End, Loss, Wan};

use super::users;
use crate::cell;
use weir_peers::namespace::{Namespace, set_congestion, unique, within};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// Bytes of an Ethernet header. A TUN device has none, so HTB is told to add them there.
const ETHERNET: u64 = 14;
/// The device whose packets wait for the rate.
pub(crate) const BOTTLENECK: &str = "narrow";

/// Namespaces and links that exist as long as this value.
pub(crate) struct Network {
    // The link goes before the namespaces, in the order of the fields.
    wan: Option<Wan>,
    pub(crate) server: Namespace,
    pub(crate) client: Namespace,
    router: Option<Namespace>,
    /// Where the server listens.
    pub(crate) address: SocketAddrV4,
    /// The users' addresses, by class.
    pub(crate) users: Vec<Vec<Ipv4Addr>>,
}

/// What holds the packets that wait for the bottleneck's rate.
pub(crate) enum Bottleneck<'a> {
    /// One queue, of as many packets as the cell says.
    OneQueue,
    /// The bands of `weir uplink install`, each a queue of as many packets as the cell says.
    Bands {
        /// The program.
        weir: &'a Path,
        /// Where it keeps what was there before.
        state: &'a Path,
    },
}

/// One side of a link that is to be made.
struct Side<'a> {
    namespace: &'a Namespace,
    device: &'a str,
    address: Ipv4Addr,
}

impl Network {
    /// Make the namespaces, the links and the bottleneck.
    pub(crate) fn make(
        wanted: &cell::Network,
        seed: u64,
        bottleneck: &Bottleneck<'_>,
    ) -> Result<Network> {
        check(wanted, bottleneck)?;
        // Two first calls of `ip netns add` at once mount over each other.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        interrupt::check()?;
        let prefix = unique();
        let namespace = |role: &str| {
            let namespace = Namespace::make(format!("{prefix}-{role}"))?;
            within(namespace.name(), || kernel_settings(wanted))?;
            Ok::<_, Error>(namespace)
        };
        let (server, client) = (namespace("s")?, namespace("c")?);
        let router = wanted.router.then(|| namespace("r")).transpose()?;
        let at = |a, b| Ipv4Addr::new(10, 77, a, b);
        let side = |namespace, device, address| Side { namespace, device, address };
        if let Some(router) = &router {
            veth(&side(&server, "wide", SERVER), &side(router, "wide", at(0, 254)), wanted.mtu)?;
            within(router.name(), || set("net/ipv4/ip_forward", "1"))?;
        }
        let (near, far) = match &router {
            Some(router) => (side(router, BOTTLENECK, at(1, 254)), at(1, 2)),
            None => (side(&server, BOTTLENECK, SERVER), at(0, 2)),
        };
        let far = side(&client, "client", far);
        let is_far = wanted.round_trip_ms > 0.0 || !wanted.class_round_trips_ms.is_empty();
        let wan = match is_far || wanted.loss > 0.0 {
            true => Some(emulated(&near, &far, wanted, seed)?),
            false => veth(&near, &far, wanted.mtu).map(|()| None)?,
        };
        if router.is_some() {
            run(&format!("ip -n {server} route add default via {}", at(0, 254)))?;
            run(&format!("ip -n {client} route add default via {}", at(1, 254)))?;
        }
        users::route_to(near.namespace, far.address, &client)?;
        if let Some(algorithm) = &wanted.congestion {
            set_congestion(&server, algorithm)?;
            set_congestion(&client, algorithm)?;
        }
        match bottleneck {
            Bottleneck::OneQueue => shape(&near, wanted, wan.is_some())?,
            Bottleneck::Bands { weir, state } => {
                install_bands(&near, wanted.rate, wan.is_some(), weir, state)?;
                limit_bands(&near, wanted.queue)?;
            }
        }
        let address = SocketAddrV4::new(SERVER, 8080);
        let users = users::addresses(wanted);
        Ok(Network { wan, server, client, router, address, users })
    }

    /// The namespace of the bottleneck.
    pub(crate) fn bottleneck(&self) -> &Namespace {
        self.router.as_ref().unwrap_or(&self.server)
    }

    /// Bytes on the wire for each packet beside those that the bottleneck's device counts.
    pub(crate) fn uncounted(&self) -> u64 {
        if self.wan.is_some() { ETHERNET } else { 0 }
    }

    /// What the emulated link did, if there is one.
    pub(crate) fn wan(&self) -> Option<weir_wan::Statistics> {
        self.wan.as_ref().map(Wan::stats)
    }
}

/// Refuse what cannot be built.
fn check(wanted: &cell::Network, bottleneck: &Bottleneck<'_>) -> Result<()> {
    let wrong = |what: String| Err(Error(format!("the cell's network: {what}")));
    let cell::Network { rate, queue, mtu, backlog, .. } = *wanted;
    if rate < 8000 || queue == 0 || backlog == 0 {
        return wrong(format!(
            "a rate of {rate} bit/s, a queue of {queue} packets and a backlog of {backlog}: give \
             at least 8000 bit/s, 1 packet and 1 connection"
        ));
    }
    if wanted.router && matches!(bottleneck, Bottleneck::Bands { .. }) {
        return wrong(
            "the bands must be where the server is, since SO_PRIORITY does not go through a \
             router; give weir-kernel a cell without a router"
                .into(),
        );
    }
    if !(296..=9000).contains(&mtu) {
        return wrong(format!("packets of {mtu} bytes; give 296 to 9000"));
    }
    let classes = &wanted.class_round_trips_ms;
    let impossible = |ms: &&f64| !(**ms >= 0.0 && **ms <= 60_000.0);
    if let Some(ms) = [wanted.round_trip_ms].iter().chain(classes).find(impossible) {
        return wrong(format!("a round trip of {ms} ms; give 0 to 60000"));
    }
    if classes.len() > 100 {
        return wrong(format!("{} classes of clients; give at most 100", classes.len()));
    }
    if !(0.0..1.0).contains(&wanted.loss) {
        return wrong(format!("a loss of {}; give a share from 0 to less than 1", wanted.loss));
    }
    Ok(())
}

/// A veth pair.
fn veth(a: &Side<'_>, b: &Side<'_>, mtu: u32) -> Result<()> {
    run(&format!(
        "ip link add name {} netns {} mtu {mtu} type veth peer name {} netns {} mtu {mtu}",
        a.device, a.namespace, b.device, b.namespace
    ))?;
    for Side { namespace, device, address } in [a, b] {
        run(&format!("ip -n {namespace} addr add {address}/24 dev {device}"))?;
        // One packet is one frame; turning GSO off with ethtool is not enough.
        run(&format!("ip -n {namespace} link set {device} gso_max_segs 1 up"))?;
    }
    Ok(())
}

/// The emulated link: delay and loss only, the rate is HTB's.
fn emulated(near: &Side<'_>, far: &Side<'_>, wanted: &cell::Network, seed: u64) -> Result<Wan> {
    let end = |side: &Side<'_>| End {
        namespace: side.namespace.name().to_owned(),
        device: side.device.to_owned(),
        addresses: vec![format!("{}/24", side.address)],
        mtu: wanted.mtu,
    };
    let loss = if wanted.loss > 0.0 { Loss::Random(wanted.loss) } else { Loss::None };
    let direction = Direction { loss, ..Direction::default() };
    let options = weir_wan::Options {
        down: direction.clone(),
        up: direction,
        classes: users::distances(wanted),
        seed,
    };
    Wan::start(&end(near), &end(far), &options).map_err(|e| Error(e.to_string()))
}

/// The rate and the queue of the bottleneck. HTB counts whole frames (1514 bytes for a full one).
/// Its burst is what it may make up for after it was woken late: two frames, or half a millisecond
/// of a faster link.
fn shape(near: &Side<'_>, wanted: &cell::Network, wan: bool) -> Result<()> {
    let Side { namespace, device, .. } = near;
    let cell::Network { rate, queue, mtu, .. } = *wanted;
    let frame = u64::from(mtu) + ETHERNET;
    let burst = (rate / 8 / 2000).max(frame + 86);
    let overhead = if wan { format!("overhead {ETHERNET}") } else { String::new() };
    run(&format!("tc -n {namespace} qdisc add dev {device} root handle 1: htb default 1"))?;
    run(&format!(
        "tc -n {namespace} class add dev {device} parent 1: classid 1:1 htb rate {rate}bit \
         ceil {rate}bit burst {burst} cburst {burst} quantum {frame} {overhead}"
    ))?;
    run(&format!(
        "tc -n {namespace} qdisc add dev {device} parent 1:1 handle 10: pfifo limit {queue}"
    ))?;
    Ok(())
}

/// weir's bands at the bottleneck, as an operator makes them. They count whole frames, too.
fn install_bands(near: &Side<'_>, rate: u64, wan: bool, weir: &Path, state: &Path) -> Result<()> {
    let program = weir.to_str().ok_or_else(|| Error(format!("{}: no UTF-8", weir.display())))?;
    let rate = weir::rate(rate);
    let overhead = if wan { ETHERNET } else { 0 }.to_string();
    let state = state.to_string_lossy();
    let words = [
        "uplink",
        "install",
        near.device,
        "--rate",
        &rate,
        "--overhead",
        &overhead,
        "--state",
        &state,
    ];
    within(near.namespace.name(), || output(program, &words).map(|_| ()))
}

/// Each band holds as many packets as the cell says, as the paper's bands did (Schroeder 2003, section
/// 5.1: "subdividing the transmit queue into separate shorter queues").
fn limit_bands(near: &Side<'_>, packets: u32) -> Result<()> {
    let Side { namespace, device, .. } = near;
    let shown = output("tc", &["-n", namespace.name(), "-j", "qdisc", "show", "dev", device])?;
    let queues: Vec<Queue> = serde_json::from_str(&shown)
        .map_err(|error| Error(format!("what tc says of {device} cannot be read: {error}")))?;
    for Queue { handle, parent, .. } in queues.iter().filter(|queue| queue.kind == "pfifo") {
        run(&format!(
            "tc -n {namespace} qdisc change dev {device} parent {parent} handle {handle} pfifo \
             limit {packets}"
        ))?;
    }
    Ok(())
}

/// A queue as `tc -j qdisc show` gives it.
#[derive(serde::Deserialize)]
struct Queue {
    kind: String,
    handle: String,
    #[serde(default)]
    parent: String,
}

fn kernel_settings(wanted: &cell::Network) -> Result<()> {
    set("net/ipv4/tcp_no_metrics_save", "1")?;
    // Neighbour discovery and router solicitations are not part of the trace.
    set("net/ipv6/conf/all/disable_ipv6", "1")?;
    set("net/ipv6/conf/default/disable_ipv6", "1")?;
    set("net/core/somaxconn", &wanted.backlog.to_string())?;
    set("net/ipv4/tcp_max_syn_backlog", &wanted.backlog.to_string())?;
    set("net/ipv4/tcp_syncookies", if wanted.syn_cookies { "1" } else { "0" })?;
    set("net/ipv4/ip_local_port_range", "1024 64999")?;
    Ok(())
}

fn set(key: &str, value: &str) -> Result<()> {
    fs::write(Path::new("/proc/sys").join(key), value)
        .map_err(|e| Error(format!("cannot set {key} to {value}: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_that_cannot_be_are_refused_before_anything_is_made() {
        let sane = cell::Network::default();
        assert!(check(&sane, &Bottleneck::OneQueue).is_ok());
        let nowhere = Path::new("/nowhere");
        let bands = Bottleneck::Bands { weir: nowhere, state: nowhere };
        assert!(check(&sane, &bands).is_ok());
        let routed = cell::Network { router: true, ..sane.clone() };
        let error = check(&routed, &bands).expect_err("it cannot be built").to_string();
        assert!(error.contains("router"), "{error}");
        let wrong = [
            cell::Network { rate: 10, ..sane.clone() },
            cell::Network { queue: 0, ..sane.clone() },
            cell::Network { mtu: 20, ..sane.clone() },
            cell::Network { loss: 1.0, ..sane.clone() },
            cell::Network { round_trip_ms: f64::NAN, ..sane.clone() },
            cell::Network { class_round_trips_ms: vec![0.0, -1.0], ..sane.clone() },
        ];
        for network in wrong {
            let error =
                check(&network, &Bottleneck::OneQueue).expect_err("it cannot be built").to_string();
            assert!(error.contains("give"), "{error}");
        }
    }
}
