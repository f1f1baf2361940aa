//! The file that a call is about, from the caller's memory and descriptors. `watch` asks while the call
//! blocks or has just returned: soon after, both stand for something else.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::calls::{Subject, about};
use crate::event::Call;

/// The longest path that a call takes, with its final zero.
const PATH_MAX: usize = 4096;
/// Strings are read up to the end of such a piece, for what follows may be no memory.
const PIECE: u64 = 256;
/// The working directory in place of a descriptor.
const AT_FDCWD: i32 = -100;

/// The path; `socket`, `pipe` or what else the kernel calls a descriptor; none if it cannot be told.
pub(crate) fn file_of(task: u32, call: &Call) -> Option<String> {
    match about(call.number).subject {
        Subject::Nothing => None,
        Subject::Descriptor(argument) => descriptor(task, *call.arguments.get(argument)?),
        Subject::Path { at, path } => {
            let path = string(task, *call.arguments.get(path)?)?;
            let directory = at.and_then(|at| call.arguments.get(at));
            match (path.starts_with('/'), directory) {
                (true, _) => Some(path),
                (false, Some(directory)) => below(descriptor(task, *directory), &path),
                (false, None) => below(directory_of(task), &path),
            }
        }
    }
}

/// A path that was given relative to a directory. An empty one is the descriptor itself.
fn below(directory: Option<String>, path: &str) -> Option<String> {
    match (directory, path) {
        (directory, "") => directory,
        (Some(directory), path) => Some(format!("{}/{path}", directory.trim_end_matches('/'))),
        (None, path) => Some(path.to_owned()),
    }
}

/// What the kernel calls a descriptor of a task; of sockets and pipes without their numbers.
fn descriptor(task: u32, number: u64) -> Option<String> {
    // The upper half of the register is of no account.
    let number = number as u32 as i32;
    if number == AT_FDCWD {
        return directory_of(task);
    }
    let name = link(&format!("/proc/{task}/fd/{number}"))?;
    match name.split_once(":[") {
        Some((kind, _)) if !name.starts_with('/') => Some(kind.to_owned()),
        _ => Some(name),
    }
}

fn directory_of(task: u32) -> Option<String> {
    link(&format!("/proc/{task}/cwd"))
}

fn link(path: &str) -> Option<String> {
    Some(fs::read_link(path).ok()?.to_string_lossy().into_owned())
}

/// The string at an address of a task.
fn string(task: u32, address: u64) -> Option<String> {
    let memory = File::open(Path::new("/proc").join(task.to_string()).join("mem")).ok()?;
    let mut bytes = Vec::new();
    while bytes.len() < PATH_MAX {
        let from = address.checked_add(bytes.len() as u64)?;
        let mut piece = [0; PIECE as usize];
        let piece = piece.get_mut(..(PIECE - from % PIECE) as usize)?;
        memory.read_exact_at(piece, from).ok()?;
        match piece.iter().position(|byte| *byte == 0) {
            None => bytes.extend_from_slice(piece),
            Some(end) => {
                bytes.extend_from_slice(piece.get(..end)?);
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::calls::number_of;

    fn own(call: &str, arguments: [u64; 3]) -> Option<String> {
        let [a, b, c] = arguments;
        let call = Call { number: number_of(call), arguments: [a, b, c, 0, 0, 0] };
        file_of(std::process::id(), &call)
    }

    #[test]
    fn paths_and_descriptors_of_this_process_have_their_names() {
        let directory = tempfile::tempdir().unwrap();
        let opened = File::open(directory.path()).unwrap();
        let descriptor = opened.as_raw_fd() as u64;
        let name = directory.path().to_str().unwrap();
        let path = |text: &str| CString::new(text).unwrap();
        // Longer than a piece.
        let long = format!("/{}", "a/".repeat(300));
        let (absolute, relative, empty) = (path(&long), path("b/c"), path(""));
        let at = |text: &CString| text.as_ptr() as u64;
        assert_eq!(own("openat", [descriptor, at(&absolute), 0]), Some(long));
        assert_eq!(own("openat", [descriptor, at(&relative), 0]), Some(format!("{name}/b/c")));
        assert_eq!(own("newfstatat", [descriptor, at(&empty), 0]), Some(name.to_owned()));
        assert_eq!(own("read", [descriptor, 0, 0]), Some(name.to_owned()));
        assert_eq!(own("sendfile", [0, descriptor, 0]), Some(name.to_owned()));
        let here = std::env::current_dir().unwrap();
        let found = own("openat", [AT_FDCWD as u32 as u64, at(&relative), 0]);
        assert_eq!(found, Some(here.join("b/c").to_str().unwrap().to_owned()));
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(own("read", [socket.as_raw_fd() as u64, 0, 0]), Some("socket".to_owned()));
    }

    #[test]
    fn what_cannot_be_read_has_no_name() {
        assert_eq!(own("openat", [0, 16, 0]), None);
        assert_eq!(own("openat", [0, u64::MAX - 3, 0]), None);
        assert_eq!(own("read", [1 << 20, 0, 0]), None);
        assert_eq!(own("epoll_pwait", [0, 0, 0]), None);
        assert_eq!(file_of(u32::MAX, &Call { number: number_of("read"), arguments: [0; 6] }), None);
    }
}
