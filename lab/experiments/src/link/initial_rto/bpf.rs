//! The system call `bpf`, as far as one small program of the kind `sock_ops` needs it: load, attach
//! to a control group. `initial_rto` is what it is for.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Numbers of the kernel's include/uapi/linux/bpf.h.
const PROG_LOAD: libc::c_int = 5;
const PROG_ATTACH: libc::c_int = 8;
const PROG_TYPE_SOCK_OPS: u32 = 13;
const CGROUP_SOCK_OPS: u32 = 3;

/// One instruction: operation, registers (source above, destination below), offset, constant.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) operation: u8,
    pub(super) registers: u8,
    pub(super) offset: i16,
    pub(super) constant: i32,
}

/// The beginning of `union bpf_attr` for PROG_LOAD.
#[repr(C)]
#[derive(Default)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    expected_attach: u32,
}

/// The beginning of `union bpf_attr` for PROG_ATTACH.
#[repr(C)]
struct Attach {
    target: u32,
    program: u32,
    kind: u32,
    flags: u32,
}

/// Hands a program to the kernel's verifier.
///
/// # Errors
///
/// The verifier's or the kernel's refusal.
pub(super) fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    let licence = c"GPL";
    let count = u32::try_from(program.len()).map_err(io::Error::other)?;
    let attributes = Load {
        kind: PROG_TYPE_SOCK_OPS,
        count,
        instructions: program.as_ptr() as u64,
        licence: licence.as_ptr() as u64,
        expected_attach: CGROUP_SOCK_OPS,
        ..Load::default()
    };
    let descriptor = call(PROG_LOAD, &attributes)?;
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Runs a program for all sockets that processes of a control group make. It ends with the group.
///
/// # Errors
///
/// The kernel's refusal.
pub(super) fn attach(program: &OwnedFd, group: BorrowedFd<'_>) -> io::Result<()> {
    let descriptor = |fd: libc::c_int| u32::try_from(fd).map_err(io::Error::other);
    let attributes = Attach {
        target: descriptor(group.as_raw_fd())?,
        program: descriptor(program.as_raw_fd())?,
        kind: CGROUP_SOCK_OPS,
        flags: 0,
    };
    call(PROG_ATTACH, &attributes).map(|_| ())
}

fn call<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: `attributes` is a whole, initialised structure of the length that is given; the
    // kernel reads it and what it points to (the program and its licence, which outlive the call)
    // and writes to none of it. There is no safe wrapper for bpf(2) without its own loader.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>())
    };
    match result {
        -1 => Err(io::Error::last_os_error()),
        descriptor => libc::c_int::try_from(descriptor).map_err(io::Error::other),
    }
}
