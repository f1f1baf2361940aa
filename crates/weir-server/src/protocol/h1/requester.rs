//! The client of a request in HTTP/1: its connection is all that asks. Used by the driver, which makes
//! one for each request.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode, Version};
use weir_http::forward::RelayedFields;
use weir_http::h1::relayed::interim_head;
use weir_http::h1::response::{CONTINUE, disconnect_probe};

use crate::body::{Account, Space};
use crate::client::{Asker, Behind, Client, Left, Requester};
use crate::config::DisconnectDetection;
use crate::identity::PeerAddress;
use crate::logs::access_log::Details;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct H1Requester<'c> {
    pub(super) client: &'c Client,
    /// If it is more than the other end of the connection.
    pub(super) asker: Option<&'c Asker>,
    /// Of its request.
    pub(super) version: Version,
}

impl H1Requester<'_> {
    /// The client behind a trusted proxy, if there is one.
    fn behind(&self) -> Option<&Behind> {
        self.asker?.behind.as_ref()
    }

    /// Asks for the body of the request; false if the connection cannot be used any more.
    pub(super) fn go_on(&self) -> bool {
        self.client.say(CONTINUE)
    }
}

impl Requester for H1Requester<'_> {
    fn address(&self) -> PeerAddress {
        Asker::address(self.asker, self.client.peer)
    }

    fn peer(&self) -> PeerAddress {
        self.client.peer
    }

    fn user(&self) -> Option<&str> {
        Asker::user(self.asker)
    }

    fn details(&self) -> Option<&Details> {
        self.client.details()
    }

    fn account(&self, space: &Arc<Space>) -> &Account {
        match self.behind() {
            Some(behind) => behind.account(space),
            None => self.client.account(space),
        }
    }

    fn is_secure(&self) -> bool {
        match self.behind().and_then(|behind| behind.told.scheme) {
            Some(scheme) => scheme == "https",
            None => self.client.socket.is_tls(),
        }
    }

    fn host(&self) -> Option<&str> {
        self.behind()?.told.host.as_deref()
    }

    fn prefix(&self) -> Option<&str> {
        self.behind()?.told.prefix.as_deref()
    }

    fn subject(&self) -> Option<&HeaderValue> {
        self.client.socket.subject()
    }

    async fn left(&self) -> Left {
        self.client.left().await
    }

    async fn reset(&self) {
        self.client.reset().await;
    }

    fn probe(&self) -> bool {
        let question = disconnect_probe(self.version);
        // Without a question, what is on its way to the client already has the same effect.
        question.is_empty() || self.client.say(question)
    }

    fn looks_closed(&self, by: DisconnectDetection) -> bool {
        self.client.looks_closed(by)
    }

    fn interim(&self, status: StatusCode, fields: &RelayedFields<'_>) -> bool {
        // HTTP/1.0 has none.
        if self.version == Version::HTTP_10 {
            return true;
        }
        let mut head = Vec::with_capacity(256);
        interim_head(&mut head, status, fields);
        self.client.say(&head)
    }

    async fn within<T>(&self, wait: Duration, work: impl Future<Output = T>) -> Option<T> {
        self.client.within(wait, work).await
    }

    fn make_room(&self) {
        self.client.make_room();
    }
}
