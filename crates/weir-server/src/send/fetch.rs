//! Fetches what is to be sent next and is not in memory: from the disk by a helper, or from a backend
//! that has not sent it yet. Used by [`super::Sending`] when a push has found nothing.

use std::future::poll_fn;

use super::{Outcome, Sending};
use crate::answer::{Part, Place};
use crate::body::Truncated;
use crate::client::Wait;
use crate::content::{Body, CHUNK};
use crate::logs::access_log::GateKind;
use crate::runtime::turn;

impl Sending<'_> {
    /// Has a helper fetch what comes next, or waits for the backend, unless the client leaves first, or
    /// takes nothing for too long of what it was sent before.
    pub(super) async fn fetch(&mut self) -> Result<(), Outcome> {
        if self.client.socket.has_waiting() {
            // The backend may send nothing more for long, and half a record is of no use to the client.
            let flushed = Box::pin(self.flushed()).await;
            if !matches!(flushed, Outcome::Complete) {
                return Err(flushed);
            }
        }
        let response = self.response;
        if let Body::Relayed(relayed) = &response.answer.body {
            let at = self.body_sent();
            // Who has taken all before more is sent owes nothing until then: an idle tunnel costs nothing.
            let mut owes = self.banded.is_some();
            loop {
                let asked = turn::began();
                let more = poll_fn(|context| relayed.poll_more(context, at));
                let fetched = tokio::select! {
                    biased;
                    more = more => Some(more.map_err(|Truncated(why)| self.content_failed(why))),
                    () = self.departure(), if self.is_watched() => Some(Err(Outcome::ClientLeft)),
                    () = self.until_look(), if owes => None,
                };
                self.had_nothing_to_send(turn::began().since(asked));
                match fetched {
                    Some(fetched) => return fetched,
                    None => owes = self.look()?,
                }
            }
        }
        let (Body::File(file), Place::Object { at, .. }, Some(site)) =
            (&self.response.answer.body, self.place(), &self.sender.site)
        else {
            return Err(self.content_failed("it is not a file, and not in memory"));
        };
        let (disks, window) = (site.disks(), site.window());
        let _wait = Wait::at(GateKind::Disk, self.client.details());
        let since = self.age.of_next(turn::began());
        let fetched = tokio::select! {
            biased;
            fetched = file.fetch(disks, at, window, since) => fetched,
            () = self.client.gone(), if self.is_watched() => return Err(Outcome::ClientLeft),
        };
        self.age.served(turn::began());
        let (start, bytes) = fetched.map_err(|error| self.unreadable(error))?;
        if start + bytes.len() as u64 <= at {
            return Err(self.truncated());
        }
        self.part = Some(Part { at: start, bytes });
        self.fetched_to = Some(start + window);
        Ok(())
    }

    /// Once something was missing, asks for what follows before it is needed.
    pub(super) fn read_ahead(&mut self) {
        let (Some(asked), Body::File(file), Some(site)) =
            (self.fetched_to, &self.response.answer.body, &self.sender.site)
        else {
            return;
        };
        let Place::Object { at, left } = self.place() else { return };
        let (window, end) = (site.window(), at.saturating_add(left));
        // What was sent meanwhile is not asked for any more.
        let asked = asked.max(at - at % CHUNK);
        if asked >= end || at + window / 2 < asked {
            return;
        }
        self.fetched_to = Some(asked + window);
        if !file.tells_residency() {
            return;
        }
        let (file, disks) = (file.clone(), site.disks().clone());
        let since = self.age.of_next(turn::began());
        let ahead = self.fetching.get_or_insert_default();
        while ahead.try_join_next().is_some() {}
        ahead.spawn_local(async move {
            // If it fails, it will fail again when it is needed.
            let _ = file.fetch(&disks, asked, window, since).await;
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    use std::pin::pin;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::time::Duration;

    use socket2::{Domain, Type};
    use weir_http::message::FieldChanges;

    use super::*;
    use crate::answer::Answer;
    use crate::body::{Limits, Reader, RelayedBody, Space};
    use crate::client::deadlines::Deadlines;
    use crate::client::rate::MinRate;
    use crate::client::{Client, Times};
    use crate::config::{BandCutoffs, KernelCap, KernelConfig, KernelOrder};
    use crate::identity::PeerAddress;
    use crate::metrics::Metrics;
    use crate::response::Response;
    use crate::runtime;
    use crate::send::Sender;
    use crate::transport::Socket;
    use crate::uplink::{Lane, LocalUplink, build_in_kernel};

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn who_takes_nothing_in_a_band_is_let_go_while_a_backend_is_silent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = socket2::Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        there.set_recv_buffer_size(4096).unwrap();
        there.connect(&listener.local_addr().unwrap().into()).unwrap();
        let (here, peer) = listener.accept().unwrap();
        let socket = Socket::new(OwnedFd::from(here));
        let deadlines = Rc::new(Deadlines::default());
        let client = Client::new(socket.into(), PeerAddress::Ip(peer), &deadlines);
        let metrics = Arc::new(Metrics::new());
        let order = KernelOrder::Size(BandCutoffs::Fixed(BandCutoffs::PAPER));
        let config = KernelConfig { device: None, order, cap: KernelCap::Off };
        let (uplink, _gate) = build_in_kernel(&config, 1, metrics.clone());
        let local = LocalUplink::new(uplink, Vec::new(), 0);
        let lane = local.open_lane(&client.socket, client.peer, client.peer);
        let rate = MinRate { bytes_per_second: 0, period: LONG };
        let send = Duration::from_millis(10);
        let times = Times { head: LONG, idle: LONG, handshake: LONG, send, stop: LONG, rate };
        let sender = Sender::new(metrics.clone(), times, None);
        let account = Space::new(1 << 20, 0, None).account([127, 0, 0, 1].into());
        let body = RelayedBody::new(Limits { memory: 1 << 20, file: 0 }, &account);
        let body = Rc::new(Reader(body));
        let answer = Answer::coming(body, "text/plain", &FieldChanges::default());
        let response = Response { head: Vec::new(), answer: &answer, close: false };
        let mut sending = sender.sending(&client, &response, "/", turn::began());
        sending.banded = lane.as_ref().and_then(Lane::banded);
        assert!(sending.banded.is_some());
        assert_eq!(sending.look(), Ok(false), "it owes nothing yet");
        // More than the client's kernel takes while nobody reads.
        assert!(client.socket.write(&[b'x'; 100_000], false).unwrap() > Some(4096));
        let fetched = async {
            let fetching = tokio::time::timeout(Duration::from_secs(20), sending.fetch());
            turn::timed(&metrics, pin!(fetching)).await
        };
        let fetched = runtime::build(&metrics).unwrap().block_on(fetched);
        assert_eq!(fetched, Ok(Err(Outcome::TimedOut)));
        drop(there);
    }
}
