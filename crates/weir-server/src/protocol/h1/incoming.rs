//! The bytes of a request body in HTTP/1 as they come over the connection: tells data from framing, and
//! waits for more as long as the client keeps to the timeout and to the least rate. Used by
//! [`super::request_body`] for bodies that backends get, and by [`super::unread`] for those that nobody does.

use std::time::Duration;

use weir_http::h1::chunked::{ChunkedDecoder, Piece};
use weir_http::message::RequestBody;

use crate::client::input::Input;
use crate::client::rate::Pace;
use crate::client::{Client, Read, Times};
use crate::runtime::stop::Stop;
use crate::runtime::turn;
use crate::service::proxy::BodyError;

/// See the module.
#[derive(Debug)]
pub(super) struct Incoming<'a> {
    client: &'a Client,
    input: &'a mut Input,
    coding: Coding,
    /// The longest time in which the client sends nothing.
    timeout: Duration,
    pace: Pace,
    /// When the server stops, nothing more is waited for.
    stop: Option<&'a Stop>,
    /// Bytes that were waited for, with their framing, for the rate.
    bytes_read: i64,
    /// Bytes that were taken from the input, with their framing.
    taken: u64,
}

#[derive(Debug)]
enum Coding {
    Length(u64),
    Chunked(Box<ChunkedDecoder>),
}

/// What comes after the bytes that were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// More, which is here.
    More,
    /// More, which has to be waited for.
    Wait,
    /// Nothing: that was the end of the body.
    End,
}

impl<'a> Incoming<'a> {
    /// `input` begins with the body; `None` if the request has none. With `stop`, waiting ends as soon as
    /// the server stops.
    pub(super) fn new(
        client: &'a Client,
        input: &'a mut Input,
        body: RequestBody,
        times: &Times,
        stop: Option<&'a Stop>,
    ) -> Option<Incoming<'a>> {
        let coding = match body {
            RequestBody::None => return None,
            RequestBody::Length(length) => Coding::Length(length),
            RequestBody::Chunked => Coding::Chunked(Box::new(ChunkedDecoder::strict())),
        };
        let (timeout, pace) = (times.send, Pace::new(times.rate, 0));
        Some(Incoming { client, input, coding, timeout, pace, stop, bytes_read: 0, taken: 0 })
    }

    /// Bytes that were taken so far, with their framing.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Bytes of data that are still to come, if that is known.
    pub(super) fn length(&self) -> Option<u64> {
        match self.coding {
            Coding::Length(length) => Some(length),
            Coding::Chunked(_) => None,
        }
    }

    /// The decoder of a body in chunks.
    pub(super) fn chunked(&self) -> Option<&ChunkedDecoder> {
        match &self.coding {
            Coding::Length(_) => None,
            Coding::Chunked(chunked) => Some(chunked),
        }
    }

    /// Takes the next bytes that have come; `keep` gets the data among them, if there are any.
    ///
    /// # Errors
    ///
    /// The body is malformed, or `keep` does not want it.
    pub(super) fn take(
        &mut self,
        keep: impl FnOnce(&[u8]) -> Result<(), BodyError>,
    ) -> Result<Step, BodyError> {
        let bytes = self.input.bytes();
        let (skip, data, has_ended) = match &mut self.coding {
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
        if data > 0 {
            keep(&bytes[skip..skip + data])?;
        }
        let count = skip + data;
        self.taken += count as u64;
        self.input.answered(count);
        Ok(match has_ended {
            true => Step::End,
            false if count == 0 || self.input.bytes().is_empty() => Step::Wait,
            false => Step::More,
        })
    }

    /// Waits for more from the client, as long as it keeps to the timeout and the least rate.
    ///
    /// # Errors
    ///
    /// It sends nothing more, or does so too slowly.
    pub(super) async fn wait(&mut self) -> Result<(), BodyError> {
        let begun = turn::began();
        loop {
            let since = turn::began();
            let timeout = self.timeout.saturating_sub(since.since(begun));
            let before = self.input.bytes().len();
            let wait = timeout.min(self.pace.left());
            let read = self.client.read(self.input, wait, self.stop).await;
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
}
