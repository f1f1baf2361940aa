//! What the server writes for people: the access log and its own messages. Threads of their own write,
//! so no worker ever waits for a disk or a terminal. Used by all modules that report something.

pub(crate) mod access_log;
mod date;
mod json;
pub(crate) mod lines;
mod message_format;
pub mod messages;
mod numbers;
pub(crate) mod printable;
pub(crate) mod refusals;
