//! The kernel's own workers off the server's core while a slow disk is mounted: the one of a loop device
//! reads the disk for whoever asked, where the asker runs, and would take the server's time. The slow disk
//! uses it.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::thread::{CpuSet, sched_getaffinity};
use weir_peers::{Error, Result};

/// The cores of workers that are bound to none: a hexadecimal mask, in words of 32 bits with commas
/// between (the kernel's core-api/workqueue).
const CORES: &str = "/sys/devices/virtual/workqueue/cpumask";

/// What they were before, and how many disks want them elsewhere.
static MOVED: Mutex<Option<(String, usize)>> = Mutex::new(None);

/// Workers that are bound to no core keep to those of the thread that asked last, until all of these are
/// dropped.
#[derive(Debug)]
pub(crate) struct Workers(());

impl Workers {
    /// Keep them there.
    ///
    /// # Errors
    ///
    /// When the kernel does not let them be moved: without root, or in a container.
    pub(crate) fn keep_here() -> Result<Workers> {
        let wrong =
            |e| Error(format!("cannot keep the kernel's workers to some cores: {CORES}: {e}"));
        let cores = sched_getaffinity(None).map_err(|e| wrong(e.into()))?;
        let here: Vec<bool> = (0..CpuSet::MAX_CPU).map(|core| cores.is_set(core)).collect();
        let mut moved = moved();
        let before = fs::read_to_string(CORES).map_err(wrong)?;
        fs::write(CORES, mask(&here)).map_err(wrong)?;
        moved.get_or_insert((before, 0)).1 += 1;
        Ok(Workers(()))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let mut moved = moved();
        let Some((before, disks)) = &mut *moved else { return };
        *disks -= 1;
        if *disks == 0 {
            // They were moved before, so they may be moved back.
            let _ = fs::write(CORES, before.trim());
            *moved = None;
        }
    }
}

fn moved() -> MutexGuard<'static, Option<(String, usize)>> {
    // After another thread's panic the numbers are still right.
    MOVED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cores that are set, as the kernel writes them.
fn mask(cores: &[bool]) -> String {
    let word = |cores: &[bool]| {
        let bits = cores.iter().enumerate().filter(|(_, set)| **set);
        bits.fold(0_u32, |word, (place, _)| word | 1 << place)
    };
    let words: Vec<u32> = cores.chunks(32).map(word).collect();
    let used = words.iter().rposition(|word| *word != 0).map_or(1, |last| last + 1);
    let words = words.iter().take(used).rev().map(|word| format!("{word:08x}"));
    words.collect::<Vec<String>>().join(",")
}

#[cfg(test)]
mod tests {
    use rustix::thread::sched_setaffinity;

    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each_core_and_the_highest_word_first() {
        let of = |cores: &[usize]| {
            let set: Vec<bool> = (0..128).map(|core| cores.contains(&core)).collect();
            mask(&set)
        };
        assert_eq!(of(&[1]), "00000002");
        assert_eq!(of(&[0, 31, 33]), "00000002,80000001");
        assert_eq!(of(&[]), "00000000");
    }

    #[test]
    fn workers_keep_to_the_cores_of_the_thread_until_it_is_dropped() {
        assert!(
            rustix::process::geteuid().is_root(),
            "moving the kernel's workers needs root: run it with sudo"
        );
        let now = || fs::read_to_string(CORES).expect("sysfs").trim().to_owned();
        let before = now();
        let mut last = CpuSet::new();
        let cores = sched_getaffinity(None).expect("own cores");
        let core = (0..CpuSet::MAX_CPU).rfind(|core| cores.is_set(*core)).expect("a core");
        last.set(core);
        sched_setaffinity(None, &last).expect("one core of its own");
        let workers = [(), ()].map(|()| Workers::keep_here().expect("root may move them"));
        assert_eq!(u64::from_str_radix(&now(), 16).expect("a mask"), 1 << core);
        let [first, second] = workers;
        drop(first);
        assert_ne!(now(), before, "another disk is there");
        drop(second);
        assert_eq!(now(), before);
    }
}
