//! Two namespaces of a test's own, removed when the value is dropped, and sockets in them.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use weir_wan::{End, Options, Wan};

/// A pair of namespaces.
pub(crate) struct Namespaces {
    pub(crate) left: String,
    pub(crate) right: String,
}

impl Namespaces {
    /// Make them; their names say whose they are.
    pub(crate) fn make() -> Namespaces {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        assert!(rustix::process::geteuid().is_root(), "this makes namespaces: run it as root");
        let name = |role: &str, number: u32| format!("ww{}-{number}{role}", std::process::id());
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let made = Namespaces { left: name("l", number), right: name("r", number) };
        for namespace in [&made.left, &made.right] {
            run(&format!("ip netns add {namespace}"));
            run(&format!("ip -n {namespace} link set lo up"));
        }
        made
    }

    /// The ends of a link between them: the server is 10.77.0.1, clients are 10.77.0.2 and 10.0.2.1.
    pub(crate) fn ends(&self, mtu: u32) -> (End, End) {
        let end = |namespace: &String, addresses: &[&str]| End {
            namespace: namespace.clone(),
            device: "wan".into(),
            addresses: addresses.iter().map(|&address| address.into()).collect(),
            mtu,
        };
        let right = end(&self.right, &["10.77.0.2/24", "10.0.2.1/24"]);
        (end(&self.left, &["10.77.0.1/24"]), right)
    }

    /// A link between them.
    pub(crate) fn link(&self, mtu: u32, options: &Options) -> Wan {
        let (left, right) = self.ends(mtu);
        Wan::start(&left, &right, options).expect("a link")
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for namespace in [&self.left, &self.right] {
            let _ = Command::new("ip").args(["netns", "del", namespace]).status();
        }
    }
}

/// Do something inside a namespace, such as opening a socket.
pub(crate) fn within<T: Send>(namespace: &str, work: impl FnOnce() -> T + Send) -> T {
    let enter = || {
        let file = File::open(format!("/run/netns/{namespace}")).expect("the namespace");
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("setns");
        work()
    };
    std::thread::scope(|scope| scope.spawn(enter).join()).expect("no panic inside")
}

/// Run a command given as one line; return its output.
pub(crate) fn run(line: &str) -> String {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a command"));
    let output = command.args(words).output().expect("it starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{line}` failed: {complaint}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
