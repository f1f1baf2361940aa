//! The network of a cell: a namespace for the server, one for the client, in
//! scenario `router` one between them, joined by veth pairs; the bottleneck is an
//! HTB class with a packet queue. All of it is removed when the value is dropped.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::Result;
use crate::command::run;
use crate::options::{RunOptions, Scenario};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const NAMESPACES: &str = "/run/netns";

/// Namespaces that exist as long as this value.
pub(crate) struct Network {
    pub(crate) server: String,
    pub(crate) client: String,
    /// Namespace and device of the bottleneck.
    pub(crate) bottleneck: (String, &'static str),
    pub(crate) address: SocketAddrV4,
    all: Vec<String>,
}

impl Network {
    /// Make the namespaces, the links and the bottleneck.
    pub(crate) fn make(options: &RunOptions) -> Result<Network> {
        let name = |role: &str| format!("wo{}-{role}", std::process::id());
        let router = options.scenario == Scenario::Router;
        let mut network = Network {
            server: name("s"),
            client: name("c"),
            bottleneck: (name(if router { "r" } else { "s" }), "narrow"),
            address: SocketAddrV4::new(SERVER, 8080),
            all: Vec::new(),
        };
        let roles: &[&str] = if router { &["s", "c", "r"] } else { &["s", "c"] };
        for role in roles {
            let namespace = name(role);
            run(&format!("ip netns add {namespace}"))?;
            network.all.push(namespace.clone());
            run(&format!("ip -n {namespace} link set lo up"))?;
            let cc = options.cc.clone();
            within(&namespace, move || kernel_settings(cc.as_deref()))?;
        }
        let (server, client) = (&network.server, &network.client);
        if router {
            let middle = name("r");
            join(server, "wide", "10.77.0.1/24", &middle, "wide", "10.77.0.254/24")?;
            join(&middle, "narrow", "10.77.1.254/24", client, "client", "10.77.1.2/24")?;
            run(&format!("ip -n {server} route add default via 10.77.0.254"))?;
            run(&format!("ip -n {client} route add default via 10.77.1.254"))?;
            within(&middle, || set("net/ipv4/ip_forward", "1"))?;
        } else {
            join(server, "narrow", "10.77.0.1/24", client, "client", "10.77.0.2/24")?;
        }
        network.shape(options.trace.rate, options.queue)?;
        Ok(network)
    }

    /// The rate and the queue of the bottleneck. HTB counts whole frames (1514
    /// bytes for a full one). Its burst is what it may make up for after it was
    /// woken late: two frames, or half a millisecond of a faster link.
    fn shape(&self, rate: u64, queue: u32) -> Result<()> {
        let (namespace, device) = &self.bottleneck;
        let burst = (rate / 8 / 2000).max(1600);
        run(&format!("tc -n {namespace} qdisc add dev {device} root handle 1: htb default 1"))?;
        run(&format!(
            "tc -n {namespace} class add dev {device} parent 1: classid 1:1 htb \
             rate {rate}bit ceil {rate}bit burst {burst} cburst {burst} quantum 1514"
        ))?;
        run(&format!(
            "tc -n {namespace} qdisc add dev {device} parent 1:1 handle 10: pfifo limit {queue}"
        ))?;
        Ok(())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in &self.all {
            remove(namespace);
        }
    }
}

/// Remove what earlier runs left that were killed before they could clean up.
pub(crate) fn remove_stale() {
    let Ok(entries) = fs::read_dir(NAMESPACES) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix("wo").and_then(|rest| rest.split_once('-'));
        let Some(pid) = owner.and_then(|(pid, _)| pid.parse::<u32>().ok()) else {
            continue;
        };
        // Our own id, before we have made anything, is an earlier process's.
        if pid == std::process::id() || !Path::new(&format!("/proc/{pid}")).exists() {
            remove(&name);
        }
    }
}

/// Run a closure on a thread of its own inside a namespace. Sockets it opens and
/// processes it starts belong there.
pub(crate) fn within<T: Send>(
    namespace: &str,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let enter = || {
        let path = Path::new(NAMESPACES).join(namespace);
        let failed = |e: &dyn std::fmt::Display| format!("cannot enter {}: {e}", path.display());
        let file = File::open(&path).map_err(|e| failed(&e))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|e| failed(&e))?;
        work()
    };
    std::thread::scope(|scope| scope.spawn(enter).join())
        .unwrap_or_else(|_| Err(format!("the thread in namespace {namespace} panicked")))
}

fn join(a: &str, a_dev: &str, a_net: &str, b: &str, b_dev: &str, b_net: &str) -> Result<()> {
    run(&format!(
        "ip link add name {a_dev} netns {a} mtu 1500 type veth peer name {b_dev} netns {b} mtu 1500"
    ))?;
    for (namespace, device, net) in [(a, a_dev, a_net), (b, b_dev, b_net)] {
        run(&format!("ip -n {namespace} addr add {net} dev {device}"))?;
        // One packet is one frame; turning GSO off with ethtool is not enough.
        run(&format!("ip -n {namespace} link set {device} gso_max_segs 1 up"))?;
    }
    Ok(())
}

fn kernel_settings(cc: Option<&str>) -> Result<()> {
    set("net/ipv4/tcp_no_metrics_save", "1")?;
    // Neighbour discovery and router solicitations are not part of the trace.
    set("net/ipv6/conf/all/disable_ipv6", "1")?;
    set("net/ipv6/conf/default/disable_ipv6", "1")?;
    set("net/core/somaxconn", "4096")?;
    set("net/ipv4/tcp_max_syn_backlog", "8192")?;
    set("net/ipv4/ip_local_port_range", "1024 64999")?;
    if let Some(cc) = cc {
        set("net/ipv4/tcp_congestion_control", cc)?;
    }
    Ok(())
}

fn set(key: &str, value: &str) -> Result<()> {
    fs::write(Path::new("/proc/sys").join(key), value)
        .map_err(|e| format!("cannot set {key} to {value}: {e}"))
}

/// Removing cannot be helped along when it fails, so errors are left aside.
fn remove(namespace: &str) {
    let inside = run(&format!("ip netns pids {namespace}")).unwrap_or_default();
    let pids = inside.split_whitespace().filter_map(|pid| pid.parse().ok());
    for pid in pids.filter_map(Pid::from_raw) {
        if pid != rustix::process::getpid() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    let _ = run(&format!("ip netns del {namespace}"));
}
