//! Certificates that look after themselves: obtained by ACME (RFC 8555), proved by http-01 or
//! tls-alpn-01, kept in one directory and renewed in time. Used by the server for `tls = "auto"`.
//!
//! From the top down:
//!
//! - [`Manager`] runs a thread with one task a name;
//! - `keeper` is such a task: it does what the plan says next, and reports on the [`Board`];
//! - `authority` speaks with the ACME server: account, order, renewal information;
//! - `answers` holds what challenges are answered with; [`Challenges`] is the part that the server asks;
//! - `storage` is the directory;
//! - `schedule` decides when to order, without I/O and without a clock;
//! - [`Settings`] is what the user says.
//!
//! All input and output is on the manager's thread: files are read and written there without helpers.

mod answers;
mod authority;
mod board;
mod draw;
mod failure;
mod host_name;
mod invalid;
mod keeper;
mod manager;
mod moment;
mod schedule;
mod settings;
mod storage;
mod turns;

pub use answers::{Challenges, token_of};
pub use board::{Board, CertificateStatus, LastFailure, Phase, Status};
pub use host_name::HostName;
pub use invalid::InvalidSetting;
pub use manager::{Manager, StartError};
pub use settings::{ChallengeKind, DirectoryUrl, ExternalAccount, Settings};
