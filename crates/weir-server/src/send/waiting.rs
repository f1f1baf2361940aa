//! Waits until a client has taken so much that more can be sent, and lets one go that takes too little. Used
//! where its socket is full, and through the kernel's bands where a backend is waited for, too. There, time in
//! which its packets wait for a device of this host does not count against it.

use std::time::Duration;

use super::{Outcome, Sending};
use crate::client::rate::Pace;
use crate::client::stall::{LOOK, Stall};
use crate::runtime::turn;
use crate::uplink::Banded;

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
        let seen = taken();
        let mut stall = Stall::new(times.send, seen);
        let new = || Box::new(Pace::new(times.rate, seen));
        let mut pace = self.pace.take().unwrap_or_else(new);
        let longest = if self.banded.is_some() { LOOK } else { Duration::MAX };
        loop {
            let asked = turn::began();
            let wait = stall.left().min(pace.left()).min(longest);
            let writable = self.client.writable(wait).await.map_err(|_| Outcome::ClientLeft)?;
            // It cannot take what has not left this host.
            if !self.banded.is_some_and(Banded::has_packets_here) {
                let waited = turn::began().since(asked);
                stall.waited(waited);
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
            // The kernel says so only when the client has taken a good part: it may have taken some.
            if stall.is_over(taken) {
                return Err(Outcome::TimedOut);
            }
        }
        self.pace = Some(pace);
        Ok(())
    }

    /// Waits until it is time for [`Sending::look`].
    pub(super) async fn until_look(&self) {
        let lull = self.lull.as_deref().copied().unwrap_or_default();
        tokio::time::sleep(lull.until_look(self.sender.times.send)).await;
    }

    /// There was nothing to send for so long.
    pub(super) fn had_nothing_to_send(&mut self, time: Duration) {
        // Elsewhere the kernel finds out (TCP_USER_TIMEOUT).
        if self.banded.is_some() {
            self.lull.get_or_insert_default().waited(time);
        }
    }

    /// Looks, while there is nothing to send, whether the client takes what it was sent before. Returns whether
    /// it still has some of it to take.
    ///
    /// # Errors
    ///
    /// It has taken nothing for `send_timeout`.
    pub(super) fn look(&mut self) -> Result<bool, Outcome> {
        let (banded, longest) = (self.banded, self.sender.times.send);
        // By the kernel's count: with TLS more is written than what is sent.
        let part = self.client.socket.tcp_info().ok().and_then(|info| info.acknowledged_part());
        let taken = part.map(|bytes| bytes as i64);
        let is_starved = || banded.is_some_and(Banded::has_packets_here);
        match self.lull.get_or_insert_default().is_too_long(longest, taken, is_starved) {
            true => Err(Outcome::TimedOut),
            false => Ok(taken.is_some()),
        }
    }
}
