//! What a reverse proxy changes in a message that it passes on: hop-by-hop fields, fields that name
//! the client, configured edits, framing (RFC 9110, section 7.6). Used by the proxy of `weir-server`.

mod edits;
mod forwarded;
mod framing;
mod hop_by_hop;
mod mount;
mod prefix;
mod request;
mod response;
#[cfg(test)]
mod tests;
mod upgrade;

pub use edits::FieldEdits;
pub use forwarded::ForwardedStyle;
pub use framing::{InvalidResponse, ResponseLength, response_length};
pub use mount::{Mount, MountNames, tell_prefix};
pub use prefix::is_below;
pub use request::{ForwardError, RequestOptions, request_head};
pub use response::RelayedFields;
pub use upgrade::{is_switch_allowed, upgrade};
