//! What the kernel counts, asked over netlink: the bottleneck's queue and the server's connections
//! by state; and its TCP counters. The sampler asks once a second, the run of a cell at its end.

use std::fs::File;
use std::io::{self, Read, Seek};

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{
    AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, TCP_LISTEN, TCP_SYN_RECV,
};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_sys::protocols::{NETLINK_ROUTE, NETLINK_SOCK_DIAG};
use netlink_sys::{Socket, SocketAddr};
use weir_peers::{Error, Result};

use weir_peers::namespace::within;

/// What the queue of a device has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    /// Bytes of the packets that left it, as the device counts them.
    pub(crate) bytes: u64,
    /// Packets that left it. Wraps around.
    pub(crate) packets: u32,
    /// Packets dropped.
    pub(crate) drops: u64,
    /// Packets that wait.
    pub(crate) length: u32,
}

/// The TCP connections of a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connections {
    pub(crate) established: u32,
    pub(crate) syn_received: u32,
    pub(crate) closing: u32,
    /// Connections that wait to be accepted.
    pub(crate) listen_queue: u32,
}

/// A netlink socket. It belongs to the namespace it was made in, whoever uses it.
pub(crate) struct Counters {
    socket: Socket,
    buffer: Vec<u8>,
}

impl Counters {
    /// A socket that tells of the queues in a namespace.
    pub(crate) fn of_queues(namespace: &str) -> Result<Counters> {
        within(namespace, || open(NETLINK_ROUTE))
    }

    /// A socket that tells of the connections in a namespace.
    pub(crate) fn of_connections(namespace: &str) -> Result<Counters> {
        within(namespace, || open(NETLINK_SOCK_DIAG))
    }

    /// The root queue of a device, HTB's, which counts the packets of all queues below it as its own:
    /// those of its one leaf, or of weir's bands.
    pub(crate) fn queue(&mut self, device: i32) -> Result<Queue> {
        let mut found = None;
        let question = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::with_index(device));
        self.dump(question, |answer| {
            let RouteNetlinkMessage::NewQueueDiscipline(message) = answer else { return };
            if message.header.index == device && message.header.parent == TcHandle::ROOT {
                found = message.attributes.iter().find_map(|attribute| match attribute {
                    TcAttribute::Stats(stats) => Some(Queue {
                        bytes: stats.bytes,
                        packets: stats.packets,
                        drops: stats.drops.into(),
                        length: stats.qlen,
                    }),
                    _ => None,
                });
            }
        })?;
        found.ok_or_else(|| "the kernel tells nothing of the bottleneck's queue".into())
    }

    /// Connections by state; those in TIME-WAIT are nobody's.
    pub(crate) fn connections(&mut self) -> Result<Connections> {
        let mut found = Connections::default();
        let question = SockDiagMessage::InetRequest(InetRequest {
            family: AF_INET,
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::empty(),
            states: StateFlags::all() - StateFlags::TIME_WAIT - StateFlags::CLOSE,
            socket_id: SocketId::new_v4(),
        });
        self.dump(question, |answer| {
            let SockDiagMessage::InetResponse(response) = answer else { return };
            // Those between the server's own processes are not on the link.
            if response.header.socket_id.source_address.is_loopback() {
                return;
            }
            match response.header.state {
                TCP_ESTABLISHED => found.established += 1,
                TCP_SYN_RECV => found.syn_received += 1,
                TCP_LISTEN => found.listen_queue += response.header.recv_queue,
                _ => found.closing += 1,
            }
        })?;
        Ok(found)
    }

    /// Ask, and hand each answer to `take`.
    fn dump<M>(&mut self, question: M, mut take: impl FnMut(M)) -> Result<()>
    where
        M: NetlinkSerializable + NetlinkDeserializable + Into<NetlinkPayload<M>>,
    {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        let mut packet = NetlinkMessage::new(header, question.into());
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map_err(|e| failed(&e))?;
        loop {
            let count = self.socket.recv(&mut &mut self.buffer[..], 0).map_err(|e| failed(&e))?;
            let mut rest = &self.buffer[..count];
            while !rest.is_empty() {
                let answer = NetlinkMessage::<M>::deserialize(rest);
                let answer = answer.map_err(|e| Error(format!("netlink: {e}")))?;
                // Messages begin at multiples of 4.
                let length = (answer.header.length as usize).next_multiple_of(4);
                rest = rest.get(length.max(16)..).unwrap_or_default();
                match answer.payload {
                    NetlinkPayload::InnerMessage(inner) => take(inner),
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) => return Err(failed(&error.to_io())),
                    _ => {}
                }
            }
        }
    }
}

fn open(protocol: isize) -> Result<Counters> {
    let socket = Socket::new(protocol).map_err(|e| failed(&e))?;
    socket.connect(&SocketAddr::new(0, 0)).map_err(|e| failed(&e))?;
    Ok(Counters { socket, buffer: vec![0; 65_536] })
}

fn failed(error: &io::Error) -> Error {
    Error(format!("cannot ask the kernel for its counters over netlink: {error}"))
}

/// The number of a device in a namespace.
pub(crate) fn device(namespace: &str, name: &str) -> Result<i32> {
    within(namespace, || {
        let failed = |e: rustix::io::Errno| Error(format!("no device {name}: {e}"));
        let socket = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::DGRAM,
            None,
        );
        let index = rustix::net::netdevice::name_to_index(socket.map_err(failed)?, name);
        i32::try_from(index.map_err(failed)?).map_err(|e| Error(e.to_string()))
    })
}

/// The kernel's TCP counters of a namespace that are not zero, one a line: resets, aborts and
/// retransmissions explain odd outcomes.
pub(crate) fn tcp_counters(namespace: &str) -> Result<String> {
    within(namespace, || {
        let mut text = String::new();
        for table in ["snmp", "netstat"] {
            text.push_str(&named(&read_table(table)?));
        }
        Ok(text)
    })
}

/// Connections that a namespace has refused for want of room in the queue of those that wait to be
/// accepted, and SYNs dropped with them. The file stays open: the generators of all cells share this
/// process's descriptors and may have taken the last.
pub(crate) struct ListenDrops(File);

impl ListenDrops {
    /// Of a namespace.
    pub(crate) fn of(namespace: &str) -> Result<ListenDrops> {
        let path = table_path("netstat");
        let open = || File::open(&path).map_err(|e| Error(format!("cannot open {path}: {e}")));
        within(namespace, open).map(ListenDrops)
    }

    /// So far.
    pub(crate) fn count(&mut self) -> Result<u64> {
        let counters = named(&self.table()?);
        let found = counters.lines().find_map(|line| line.strip_prefix("ListenDrops "));
        Ok(found.and_then(|number| number.parse().ok()).unwrap_or(0))
    }

    /// The file as it is: from its beginning the kernel writes it anew.
    fn table(&mut self) -> Result<String> {
        let mut text = String::new();
        let read = self.0.rewind().and_then(|()| self.0.read_to_string(&mut text));
        read.map_err(|e| Error(format!("cannot read {} again: {e}", table_path("netstat"))))?;
        Ok(text)
    }
}

fn table_path(table: &str) -> String {
    format!("/proc/thread-self/net/{table}")
}

fn read_table(table: &str) -> Result<String> {
    let path = table_path(table);
    std::fs::read_to_string(&path).map_err(|e| Error(format!("cannot read {path}: {e}")))
}

/// The kernel's pairs of lines, names and numbers, as one line for each number.
fn named(table: &str) -> String {
    let lines: Vec<&str> = table.lines().collect();
    let pairs = lines.chunks_exact(2).filter(|pair| pair[0].starts_with("Tcp"));
    let counters = pairs.flat_map(|pair| pair[0].split(' ').zip(pair[1].split(' ')).skip(1));
    counters
        .filter(|(_, number)| *number != "0")
        .map(|(name, number)| format!("{name} {number}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_open_file_tells_of_drops_again_and_again() {
        let mut drops = ListenDrops(File::open(table_path("netstat")).expect("the kernel's table"));
        for _ in 0..3 {
            assert!(drops.table().expect("readable").contains("ListenDrops"));
        }
    }

    #[test]
    fn counters_are_named_and_zeros_left_out() {
        let text = "Ip: A\nIp: 3\nTcp: OutSegs OutRsts InErrs\nTcp: 7 0 1\n";
        assert_eq!(named(text), "OutSegs 7\nInErrs 1\n");
    }
}
