//! Reads the body of a request from its client, in either framing, into the queue to the backend. Used
//! by [`super::request`], before the backend is asked and while it answers.

use std::rc::Rc;
use std::time::Duration;

use weir_http::h1::chunked::{ChunkedDecoder, Piece};
use weir_http::message::RequestBody;

use super::outgoing::{Cut, Pipe};
use crate::body::Room;
use crate::client::Times;
use crate::client::input::Input;
use crate::client::rate::Pace;
use crate::client::{Client, Read};
use crate::runtime::turn;

/// How a body ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Short {
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
    /// Bytes it may have yet.
    most: u64,
    /// The longest that the client may send nothing.
    patience: Duration,
    pace: Pace,
    /// Bytes that were read so far, with their framing.
    read: i64,
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
        most: Option<u64>,
        times: &Times,
    ) -> Option<ClientBody<'a>> {
        let coding = match framing {
            RequestBody::None => return None,
            RequestBody::Length(length) => Coding::Length(length),
            RequestBody::Chunked => Coding::Chunked(Box::new(ChunkedDecoder::strict())),
        };
        let most = most.unwrap_or(u64::MAX);
        let (patience, pace) = (times.send, Pace::new(times.rate, 0));
        Some(ClientBody { client, input, coding, most, patience, pace, read: 0 })
    }

    /// Bytes of the whole, if that was said.
    pub(super) fn length(&self) -> Option<u64> {
        match self.coding {
            Coding::Length(length) => Some(length),
            Coding::Chunked(_) => None,
        }
    }

    /// Reads until the body has ended, or `pipe` is full and `until_full`. Anything but its end
    /// cuts what goes to the backend.
    pub(super) async fn read(&mut self, pipe: &Rc<Pipe>, until_full: bool) -> Result<(), Short> {
        let result = self.read_on(pipe, until_full).await;
        if let Err(short) = result {
            pipe.cut(Cut { left: short == Short::ClientLeft });
        }
        result
    }

    async fn read_on(&mut self, pipe: &Rc<Pipe>, until_full: bool) -> Result<(), Short> {
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
            self.wait().await?;
        }
    }

    /// Waits for more from the client.
    async fn wait(&mut self) -> Result<(), Short> {
        let begun = turn::began();
        loop {
            let asked = turn::began();
            let patience = self.patience.saturating_sub(asked.since(begun));
            let before = self.input.bytes().len();
            let read = self.client.read(self.input, patience.min(self.pace.left()), None).await;
            self.pace.waited(turn::began().since(asked));
            self.read += (self.input.bytes().len() - before) as i64;
            let is_too_slow = self.pace.is_too_slow(|| self.read);
            match read {
                Read::End | Read::Stopped | Read::GivenUp => return Err(Short::ClientLeft),
                _ if is_too_slow => return Err(Short::TimedOut),
                Read::More => return Ok(()),
                Read::TimedOut if turn::began().since(begun) >= self.patience => {
                    return Err(Short::TimedOut);
                }
                Read::TimedOut => {}
            }
        }
    }

    /// Passes on what has come; true at the end of the body.
    fn decode(&mut self, pipe: &Pipe) -> Result<bool, Short> {
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
                    Piece::Malformed => return Err(Short::Malformed),
                },
            };
            self.most = self.most.checked_sub(data as u64).ok_or(Short::TooLarge)?;
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
