//! How the server stops: first it is not ready any more, then new connections are refused, then what is
//! under way ends by itself or is cut. After a hand-over the first two are left out: nobody is refused.
//! [`super::serve`] runs it after the main loop.

use std::io;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::admin_address::AdminAddress;
use super::control::Control;
use super::live::{FIRST_BYTES, Live};
use super::main_loop::End;
use super::signals::{Command, Signals};
use super::worker::Worker;
use crate::logs::messages;
use crate::runtime::stop::StopSender;

/// How long workers may take to cut what is under way; then the process exits without them.
const CUT_WITHIN: Duration = Duration::from_secs(1);

/// What is needed to stop.
#[derive(Debug)]
pub(super) struct Shutdown {
    pub(super) stop: StopSender,
    /// For the admin address, which answers until the last response has ended. Where a successor listens
    /// on the same address, it closes earlier.
    pub(super) admin_stop: StopSender,
}

impl Shutdown {
    /// Stops for that reason, and returns when all workers have ended.
    ///
    /// A signal (SIGTERM or SIGINT, or SIGHUP on a terminal) makes `/readyz` say 503. After `stop_delay`, or
    /// at the next signal, nobody new is served. After `stop_timeout`, or at the next signal, what is under
    /// way is cut. Signals to reopen logs are obeyed all the while.
    ///
    /// # Errors
    ///
    /// What ended a worker.
    pub(super) async fn run(
        self,
        end: End,
        live: &mut Live<'_>,
        control: &mut Control,
        signals: &mut Signals,
        workers: Vec<Worker>,
    ) -> io::Result<()> {
        match end {
            End::Signal => {
                let is_offered = live.offered_to.is_some();
                if is_offered {
                    // It may serve in the end.
                    self.stop.leave_files();
                    live.admin.iter().for_each(AdminAddress::leave_file);
                }
                control.close(is_offered);
                self.close(live, signals).await;
            }
            End::HandedOver(mut successor) => {
                tracing::info!(
                    "process {} has taken over: responses under way may take {:?}",
                    successor.said.pid,
                    live.config.stop_timeout
                );
                control.close(true);
                self.leave(live);
                successor.confirm().await;
            }
        }
        self.finish(live, signals, workers).await
    }

    /// Closes all addresses.
    async fn close(&self, live: &mut Live<'_>, signals: &mut Signals) {
        let all = live.ids();
        live.addresses.wait_for_nothing(&all);
        self.stop.leave();
        live.manager.stopping();
        if let Some(delay) = live.config.stop_delay {
            tracing::info!("stopping in {delay:?}: /readyz says 503, requests are still answered");
            tokio::select! {
                () = sleep(delay) => {}
                () = until_hurried(live, signals) => {}
            }
        } else {
            sleep(FIRST_BYTES).await;
        }
        tracing::info!("stopping: responses under way may take {:?}", live.config.stop_timeout);
        // While the copies are open, the kernel goes on accepting connections, which nobody would serve.
        live.addresses.close(&all);
        self.stop.stop();
        if live.config.reuse_port {
            live.admin.iter_mut().for_each(|admin| admin.forget_copy());
            self.admin_stop.stop();
        }
    }

    /// Leaves all addresses to the successor.
    fn leave(&self, live: &mut Live<'_>) {
        let all = live.ids();
        self.stop.hand_over();
        self.admin_stop.hand_over();
        live.addresses.close(&all);
        live.admin.iter_mut().for_each(|admin| admin.forget_copy());
    }

    /// Waits for what is under way.
    async fn finish(
        self,
        live: &Live<'_>,
        signals: &mut Signals,
        workers: Vec<Worker>,
    ) -> io::Result<()> {
        let mut ended = tokio::task::spawn_blocking(move || join(workers));
        let (ended, why) = tokio::select! {
            ended = &mut ended => (ended, "longer than stop_timeout"),
            () = until_hurried(live, signals) => {
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
}

/// Waits for a signal that asks to hurry: SIGTERM or SIGINT again.
async fn until_hurried(live: &Live<'_>, signals: &mut Signals) {
    loop {
        match signals.next().await {
            Command::Stop => return,
            Command::HangUp => {}
            Command::Reopen | Command::Reload => {
                live.reopen_log();
            }
        }
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
