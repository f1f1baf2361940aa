//! The admin address: metrics, health and readiness, and a page that shows what the uplink does. It is
//! for operators, not for the public. Served on the main thread.

mod history;
mod page;
mod parts;

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use http::StatusCode;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout_at;
use weir_acme::Board;
use weir_http::message::{Fields, Request, is_get_or_head};

pub(crate) use self::history::History;
pub(crate) use self::page::UplinkQueue;
use self::page::{Now, Usage};
use super::methods;
use crate::answer::Answer;
use crate::content::{FileDisks, Object};
use crate::metrics::{Format, Metrics, WatchedSockets, listen_overflows, listen_queue};
use crate::runtime::stop::Stop;
use crate::service::proxy::Shared;
use crate::uplink::{InFlightQuery, Uplink};

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// The time over which what is used of the uplink is averaged for `/metrics`.
const USED_OVER: Duration = Duration::from_secs(10);

/// How long all workers together may take to tell what their connections have in flight.
const TELL_WITHIN: Duration = Duration::from_millis(100);

/// Answers `/metrics`, `/healthz`, `/readyz` and `/`, the page.
#[derive(Debug)]
pub(crate) struct Admin {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) link: Option<Link>,
    pub(crate) started: Instant,
    pub(crate) disks: Arc<FileDisks>,
    pub(crate) routes: Option<Arc<Shared>>,
    /// Those that must have a healthy backend for the server to be ready, by their numbers.
    pub(crate) ready_routes: Vec<usize>,
    /// How the certificates are that are obtained, if any are.
    pub(crate) obtained: Option<Board>,
    pub(crate) workers: Vec<mpsc::UnboundedSender<InFlightQuery>>,
    /// To see how many wait at the listening sockets.
    pub(crate) listeners: WatchedSockets,
    pub(crate) stop: Stop,
}

/// The uplink as operators see it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) queue: UplinkQueue,
    pub(crate) uplink: Arc<Uplink>,
    pub(crate) history: Arc<History>,
}

impl Admin {
    /// The answer to a request with these fields.
    pub(super) async fn respond(&self, request: &Request<'_>, fields: &Fields<'_>) -> Answer {
        if !is_get_or_head(&request.method) {
            return methods::answer(&request.method);
        }
        match request.path {
            "/" => Answer::whole(Object::text(self.page(), HTML)),
            "/metrics" => {
                let format = Format::accepted(&fields.list("accept").unwrap_or_default());
                Answer::whole(Object::text(self.figures(format).await, format.media()))
            }
            "/healthz" => Answer::whole(Object::text("ok\n", TEXT)),
            // No new requests, please: those under way still end.
            "/readyz" if !self.stop.is_ready() => Answer::error(StatusCode::SERVICE_UNAVAILABLE),
            "/readyz" => self.readiness(),
            _ => Answer::error(StatusCode::NOT_FOUND),
        }
    }

    /// Whether the routes on which that depends have healthy backends.
    fn readiness(&self) -> Answer {
        let routes = self.routes.as_ref();
        match routes.and_then(|routes| routes.without_healthy_backend(&self.ready_routes)) {
            None => Answer::whole(Object::text("ok\n", TEXT)),
            Some(route) => Answer {
                status: StatusCode::SERVICE_UNAVAILABLE,
                ..Answer::whole(Object::text(format!("no backend of {route} is healthy\n"), TEXT))
            },
        }
    }

    fn page(&self) -> String {
        let link = self.link.as_ref();
        page::page(&Now {
            up_for: self.started.elapsed(),
            is_ready: self.stop.is_ready(),
            usage: link.map(|link| Usage {
                queue: link.queue,
                is_in_order: self.metrics.in_force.is_scheduled(),
                seconds: link.history.seconds(),
                waiting: self.metrics.waiting.by_size().collect(),
                settled: self.metrics.fairness.settlements().collect(),
            }),
            connections: self.metrics.connections.get(),
            backends: self.routes.iter().flat_map(|routes| routes.backends()).collect(),
        })
    }

    async fn figures(&self, format: Format) -> String {
        let figures = &self.metrics.at_reading;
        self.metrics.process.read();
        let queue = listen_queue(&self.listeners.lock().unwrap_or_else(PoisonError::into_inner));
        figures.listen_queue.set(queue);
        if let Some(overflows) = listen_overflows() {
            figures.listen_overflows.inner().store(overflows, Ordering::Relaxed);
        }
        let load = self.disks.load();
        figures.disk_queued.set(load.queued as i64);
        figures.disk_under_way.set(load.under_way as i64);
        figures.disk_stuck.set(load.stuck as i64);
        figures.disk_limit.set(load.limit as i64);
        if let Some(routes) = &self.routes {
            figures.proxy_memory.set(routes.space.memory_used() as i64);
            figures.proxy_disk.set(routes.space.files_used() as i64);
        }
        for (backend, reading) in self.routes.iter().flat_map(|routes| routes.backends()) {
            self.metrics.backends.read(&backend, &reading);
        }
        for certificate in self.obtained.iter().flat_map(|board| board.status().certificates) {
            self.metrics.obtained.read(&certificate);
            if let Some(end) = certificate.not_after {
                self.metrics.handshakes.expires(&certificate.name, end);
            }
        }
        if let Some(Link { queue, uplink, history }) = &self.link {
            // In kernel mode the device has the rate.
            if let UplinkQueue::InWeir(config) = queue {
                figures.uplink_configured.set((config.rate.bits() / 8) as i64);
            }
            figures.uplink_used.set(history.used(USED_OVER) as i64);
            figures.uplink_bytes.inner().store(uplink.bytes_sent(), Ordering::Relaxed);
            figures.bytes_in_flight.set(bytes_in_flight(&self.workers).await as i64);
        }
        self.metrics.text(format)
    }
}

/// Bytes in flight of the connections of `workers`. One that hangs is left out: metrics are needed most when
/// something does.
async fn bytes_in_flight(workers: &[mpsc::UnboundedSender<InFlightQuery>]) -> u64 {
    let ask = |worker: &mpsc::UnboundedSender<InFlightQuery>| {
        let (query, answer) = oneshot::channel();
        worker.send(query).ok().map(|()| answer)
    };
    let answers: Vec<_> = workers.iter().filter_map(ask).collect();
    let end = tokio::time::Instant::now() + TELL_WITHIN;
    let mut bytes = 0;
    for answer in answers {
        // What has come by the end counts, whoever else has not answered.
        if let Ok(Ok(told)) = timeout_at(end, answer).await {
            bytes += told;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_worker_that_hangs_is_left_out_and_holds_up_nobody() {
        let (hangs, _queries) = mpsc::unbounded_channel();
        let (has_ended, queries) = mpsc::unbounded_channel();
        drop(queries);
        let (works, mut queries) = mpsc::unbounded_channel::<InFlightQuery>();
        let workers = [hangs, has_ended, works];
        let answer = async { queries.recv().await.unwrap().send(7).unwrap() };
        // A guard against waiting for ever: nothing that works takes so long.
        let told = tokio::time::timeout(Duration::from_secs(30), bytes_in_flight(&workers));
        let (told, ()) = tokio::join!(told, answer);
        assert_eq!(told, Ok(7));
    }
}
