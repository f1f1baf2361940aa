//! Responses that are written down ready, for who is refused before a request could be read: sent in clear
//! text as far as there is room, counted and logged. Used at the beginning of connections.

use http::StatusCode;

use super::context::Context;
use super::journal::Ended;
use crate::client::Client;
use crate::client::input::Input;
use crate::logs::access_log::Ending;
use crate::runtime::turn;

/// Sends `text`, a whole response with this status, in place of an answer to what has come.
pub(super) fn say(
    context: &Context,
    client: &Client,
    input: &mut Input,
    status: StatusCode,
    text: &str,
) {
    let begun = turn::began();
    input.answered(input.bytes().len());
    let complete = client.say(text.as_bytes());
    let length = text.len() as u64;
    let head = text.find("\r\n\r\n").map_or(length, |end| end as u64 + 4);
    let sent = if complete { length } else { 0 };
    let ending = if complete { Ending::Complete } else { Ending::ClientLeft };
    let (peer, code) = (client.peer, status.as_u16());
    let (user, request, details) = (None, None, None);
    let ended = Ended { peer, user, request, begun, code, head, sent, ending, details };
    context.serving.get().journal.note(&ended);
}

/// Whether the body of a whole response is as long as its head says.
#[cfg(test)]
pub(super) fn is_as_long_as_it_says(text: &str) -> bool {
    text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        length.and_then(|length| length.parse().ok()) == Some(body.len())
    })
}
