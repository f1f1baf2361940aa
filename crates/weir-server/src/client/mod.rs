//! The client at the other end of a connection: its transport, its address, how long it may take, and
//! whether it is still there. Used by connections to read requests, by `send` to write responses, and by
//! the proxy to notice that a client has left.

mod asker;
mod body_reading;
pub(crate) mod deadlines;
pub(crate) mod handshake;
pub(crate) mod input;
pub(crate) mod rate;
mod requester;
pub(crate) mod stall;
mod times;

pub(crate) use asker::{Asker, Behind};
pub(crate) use body_reading::BodyReading;
pub(crate) use requester::Requester;
pub(crate) use times::Times;

pub(crate) use crate::runtime::wait::Wait;
pub(crate) use crate::transport::Left;

use std::cell::{Cell, OnceCell};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rustix::io::Errno;
use tokio::task::coop::consume_budget;
use weir_sched::Time;

use self::body_reading::Reading;
use crate::body::{Account, Space};
use crate::client::deadlines::{Deadline, Deadlines};
use crate::client::input::Input;
use crate::config::{DisconnectDetection, PortKind};
use crate::identity::PeerAddress;
use crate::logs::access_log::{Details, Ending};
use crate::metrics::note_event;
use crate::runtime::stop::Stop;
use crate::runtime::turn;
use crate::transport::{Event, Transport, Unsent};

/// A client that has never sent a request counts as idle for so much longer when descriptors are short:
/// a request usually comes together with its connection. So does one that has had its last response.
const UNPROVEN: Duration = Duration::from_secs(10);

/// A client whose request has begun to come counts as idle for so much less: more than heads take.
const BEGUN: Duration = Duration::from_secs(5);

/// Idle connections that are closed at once for want of a descriptor.
const AT_ONCE: usize = 8;

/// A client and its connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) socket: Rc<Transport>,
    pub(crate) peer: PeerAddress,
    /// Of the port that it has connected to.
    pub(crate) port: PortKind,
    /// Why a response to it is cut that is dropped while it is being sent: because the server stops, unless
    /// the client was found to have left.
    pub(crate) cut_by: Cell<Ending>,
    deadline: Deadline,
    /// The one for writing, made when it is first needed: reading and writing may go on at once.
    writing: OnceCell<Deadline>,
    /// The one for what others do for this client, such as backends.
    served: OnceCell<Deadline>,
    /// What its bodies to and from backends are charged to; opened with the first such request.
    account: OnceCell<Account>,
    /// What is collected of its request, made with the first one of which something is.
    details: OnceCell<Box<Details>>,
    /// Bytes may have come without an event: the next read tries before it waits.
    look_first: Cell<bool>,
    /// It has sent a request.
    has_asked: Cell<bool>,
    /// Whether the body of its request is read while it is answered.
    reading: Reading,
    unsent: Unsent,
    /// Its congestion control paces; asked for when it matters.
    is_paced: OnceCell<bool>,
}

/// How a wait for bytes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    More,
    /// The client will send nothing more, or the connection broke.
    End,
    TimedOut,
    /// The server is stopping.
    Stopped,
    /// Its descriptor is needed for another connection.
    GivenUp,
}

/// What an idle client is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The next request, or the end of the connection.
    Anything,
    /// The end of the connection.
    End,
    /// The rest of a head that began to come at `begun`.
    Rest { begun: Time },
}

impl Waits {
    /// Since when a client counts as idle that is waited for from `now` on. When descriptors are short,
    /// the earliest go first.
    fn since(self, now: Time, has_asked: bool) -> Time {
        match self {
            Waits::Anything if has_asked => now,
            Waits::Anything | Waits::End => now.before(UNPROVEN),
            Waits::Rest { begun } => begun + BEGUN,
        }
    }
}

impl Client {
    pub(crate) fn new(socket: Transport, peer: PeerAddress, deadlines: &Rc<Deadlines>) -> Client {
        Client {
            socket: Rc::new(socket),
            peer,
            port: PortKind::Clear,
            cut_by: Cell::new(Ending::Stopped),
            deadline: deadlines.enter(),
            writing: OnceCell::new(),
            served: OnceCell::new(),
            account: OnceCell::new(),
            details: OnceCell::new(),
            // A request is often there before the connection is accepted.
            look_first: Cell::new(true),
            has_asked: Cell::new(false),
            reading: Reading::default(),
            unsent: Unsent::default(),
            is_paced: OnceCell::new(),
        }
    }

    /// Its account in `space`; its address must be known by now.
    pub(crate) fn account(&self, space: &Arc<Space>) -> &Account {
        self.account.get_or_init(|| space.account(self.peer.ip()))
    }

    /// Begins to collect what is told of its next request, which has come at `begun` and takes this route.
    pub(crate) fn begin_details(&self, begun: Time, route: Option<Arc<str>>) {
        self.details.get_or_init(Box::default).begin(begun, route);
    }

    /// What is collected of its request; `None`: nothing.
    pub(crate) fn details(&self) -> Option<&Details> {
        self.details.get().map(|details| &**details)
    }

    /// Waits for more bytes: at most for `wait`, and if `stop` is given, until the server stops.
    pub(crate) async fn read(
        &self,
        input: &mut Input,
        wait: Duration,
        stop: Option<&Stop>,
    ) -> Read {
        self.next_bytes(input, wait, stop).await
    }

    /// The same, but the client counts as idle meanwhile: when descriptors are short, its connection may
    /// be given up.
    pub(crate) async fn read_unless_given_up(
        &self,
        input: &mut Input,
        wait: Duration,
        stop: Option<&Stop>,
        waits: Waits,
    ) -> Read {
        self.deadline.idle_since(waits.since(turn::began(), self.has_asked.get()));
        let read = self.next_bytes(input, wait, stop).await;
        self.deadline.idle_since(Time::NEVER);
        read
    }

    /// The client has sent a request.
    pub(crate) fn has_requested(&self) {
        self.has_asked.set(true);
    }

    /// Descriptors are short: has some idle connections of the same worker closed.
    pub(crate) fn make_room(&self) {
        self.deadline.give_up_others(AT_ONCE);
    }

    async fn next_bytes(&self, input: &mut Input, wait: Duration, stop: Option<&Stop>) -> Read {
        self.deadline.set(turn::began() + wait);
        poll_fn(|context| {
            loop {
                let mut is_last_look = false;
                if !self.look_first.replace(false) {
                    match self.socket.poll_readable(context) {
                        Poll::Ready(Ok(())) => note_event(),
                        Poll::Ready(Err(_)) => return Poll::Ready(Read::End),
                        Poll::Pending if stop.is_some_and(Stop::is_stopping) => {
                            return Poll::Ready(Read::Stopped);
                        }
                        // A request may have come that the runtime has not heard of.
                        Poll::Pending if self.deadline.is_given_up() => is_last_look = true,
                        Poll::Pending if self.deadline.passed(turn::began(), context) => {
                            return Poll::Ready(Read::TimedOut);
                        }
                        Poll::Pending => return Poll::Pending,
                    }
                }
                let room = input.room();
                let space = room.len();
                let received = self.socket.read(room);
                input.filled(*received.as_ref().unwrap_or(&0));
                match received {
                    Err(Errno::AGAIN) if is_last_look => return Poll::Ready(Read::GivenUp),
                    Err(Errno::AGAIN) => {}
                    Ok(count) if count > 0 => {
                        // A full buffer: there may be more.
                        self.look_first.set(count == space);
                        return Poll::Ready(Read::More);
                    }
                    _ => return Poll::Ready(Read::End),
                }
            }
        })
        .await
    }

    /// Reads and discards until the client closes; false if it takes longer than `wait`, or the server
    /// stops.
    pub(crate) async fn drain(
        &self,
        buffers: &mut Input,
        wait: Duration,
        stop: Option<&Stop>,
    ) -> bool {
        self.look_first.set(true);
        let end = turn::began() + wait;
        loop {
            consume_budget().await;
            let left = end.since(turn::began());
            if left.is_zero() {
                return false;
            }
            match self.read_unless_given_up(buffers, left, stop, Waits::End).await {
                Read::More => buffers.answered(buffers.bytes().len()),
                Read::End => return true,
                Read::TimedOut | Read::Stopped | Read::GivenUp => return false,
            }
        }
    }

    /// Waits until the socket takes data again; false if that takes longer than `wait`.
    ///
    /// # Errors
    ///
    /// It broke.
    pub(crate) async fn writable(&self, wait: Duration) -> io::Result<bool> {
        let deadline = self.writing.get_or_init(|| self.deadline.another());
        deadline.set(turn::began() + wait);
        let writable = poll_fn(|context| match self.socket.poll_writable(context) {
            Poll::Ready(ready) => {
                note_event();
                Poll::Ready(ready.map(|()| true))
            }
            Poll::Pending if deadline.passed(turn::began(), context) => Poll::Ready(Ok(false)),
            Poll::Pending => Poll::Pending,
        })
        .await;
        deadline.clear();
        writable
    }

    /// A response of `left` bytes begins, which no uplink's gate holds back.
    pub(crate) fn begins(&self, left: u64) {
        self.unsent.begin(&self.socket, left);
    }

    /// The socket was full and has made room after `wait`: the kernel is to keep more for a fast client, and
    /// less for a slow one.
    pub(crate) fn made_room(&self, wait: Duration) {
        self.unsent.adapt(&self.socket, wait);
    }

    /// Whether the kernel sends at a rate that it has estimated (BBR), rather than whatever the window lets
    /// through.
    pub(crate) fn is_paced(&self) -> bool {
        *self.is_paced.get_or_init(|| self.socket.is_paced())
    }

    /// The result of `work`, which is done for this client; `None` if it takes longer than `wait`. Cheaper
    /// than a timer of the runtime for each request.
    pub(crate) async fn within<T>(
        &self,
        wait: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let deadline = self.served.get_or_init(|| self.deadline.another());
        deadline.set(turn::began() + wait);
        let mut work = pin!(work);
        let done = poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if deadline.passed(turn::began(), context) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await;
        deadline.clear();
        done
    }

    /// From now on the body of its request is read while it is answered, by the task that sends the
    /// answer. Who reads notices a client that leaves within its body; until then [`Client::left`] waits.
    pub(crate) fn begin_reading_body(&self) -> BodyReading<'_> {
        self.reading.begin()
    }

    /// Waits until the client closes its side, or both. Bytes that arrive meanwhile stay unread.
    ///
    /// Over TCP a client that has only finished sending looks the same as one that has closed; sending
    /// it a few bytes tells, for one that has closed answers with a reset.
    pub(crate) async fn left(&self) -> Left {
        self.reading.over().await;
        loop {
            match self.socket.event().await {
                Event::Left(left) => return left,
                Event::Unread => self.look_first.set(true),
            }
        }
    }

    /// Closing the connection will reset it.
    pub(crate) fn reset_when_closed(&self) {
        self.socket.reset_when_closed();
    }

    /// Sends a few bytes ahead of any response, or none if there is no room. False if the connection
    /// cannot be used any more: it broke, or took only a part of them.
    pub(crate) fn say(&self, bytes: &[u8]) -> bool {
        match self.socket.write(bytes, false) {
            Ok(Some(count)) => count == bytes.len() && !self.socket.has_waiting(),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Waits until a half-closed client turns out to have gone.
    pub(crate) async fn reset(&self) {
        self.socket.gone().await;
    }

    /// Waits until it is certain that the client has gone. If it has closed its side, what is on its way
    /// to it tells: a host on which it has gone answers that with a reset.
    pub(crate) async fn gone(&self) {
        if self.left().await == Left::HalfClosed {
            self.reset().await;
        }
    }

    /// Whether the client is found to have closed its side, now, by one of the ways that ask.
    pub(crate) fn looks_closed(&self, by: DisconnectDetection) -> bool {
        let peek = || self.socket.is_at_end() || self.socket.has_failed();
        match by {
            // Under TLS the client's last record would be seen, and not the end behind it.
            DisconnectDetection::Peek if !self.socket.is_tls() => peek(),
            // A Unix socket has none.
            DisconnectDetection::Peek | DisconnectDetection::TcpInfo => {
                self.socket.is_closed_in_tcp().unwrap_or_else(peek)
            }
            DisconnectDetection::Event | DisconnectDetection::Off => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_asked_and_who_is_asking_is_kept_before_who_has_not() {
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let (old, new) = (at(100), at(100) + UNPROVEN / 2);
        let silent = Waits::Anything.since(new, false);
        let regular = Waits::Anything.since(old, true);
        let asking = Waits::Rest { begun: old }.since(new, false);
        assert!(silent < regular && regular < asking);
        assert!(Waits::End.since(new, true) < regular);
        // But not for ever.
        assert!(regular < Waits::Anything.since(at(111), false));
        assert!(asking < Waits::Anything.since(at(111), true));
    }
}
