//! The queues of this host's devices, asked of the kernel over netlink, which needs no privilege. Used
//! by the uplink in kernel mode, to see whether a device has weir's bands.

use std::io;

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::{AddressFamily, SocketType};

/// The queue at a device's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RootQueue {
    pub(crate) device: String,
    /// As `tc` calls it, such as `htb` or `noqueue`.
    pub(crate) kind: String,
    /// The major number of its handle; 0 if the kernel made it.
    pub(crate) handle: u16,
}

/// The queues at the roots of all devices of this network namespace.
///
/// # Errors
///
/// The kernel does not tell.
pub(crate) fn root_queues() -> io::Result<Vec<RootQueue>> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut roots = Vec::new();
    dump(&socket, |message| {
        let kind = message.attributes.iter().find_map(|attribute| match attribute {
            TcAttribute::Kind(kind) => Some(kind.clone()),
            _ => None,
        });
        if message.header.parent == TcHandle::ROOT
            && let (Ok(index), Some(kind)) = (u32::try_from(message.header.index), kind)
        {
            roots.push((index, kind, message.header.handle.major));
        }
    })?;
    let any = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let named = roots.into_iter().filter_map(|(index, kind, handle)| {
        // A device may go meanwhile.
        let device = index_to_name(&any, index).ok()?;
        Some(RootQueue { device, kind, handle })
    });
    Ok(named.collect())
}

/// Whether there is a device of this name.
pub(crate) fn has_device(name: &str) -> bool {
    rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)
        .is_ok_and(|any| name_to_index(any, name).is_ok())
}

/// Hands `take` every queue of every device.
fn dump(socket: &Socket, mut take: impl FnMut(&TcMessage)) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let question = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
    let mut packet = NetlinkMessage::new(header, question.into());
    packet.finalize();
    let mut bytes = vec![0; packet.buffer_len()];
    packet.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut buffer = vec![0; 65_536];
    loop {
        let count = socket.recv(&mut &mut buffer[..], 0)?;
        let mut rest = &buffer[..count];
        while !rest.is_empty() {
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                .map_err(io::Error::other)?;
            // Messages begin at multiples of 4 and have a head of 16 bytes.
            let length = (answer.header.length as usize).next_multiple_of(4);
            rest = rest.get(length.max(16)..).unwrap_or_default();
            match answer.payload {
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(queue)) => {
                    take(&queue);
                }
                NetlinkPayload::Done(_) => return Ok(()),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_of_devices_and_their_queues() {
        assert!(has_device("lo") && !has_device("no-such-device"));
        let roots = root_queues().unwrap();
        assert!(roots.iter().all(|root| has_device(&root.device)), "{roots:?}");
    }
}
