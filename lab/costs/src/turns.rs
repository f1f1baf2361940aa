//! Rounds in which systems take turns, another one first in each. Every measurement is made so.

use weir_peers::{Result, interrupt};

/// Measure each of `systems` once in every round; `measure` gets the number of the round, from 0.
///
/// # Errors
///
/// The first of `measure`, and on Ctrl-C.
pub(crate) fn in_turns<S>(
    rounds: u64,
    systems: &[S],
    mut measure: impl FnMut(u64, &S) -> Result<()>,
) -> Result<()> {
    for round in 0..rounds {
        for turn in 0..systems.len() {
            interrupt::check()?;
            measure(round, &systems[(turn + round as usize) % systems.len()])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_system_is_first_in_each_round() {
        let mut seen = String::new();
        let done = in_turns(3, &['a', 'b'], |round, system| {
            seen.push_str(&format!("{round}{system} "));
            Ok(())
        });
        done.expect("nothing fails");
        assert_eq!(seen, "0a 0b 1b 1a 2a 2b ");
    }
}
