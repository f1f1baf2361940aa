//! What the server writes for people: the access log and its own messages, by threads of their own,
//! so that nobody waits for a disk or a terminal. Used wherever something is told or logged.

pub(crate) mod access_log;
pub(crate) mod lines;
pub mod messages;
pub(crate) mod refusals;
pub(crate) mod shown;
