//! Asks the kernel, through `tc`, `ip` and `nft`, what a device has. Used by all commands of `weir uplink`.

use serde::Deserialize;

use super::device::Device;
use super::nft;
use super::queues::{self, Queue, Root};
use super::tool::{self, Trouble};

/// Bytes of a header that the kernel counts with the packets of an Ethernet device.
const ETHERNET_HEADER: u32 = 14;

/// The queues of a device, or of all devices, with their counters. Needs no privilege.
pub(super) fn queues(device: Option<&Device>) -> Result<Vec<Queue>, Trouble> {
    let all = ["-j", "-s", "qdisc", "show"];
    let text = match device {
        Some(device) => tool::output("tc", &[&all[..], &["dev", device.as_ref()]].concat())?,
        None => tool::output("tc", &all)?,
    };
    queues::parse(&text).map_err(|e| unreadable("tc -j -s qdisc show", &e))
}

/// What is at the root of a device. Needs no privilege.
pub(super) fn root(device: &Device) -> Result<Root, Trouble> {
    Ok(queues::root(&queues(Some(device))?, device.as_ref()))
}

/// The classes of a device, as `tc` prints them. Needs no privilege.
pub(super) fn classes(device: &Device) -> Result<String, Trouble> {
    tool::output("tc", &["class", "show", "dev", device.as_ref()])
}

/// Bytes of the largest packet of a device as the kernel counts it. Needs no privilege.
pub(super) fn frame(device: &Device) -> Result<u32, Trouble> {
    #[derive(Deserialize)]
    struct Link {
        mtu: u32,
        #[serde(default)]
        link_type: String,
    }
    let text = tool::output("ip", &["-j", "link", "show", "dev", device.as_ref()])?;
    let links: Vec<Link> =
        serde_json::from_str(&text).map_err(|e| unreadable("ip -j link show", &e))?;
    let link = links.first().ok_or_else(|| unreadable("ip -j link show", &"no device"))?;
    let header = if link.link_type == "none" { 0 } else { ETHERNET_HEADER };
    Ok(link.mtu.saturating_add(header))
}

/// Whether the rules of a device are there; `None` without the privilege to ask.
pub(super) fn has_rules(device: &Device) -> Result<Option<bool>, Trouble> {
    match tool::output("nft", &["list", "table", "inet", &nft::table(device)]) {
        Ok(_) => Ok(Some(true)),
        Err(Trouble::Denied(_)) => Ok(None),
        Err(Trouble::Failed(..) | Trouble::NoDevice(_)) => Ok(Some(false)),
        Err(trouble) => Err(trouble),
    }
}

fn unreadable(command: &str, error: &dyn std::fmt::Display) -> Trouble {
    let complaint = format!("weir cannot read what it wrote: {error}; is iproute2 5.0 or newer?");
    Trouble::Failed(command.to_owned(), complaint)
}
