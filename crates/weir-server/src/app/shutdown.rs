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
use super::worker::WorkerEnd;
use super::worker_ends::WorkerEnds;
use crate::logs::messages;
use crate::runtime::stop::StopSender;

/// How long workers may take to cut what is under way; then the process exits without them.
const CUT_WITHIN: Duration = Duration::from_secs(3);

/// Why what is under way is cut.
const TOO_LONG: &str = "longer than stop_timeout";
const HURRIED: &str = "until another signal came";

/// What is needed to stop.
#[derive(Debug)]
pub(super) struct Shutdown {
    pub(super) stop: StopSender,
    /// For the admin address, which answers until the last response has ended. Where a successor listens
    /// on the same address, it closes earlier.
    pub(super) admin_stop: StopSender,
}

impl Shutdown {
    /// Stops for that reason, and returns when all workers have ended. If one hangs, the process exits
    /// without it, with status 1.
    ///
    /// A signal (SIGTERM or SIGINT, or SIGHUP on a terminal) makes `/readyz` say 503. After `stop_delay`, or
    /// at the next signal, nobody new is served. After `stop_timeout`, or at the next signal, what is under
    /// way is cut. After a hand-over the first signal changes nothing: a service manager that stops the unit
    /// sends it to predecessor and successor alike. Signals to reopen logs are obeyed all the while.
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
        workers: Vec<WorkerEnd>,
    ) -> io::Result<()> {
        let is_told = matches!(end, End::Signal);
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
        self.finish(live, signals, is_told, workers).await
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
                () = until_hurried(live, signals, true) => {}
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

    /// Waits for what is under way. `is_told`: a signal has told the server to stop.
    async fn finish(
        self,
        live: &Live<'_>,
        signals: &mut Signals,
        is_told: bool,
        workers: Vec<WorkerEnd>,
    ) -> io::Result<()> {
        let mut ends = WorkerEnds::new(workers);
        let why = tokio::select! {
            () = ends.all() => TOO_LONG,
            // Workers cut by themselves when this is over, unless they hang.
            () = sleep(live.config.stop_timeout) => TOO_LONG,
            () = until_hurried(live, signals, is_told) => HURRIED,
        };
        self.stop.cut();
        let _ = timeout(CUT_WITHIN, ends.all()).await;
        let hanging = ends.running();
        if !hanging.is_empty() {
            for worker in hanging {
                tracing::error!(
                    "worker {worker} hangs: the process exits without it, and what it has under way \
                     is not in the access log"
                );
            }
            live.finish_logs().await;
            messages::finish();
            std::process::exit(1);
        }
        match ends.cut()? {
            0 => {}
            1 => tracing::warn!("1 connection was cut: its request took {why}"),
            cut => tracing::warn!("{cut} connections were cut: their requests took {why}"),
        }
        Ok(())
    }
}

/// Waits for a signal that asks to hurry: SIGTERM or SIGINT again. `is_told`: there was one before.
async fn until_hurried(live: &Live<'_>, signals: &mut Signals, mut is_told: bool) {
    loop {
        match signals.next().await {
            Command::Stop if is_told => return,
            Command::Stop => {
                is_told = true;
                tracing::info!(
                    "another process has taken over, and this one is stopping already: one more \
                     signal cuts what is under way"
                );
            }
            Command::HangUp => {}
            Command::Reopen | Command::Reload => {
                live.reopen_log();
            }
        }
    }
}
