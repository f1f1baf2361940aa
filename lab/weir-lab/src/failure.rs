//! Why a command failed and with which exit status. Every command returns it; `main` prints it.

use weir_workload::Invalid;

/// What the user is told, and the exit status that a script sees.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    /// 1: it could not be done; 2: invalid usage; more are told in the help of the command.
    pub(crate) code: u8,
}

/// It could not be done: a file, the network, this machine (status 1).
pub(crate) fn failed(message: impl ToString) -> Failure {
    Failure { message: message.to_string(), code: 1 }
}

/// Flags or values that cannot be, alone or together (status 2).
pub(crate) fn invalid_usage(message: impl ToString) -> Failure {
    Failure { message: message.to_string(), code: 2 }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Failure {
        invalid_usage(invalid)
    }
}
