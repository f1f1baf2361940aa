//! What a watch that was killed leaves in tracefs. This test needs root outside of containers.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use weir_blame::{Options, watch};

#[test]
fn a_watch_that_samples_removes_the_buffers_of_those_that_were_killed() {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).expect("this test needs root");
    fsconfig_create(&context).expect("there is tracefs");
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty());
    let mount = mount.expect("tracefs can be mounted");
    let instances = PathBuf::from(format!("/proc/self/fd/{}/instances", mount.as_raw_fd()));
    // No process has so large an id.
    let left = instances.join("weir-blame-4194305-0");
    let _ = fs::remove_dir(&left);
    fs::create_dir(&left).expect("a new trace buffer");
    let mut sleeper = Command::new("sleep").arg("1000").spawn().expect("there is sleep");
    let options = Options { duration: Duration::from_secs(60), sample: true };
    let found = watch(&[sleeper.id()], &options, &|| true);
    sleeper.kill().expect("it is ours");
    sleeper.wait().expect("it is ours");
    found.expect("a watch");
    assert!(!left.exists());
}
