//! Ctrl-C and SIGTERM set a flag; every wait in the lab looks at it and returns an error, so that
//! namespaces and processes are removed on the way out.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

use crate::error::{Error, Result};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Watch for SIGINT and SIGTERM from now on; once is enough.
pub(crate) fn install() -> Result<()> {
    static INSTALLED: OnceLock<Result<()>> = OnceLock::new();
    INSTALLED.get_or_init(watch).clone()
}

fn watch() -> Result<()> {
    let failed = |e: std::io::Error| Error(format!("cannot watch for SIGINT: {e}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
    // The handlers must stand before the first namespace does.
    let (mut interrupt, mut terminate) = {
        let _in_runtime = runtime.enter();
        (
            signal(SignalKind::interrupt()).map_err(failed)?,
            signal(SignalKind::terminate()).map_err(failed)?,
        )
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
        INTERRUPTED.store(true, Ordering::Relaxed);
    });
    Ok(())
}

/// Whether the run was interrupted.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// An error once the run has been interrupted.
pub(crate) fn check() -> Result<()> {
    match interrupted() {
        true => Err("interrupted; namespaces and processes are removed".into()),
        false => Ok(()),
    }
}
