//! Progress of a run of experiments: one line that changes on a terminal, lines one after another
//! elsewhere. Used by `weir-lab run`.

use std::io::{IsTerminal, Write as _};
use std::sync::Mutex;
use std::time::Duration;

use weir_experiments::{Error, Outcome, Progress};

/// Writes to standard error.
pub(super) struct Lines {
    terminal: bool,
    /// The line that stands there now.
    standing: Mutex<String>,
}

impl Lines {
    pub(super) fn new() -> Lines {
        Lines { terminal: std::io::stderr().is_terminal(), standing: Mutex::new(String::new()) }
    }

    /// The changing line stays as it is; what follows begins a new one.
    pub(super) fn end(&self) {
        let mut standing = self.standing();
        if !standing.is_empty() {
            eprintln!();
        }
        standing.clear();
    }

    fn standing(&self) -> std::sync::MutexGuard<'_, String> {
        // Another thread's panic leaves at worst a line that is not the newest.
        self.standing.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A line that stays, above the changing one.
    fn say(&self, text: &str) {
        let standing = self.standing();
        match self.terminal {
            true => eprint!("\r\x1b[K{text}\n{standing}"),
            false => eprintln!("{text}"),
        }
    }
}

impl Progress for Lines {
    fn started(&self, _: &str) {}

    fn finished(&self, name: &str, outcome: &Result<Outcome, Error>) {
        if let Some(text) = told(name, outcome, self.terminal) {
            self.say(&text);
        }
    }

    fn left(&self, done: usize, of: usize, seconds_left: f64) {
        let text = how_far(done, of, seconds_left);
        match self.terminal {
            true => {
                let mut standing = self.standing();
                eprint!("\r\x1b[K{text}");
                let _ = std::io::stderr().flush();
                *standing = text;
            }
            false => eprintln!("{text}"),
        }
    }
}

/// On a terminal only what went wrong stays.
fn told(name: &str, outcome: &Result<Outcome, Error>, terminal: bool) -> Option<String> {
    match outcome {
        Err(error) => Some(format!("{name}: {error}")),
        Ok(outcome) if !outcome.invalid.is_empty() => {
            Some(format!("{name}: does not count: {}", outcome.invalid.join("; ")))
        }
        Ok(_) if terminal => None,
        Ok(outcome) => {
            let (mean, p95) = (outcome.measured.mean, outcome.measured.p95);
            Some(format!("{name}: mean {mean:.1} ms, p95 {p95:.1} ms"))
        }
    }
}

fn how_far(done: usize, of: usize, seconds_left: f64) -> String {
    match seconds_left.is_finite() && done < of {
        true => {
            let left = Duration::from_secs(seconds_left.max(0.0) as u64);
            format!("{done} of {of} cells, about {} left", humantime::format_duration(left))
        }
        false => format!("{done} of {of} cells"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_in_words() {
        assert_eq!(how_far(3, 10, 3720.4), "3 of 10 cells, about 1h 2m left");
        assert_eq!(how_far(10, 10, 0.0), "10 of 10 cells");
        assert_eq!(how_far(0, 10, f64::NAN), "0 of 10 cells");
    }

    #[test]
    fn what_went_wrong_is_said_on_a_terminal_too() {
        let failed = Err(Error("no nginx".into()));
        assert_eq!(told("a", &failed, true).as_deref(), Some("a: no nginx"));
    }
}
