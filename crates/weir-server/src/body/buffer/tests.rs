//! What goes into a buffer comes out of it, whatever it has for room and however both ends take
//! turns, and what it takes stays within its limits and comes back.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use super::*;
use crate::body::space::Space;
use crate::body::temporary::TemporaryFiles;

fn runtime() -> LocalRuntime {
    Builder::new_current_thread().enable_time().build_local(LocalOptions::default()).unwrap()
}

fn space(memory: u64, files: u64) -> (Arc<Space>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let hour = Duration::from_secs(3600);
    let temporary = TemporaryFiles::new(directory.path(), 100, hour).unwrap();
    (Space::new(memory, files, Some(temporary)), directory)
}

fn noise(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let byte = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..count).map(byte).collect()
}

/// How the bytes are given and taken.
#[derive(Clone, Debug)]
struct Plan {
    limits: Limits,
    files: u64,
    whole: usize,
    pieces: Vec<usize>,
    takes: Vec<usize>,
    /// The client reads at offsets, or hyper takes frames.
    at_offsets: bool,
    /// The directory is gone before the first byte.
    fails: bool,
}

fn plan() -> impl Strategy<Value = Plan> {
    (
        (1..200_000_u64, 0..500_000_u64, 0..3_000_000_u64, 0..800_000_usize),
        prop::collection::vec(1..70_000_usize, 1..8),
        prop::collection::vec(1..90_000_usize, 1..8),
        any::<bool>(),
        prop::bool::weighted(0.1),
    )
        .prop_map(|((memory, file, files, whole), pieces, takes, at_offsets, fails)| Plan {
            limits: Limits { memory, file },
            files,
            whole,
            pieces,
            takes,
            at_offsets,
            fails,
        })
}

async fn give(buffer: Rc<Buffer>, whole: Vec<u8>, pieces: Vec<usize>) {
    let mut rest = &whole[..];
    for size in pieces.iter().cycle() {
        if rest.is_empty() || !buffer.wait_for_room().await {
            break;
        }
        let (piece, after) = rest.split_at(rest.len().min(*size));
        match size % 2 {
            0 => buffer.push(Bytes::copy_from_slice(piece)),
            _ => buffer.copy(piece),
        }
        rest = after;
    }
    buffer.end();
}

async fn take(buffer: &Buffer, size: usize, out: &mut Vec<u8>, at_offsets: bool) -> bool {
    if !at_offsets {
        return match poll_fn(|context| buffer.poll_take(context, size)).await {
            Next::Bytes(bytes) => {
                out.extend(&bytes);
                true
            }
            Next::End => false,
            Next::Lost => panic!("it can be read"),
        };
    }
    let next = poll_fn(|context| buffer.poll_more(context, out.len() as u64)).await;
    let mut space = vec![0; size];
    let count = buffer.read(out.len() as u64, &mut space);
    out.extend(&space[..count]);
    assert_eq!(next == Next::End, count == 0);
    next != Next::End
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_in_comes_out(plan in plan()) {
        let (space, directory) = space(1 << 20, plan.files);
        if plan.fails {
            directory.close().unwrap();
        }
        let whole = noise(plan.whole);
        let out = runtime().block_on(async {
            let buffer = Buffer::new(plan.limits, &space.account([10, 0, 0, 1].into()));
            tokio::task::spawn_local(give(buffer.clone(), whole.clone(), plan.pieces));
            let mut out = Vec::new();
            for size in plan.takes.into_iter().cycle() {
                let goes_on = take(&buffer, size, &mut out, plan.at_offsets);
                let goes_on = tokio::time::timeout(Duration::from_secs(60), goes_on).await;
                let goes_on = goes_on.unwrap_or_else(|_| panic!("it hangs: {buffer:?}"));
                // The limits, and a piece or batch on either way.
                let most = plan.limits.memory * 4 + 6 * 70_000;
                assert!(space.memory_used() <= most, "{} of {most}", space.memory_used());
                let most = plan.limits.file.min(plan.files / 9) + 2 * BATCH;
                assert!(space.files_used() <= most, "{} of {most}", space.files_used());
                if !goes_on {
                    assert!(buffer.is_done() && buffer.arrived() == out.len() as u64);
                    break;
                }
            }
            out
        });
        prop_assert!(out == whole);
        prop_assert_eq!((space.memory_used(), space.files_used()), (0, 0));
    }
}

#[test]
fn who_gives_is_held_back_only_when_memory_and_file_are_full() {
    let (space, _directory) = space(100 << 20, 100 << 20);
    let limits = Limits { memory: 100_000, file: 3_000_000 };
    runtime().block_on(async {
        let buffer = Buffer::new(limits, &space.account([10, 0, 0, 1].into()));
        let mut arrived = 0;
        while buffer.room().await == Room::Yes {
            buffer.push(vec![7; 50_000].into());
            arrived += 50_000;
            assert!(arrived < 4_000_000);
        }
        assert!(arrived >= 3_100_000, "{arrived}");
        assert!(space.memory_used() < 600_000 && space.files_used() >= 2_900_000);
        // Nobody takes the rest: all of it comes back, whatever is on its way.
        buffer.abandon();
        assert_eq!(buffer.room().await, Room::Gone);
        assert_eq!((space.memory_used(), space.files_used()), (0, 0));
    });
}

#[test]
fn a_client_that_fills_files_leaves_some_to_others() {
    let (space, _directory) = space(9 << 20, 90 << 20);
    let limits = Limits { memory: 100_000, file: 1 << 30 };
    let fill = async |address: [u8; 4]| {
        let buffer = Buffer::new(limits, &space.account(address.into()));
        let before = space.files_used();
        while buffer.room().await == Room::Yes {
            buffer.push(vec![7; 50_000].into());
        }
        // What was on its way to the file has come there.
        (space.files_used() - before, buffer)
    };
    runtime().block_on(async {
        let (first, _one) = fill([10, 0, 0, 1]).await;
        let (more, _two) = fill([10, 0, 0, 1]).await;
        let (other, _three) = fill([10, 0, 0, 2]).await;
        assert!((9 << 20..11 << 20).contains(&first), "{first}");
        assert!(more < 1 << 20, "its other bodies are its own affair: {more}");
        assert!((8 << 20..11 << 20).contains(&other), "{other}");
    });
}

#[test]
fn a_buffer_that_nobody_has_any_more_is_gone() {
    let (space, _directory) = space(1 << 20, 100 << 20);
    runtime().block_on(async {
        let buffer = Buffer::new(
            Limits { memory: 1000, file: 1 << 30 },
            &space.account([10, 0, 0, 1].into()),
        );
        (0..30).for_each(|_| buffer.push(vec![7; 50_000].into()));
        assert_eq!(buffer.room().await, Room::Yes);
        let weak = Rc::downgrade(&buffer);
        drop(buffer);
        assert!(weak.upgrade().is_none());
        assert_eq!((space.memory_used(), space.files_used()), (0, 0));
    });
}

/// Empties the file in `directory`, which has no name, as if its disk had lost it.
fn empty_file(directory: &Path) {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap();
    let mut paths = descriptors.map(|entry| entry.unwrap().path());
    let leads_there = |path: &PathBuf| {
        let file = fs::read_link(path);
        file.is_ok_and(|file| file.starts_with(directory))
    };
    let path = paths.find(leads_there).unwrap();
    File::options().write(true).open(path).unwrap().set_len(0).unwrap();
}

#[test]
fn what_cannot_be_read_from_its_file_is_lost_with_all_behind_it() {
    let (space, directory) = space(1 << 20, 100 << 20);
    let account = space.account([10, 0, 0, 1].into());
    let check = async {
        let buffer = Buffer::new(Limits { memory: 1000, file: 1 << 30 }, &account);
        (0..20).for_each(|_| buffer.push(vec![7; 50_000].into()));
        let is_written = || {
            let state = buffer.state.borrow();
            state.writing.is_none() && state.back.is_empty()
        };
        while !is_written() {
            tokio::task::yield_now().await;
        }
        assert!(buffer.loss().is_none() && !buffer.is_lost());
        empty_file(directory.path());
        let take = async || poll_fn(|context| buffer.poll_take(context, 1 << 20)).await;
        assert_eq!(take().await, Next::Bytes(vec![7; 50_000].into()), "that was in memory");
        assert_eq!(take().await, Next::Lost);
        assert!(buffer.loss().is_some() && buffer.is_lost());
        // What follows would otherwise seem to stand where the lost bytes did.
        buffer.push(vec![8; 50_000].into());
        assert_eq!(take().await, Next::Lost);
        assert!(!buffer.is_starved() && buffer.room().await == Room::Yes);
        buffer.end();
        assert_eq!(take().await, Next::Lost);
        assert!(!buffer.is_done());
    };
    let limit = Duration::from_secs(60);
    runtime().block_on(async { tokio::time::timeout(limit, check).await.unwrap() });
    assert_eq!((space.memory_used(), space.files_used()), (0, 0));
}
