//! The network between clients and servers: the machine's own loopback, or one in network namespaces of
//! its own, with a congestion control of its own. `cpu` makes one; the servers are started in it.

use std::net::Ipv4Addr;

use weir_peers::Result;
use weir_peers::namespace::{self, Namespace};
use weir_peers::tool::run;

/// What connects clients and servers.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Loopback: packets of 64 KB
    Lo,
    /// A pair of virtual Ethernet devices between two namespaces: packets of 1500 bytes
    Veth,
}

/// Where servers listen.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 3, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 3, 2);

/// Namespaces that exist as long as this value; none for the machine's own loopback.
pub(crate) struct Network {
    _client: Option<Namespace>,
    server: Option<Namespace>,
}

impl Network {
    /// The machine's own loopback.
    pub(crate) const HOST: Network = Network { _client: None, server: None };

    /// Make what is wanted, and move this thread, and those that it starts, to where the clients are.
    pub(crate) fn enter(link: Link, congestion: Option<&str>) -> Result<Network> {
        namespace::remove_stale();
        if (link, congestion) == (Link::Lo, None) {
            return Ok(Network::HOST);
        }
        let prefix = namespace::unique();
        let client = Namespace::make(format!("{prefix}-c"))?;
        let server = match link {
            Link::Lo => None,
            Link::Veth => {
                let server = Namespace::make(format!("{prefix}-s"))?;
                run(&format!(
                    "ip link add name server netns {server} type veth peer name client netns {client}"
                ))?;
                for (side, device, address) in
                    [(&server, "server", SERVER), (&client, "client", CLIENT)]
                {
                    run(&format!("ip -n {side} addr add {address}/24 dev {device}"))?;
                    run(&format!("ip -n {side} link set {device} up"))?;
                }
                Some(server)
            }
        };
        if let Some(algorithm) = congestion {
            for side in [Some(&client), server.as_ref()].into_iter().flatten() {
                namespace::set_congestion(side, algorithm)?;
            }
        }
        namespace::enter(client.name())?;
        Ok(Network { _client: Some(client), server })
    }

    /// Where servers listen.
    pub(crate) fn address(&self) -> Ipv4Addr {
        if self.server.is_some() { SERVER } else { Ipv4Addr::LOCALHOST }
    }

    /// What runs a program where the servers are, if that is not where the clients are.
    pub(crate) fn before(&self) -> Option<[String; 2]> {
        let server = self.server.as_ref()?;
        Some(["nsenter".into(), format!("--net=/run/netns/{server}")])
    }
}
