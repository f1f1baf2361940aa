//! The steps in which the server stops, as every connection can see them and wait for them. The
//! shutdown takes the steps; connections, listeners and `/readyz` follow them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tokio::sync::watch;

/// How far the server has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Step {
    Serving,
    /// Everything is still served, but load balancers are told to send nothing more.
    Leaving,
    /// Only what is under way is served.
    Stopping,
    /// What is under way is cut.
    Cutting,
}

/// Takes the steps.
#[derive(Debug)]
pub(crate) struct StopSender {
    step: Arc<AtomicU8>,
    told: watch::Sender<Step>,
    handed_over: Arc<AtomicBool>,
    files_stay: Arc<AtomicBool>,
}

/// Sees the steps, and waits for them.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    step: Arc<AtomicU8>,
    told: watch::Receiver<Step>,
    handed_over: Arc<AtomicBool>,
    files_stay: Arc<AtomicBool>,
}

pub(crate) fn channel() -> (StopSender, Stop) {
    let (sender, receiver) = watch::channel(Step::Serving);
    let step = Arc::new(AtomicU8::new(Step::Serving as u8));
    let handed_over = Arc::new(AtomicBool::new(false));
    let files_stay = Arc::new(AtomicBool::new(false));
    let stop = Stop {
        step: step.clone(),
        told: receiver,
        handed_over: handed_over.clone(),
        files_stay: files_stay.clone(),
    };
    (StopSender { step, told: sender, handed_over, files_stay }, stop)
}

impl StopSender {
    /// The server is about to stop: it is not ready any more, and still serves.
    pub(crate) fn leave(&self) {
        self.tell(Step::Leaving);
    }

    /// Requests under way are answered, and nothing else.
    pub(crate) fn stop(&self) {
        self.tell(Step::Stopping);
    }

    /// The same, because a successor has the listening sockets: what waits there is for it.
    pub(crate) fn hand_over(&self) {
        self.handed_over.store(true, Ordering::Release);
        self.leave_files();
        self.stop();
    }

    /// The files of Unix sockets are not removed: another server has the sockets.
    pub(crate) fn leave_files(&self) {
        self.files_stay.store(true, Ordering::Release);
    }

    /// What is under way is cut.
    pub(crate) fn cut(&self) {
        self.tell(Step::Cutting);
    }

    fn tell(&self, step: Step) {
        self.step.store(step as u8, Ordering::Release);
        self.told.send_replace(step);
    }
}

impl Stop {
    /// Whether load balancers should send requests here.
    pub(crate) fn is_ready(&self) -> bool {
        self.step.load(Ordering::Acquire) < Step::Leaving as u8
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.step.load(Ordering::Acquire) >= Step::Stopping as u8
    }

    /// Whether it stops because a successor has the listening sockets.
    pub(crate) fn is_handed_over(&self) -> bool {
        self.handed_over.load(Ordering::Acquire)
    }

    /// Whether the files of Unix sockets stay.
    pub(crate) fn leaves_files(&self) -> bool {
        self.files_stay.load(Ordering::Acquire)
    }

    /// Waits until the server stops.
    pub(crate) async fn requested(&self) {
        self.until(Step::Stopping).await;
    }

    /// Waits until what is under way is cut.
    pub(crate) async fn cut(&self) {
        self.until(Step::Cutting).await;
    }

    async fn until(&self, step: Step) {
        // An error means that the sender has gone: the process is ending.
        let _ = self.told.clone().wait_for(|told| *told >= step).await;
    }
}
