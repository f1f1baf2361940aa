//! How the server ends: first it is not ready any more, then nobody new is served, then what is under
//! way ends by itself or is cut. `serve` runs it once everything has started.

use std::io;
use std::net::TcpListener;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::app::signals::{Asked, Signals};
use crate::app::worker::Worker;
use crate::config::{AccessLog, Config};
use crate::logs::access_log::LogHandle;
use crate::logs::messages;
use crate::runtime::stop::StopSender;

/// How long workers may take to cut what is under way; then the process ends without them.
const CUT_WITHIN: Duration = Duration::from_secs(1);

/// What the end takes.
pub(crate) struct End<'a> {
    pub(crate) config: &'a Config,
    pub(crate) access_log: &'a LogHandle,
    pub(crate) stop: StopSender,
    /// For the admin address. It answers until the last response has ended, unless a successor that
    /// listens beside answers there instead.
    pub(crate) admin_stop: StopSender,
    /// Copies of the listening sockets: they would keep the ports open, and connections would wait
    /// there for nobody.
    pub(crate) watched: &'a Mutex<Vec<TcpListener>>,
}

impl End<'_> {
    /// Serves until a signal asks to end, and returns when all workers have ended.
    ///
    /// The first SIGTERM or SIGINT (or SIGHUP on a terminal) makes `/readyz` say 503. After
    /// `stop_delay`, or at the next signal, nobody new is served. After `stop_timeout`, or at the next
    /// signal, what is under way is cut. Logs are opened anew all the while.
    ///
    /// # Errors
    ///
    /// What ended a worker.
    pub(crate) async fn on_signal(
        self,
        signals: &mut Signals,
        workers: Vec<Worker>,
    ) -> io::Result<()> {
        while self.next(signals).await == Asked::Reopen {}
        self.stop.leave();
        if let Some(delay) = self.config.stop_delay {
            tracing::info!("stopping in {delay:?}: /readyz says 503, requests are still answered");
            tokio::select! {
                () = sleep(delay) => {}
                () = self.asked_to_hurry(signals) => {}
            }
        }
        tracing::info!("stopping: responses under way may take {:?}", self.config.stop_timeout);
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.stop.stop();
        if self.config.reuse_port {
            self.admin_stop.stop();
        }
        let mut ended = tokio::task::spawn_blocking(move || join(workers));
        let (ended, why) = tokio::select! {
            ended = &mut ended => (ended, "longer than stop_timeout"),
            () = self.asked_to_hurry(signals) => {
                self.stop.cut();
                let Ok(ended) = timeout(CUT_WITHIN, ended).await else {
                    tracing::error!("a worker hangs: the process ends without it");
                    messages::finish();
                    std::process::exit(0);
                };
                (ended, "until another signal came")
            }
        };
        match ended.unwrap_or_else(|_| Err(io::Error::other("a worker failed")))? {
            0 => {}
            1 => tracing::warn!("1 connection was cut: what was asked on it took {why}"),
            cut => tracing::warn!("{cut} connections were cut: what was asked on them took {why}"),
        }
        Ok(())
    }

    /// Waits for a signal of those who do not want to wait.
    async fn asked_to_hurry(&self, signals: &mut Signals) {
        while self.next(signals).await != Asked::Stop {}
    }

    /// What the next signal asks for; logs have been opened anew if it was that.
    async fn next(&self, signals: &mut Signals) -> Asked {
        let asked = signals.next().await;
        if asked == Asked::Reopen {
            match &self.config.access_log {
                AccessLog::File(_) => self.access_log.reopen(),
                AccessLog::Stderr | AccessLog::Stdout | AccessLog::Off => {
                    tracing::info!("signal to open the access log anew: it is not a file");
                }
            }
        }
        asked
    }
}

/// Waits for all workers; tells how many connections they have cut.
fn join(workers: Vec<Worker>) -> io::Result<usize> {
    let mut cut = 0;
    for worker in workers {
        cut += worker.join().unwrap_or_else(|_| Err(io::Error::other("a worker failed")))?;
    }
    Ok(cut)
}
