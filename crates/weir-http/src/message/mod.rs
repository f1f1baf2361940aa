//! What messages mean, whichever version of HTTP carries them (RFC 9110): requests, statuses, and
//! the values of fields. Used by [`crate::h1`], [`crate::forward`] and the file handler of
//! `weir-server`.

pub mod accept;
pub mod byteranges;
pub(crate) mod changes;
pub mod coding;
pub mod conditions;
pub mod credentials;
pub mod date;
pub(crate) mod fields;
pub mod hops;
pub mod media;
pub mod path;
pub mod range;
pub mod request;
pub mod response;
pub mod status;

pub use changes::FieldChanges;
pub use fields::{FieldSink, Fields};
pub use request::{Request, RequestBody, is_get_or_head, version_text};
pub use response::ResponseFields;
