//! The thread that looks after certificates, one task for each name. The server starts it beside its
//! workers, gives out its [`Challenges`], and shows its [`Board`].

use std::fmt;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::sleep;
use weir_tls::CertificateStore;

use crate::answers::{Answers, Challenges};
use crate::authority::Authority;
use crate::board::Board;
use crate::host_name::HostName;
use crate::keeper::{Common, Keeper};
use crate::settings::Settings;
use crate::storage::Storage;
use crate::turns::Turns;

/// Orders under way at once: a slow one does not hold up all, and many names do not come down on the
/// ACME server together.
const ORDERS_AT_ONCE: usize = 4;
/// How long the end of the thread is waited for. A disk that hangs must not keep the server from ending.
const LONGEST_STOP: Duration = Duration::from_secs(5);
/// How soon a task that panicked begins anew.
const AFTER_PANIC: Duration = Duration::from_secs(3600);

/// Looks after certificates until it is dropped.
#[derive(Debug)]
pub struct Manager {
    challenges: Challenges,
    board: Board,
    /// Dropped, it ends the thread.
    stop: Option<oneshot::Sender<()>>,
    ended: mpsc::Receiver<()>,
}

impl Manager {
    /// Puts the certificates of the storage into `store`, and starts to look after them.
    ///
    /// # Errors
    ///
    /// If there are no names or no ways to prove them, the storage or the roots cannot be used, or no
    /// thread can be started. What the ACME server says is no error: it may be down.
    pub fn start(settings: Settings, store: Arc<CertificateStore>) -> Result<Manager, StartError> {
        let turns = turns(&settings)?;
        let storage = Storage::open(&settings.storage, &settings.directory_url);
        let storage = storage.map_err(StartError::new)?;
        let authority = Authority::new(&settings, &storage).map_err(StartError::new)?;
        let mut names = settings.names;
        names.sort();
        names.dedup();
        let board = Board::new(names.iter().map(HostName::as_str));
        let listed = names.iter().map(HostName::as_str).collect::<Vec<_>>().join(", ");
        tracing::info!("certificates for {listed} come from {}", settings.directory_url);
        let challenges = Challenges::default();
        let answers = Answers::new(challenges.clone(), store.clone(), storage.clone());
        let common = Arc::new(Common {
            authority,
            storage,
            answers: answers.clone(),
            store,
            turns,
            orders: Semaphore::new(ORDERS_AT_ONCE),
        });
        let keepers = names.into_iter().enumerate().map(|(index, name)| {
            let mut keeper = Keeper::new(name, common.clone(), board.line(index));
            keeper.take_over();
            keeper
        });
        let (stop, ended) = start_thread(keepers.collect(), answers).map_err(|error| {
            StartError::new(format!("the thread that looks after certificates: {error}"))
        })?;
        Ok(Manager { challenges, board, stop: Some(stop), ended })
    }

    /// Whether [`Manager::start`] could use what `settings` name. Makes nothing, and asks no ACME server.
    ///
    /// # Errors
    ///
    /// As [`Manager::start`].
    pub fn check(settings: &Settings) -> Result<(), StartError> {
        turns(settings)?;
        Storage::check(&settings.storage, &settings.directory_url).map_err(StartError::new)?;
        Authority::check(settings).map_err(StartError::new)
    }

    /// The pages that the server gives out before it looks at its routes.
    pub fn challenges(&self) -> &Challenges {
        &self.challenges
    }

    /// Where it stands how the certificates are.
    pub fn board(&self) -> &Board {
        &self.board
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        drop(self.stop.take());
        // The sender is dropped at the end of the thread, which ends the waiting as well.
        let _ = self.ended.recv_timeout(LONGEST_STOP);
    }
}

/// How the names are proved, if there is something to do.
fn turns(settings: &Settings) -> Result<Turns, StartError> {
    if settings.names.is_empty() {
        return Err(StartError::new("there is no name to order a certificate for"));
    }
    Turns::new(&settings.challenges).ok_or_else(|| {
        StartError::new(
            "a name can be proved neither by http-01 (plain HTTP on port 80) nor by tls-alpn-01 (TLS on \
             port 443)",
        )
    })
}

/// What ends the thread when it is dropped, and what ends with the thread.
type Ends = (oneshot::Sender<()>, mpsc::Receiver<()>);

fn start_thread(keepers: Vec<Keeper>, answers: Answers) -> io::Result<Ends> {
    let (stop, stopped) = oneshot::channel();
    let (end, ended) = mpsc::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("weir-acme".to_owned()).spawn(move || {
        run(runtime, keepers, answers, stopped);
        drop::<mpsc::Sender<()>>(end);
    })?;
    Ok((stop, ended))
}

fn run(runtime: Runtime, keepers: Vec<Keeper>, answers: Answers, stopped: oneshot::Receiver<()>) {
    runtime.block_on(async {
        tokio::spawn(answers.follow());
        for keeper in keepers {
            tokio::spawn(supervise(keeper));
        }
        let _ = stopped.await;
    });
    // A name that is being looked up must not hold up the end.
    runtime.shutdown_background();
}

/// Keeps a certificate, also after a fault in this program.
async fn supervise(keeper: Keeper) {
    loop {
        let _ = tokio::spawn(keeper.clone().keep()).await;
        tracing::error!(
            "looking after the certificate for {} ended by a fault of weir, and begins anew in an hour",
            keeper.name()
        );
        sleep(AFTER_PANIC).await;
    }
}

/// Why certificates cannot be looked after.
#[derive(Debug)]
pub struct StartError(String);

impl StartError {
    fn new(text: impl fmt::Display) -> StartError {
        StartError(text.to_string())
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}
