//! nginx in one process, with what a test writes into the block `http` of its configuration.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{self, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

use super::{Running, eventually, tool};

/// Starts nginx, which may keep files in `directory`, and waits until it `accepts`. Its errors are in
/// `error.log` there.
pub fn nginx(directory: &Path, http: &str, accepts: impl Fn() -> bool) -> Running {
    let here = directory.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {here}/{kind};\n"))
        .concat();
    let configuration = format!(
        "daemon off;\nmaster_process off;\nuser root;\npid {here}/pid;\n\
         error_log {here}/error.log;\nevents {{}}\nhttp {{\n{temporary}{http}}}\n"
    );
    let (file, log) = (directory.join("nginx.conf"), directory.join("error.log"));
    fs::write(&file, configuration).expect("the configuration is written");
    let mut command = tool("nginx", "nginx-light");
    command.arg("-e").arg(&log).arg("-p").arg(directory).arg("-c").arg(file);
    let mut nginx = Running(command.stdin(Stdio::null()).spawn().expect("nginx starts"));
    eventually("nginx listens", || {
        let ended = nginx.0.try_wait().expect("nginx can be waited for");
        let said = || fs::read_to_string(&log).unwrap_or_default();
        assert!(ended.is_none(), "nginx ended at once: {}", said());
        accepts()
    });
    nginx
}

/// An address of loopback that no other test and no other run of them has: any port of it is free that no
/// kernel gives to another server by itself, such as 8080.
pub fn own_host() -> Ipv4Addr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = process::id().to_be_bytes();
    Ipv4Addr::new(127, 64 | high, low, NEXT.fetch_add(1, Ordering::Relaxed))
}
