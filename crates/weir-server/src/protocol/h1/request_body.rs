//! Reads the body of a request in HTTP/1, in either framing, into the pipe to the backend. Made by the
//! driver, used by the proxy before a backend is called and while it responds.

use std::rc::Rc;
use std::time::Duration;

use weir_http::h1::chunked::{ChunkedDecoder, Piece};
use weir_http::message::{Request, RequestBody};

use super::requester::H1Requester;
use crate::body::Room;
use crate::client::Read;
use crate::client::Times;
use crate::client::input::Input;
use crate::client::rate::Pace;
use crate::runtime::turn;
use crate::service::proxy::{BodyError, IncomingBody, IncompleteBody, Pipe};

/// A body that is being read.
#[derive(Debug)]
pub(super) struct H1Body<'a> {
    requester: H1Requester<'a>,
    input: &'a mut Input,
    /// The client waits to be asked for it.
    waits: bool,
    has_ended: bool,
    coding: Coding,
    /// Bytes of data that the limit of the route still allows.
    bytes_left: u64,
    /// The longest time in which the client sends nothing.
    timeout: Duration,
    pace: Pace,
    /// Bytes read so far, with their framing, for the rate.
    bytes_read: i64,
}

#[derive(Debug)]
enum Coding {
    Length(u64),
    Chunked(Box<ChunkedDecoder>),
}

impl<'a> H1Body<'a> {
    /// `None` if the request has no body.
    pub(super) fn new(
        requester: H1Requester<'a>,
        input: &'a mut Input,
        request: &Request<'_>,
        bytes_left: Option<u64>,
        times: &Times,
    ) -> Option<H1Body<'a>> {
        let coding = match request.body {
            RequestBody::None => return None,
            RequestBody::Length(length) => Coding::Length(length),
            RequestBody::Chunked => Coding::Chunked(Box::new(ChunkedDecoder::strict())),
        };
        let bytes_left = bytes_left.unwrap_or(u64::MAX);
        let (timeout, pace) = (times.send, Pace::new(times.rate, 0));
        let waits = request.expects_continue;
        Some(H1Body {
            requester,
            input,
            waits,
            has_ended: false,
            coding,
            bytes_left,
            timeout,
            pace,
            bytes_read: 0,
        })
    }

    /// Whether all of it was read, so that the next request can be told from it.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    async fn read_until(&mut self, pipe: &Rc<Pipe>, until_full: bool) -> Result<(), BodyError> {
        loop {
            if self.decode(pipe)? {
                return Ok(());
            }
            if until_full && pipe.room().await != Room::Yes {
                return Ok(());
            }
            if !until_full && !pipe.has_room().await {
                return Ok(());
            }
            self.read_more().await?;
        }
    }

    /// Waits for more from the client, as long as it keeps to the timeout and the least rate.
    async fn read_more(&mut self) -> Result<(), BodyError> {
        let begun = turn::began();
        loop {
            let since = turn::began();
            let timeout = self.timeout.saturating_sub(since.since(begun));
            let before = self.input.bytes().len();
            let read =
                self.requester.client.read(self.input, timeout.min(self.pace.left()), None).await;
            self.pace.waited(turn::began().since(since));
            self.bytes_read += (self.input.bytes().len() - before) as i64;
            let is_too_slow = self.pace.is_too_slow(|| self.bytes_read);
            match read {
                Read::End | Read::Stopped | Read::GivenUp => return Err(BodyError::ClientLeft),
                _ if is_too_slow => return Err(BodyError::TimedOut),
                Read::More => return Ok(()),
                Read::TimedOut if turn::began().since(begun) >= self.timeout => {
                    return Err(BodyError::TimedOut);
                }
                Read::TimedOut => {}
            }
        }
    }

    /// Puts what has arrived into the pipe; true at the end of the body.
    fn decode(&mut self, pipe: &Pipe) -> Result<bool, BodyError> {
        loop {
            let bytes = self.input.bytes();
            let (skip, data, ended) = match &mut self.coding {
                Coding::Length(left) => {
                    let data = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= data as u64;
                    (0, data, *left == 0)
                }
                Coding::Chunked(chunked) => match chunked.decode(bytes) {
                    Piece::Data { skip, data } => (skip, data, false),
                    Piece::End(skip) => (skip, 0, true),
                    Piece::Malformed => return Err(BodyError::Malformed),
                },
            };
            self.bytes_left =
                self.bytes_left.checked_sub(data as u64).ok_or(BodyError::TooLarge)?;
            if data > 0 {
                pipe.copy(&bytes[skip..skip + data]);
            }
            let nothing = skip + data == 0;
            self.input.answered(skip + data);
            if ended {
                self.has_ended = true;
                pipe.end(match &self.coding {
                    Coding::Length(_) => None,
                    Coding::Chunked(chunked) => chunked.trailers(),
                });
                return Ok(true);
            }
            if nothing || self.input.bytes().is_empty() {
                return Ok(false);
            }
        }
    }
}

impl IncomingBody for H1Body<'_> {
    fn length(&self) -> Option<u64> {
        match self.coding {
            Coding::Length(length) => Some(length),
            Coding::Chunked(_) => None,
        }
    }

    fn ask(&self) -> bool {
        !self.waits || self.requester.go_on()
    }

    async fn read(&mut self, pipe: &Rc<Pipe>, until_full: bool) -> Result<(), BodyError> {
        let result = self.read_until(pipe, until_full).await;
        if let Err(error) = result {
            pipe.abort(IncompleteBody { client_left: error == BodyError::ClientLeft });
        }
        result
    }
}
