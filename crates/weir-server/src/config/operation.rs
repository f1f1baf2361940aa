//! The table of the keys about a server that runs: where `weir reload` and a successor reach it, and what its
//! readiness depends on. Used by everything that reads keys; [`super::control`] and [`super::readiness`] make
//! more of the values.

use super::ready::ReadyRoute;
use super::table::settings;
use super::tls::FilePath;

settings! {
    /// Flags and keys about a server that runs, as far as they were given.
    #[derive(clap::Args)]
    pub(super) struct OperationKeys;

    /// What the configuration says about a server that runs, with the defaults filled in.
    pub struct OperationConfig {}

    "Running it" {
        /// Socket over which `weir reload` and a successor reach the server
        ///
        /// Its file has mode 0600: whoever may write to it can have the configuration read anew and take
        /// over the listening sockets. A socket that nobody answers on is replaced.
        #[arg(long)]
        control: FilePath,
        else "`control` in `$RUNTIME_DIRECTORY`, which systemd sets; otherwise none",
        example "/run/weir/control";
    }

    "Readiness" {
        /// Route to backends without which the server is not ready; may be given several times
        ///
        /// /readyz answers 503 while none of its backends is healthy. A path alone means the routes of all
        /// hosts that have it.
        #[arg(long)]
        ready_routes: Vec<ReadyRoute> = Vec::new(),
        else "none: the server is ready until it is to stop",
        example ["/app"];
    }
}
