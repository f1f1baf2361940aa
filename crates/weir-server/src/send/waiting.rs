//! Waits until a client has taken so much that more can be sent, and lets one go that takes too little. Used
//! where its socket is full. Through the kernel's bands, time in which its packets wait for a device of this
//! host does not count against it.

use std::time::Duration;

use super::{Outcome, Sending};
use crate::client::rate::Pace;
use crate::runtime::turn;
use crate::uplink::Banded;

/// How often it is looked whether a connection in a band has packets in this host. The kernel has no event
/// for that.
const LOOK: Duration = Duration::from_secs(1);

impl Sending<'_> {
    /// Waits until the socket takes more, and has the kernel keep as much as the client's speed is worth.
    pub(super) async fn until_room(&mut self) -> Result<(), Outcome> {
        let full = turn::began();
        self.until_writable().await?;
        self.client.made_room(turn::began().since(full));
        Ok(())
    }

    /// Waits until the socket takes more.
    ///
    /// # Errors
    ///
    /// The client took nothing for `send_timeout`, or less than `min_rate`, or the connection broke.
    pub(super) async fn until_writable(&mut self) -> Result<(), Outcome> {
        let times = &self.sender.times;
        // What the kernel still keeps, the client has not taken.
        let taken = || {
            let kept = self.client.socket.unacknowledged().unwrap_or(0);
            self.sent as i64 - kept as i64
        };
        let (mut seen, mut since) = (taken(), turn::began());
        let new = || Box::new(Pace::new(times.rate, seen));
        let mut pace = self.pace.take().unwrap_or_else(new);
        let longest = if self.banded.is_some() { LOOK } else { Duration::MAX };
        loop {
            let asked = turn::began();
            let left = times.send.saturating_sub(asked.since(since)).min(pace.left());
            let wait = left.min(longest);
            let writable = self.client.writable(wait).await.map_err(|_| Outcome::ClientLeft)?;
            let now = turn::began();
            let waited = now.since(asked);
            if self.banded.is_some_and(Banded::has_packets_here) {
                // It cannot take what has not left this host.
                since += waited;
            } else {
                pace.waited(waited);
            }
            if pace.is_too_slow(taken) {
                let peer = self.client.peer;
                tracing::info!(
                    "the response to {peer} was cut: it is read more slowly than min_rate"
                );
                // The kernel must not keep the rest.
                self.client.reset_when_closed();
                return Err(Outcome::TimedOut);
            }
            if writable {
                break;
            }
            if now.since(since) >= times.send {
                // The kernel says so only when the client has taken a good part: it may have taken some.
                let before = std::mem::replace(&mut seen, taken());
                if before == seen {
                    return Err(Outcome::TimedOut);
                }
                since = now;
            }
        }
        self.pace = Some(pace);
        Ok(())
    }
}
