//! How the server stops: first it is not ready any more, then new connections are refused, then what is
//! under way ends by itself or is cut. [`super::serve`] runs it once everything has started.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::certificates::Certificates;
use super::signals::{Command, Signals};
use super::worker::Worker;
use crate::config::{AccessLog, Config};
use crate::listen;
use crate::logs::access_log::LogHandle;
use crate::logs::messages;
use crate::runtime::stop::StopSender;
use crate::service::proxy;

/// How long workers may take to cut what is under way; then the process exits without them.
const CUT_WITHIN: Duration = Duration::from_secs(1);

/// How long clients that have just connected may take for their first bytes, for which the kernel waits
/// before it lets them in: closing the listener resets them.
const FIRST_BYTES: Duration = Duration::from_millis(100);

/// What is needed to stop.
pub(super) struct Shutdown<'a> {
    pub(super) config: &'a Config,
    pub(super) access_log: &'a LogHandle,
    pub(super) certificates: Option<&'a Certificates>,
    pub(super) routes: Option<&'a proxy::Shared>,
    pub(super) stop: StopSender,
    /// For the admin address, which answers until the last response has ended. Where a successor listens
    /// on the same address (`reuse_port`), it closes earlier.
    pub(super) admin_stop: StopSender,
    /// Copies of the listening sockets. While they are open, the kernel goes on accepting connections,
    /// which nobody would serve.
    pub(super) watched: &'a Mutex<Vec<OwnedFd>>,
}

impl Shutdown<'_> {
    /// Serves until a signal asks to stop, and returns when all workers have ended.
    ///
    /// The first SIGTERM or SIGINT (or SIGHUP on a terminal) makes `/readyz` say 503. After
    /// `stop_delay`, or at the next signal, nobody new is served. After `stop_timeout`, or at the next
    /// signal, what is under way is cut. Signals to reopen logs are obeyed all the while.
    ///
    /// # Errors
    ///
    /// What ended a worker.
    pub(super) async fn on_signal(
        self,
        signals: &mut Signals,
        workers: Vec<Worker>,
    ) -> io::Result<()> {
        while matches!(self.next(signals).await, Command::Reopen | Command::Reload) {}
        self.listeners().iter().for_each(listen::wait_for_nothing);
        self.stop.leave();
        if let Some(delay) = self.config.stop_delay {
            tracing::info!("stopping in {delay:?}: /readyz says 503, requests are still answered");
            tokio::select! {
                () = sleep(delay) => {}
                () = self.until_hurried(signals) => {}
            }
        } else {
            sleep(FIRST_BYTES).await;
        }
        tracing::info!("stopping: responses under way may take {:?}", self.config.stop_timeout);
        self.listeners().clear();
        self.stop.stop();
        if self.config.reuse_port {
            self.admin_stop.stop();
        }
        let mut ended = tokio::task::spawn_blocking(move || join(workers));
        let (ended, why) = tokio::select! {
            ended = &mut ended => (ended, "longer than stop_timeout"),
            () = self.until_hurried(signals) => {
                self.stop.cut();
                let Ok(ended) = timeout(CUT_WITHIN, ended).await else {
                    tracing::error!("a worker hangs: the process exits without it");
                    messages::finish();
                    std::process::exit(0);
                };
                (ended, "until another signal came")
            }
        };
        match ended.unwrap_or_else(|_| Err(io::Error::other("a worker failed")))? {
            0 => {}
            1 => tracing::warn!("1 connection was cut: its request took {why}"),
            cut => tracing::warn!("{cut} connections were cut: their requests took {why}"),
        }
        Ok(())
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<OwnedFd>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a signal that asks to hurry: SIGTERM or SIGINT again.
    async fn until_hurried(&self, signals: &mut Signals) {
        while self.next(signals).await != Command::Stop {}
    }

    /// Reads the files of certificates anew; false if the configuration names none.
    fn reload(&self) -> bool {
        self.certificates.iter().for_each(|certificates| certificates.reload());
        let of_backends = self.routes.is_some_and(proxy::Shared::reload_tls);
        of_backends || self.certificates.is_some()
    }

    /// The next command; logs have been reopened, and certificates read anew, if it was that.
    async fn next(&self, signals: &mut Signals) -> Command {
        let command = signals.next().await;
        let is_reloaded = command == Command::Reload && self.reload();
        if matches!(command, Command::Reopen | Command::Reload) {
            match &self.config.access_log {
                AccessLog::File(_) => self.access_log.reopen(),
                // The signal has had an effect all the same.
                _ if is_reloaded => {}
                AccessLog::Stderr | AccessLog::Stdout | AccessLog::Off => {
                    tracing::info!("signal to reopen the access log ignored: it is not a file");
                }
            }
        }
        command
    }
}

/// Waits for all workers; returns how many connections they have cut.
fn join(workers: Vec<Worker>) -> io::Result<usize> {
    let mut cut = 0;
    for worker in workers {
        cut += worker.join().unwrap_or_else(|_| Err(io::Error::other("a worker failed")))?;
    }
    Ok(cut)
}
