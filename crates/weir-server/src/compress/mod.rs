//! Compresses content for clients that accept it, by threads of its own, and keeps what came of files.
//! Used by `content` for files and by the proxy for answers of backends, which send content as it is where
//! this gives up: it is the first thing that goes without when there is too much to do.

mod encoder;
mod pool;
mod results;
mod stream;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use weir_http::message::coding::Coding;

use self::encoder::{compress, keep_memory};
use self::pool::{Announced, Pool};
use self::results::Results;
pub(crate) use self::results::{Compressed, Key};
use self::stream::Place;
pub(crate) use self::stream::Stream;
use crate::config::{Config, MediaPattern, RouteConfig};
use crate::metrics::{GivenUp, Metrics};

/// Bytes of the shortest content that is compressed: a shorter one fits the packet that its head is in.
pub(crate) const SHORTEST: u64 = 1024;

/// Bytes of the longest content that is compressed whole while its client waits.
pub(crate) const LONGEST: u64 = 1_000_000;

/// How long a request waits for what is compressed for it, however long its content takes to be read.
const PATIENCE: Duration = Duration::from_millis(250);

/// Streams for each thread that may be under way at once; each has an encoder with its window.
const STREAMS: usize = 32;

/// See the module.
#[derive(Debug)]
pub(crate) struct Compressor {
    types: Vec<MediaPattern>,
    pool: Arc<Pool>,
    results: Results,
    /// Who waits for results that are being made.
    claims: Mutex<HashMap<Key, Vec<Answer>>>,
    streams: Arc<AtomicUsize>,
    most_streams: usize,
    metrics: Arc<Metrics>,
}

type Answer = oneshot::Sender<Result<Arc<Compressed>, GivenUp>>;

/// Content that is to be compressed.
pub(crate) type Content = Box<dyn AsRef<[u8]> + Send>;

/// What a request can do for a result that is not there.
#[derive(Debug)]
pub(crate) enum Claim {
    /// Bring the content, and wait like others: no longer, however long bringing it takes.
    Mine(Ticket, Waiting),
    /// Wait: somebody has brought it, or is about to.
    Others(Waiting),
    /// Nothing: there is too much to do, which was counted.
    Refused(GivenUp),
}

impl Compressor {
    /// `None` if nothing is compressed on the fly.
    pub(crate) fn open(config: &Config, metrics: &Arc<Metrics>) -> Option<Arc<Compressor>> {
        Compressor::is_used(config).then(|| Compressor::new(config, metrics))
    }

    /// Whether anything is compressed on the fly.
    pub(crate) fn is_used(config: &Config) -> bool {
        let of_files = config.serves_files() && config.compression.compress;
        of_files || config.routes.iter().any(RouteConfig::compresses)
    }

    fn new(config: &Config, metrics: &Arc<Metrics>) -> Arc<Compressor> {
        keep_memory();
        let config = &config.compression;
        let threads = config.compress_threads as usize;
        let kept = usize::try_from(config.compress_cache).unwrap_or(usize::MAX);
        Arc::new(Compressor {
            types: config.compress_types.clone(),
            pool: Arc::new(Pool::new(threads, metrics.clone())),
            results: Results::new(kept, metrics),
            claims: Mutex::default(),
            streams: Arc::default(),
            most_streams: STREAMS * threads,
            metrics: metrics.clone(),
        })
    }

    /// Whether content of this type, the value of a `Content-Type` field, is compressed.
    pub(crate) fn covers(&self, media: &str) -> bool {
        self.types.iter().any(|pattern| pattern.matches(media))
    }

    /// The result, if it is kept, or being sent.
    pub(crate) fn find(&self, key: &Key) -> Option<Arc<Compressed>> {
        self.results.get(key)
    }

    /// Keeps no results from now on: another compressor has taken its place.
    pub(crate) fn give_up(&self) {
        self.results.give_up();
    }

    /// Claims to have a result made of content of this length, unless somebody has already.
    pub(crate) fn claim(self: &Arc<Self>, key: Key, length: usize) -> Claim {
        let wait = || {
            let (answer, result) = oneshot::channel();
            (answer, Waiting { result, metrics: self.metrics.clone() })
        };
        // Before the claims are locked; it is given back after that: no lock is taken while another is held.
        let announced = self.announce(length);
        let mut claims = self.claims();
        let claim = match (claims.entry(key), &announced) {
            (Entry::Occupied(mut claim), _) => {
                let (answer, waiting) = wait();
                claim.get_mut().push(answer);
                return Claim::Others(waiting);
            }
            (Entry::Vacant(_), Err(why)) => {
                self.metrics.compression.gave_up(*why);
                return Claim::Refused(*why);
            }
            (Entry::Vacant(claim), Ok(_)) => claim,
        };
        let (answer, waiting) = wait();
        claim.insert(vec![answer]);
        let ticket = Ticket { compressor: self.clone(), key: Some(key), announced: announced.ok() };
        Claim::Mine(ticket, waiting)
    }

    /// A place for content that is to be brought.
    fn announce(&self, length: usize) -> Result<Announced, GivenUp> {
        if self.results.is_full() {
            return Err(GivenUp::QueueFull);
        }
        self.pool.announce(length)
    }

    /// Compresses content that is not kept. `None`: it is to be sent as it is; if that is because there is
    /// too much to do, it was counted.
    pub(crate) async fn once(&self, coding: Coding, content: Arc<[u8]>) -> Option<Vec<u8>> {
        let (answer, result) = oneshot::channel();
        let work = {
            let content = content.clone();
            move || drop(answer.send(compress(coding, &content)))
        };
        let begun = self.pool.begin(content.len(), work);
        let made = match begun {
            Err(why) => Err(why),
            Ok(()) => match timeout(PATIENCE, result).await {
                Ok(Ok(Ok(made))) => Ok(made),
                Ok(_) => Err(GivenUp::Failed),
                Err(_) => Err(GivenUp::TooSlow),
            },
        };
        made.unwrap_or_else(|why| {
            self.metrics.compression.gave_up(why);
            None
        })
    }

    /// Begins to compress content that comes in pieces; `None`: there is too much to do, which was counted.
    pub(crate) fn stream(&self, coding: Coding) -> Option<Stream> {
        let place = Place::among(self.most_streams, &self.streams);
        match (self.pool.refusal(), place) {
            (None, Some(place)) => Some(Stream::new(coding, self.pool.clone(), place)),
            (refusal, _) => {
                self.metrics.compression.gave_up(refusal.unwrap_or(GivenUp::QueueFull));
                None
            }
        }
    }

    /// A request is answered with content in this coding.
    pub(crate) fn answered(&self, coding: Coding) {
        self.metrics.compression.answered(coding);
    }

    /// Ends a claim.
    fn end(&self, key: Key, result: Result<Arc<Compressed>, GivenUp>) {
        if let Ok(result) = &result {
            self.results.keep(key, result);
        }
        let waiting = self.claims().remove(&key).unwrap_or_default();
        for answer in waiting {
            let _ = answer.send(result.clone());
        }
    }

    /// Whether nobody wants a result; if not, the task is woken when that may have changed.
    fn poll_deserted(&self, key: &Key, context: &mut Context<'_>) -> Poll<()> {
        let mut claims = self.claims();
        let mut waiting = claims.get_mut(key).into_iter().flatten();
        match waiting.all(|answer| answer.poll_closed(context).is_ready()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    fn claims(&self) -> MutexGuard<'_, HashMap<Key, Vec<Answer>>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to have a result made. Dropped without that, it lets all who wait go without.
pub(crate) struct Ticket {
    compressor: Arc<Compressor>,
    key: Option<Key>,
    /// Until the content is there.
    announced: Option<Announced>,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Ticket {
    /// Has the content compressed for all who wait, unless there is too much to do by now.
    pub(crate) fn submit(mut self, content: Content) {
        if let Some(why) = self.compressor.pool.refusal() {
            self.end(Err(why));
            return;
        }
        let (Some(key), Some(announced)) = (self.key, self.announced.take()) else { return };
        announced.begin(move || {
            let made = compress(key.coding, (*content).as_ref());
            let made = made.map(|bytes| self.compressor.results.made(bytes));
            self.end(made.map_err(|_| GivenUp::Failed));
        });
    }

    /// Waits until all who waited for the result have left, before they had waited long enough.
    pub(crate) async fn deserted(&self) {
        if let Some(key) = &self.key {
            poll_fn(|context| self.compressor.poll_deserted(key, context)).await;
        }
    }

    fn end(&mut self, result: Result<Arc<Compressed>, GivenUp>) {
        if let Some(key) = self.key.take() {
            self.compressor.end(key, result);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.end(Err(GivenUp::Failed));
    }
}

/// A result that is being made.
#[derive(Debug)]
pub(crate) struct Waiting {
    result: oneshot::Receiver<Result<Arc<Compressed>, GivenUp>>,
    metrics: Arc<Metrics>,
}

impl Waiting {
    /// The result.
    ///
    /// # Errors
    ///
    /// It takes too long, failed, or there is too much to do, which was counted.
    pub(crate) async fn result(mut self) -> Result<Arc<Compressed>, GivenUp> {
        let why = match timeout(PATIENCE, &mut self.result).await {
            Ok(Ok(Ok(result))) => return Ok(result),
            Ok(Ok(Err(why))) => why,
            Ok(Err(_)) => GivenUp::Failed,
            Err(_) => {
                // It is still wanted: who asks next has it. A disk that takes longer than this for the
                // content would otherwise begin anew for everybody who asks.
                drop(tokio::spawn(self.result));
                GivenUp::TooSlow
            }
        };
        self.metrics.compression.gave_up(why);
        Err(why)
    }
}

#[cfg(test)]
mod tests;
