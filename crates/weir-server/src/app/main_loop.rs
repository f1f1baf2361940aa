//! What the main thread does while the server runs: it obeys signals and what is asked over the control
//! socket, until one of them ends it. Run by [`super::serve`] between start and shutdown.

use std::os::fd::OwnedFd;

use super::control::{Control, Request, Successor, peer, refuse};
use super::live::Live;
use super::messages::Handed;
use super::reload::Reloaded;
use super::signals::{Command, Signals};

/// Why the server ends.
#[derive(Debug)]
pub(super) enum End {
    Signal,
    /// This successor has its listening sockets.
    HandedOver(Successor),
}

/// Obeys until the server is to end.
pub(super) async fn run(live: &mut Live<'_>, signals: &mut Signals, control: &mut Control) -> End {
    loop {
        let asked = tokio::select! {
            command = signals.next() => Err(command),
            request = control.next() => Ok(request),
        };
        match asked {
            Err(Command::Stop | Command::HangUp) => return End::Signal,
            Err(Command::Reopen) => reopen(live),
            Err(Command::Reload) => reload(live).await,
            Ok(Request::Reload(answer)) => {
                // Whoever has asked may have left.
                let _ = answer.send(live.reload().await.answer());
            }
            Ok(Request::TakeOver(stream)) => match offered(live, control) {
                Ok(sockets) => {
                    live.offered_to = Some(peer(&stream).to_string());
                    control.hand_over(stream, sockets);
                }
                Err(why) => refuse(stream, &why).await,
            },
            Ok(Request::Ready(Some(successor))) => {
                hand_over(live, &successor).await;
                return End::HandedOver(successor);
            }
            Ok(Request::Ready(None)) => live.offered_to = None,
        }
    }
}

/// SIGUSR1.
fn reopen(live: &Live<'_>) {
    if !live.reopen_log() {
        tracing::info!("signal to reopen the access log ignored: it is not a file");
    }
}

/// SIGHUP. Logs are rotated and certificates renewed by programs that know nothing of the configuration, so
/// both are done even if that cannot be taken.
async fn reload(live: &mut Live<'_>) {
    live.reopen_log();
    if let Reloaded::Refused(_) = live.reload().await {
        live.reread_certificates().await;
    }
}

/// What a successor gets, or why it gets nothing.
fn offered(live: &Live<'_>, control: &Control) -> Result<Vec<(Handed, Option<OwnedFd>)>, String> {
    if let Some(process) = &live.offered_to {
        return Err(format!(
            "{process} is starting as a successor; end it, or wait until it serves"
        ));
    }
    let control = control.copy().map_err(|error| error.to_string())?;
    live.handed(control).map_err(|error| error.to_string())
}

/// The successor serves: nobody else is told to come here.
async fn hand_over(live: &Live<'_>, successor: &Successor) {
    live.manager.succeeded_by(successor.said.pid);
    // Who has connected where the successor does not listen is served here.
    live.close(&successor.said.left).await;
}
