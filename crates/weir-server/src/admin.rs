//! The admin address: figures and health, for operators and not for the public.

use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};
use weir_http::Status;
use weir_http::request::{Method, Request};

use crate::content::{FileDisk, Object};
use crate::metrics::{Metrics, listen_overflows, listen_queue};
use crate::proxy::Shared;
use crate::response::{Framing, Response};
use crate::stop::Stop;
use crate::uplink::{InFlightQuery, Uplink};

const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// Answers `/metrics`, `/healthz` and `/readyz`.
#[derive(Debug)]
pub(crate) struct Admin {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) uplink: Option<Arc<Uplink>>,
    pub(crate) disk: Arc<FileDisk>,
    pub(crate) routes: Option<Arc<Shared>>,
    pub(crate) workers: Vec<mpsc::UnboundedSender<InFlightQuery>>,
    /// Copies of the listening sockets, to see how many wait there.
    pub(crate) listeners: Arc<Mutex<Vec<TcpListener>>>,
    pub(crate) stop: Stop,
}

impl Admin {
    pub(crate) async fn respond(&self, request: &Request<'_>, framing: Framing) -> Response {
        if request.method == Method::Other {
            return framing.error(Status::MethodNotAllowed);
        }
        match request.path {
            "/metrics" => framing.whole(Object::text(self.figures().await, METRICS)),
            "/healthz" => framing.whole(Object::text("ok\n", TEXT)),
            // No new requests, please: those under way still end.
            "/readyz" if self.stop.is_stopping() => framing.error(Status::ServiceUnavailable),
            "/readyz" => framing.whole(Object::text("ok\n", TEXT)),
            _ => framing.error(Status::NotFound),
        }
    }

    async fn figures(&self) -> String {
        let figures = &self.metrics.at_reading;
        let queue = listen_queue(&self.listeners.lock().unwrap_or_else(PoisonError::into_inner));
        figures.listen_queue.set(queue);
        if let Some(overflows) = listen_overflows() {
            figures.listen_overflows.set(overflows);
        }
        let load = self.disk.load();
        figures.disk_queued.set(load.queued as i64);
        figures.disk_under_way.set(load.under_way as i64);
        figures.disk_stuck.set(load.stuck as i64);
        figures.disk_merged.set(load.merged as i64);
        if let Some(routes) = &self.routes {
            figures.proxy_memory.set(routes.space.memory_used() as i64);
            figures.proxy_disk.set(routes.space.files_used() as i64);
        }
        for (backend, reading) in self.routes.iter().flat_map(|routes| routes.backends()) {
            self.metrics.backends.read(&backend, &reading);
        }
        if let Some(uplink) = &self.uplink {
            figures.waiting.set(uplink.waiting() as i64);
            figures.bytes_in_flight.set(self.bytes_in_flight().await as i64);
        }
        self.metrics.text()
    }

    async fn bytes_in_flight(&self) -> u64 {
        let mut bytes = 0;
        for worker in &self.workers {
            let (answer, question) = oneshot::channel();
            if worker.send(answer).is_ok() {
                bytes += question.await.unwrap_or(0);
            }
        }
        bytes
    }
}
