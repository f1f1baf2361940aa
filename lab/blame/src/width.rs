//! Which tasks run 32-bit programs. Their system calls have numbers of their own, so a 64-bit kernel's
//! names for these are wrong. `tasks` refuses such processes; a child's calls become unknown ones here,
//! on their way from a source to the ledger.

use std::collections::HashMap;
use std::fs;

use crate::calls::{UNKNOWN, executes};
use crate::event::{Call, Event, Inside, Moment};

/// Size of a program header: of the kernel's include/uapi/linux/auxvec.h.
const AT_PHENT: u64 = 4;
/// What it is for programs of 32 bits (`Elf32_Phdr`) and of 64 (`Elf64_Phdr`).
const PHENT_OF_32_BITS: u64 = 32;
const PHENT_OF_64_BITS: u64 = 56;

/// Whether a process or task runs a 32-bit program on a 64-bit machine; no if that cannot be read. The
/// kernel's own memory tells: the program's file may be on a disk that hangs.
pub(crate) fn is_narrow(task: u32) -> bool {
    let vector = fs::read(format!("/proc/{task}/auxv"));
    cfg!(target_pointer_width = "64") && vector.is_ok_and(|vector| is_of_32_bits(&vector))
}

/// By a program's auxiliary vector: types and values in words of its width. Read as words of 64 bits, that
/// of a 32-bit program has no type `AT_PHENT` alone, for its value is in the same word.
fn is_of_32_bits(vector: &[u8]) -> bool {
    let wide = vector.as_chunks::<16>().0.iter().any(|pair| {
        let words = pair.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
        words.eq([AT_PHENT, PHENT_OF_64_BITS])
    });
    let narrow = vector.as_chunks::<8>().0.iter().any(|pair| {
        let words = pair.as_chunks::<4>().0.iter().map(|word| u64::from(u32::from_ne_bytes(*word)));
        words.eq([AT_PHENT, PHENT_OF_32_BITS])
    });
    narrow && !wide
}

/// The process of a task; the task itself if that cannot be read.
fn process_of(task: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{task}/status")).unwrap_or_default();
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    group.and_then(|group| group.trim().parse().ok()).unwrap_or(task)
}

/// Asks once for each process, whatever threads it has.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// The process of a task, which it has for its life.
    processes: HashMap<u32, u32>,
    narrow: HashMap<u32, bool>,
}

impl Programs {
    /// Whether a task runs a 32-bit program.
    pub(crate) fn is_narrow(&mut self, task: u32) -> bool {
        let process = *self.processes.entry(task).or_insert_with(|| process_of(task));
        *self.narrow.entry(process).or_insert_with(|| is_narrow(process))
    }

    /// Any process may have begun another program.
    pub(crate) fn ask_again(&mut self) {
        self.narrow.clear();
    }

    /// A task has ended.
    pub(crate) fn ended(&mut self, task: u32) {
        self.processes.remove(&task);
    }
}

/// What is known of the tasks' programs.
#[derive(Debug, Default)]
pub(crate) struct Widths {
    narrow: HashMap<u32, bool>,
}

impl Widths {
    /// The same, but for calls of a 32-bit program: these are unknown ones. `is_narrow` is asked for a
    /// task of which nothing is known, or which has begun another program.
    pub(crate) fn seen(&mut self, moment: Moment, is_narrow: impl FnOnce(u32) -> bool) -> Moment {
        let task = moment.task;
        let event = match moment.event {
            Event::Enters(call) => {
                let call = self.call(task, call, is_narrow);
                if executes(&call) {
                    self.narrow.remove(&task);
                }
                Event::Enters(call)
            }
            Event::Returns { value, .. } if self.narrow.get(&task) == Some(&true) => {
                Event::Returns { number: UNKNOWN, value }
            }
            Event::Found { state, inside } => {
                Event::Found { state, inside: self.inside(task, inside, is_narrow) }
            }
            Event::Sampled { state, inside } => {
                Event::Sampled { state, inside: self.inside(task, inside, is_narrow) }
            }
            Event::Forks { child } => {
                if let Some(narrow) = self.narrow.get(&task).copied() {
                    self.narrow.insert(child, narrow);
                }
                moment.event
            }
            Event::Ends => {
                self.narrow.remove(&task);
                moment.event
            }
            Event::Stops(_) | Event::Runs | Event::Wakes | Event::Returns { .. } => moment.event,
        };
        Moment { event, ..moment }
    }

    /// Tasks of 32-bit programs are asked for anew: which of their calls begins another program is
    /// not known.
    pub(crate) fn ask_again(&mut self) {
        self.narrow.retain(|_, narrow| !*narrow);
    }

    fn inside(&mut self, task: u32, inside: Inside, is_narrow: impl FnOnce(u32) -> bool) -> Inside {
        match inside {
            Inside::Call(call) => Inside::Call(self.call(task, call, is_narrow)),
            Inside::Program | Inside::Unknown => inside,
        }
    }

    fn call(&mut self, task: u32, call: Call, is_narrow: impl FnOnce(u32) -> bool) -> Call {
        let narrow = *self.narrow.entry(task).or_insert_with(|| is_narrow(task));
        if narrow { Call { number: UNKNOWN, ..call } } else { call }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::number_of;

    #[test]
    fn a_program_of_32_bits_is_known_by_its_auxiliary_vector() {
        // AT_SYSINFO_EHDR, AT_PHDR, AT_PHENT, AT_PHNUM, AT_SECURE, AT_NULL.
        let of = |phent: u32| [33, 0xf7f0_1000, 3, 0x4_0034, 4, phent, 5, 11, 23, 0, 0, 0];
        let narrow: Vec<u8> = of(32).iter().flat_map(|word| word.to_ne_bytes()).collect();
        let wide = of(56).map(u64::from);
        let wide: Vec<u8> = wide.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert!(is_of_32_bits(&narrow) && is_of_32_bits(&narrow[8..]));
        assert!(!is_of_32_bits(&wide) && !is_of_32_bits(&[]));
        assert!(!is_narrow(u32::MAX), "there is none");
        let own = std::process::id();
        let read = fs::read("/proc/self/auxv").unwrap();
        assert!(!is_narrow(own) && !read.is_empty());
        assert!(!Programs::default().is_narrow(own));
    }

    /// The number of the call that is made of this event.
    fn number(widths: &mut Widths, event: Event, is_narrow: bool) -> i64 {
        let seen = widths.seen(Moment { at: 0, task: 7, event }, |_| is_narrow);
        match seen.event {
            Event::Enters(call)
            | Event::Found { inside: Inside::Call(call), .. }
            | Event::Sampled { inside: Inside::Call(call), .. } => call.number,
            Event::Returns { number, .. } => number,
            other => panic!("{other:?} has no call"),
        }
    }

    #[test]
    fn calls_of_a_32_bit_program_are_unknown_from_its_start_to_its_end() {
        let of = |name| Call { number: number_of(name), arguments: [0; 6] };
        let enters = |name| Event::Enters(of(name));
        let returns = |name| Event::Returns { number: number_of(name), value: 0 };
        let (read, execve) = (number_of("read"), number_of("execve"));
        let mut widths = Widths::default();
        // It is asked for at first, and after an execve only.
        assert_eq!(number(&mut widths, enters("read"), false), read);
        assert_eq!(number(&mut widths, returns("read"), true), read);
        assert_eq!(number(&mut widths, enters("execve"), true), execve);
        assert_eq!(number(&mut widths, enters("read"), true), UNKNOWN);
        assert_eq!(number(&mut widths, returns("read"), false), UNKNOWN);
        // A child has the program of its parent.
        let forks = Event::Forks { child: 8 };
        widths.seen(Moment { at: 0, task: 7, event: forks }, |_| false);
        let child = Moment { at: 0, task: 8, event: enters("read") };
        let unknown = Event::Enters(Call { number: UNKNOWN, ..of("read") });
        assert_eq!(widths.seen(child, |_| false).event, unknown);
        widths.ask_again();
        let inside = Inside::Call(of("read"));
        let found = Event::Found { state: crate::event::State::Interruptible, inside };
        assert_eq!(number(&mut widths, found, true), UNKNOWN);
        widths.ask_again();
        assert_eq!(number(&mut widths, found, false), read);
    }
}
