//! Keeps the kernel's worker threads off the server's core while a slow disk is mounted. A loop device has
//! its reads done by such a thread, which the kernel likes to run on the core of the program that reads:
//! the server's. The slow disk uses it.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::thread::{CpuSet, sched_getaffinity};
use weir_peers::{Error, Result};

/// The cores of workers that are bound to none: a hexadecimal mask, in words of 32 bits with commas
/// between (the kernel's core-api/workqueue).
const CORES: &str = "/sys/devices/virtual/workqueue/cpumask";
/// What the mask was before the first disk. A file, since it is to outlive a process that is killed; like
/// the mask it ends with the boot.
const BEFORE: &str = "/run/weir-lab-workqueue-cpumask";

/// How many disks of this process want them moved.
static DISKS: Mutex<usize> = Mutex::new(0);

/// As long as one is there, the worker threads of the whole machine that are bound to no core keep to the
/// cores of the thread that asked last.
#[derive(Debug)]
pub(crate) struct Workers(());

impl Workers {
    /// Keep these threads to the cores of the calling thread.
    ///
    /// # Errors
    ///
    /// When the kernel does not let them be moved: without root, or in a container.
    pub(crate) fn keep_here() -> Result<Workers> {
        let wrong =
            |e| Error(format!("cannot keep the kernel's workers to some cores: {CORES}: {e}"));
        let cores = sched_getaffinity(None).map_err(|e| wrong(e.into()))?;
        let here: Vec<bool> = (0..CpuSet::MAX_CPU).map(|core| cores.is_set(core)).collect();
        let mut disks = disks();
        if fs::read_to_string(BEFORE).is_err() {
            let before = fs::read_to_string(CORES).map_err(wrong)?;
            fs::write(BEFORE, before).map_err(|e| Error(format!("{BEFORE}: {e}")))?;
        }
        fs::write(CORES, mask(&here)).map_err(wrong)?;
        *disks += 1;
        Ok(Workers(()))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let mut disks = disks();
        *disks -= 1;
        if *disks > 0 {
            return;
        }
        if let Ok(before) = fs::read_to_string(BEFORE) {
            // They were moved before, so they may be moved back.
            let _ = fs::write(CORES, before.trim());
            let _ = fs::remove_file(BEFORE);
        }
    }
}

fn disks() -> MutexGuard<'static, usize> {
    // After another thread's panic the number is still right.
    DISKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cores that are set, as the kernel reads them.
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

    /// The kernel leaves out zeros at the beginning.
    fn short(mask: &str) -> String {
        mask.trim().replace(',', "").trim_start_matches('0').to_owned()
    }

    #[test]
    fn workers_keep_to_the_cores_of_the_thread_until_no_disk_is_there() {
        assert!(
            rustix::process::geteuid().is_root(),
            "moving the kernel's workers needs root: run it with sudo"
        );
        let now = || short(&fs::read_to_string(CORES).expect("sysfs"));
        // A process that was killed may have left them moved.
        let before = fs::read_to_string(BEFORE).map_or_else(|_| now(), |before| short(&before));
        let cores = sched_getaffinity(None).expect("own cores");
        for core in (0..CpuSet::MAX_CPU).filter(|core| cores.is_set(*core)) {
            let (mut one, mut here) = (CpuSet::new(), vec![false; core + 1]);
            one.set(core);
            here[core] = true;
            sched_setaffinity(None, &one).expect("one core of its own");
            let [first, second] =
                [(), ()].map(|()| Workers::keep_here().expect("root may move them"));
            assert_eq!(now(), short(&mask(&here)));
            drop(first);
            assert_eq!(now(), short(&mask(&here)), "another disk is there");
            drop(second);
            assert_eq!(now(), before);
        }
    }
}
