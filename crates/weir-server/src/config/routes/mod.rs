//! Routes of the configuration: which requests go where, and how. Used by the readers of flags and of
//! the file; the server answers requests by the [`RouteConfig`]s.
//!
//! A route is a `[[route]]` table of the file ([`table`] has its keys, [`read`] reads them, [`build`]
//! makes a route of them) or a `--proxy` flag ([`flag`]); [`assemble`] puts both into one list.

mod access;
mod address;
mod assemble;
mod backend_tls;
mod build;
mod certificate_name;
mod choices;
mod config;
mod edits;
mod flag;
mod health;
mod host;
mod own_files;
mod path;
mod read;
mod redirect;
mod table;
#[cfg(test)]
mod tests;
mod weights;

pub use access::RouteAccess;
pub use address::BackendAddress;
pub use backend_tls::BackendTls;
pub use build::FileRoute;
pub use choices::{DetectWhen, DisconnectDetection, Forwarded, HalfClosed, Overflow};
pub use config::{Action, RouteConfig};
pub use flag::ProxyFlag;
pub use health::HealthCheck;
pub use host::HostHeader;
pub(crate) use host::ipv6_literal;
pub use table::{Detection, ProxyConfig};
pub use weir_http::forward::FieldEdits;

pub(super) use assemble::{Server, assemble, check_once, is_of_everything};
pub(super) use edits::Edits;
pub(super) use read::{key_names, keys, read};
