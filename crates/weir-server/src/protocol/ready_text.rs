//! Responses that are written down ready, for who is refused before a request could be read: sent in clear
//! text as far as there is room, counted and logged. Used at the beginning of connections.

use http::StatusCode;
use weir_http::h1::response::write_status_and_date;

use super::context::Context;
use super::journal::Ended;
use crate::client::Client;
use crate::client::input::Input;
use crate::logs::access_log::Ending;
use crate::runtime::turn;

/// Sends a response in place of an answer to what has come. `rest`: all but its status and its date, which
/// no answer of a server with a clock may lack (RFC 9110, section 6.6.1).
pub(super) fn say(
    context: &Context,
    client: &Client,
    input: &mut Input,
    status: StatusCode,
    rest: &str,
) {
    let begun = turn::began();
    input.answered(input.bytes().len());
    let mut response = Vec::with_capacity(96 + rest.len());
    write_status_and_date(&mut response, status, &context.date.at(begun));
    let head = (response.len() + rest.find("\r\n\r\n").map_or(rest.len(), |end| end + 4)) as u64;
    response.extend_from_slice(rest.as_bytes());
    let complete = client.say(&response);
    let sent = if complete { response.len() as u64 } else { 0 };
    let ending = if complete { Ending::Complete } else { Ending::ClientLeft };
    let (peer, code) = (client.peer, status.as_u16());
    let (user, request, details) = (None, None, None);
    let ended = Ended { peer, user, request, begun, code, head, sent, ending, details };
    context.serving.get().journal.note(&ended);
}

/// Whether the body of a response, of which this is all but its status and date, is as long as its head
/// says.
#[cfg(test)]
pub(super) fn is_as_long_as_it_says(rest: &str) -> bool {
    rest.split_once("\r\n\r\n").is_some_and(|(head, body)| {
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        length.and_then(|length| length.parse().ok()) == Some(body.len())
    })
}
