//! Reads the body of a request from its client, in either framing, into the pipe to the backend. Used
//! by [`super::respond`] before the backend is called and while it responds.

use std::rc::Rc;
use std::time::Duration;

use weir_http::h1::chunked::{ChunkedDecoder, Piece};
use weir_http::message::RequestBody;

use super::request_body::{IncompleteBody, Pipe};
use crate::body::Room;
use crate::client::Times;
use crate::client::input::Input;
use crate::client::rate::Pace;
use crate::client::{Client, Read};
use crate::runtime::turn;

/// Why a body ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    ClientLeft,
    TimedOut,
    Malformed,
    TooLarge,
}

/// A body that is being read.
#[derive(Debug)]
pub(crate) struct ClientBody<'a> {
    client: &'a Client,
    input: &'a mut Input,
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

impl<'a> ClientBody<'a> {
    /// `None` if the request has no body.
    pub(crate) fn new(
        client: &'a Client,
        input: &'a mut Input,
        framing: RequestBody,
        bytes_left: Option<u64>,
        times: &Times,
    ) -> Option<ClientBody<'a>> {
        let coding = match framing {
            RequestBody::None => return None,
            RequestBody::Length(length) => Coding::Length(length),
            RequestBody::Chunked => Coding::Chunked(Box::new(ChunkedDecoder::strict())),
        };
        let bytes_left = bytes_left.unwrap_or(u64::MAX);
        let (timeout, pace) = (times.send, Pace::new(times.rate, 0));
        Some(ClientBody { client, input, coding, bytes_left, timeout, pace, bytes_read: 0 })
    }

    /// The length of the whole body in bytes, if it is known.
    pub(super) fn length(&self) -> Option<u64> {
        match self.coding {
            Coding::Length(length) => Some(length),
            Coding::Chunked(_) => None,
        }
    }

    /// Reads to the end of the body, or, with `until_full`, until `pipe` is full. An error also
    /// aborts the pipe.
    pub(super) async fn read(
        &mut self,
        pipe: &Rc<Pipe>,
        until_full: bool,
    ) -> Result<(), BodyError> {
        let result = self.read_until(pipe, until_full).await;
        if let Err(error) = result {
            pipe.abort(IncompleteBody { client_left: error == BodyError::ClientLeft });
        }
        result
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
            let read = self.client.read(self.input, timeout.min(self.pace.left()), None).await;
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
