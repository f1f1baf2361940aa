//! What the operator wants: flags over the file over the defaults. The program reads [`Settings`] from
//! both; every part of the server is built from the [`Config`] that they resolve to.
//!
//! `settings.rs` is the table of the server's keys; beside it stand those of logs (`logs.rs`), of a server
//! that runs (`operation.rs`), of certificates by ACME (`acme.rs`), of who may ask (`access.rs`) and of
//! compression (`compression.rs`). `routes/table.rs` is the table of routes; `site` has the keys about files,
//! which server and routes may both have. From them come flags, help, keys of the file, defaults and
//! docs/configuration.md. A value is read by its type (`value.rs`).

mod access;
mod acme;
mod address;
mod changes;
mod client_width;
mod compression;
mod control;
mod environment;
mod error;
mod file;
mod files;
mod given;
mod in_vain;
mod key;
mod keys;
mod logs;
mod media_type;
mod obtained;
mod operation;
mod ports;
mod proxy_protocol;
mod readiness;
mod ready;
mod reference;
mod resolve;
mod routes;
mod settings;
mod site;
mod table;
mod tls;
mod uplink;
mod value;
mod values;
mod ways_around;

pub(crate) use access::burst;
pub use access::{AccessConfig, ClientAddressField};
pub use acme::AcmeConfig;
pub use address::ListenAddress;
pub(crate) use changes::Changes;
pub use client_width::ClientWidth;
pub use compression::CompressionConfig;
pub use error::ConfigError;
pub use file::{parse, read};
pub use files::{DiskWork, FileDepartures};
pub use given::Settings;
pub use logs::{LogConfig, LogFormat, MessageFormat};
pub use media_type::MediaPattern;
pub use operation::OperationConfig;
pub(crate) use ports::PortKind;
pub use proxy_protocol::ProxyProtocol;
pub use ready::ReadyRoute;
pub use reference::reference;
pub use resolve::{KernelConfig, KernelOrder, UplinkConfig};
pub(crate) use routes::ipv6_literal;
pub use routes::{
    Action, BackendAddress, BackendTls, DetectWhen, Detection, DisconnectDetection, FieldEdits,
    FileRoute, Forwarded, HalfClosed, HealthCheck, HostHeader, Overflow, ProxyConfig, ProxyFlag,
    RouteAccess, RouteConfig,
};
pub use settings::Config;
pub use site::{
    CacheControl, ErrorPages, FieldsConfig, FilesConfig, MediaTypes, PagesConfig, Template,
};
pub use tls::{CertificateSource, FilePath, Hsts, TlsPort};
pub use uplink::{BandCutoffs, KernelCap, UplinkMode};
pub use values::{AccessLog, LogLevel, Overhead, Pace, Prefix, SwiftRoundTrip, Timeout, Workers};
pub use weir_units::Size;
