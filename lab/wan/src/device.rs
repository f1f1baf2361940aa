//! The TUN device at one end of the link: created in its namespace, with addresses and routes, and
//! up. [`crate::Wan`] makes two of them.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use ipnet::IpNet;
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::Error;
use crate::namespace::{ip, within};

/// Packets that the kernel keeps for the link to read, and the length that HTB gives its queues.
const TRANSMIT_QUEUE: u32 = 1000;

/// One end of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Name of a namespace under `/run/netns`.
    pub namespace: String,
    /// Name to give to the device there; at most 15 bytes.
    pub device: String,
    /// Its addresses, each with the length of its network's prefix (`10.77.0.1/24`).
    pub addresses: Vec<String>,
    /// Bytes of the largest IP packet, from 68 to 65,535.
    pub mtu: u32,
}

/// A device, which exists as long as this value.
pub(crate) struct Device {
    end: End,
    tun: SyncDevice,
}

impl Device {
    /// Make the device at `end`, with routes to the networks of the `other` end.
    pub(crate) fn make(end: &End, other: &End) -> Result<Device, Error> {
        let addresses = networks(end)?;
        let others = networks(other)?;
        let fits = u16::try_from(end.mtu).ok().filter(|&mtu| mtu >= 68);
        let Some(mtu) = fits else {
            return Err(Error::new(format!(
                "{} has an MTU of {}: give 68 to 65535",
                end.device, end.mtu
            )));
        };
        let ipv6 = addresses.iter().chain(&others).any(|network| network.addr().is_ipv6());
        let tun = within(&end.namespace, || open(end, mtu, ipv6))?;
        let device = Device { end: end.clone(), tun };
        device.configure(&addresses, &others)?;
        Ok(device)
    }

    fn configure(&self, addresses: &[IpNet], others: &[IpNet]) -> Result<(), Error> {
        let End { namespace, device, .. } = &self.end;
        for address in addresses {
            let address = address.to_string();
            // Duplicate addresses are not looked for: nobody but us is on this link.
            let nodad: &[&str] = if address.contains(':') { &["nodad"] } else { &[] };
            ip(namespace, &[&["address", "add", &address, "dev", device], nodad].concat())?;
        }
        // A packet that waits in a queue of this device is one packet, not a segment to be cut.
        ip(namespace, &["link", "set", device, "gso_max_segs", "1", "up"])?;
        for other in others {
            if !addresses.iter().any(|own| own.trunc() == other.trunc()) {
                let other = other.trunc().to_string();
                ip(namespace, &["route", "replace", &other, "dev", device])?;
            }
        }
        Ok(())
    }

    /// Packets sent through this device that the kernel dropped because they were not read in time.
    /// 0 when the device is gone.
    pub(crate) fn overrun(&self) -> u64 {
        let read = || {
            let text = fs::read_to_string("/proc/thread-self/net/dev");
            Ok(text.ok().and_then(|text| transmit_drops(&text, &self.end.device)))
        };
        within(&self.end.namespace, read).ok().flatten().unwrap_or_default()
    }

    /// Where it is, for messages.
    pub(crate) fn place(&self) -> String {
        format!("{} in {}", self.end.device, self.end.namespace)
    }

    /// Bytes of the largest packet.
    pub(crate) fn mtu(&self) -> usize {
        self.end.mtu as usize
    }
}

impl Drop for Device {
    /// The device would vanish with its descriptor, but a process that someone starts at this moment
    /// may have a copy for a while. A device that is gone already is as well.
    fn drop(&mut self) {
        let _ = ip(&self.end.namespace, &["link", "delete", &self.end.device]);
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

fn open(end: &End, mtu: u16, ipv6: bool) -> Result<SyncDevice, Error> {
    let failed = |error: &dyn std::fmt::Display| {
        let End { namespace, device, .. } = end;
        let hint = if Path::new("/dev/net/tun").exists() {
            "is there a device of that name already, or are you not root?"
        } else {
            "there is no /dev/net/tun: run `modprobe tun`"
        };
        Error::new(format!("cannot make the TUN device {device} in {namespace}: {error} ({hint})"))
    };
    if Path::new("/proc/sys/net/ipv4/conf").join(&end.device).exists() {
        return Err(failed(&"it exists"));
    }
    let tun = DeviceBuilder::new()
        .name(&end.device)
        .mtu(mtu)
        .enable(false)
        .with(|linux| {
            linux.tx_queue_len(TRANSMIT_QUEUE).offload(false).packet_information(false);
        })
        .build_sync()
        .map_err(|error| failed(&error))?;
    tun.set_nonblocking(true).map_err(|error| failed(&error))?;
    // Neighbour discovery and the like would be packets that nobody sent.
    if !ipv6 {
        let key = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", end.device);
        if Path::new(&key).exists() {
            fs::write(&key, "1").map_err(|error| failed(&error))?;
        }
    }
    Ok(tun)
}

fn networks(end: &End) -> Result<Vec<IpNet>, Error> {
    let parse = |address: &String| {
        address.parse().map_err(|_| {
            Error::new(format!(
                "the address {address:?} of {} in {} is not like 10.77.0.1/24",
                end.device, end.namespace
            ))
        })
    };
    end.addresses.iter().map(parse).collect()
}

/// The drops of a device as it transmits, from the kernel's `net/dev`.
fn transmit_drops(text: &str, device: &str) -> Option<u64> {
    let figures = text.lines().find_map(|line| {
        let (name, figures) = line.split_once(':')?;
        (name.trim() == device).then_some(figures)
    })?;
    // Eight columns of what was received; then bytes, packets, errors, drops.
    figures.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn drops_are_the_twelfth_figure() {
        let text = "Inter-| Receive | Transmit\n face |bytes packets\n\
                    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n \
                    wan: 1 2 3 4 5 6 7 8 9 10 11 77 13 14 15 16\n";
        assert_eq!(super::transmit_drops(text, "wan"), Some(77));
        assert_eq!(super::transmit_drops(text, "an"), None);
    }
}
