//! The disks of `generations`, their loads, and the same files in memory. Its report uses them.

use super::super::conditions::{DISK, HIGH, case, files, own_loads};
use super::super::load;
use crate::cell::Files;
use crate::choice::Scale;
use crate::experiment::case::Case;

/// How many times as fast the disk is, slowest first.
const DISKS: [f64; 3] = [0.25, 1.0, 4.0];
const LOADS: [f64; 3] = [0.2, 0.6, HIGH];

pub(super) fn disks(scale: Scale) -> Vec<f64> {
    match scale {
        Scale::Quick => vec![DISKS[0], DISKS[2]],
        Scale::Full | Scale::Paper => DISKS.to_vec(),
    }
}

pub(super) fn loads(scale: Scale) -> Vec<f64> {
    match scale {
        Scale::Quick => vec![HIGH],
        Scale::Full | Scale::Paper => LOADS.to_vec(),
    }
}

/// The whole set on a disk; on the usual one it is the same run as that of the experiment on load.
pub(super) fn on_disk(scale: Scale, times: f64) -> Case {
    if times == 1.0 {
        return load::of(scale);
    }
    let files = files(scale, own_loads(&loads(scale)));
    case(Files { disk: DISK.times(times), ..files })
}

/// A set of half of the memory: the disk does not matter.
pub(in super::super) fn in_memory(scale: Scale) -> Case {
    let files = files(scale, own_loads(&loads(scale)));
    case(Files { set: files.memory / 2, ..files })
}

pub(super) fn cases(scale: Scale) -> Vec<(String, Case)> {
    let on =
        disks(scale).into_iter().map(|times| (format!("disk × {times}"), on_disk(scale, times)));
    on.chain([("in memory".to_owned(), in_memory(scale))]).collect()
}
