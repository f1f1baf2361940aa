//! The wish to stop, as every connection can see it and wait for it.

use tokio::sync::watch;

/// Tells everybody to stop.
#[derive(Debug)]
pub(crate) struct StopSender(watch::Sender<bool>);

/// Hears of it.
#[derive(Clone, Debug)]
pub(crate) struct Stop(watch::Receiver<bool>);

pub(crate) fn channel() -> (StopSender, Stop) {
    let (sender, receiver) = watch::channel(false);
    (StopSender(sender), Stop(receiver))
}

impl StopSender {
    pub(crate) fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    pub(crate) fn is_stopping(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for the wish.
    pub(crate) async fn requested(&self) {
        // An error means that nobody can wish any more: the process is ending.
        let _ = self.0.clone().wait_for(|stopping| *stopping).await;
    }
}
