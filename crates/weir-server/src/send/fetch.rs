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
    /// Has a helper fetch what comes next, or waits for the backend, unless the client leaves first.
    pub(super) async fn fetch(&mut self) -> Result<(), Outcome> {
        if self.client.socket.has_waiting() {
            // The backend may send nothing more for long, and half a record is of no use to the client.
            let flushed = Box::pin(self.flushed()).await;
            if !matches!(flushed, Outcome::Complete) {
                return Err(flushed);
            }
        }
        if let Body::Relayed(relayed) = &self.response.answer.body {
            let at = self.body_sent();
            let more = poll_fn(|context| relayed.poll_more(context, at));
            return tokio::select! {
                biased;
                more = more => more.map_err(|Truncated(why)| self.content_failed(why)),
                () = self.departure(), if self.is_watched() => Err(Outcome::ClientLeft),
            };
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
