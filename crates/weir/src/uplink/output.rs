//! Standard output of the commands of `weir uplink`. A reader that has gone, such as `head`, ends the
//! command without a complaint.

use std::io::{ErrorKind, Write};

use super::step::Step;
use crate::failure::Failure;

/// Writes `text` at once.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            let message = format!("cannot write to standard output: {error}");
            Err(Failure { message, code: 1 })
        }
        Ok(()) => Ok(()),
    }
}

/// Commands, one a line, as a shell takes them.
pub(super) fn print_steps<'a>(steps: impl Iterator<Item = &'a Step>) -> Result<(), Failure> {
    print(&steps.map(|step| format!("{step}\n")).collect::<String>())
}
