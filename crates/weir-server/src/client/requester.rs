//! Whoever has sent one request, as services see it: its connection in HTTP/1, a stream of it in others.
//! Implemented by each protocol; used by the exchange and by the proxy to notice that a client has left.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use weir_http::forward::RelayedFields;

use super::Left;
use crate::body::{Account, Space};
use crate::config::DisconnectDetection;
use crate::identity::PeerAddress;
use crate::logs::access_log::Details;

/// See the module.
pub(crate) trait Requester {
    /// The client's address: the peer, or whom a trusted proxy names.
    fn address(&self) -> PeerAddress;

    /// The other end of its connection, or whom the PROXY header named.
    fn peer(&self) -> PeerAddress;

    /// Who it is by a password that was checked.
    fn user(&self) -> Option<&str>;

    /// What is collected of its request, if the access log tells of that.
    fn details(&self) -> Option<&Details>;

    /// Its account in `space`.
    fn account(&self, space: &Arc<Space>) -> &Account;

    /// Whether it asks with TLS, as far as a trusted proxy in between tells.
    fn is_secure(&self) -> bool;

    /// The host that it names, if a trusted proxy tells of that.
    fn host(&self) -> Option<&str>;

    /// The path that proxies in front have taken off its request, if a trusted one tells of that.
    fn prefix(&self) -> Option<&str>;

    /// Who it is by a certificate that was verified: its subject.
    fn subject(&self) -> Option<&HeaderValue>;

    /// Waits until it sends nothing more, or has gone.
    async fn left(&self) -> Left;

    /// Waits until it has certainly gone, once it sends nothing more.
    async fn reset(&self);

    /// Sends a few bytes that one which has gone answers with a reset; false if nothing can be sent any
    /// more.
    fn probe(&self) -> bool;

    /// Waits until it is certain that it has gone. One that sends nothing more is probed.
    async fn gone(&self) {
        if self.left().await == Left::HalfClosed && self.probe() {
            self.reset().await;
        }
    }

    /// Whether it is found to send nothing more, now, by one of the ways that ask.
    fn looks_closed(&self, by: DisconnectDetection) -> bool;

    /// Sends an interim answer (RFC 9110, section 15.2), if there is room for it. False if no final one
    /// can follow: the connection broke, or took only a part of it.
    fn interim(&self, status: StatusCode, fields: &RelayedFields<'_>) -> bool;

    /// The result of `work`, which is done for it; `None` if it takes longer than `wait`.
    async fn within<T>(&self, wait: Duration, work: impl Future<Output = T>) -> Option<T>;

    /// Descriptors are short: has some idle connections closed.
    fn make_room(&self);
}
