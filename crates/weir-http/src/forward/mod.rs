//! What a proxy changes of a message it passes on: hop-by-hop fields, who asked, rewrites, framing.
//! It knows no connections, and does not choose where a message goes.

mod edits;
mod forwarded;
mod framing;
mod hop_by_hop;
mod prefix;
mod request;
mod response;
#[cfg(test)]
mod tests;
mod upgrade;

pub use edits::FieldEdits;
pub use forwarded::ForwardedStyle;
pub use framing::{BadResponse, Framing, ResponseLength, response_length};
pub use prefix::is_below;
pub use request::{BadForward, Onward, request};
pub use response::{Passing, interim_head, response_head, switching_protocols_head};
pub use upgrade::{is_switch_allowed, upgrade};
