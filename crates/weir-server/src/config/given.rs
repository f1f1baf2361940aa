//! What flags and the file say together, before the defaults are filled in. Made by the program of its
//! flags and by the reader of the file; [`super::resolve`] makes the configuration of it.

use std::path::Path;

use super::access::AccessKeys;
use super::acme::AcmeKeys;
use super::compression::CompressionKeys;
use super::key::{Key, Table as _};
use super::logs::LogKeys;
use super::operation::OperationKeys;
use super::routes::{FileRoute, ProxyFlag};
use super::settings::ServerKeys;
use super::site::FileKeys;
use super::uplink::UplinkMode;

impl ServerKeys {
    /// The routes of `proxy`.
    pub(super) fn proxies(&self) -> &[ProxyFlag] {
        self.proxy.as_deref().unwrap_or_default()
    }

    /// weir itself keeps the uplink's queue.
    pub(super) fn is_paced(&self) -> bool {
        matches!(self.uplink, Some(UplinkMode::Paced(_)))
    }

    /// The kernel keeps it.
    pub(super) fn is_in_kernel(&self) -> bool {
        self.uplink == Some(UplinkMode::Kernel)
    }
}

/// What flags and the file say together; what is absent falls back to the default.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Settings {
    #[command(flatten)]
    pub(super) keys: ServerKeys,

    #[command(flatten)]
    pub(super) operation: OperationKeys,

    #[command(flatten)]
    pub(super) logs: LogKeys,

    #[command(flatten)]
    pub(super) acme: AcmeKeys,

    #[command(flatten)]
    pub(super) access: AccessKeys,

    #[command(flatten)]
    pub(super) files: FileKeys,

    #[command(flatten)]
    pub(super) compression: CompressionKeys,

    /// The `[[route]]` tables of the file; there are no flags for them.
    #[arg(skip)]
    pub(super) routes: Vec<FileRoute>,
}

impl Settings {
    /// All that is known of the keys that stand above the routes, in the order of the documentation.
    pub(super) fn known() -> Vec<Key> {
        let running = [ServerKeys::keys(), OperationKeys::keys(), LogKeys::keys()].concat();
        let clients = [AcmeKeys::keys(), AccessKeys::keys()].concat();
        [running, clients, FileKeys::keys(), CompressionKeys::keys()].concat()
    }

    /// The names of those keys.
    pub(super) fn names() -> Vec<&'static str> {
        let running = [ServerKeys::NAMES, OperationKeys::NAMES, LogKeys::NAMES].concat();
        let clients = [AcmeKeys::NAMES, AccessKeys::NAMES].concat();
        [&running[..], &clients[..], &FileKeys::names()[..], CompressionKeys::NAMES].concat()
    }

    /// The names of those that were given.
    pub(super) fn given(&self) -> Vec<&'static str> {
        let running = [self.keys.given(), self.operation.given(), self.logs.given()].concat();
        let clients = [self.acme.given(), self.access.given()].concat();
        [running, clients, self.files.given(), self.compression.given()].concat()
    }

    /// These settings where they say something, else those of `below`.
    ///
    /// A `proxy` replaces the routes of the tables below that have its path and no host.
    pub fn over(self, below: Settings) -> Settings {
        let mut routes = self.routes;
        let replaced = |route: &FileRoute| {
            let mut proxies = self.keys.proxies().iter();
            proxies.any(|proxy| route.is_for(None, &proxy.path))
        };
        routes.extend(below.routes.into_iter().filter(|route| !replaced(route)));
        Settings {
            keys: self.keys.over(below.keys),
            operation: self.operation.over(below.operation),
            logs: self.logs.over(below.logs),
            acme: self.acme.over(below.acme),
            access: self.access.over(below.access),
            files: self.files.over(below.files),
            compression: self.compression.over(below.compression),
            routes,
        }
    }

    /// Takes relative paths to be relative to `directory`, which is that of the file.
    pub(super) fn move_beside(&mut self, directory: &Path) {
        self.keys.move_beside(directory);
        self.operation.move_beside(directory);
        self.logs.move_beside(directory);
        self.acme.move_beside(directory);
        self.access.move_beside(directory);
        self.compression.move_beside(directory);
        for route in &mut self.routes {
            route.move_beside(directory);
        }
    }
}
