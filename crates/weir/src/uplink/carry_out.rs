//! Runs the commands that `install` has decided on, and puts everything back if one of them fails.

use std::path::Path;

use super::device::Device;
use super::present;
use super::queues::Root;
use super::state::State;
use super::step::Step;
use super::takedown::Takedown;
use super::tool;
use crate::failure::Failure;

/// Bands to be made.
pub(super) struct Making<'a> {
    pub(super) device: &'a Device,
    /// Where the file of the state is.
    pub(super) directory: &'a Path,
    /// What the file says of bands made earlier.
    pub(super) known: Option<&'a State>,
    /// What it is to say.
    pub(super) state: &'a State,
}

impl Making<'_> {
    /// Takes away what is there and makes the bands; brings back what was there if that fails.
    pub(super) fn run(&self, clear: Option<&Step>, make: &[Step]) -> Result<(), Failure> {
        let Making { device, directory, known, state } = self;
        // First of all: what was there must be known if this ends in between.
        state.write(directory, device)?;
        if let Some(Err(trouble)) = clear.map(tool::run) {
            // Nothing is done: the file is again as it was.
            match known {
                Some(known) => known.write(directory, device)?,
                None => State::remove(directory, device)?,
            }
            return Err(trouble.into());
        }
        let failed = make.iter().find_map(|step| tool::run(step).err());
        let (mut failure, all_made) = match (failed, present::root(device)) {
            (Some(trouble), _) => (Failure::from(trouble), false),
            (None, Ok(Root::Bands(..))) => return Ok(()),
            (None, Ok(_)) => (gone(device), true),
            (None, Err(trouble)) => (trouble.into(), true),
        };
        // The rules are made last, all at once: they are there if every step was done, or from before.
        let rules = all_made && state.mechanism.needs_rules()
            || known.is_some_and(|known| known.mechanism.needs_rules());
        match self.undo(rules) {
            Ok("") => {}
            Ok(told) => failure.message.push_str(&format!("; {told}")),
            Err(second) => failure.message.push_str(&format!("; not undone: {}", second.message)),
        }
        Err(failure)
    }

    /// Brings back what was there before; then nothing is left to remember. What was done, for people.
    fn undo(&self, rules: bool) -> Result<&'static str, Failure> {
        let Making { device, directory, state, .. } = self;
        let root = present::root(device)?;
        let theirs = matches!(root, Root::Other(..));
        let before = state.before.as_ref().filter(|_| !theirs);
        let bands = matches!(root, Root::Bands(..) | Root::Part);
        let takedown = Takedown { device, bands, before, rules };
        takedown.run()?;
        if theirs && state.before.is_some() {
            return Ok(
                "another queue is there, and the one that was put aside is not brought back",
            );
        }
        State::remove(directory, device)?;
        Ok(if takedown.steps().is_empty() { "" } else { "what was done before is undone" })
    }
}

fn gone(device: &Device) -> Failure {
    let message = format!(
        "the bands of {device} were made and are gone: does another program set its queues?"
    );
    Failure { message, code: 1 }
}

/// Runs the commands of a change; if one fails, those that take it back.
pub(super) fn change(steps: &[Step], back: &[Step]) -> Result<(), Failure> {
    for (done, step) in steps.iter().enumerate() {
        let Err(trouble) = tool::run(step) else { continue };
        let mut failure = Failure::from(trouble);
        // There is one for each of the change's; the rules, which come last, need none.
        let back = &back[..done.min(back.len())];
        let failed: Vec<String> =
            back.iter().filter(|step| tool::run(step).is_err()).map(Step::to_string).collect();
        if !failed.is_empty() {
            failure.message.push_str(&format!("; not undone: {}", failed.join("; ")));
        } else if !back.is_empty() {
            failure.message.push_str("; what was done before is undone");
        }
        return Err(failure);
    }
    Ok(())
}
