//! Two network namespaces joined by a veth pair, for what happens to packets that leave a device. They
//! are removed when the value is dropped. Needs root.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::{end_of, output_of, tool, weir};

/// The two ends. That of the near one is called [`Link::DEVICE`].
#[derive(Debug)]
pub struct Link {
    near: String,
    far: String,
}

impl Link {
    /// The device of the near end.
    pub const DEVICE: &str = "near0";
    pub const NEAR: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
    pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);

    pub fn make() -> Link {
        static LINKS: AtomicU32 = AtomicU32::new(0);
        let prefix =
            format!("weirtest{}-{}", std::process::id(), LINKS.fetch_add(1, Ordering::Relaxed));
        let link = Link { near: format!("{prefix}-n"), far: format!("{prefix}-f") };
        let Link { near, far } = &link;
        let device = Link::DEVICE;
        for namespace in [near, far] {
            assert!(ip(&format!("netns add {namespace}")), "this test needs root");
            // Its neighbour discovery would be counted with the packets of a test.
            within(namespace, || {
                for which in ["all", "default"] {
                    let setting = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
                    std::fs::write(setting, "1").expect("it can be set");
                }
            });
            assert!(ip(&format!("-n {namespace} link set lo up")));
        }
        let pair = format!("type veth peer name far0 netns {far}");
        assert!(ip(&format!("link add name {device} netns {near} {pair}")));
        for (namespace, device, address) in [(near, device, Link::NEAR), (far, "far0", Link::FAR)] {
            assert!(ip(&format!("-n {namespace} addr add {address}/24 dev {device}")));
            assert!(ip(&format!("-n {namespace} link set {device} gso_max_segs 1 up")));
        }
        link
    }

    /// Runs `work` on a thread of its own at the near end; sockets that it makes stay there.
    pub fn at_near<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        within(&self.near, work)
    }

    /// The same at the far end.
    pub fn at_far<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        within(&self.far, work)
    }

    /// A command at the near end, of these words.
    pub fn near_command(&self, words: &[&str]) -> Command {
        let mut command = tool("ip", "iproute2");
        command.args(["netns", "exec", &self.near]).args(words);
        command
    }

    /// weir at the near end, with these arguments.
    pub fn near_weir(&self, arguments: &[&str]) -> Command {
        let mut command = self.near_command(&[]);
        command.arg(weir().get_program()).args(arguments);
        command
    }

    /// What `tc` writes at the near end; it must succeed.
    pub fn tc(&self, line: &str) -> String {
        let mut command = tool("tc", "iproute2");
        command.args(["-n", &self.near]).args(line.split_whitespace());
        output_of(command)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for namespace in [&self.near, &self.far] {
            let _ = ip(&format!("netns del {namespace}"));
        }
    }
}

fn ip(line: &str) -> bool {
    let mut command = tool("ip", "iproute2");
    command.args(line.split_whitespace());
    end_of(command).status.success()
}

fn within<T: Send>(namespace: &str, work: impl FnOnce() -> T + Send) -> T {
    let enter = || {
        let file = File::open(format!("/run/netns/{namespace}")).expect("it was made");
        let kind = Some(LinkNameSpaceType::Network);
        move_into_link_name_space(file.as_fd(), kind).expect("this test needs root");
        work()
    };
    std::thread::scope(|scope| scope.spawn(enter).join()).expect("the work does not panic")
}
