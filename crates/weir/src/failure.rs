//! Why a command failed: made by the commands, told to the user by `main`.

/// The message, and the exit status that a script sees: 1 for what happened, 2 for invalid usage.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) code: u8,
}
