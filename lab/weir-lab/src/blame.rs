//! `weir-lab blame`: watches a running server for a while and tells where it blocked.

mod text;

use std::cell::Cell;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_blame::{Options, watch};

use crate::failure::{Failure, failed};
use crate::print;
use crate::signals::ask_to_undo;

/// Where a server blocks: time off the processor by system call and file, events that are ready when
/// its event loops wake, how many of its threads are runnable, and the longest turn of an event loop.
///
/// All threads of the processes are watched, and all processes that they have started. Ctrl-C ends the
/// watch early, with the report.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "As root it sees every system call and every switch, by the kernel's tracepoints; \
    otherwise, and in containers, it samples /proc up to 1000 times a second. A call is blamed for time \
    in which its thread slept, from when it left the processor to when it could run again. Sleep for \
    work, clients or other programs (epoll_wait, futex, accept, a socket's read) stands apart."
)]
pub(crate) struct Arguments {
    /// Processes to watch, such as the master process of nginx
    #[arg(value_name = "PID", required = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pids: Vec<u32>,

    /// How long to watch
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,

    /// Files shown in each table
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "json")]
    files: usize,

    /// Only sample: tracepoints cost every system call of the machine a little
    #[arg(long)]
    sample: bool,

    /// Write JSON, with all files
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let undone: Arc<AtomicBool> = Arc::default();
    let asked = ask_to_undo(&undone);
    let asked = asked.map_err(|e| failed(format!("cannot watch for signals: {e}")))?;
    let duration = Duration::from_secs(arguments.seconds);
    let told = Cell::new(false);
    let stop = || {
        if !told.replace(true) {
            // That nobody reads it is no error.
            let mut stderr = std::io::stderr();
            let _ = writeln!(stderr, "watching for {} s; Ctrl-C ends it early", arguments.seconds);
        }
        asked.load(Ordering::Relaxed)
    };
    let options = Options { duration, sample: arguments.sample };
    let report = watch(&arguments.pids, &options, &stop).map_err(failed)?;
    // Tracing is switched off.
    undone.store(true, Ordering::SeqCst);
    print::result(arguments.json, None, &report, || text::of(&report, arguments.files))
}
