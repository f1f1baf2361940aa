//! The wish to stop, as every connection can see it and wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// Tells everybody to stop.
#[derive(Debug)]
pub(crate) struct StopSender {
    stopping: Arc<AtomicBool>,
    wish: watch::Sender<bool>,
}

/// Hears of it.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    stopping: Arc<AtomicBool>,
    wish: watch::Receiver<bool>,
}

pub(crate) fn channel() -> (StopSender, Stop) {
    let (sender, receiver) = watch::channel(false);
    let stopping = Arc::new(AtomicBool::new(false));
    (StopSender { stopping: stopping.clone(), wish: sender }, Stop { stopping, wish: receiver })
}

impl StopSender {
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wish.send_replace(true);
    }
}

impl Stop {
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Waits for the wish.
    pub(crate) async fn requested(&self) {
        // An error means that nobody can wish any more: the process is ending.
        let _ = self.wish.clone().wait_for(|stopping| *stopping).await;
    }
}
