//! What can be sent: the files of a directory or the built-in site, and the bytes of any body. `service`
//! looks paths up here and makes responses of what is found; `send` reads the bodies.

mod builtin;
mod config;
mod file;
mod hot;
mod mount;
mod names;
mod object;
mod open;
mod open_files;
mod pattern;
mod root;
mod site;
mod tag;
mod uses;
mod work;

use http::StatusCode;
use weir_http::message::path::SitePath;

use self::builtin::Builtin;
pub(crate) use self::config::{SiteConfig, open_root};
pub(crate) use self::file::{DIRECT_FROM, ReadError};
pub use self::mount::{Access as FileAccess, access as file_access};
pub(crate) use self::object::{Body, Facts, Found, Object, copy};
pub(crate) use self::open::CHUNK;
pub(crate) use self::site::Site;
pub(crate) use self::work::FileDisk;

/// Where the content of a worker comes from.
#[derive(Debug)]
pub(crate) enum Content {
    Files(Site),
    Builtin(Box<Builtin>),
}

impl Content {
    /// Of a directory, or the built-in site if none is served.
    pub(crate) fn new(site: Option<SiteConfig>) -> Content {
        match site {
            Some(config) => Content::Files(Site::new(config)),
            None => Content::Builtin(Box::new(Builtin::new())),
        }
    }

    /// The files of the site, if it has any.
    pub(crate) fn site(&self) -> Option<&Site> {
        match self {
            Content::Files(site) => Some(site),
            Content::Builtin(_) => None,
        }
    }

    /// What `path` stands for, if that can be told and sent from memory; otherwise [`Content::find`] tells.
    pub(crate) fn find_in_memory(&self, path: &SitePath<'_>) -> Option<Result<Found, StatusCode>> {
        match self {
            Content::Files(site) => site.find_in_memory(path),
            Content::Builtin(site) => Some(site.find(path).map(Found::Object)),
        }
    }

    /// What `path` stands for.
    ///
    /// # Errors
    ///
    /// The status of the answer, if there is nothing to send.
    pub(crate) async fn find(&self, path: &SitePath<'_>) -> Result<Found, StatusCode> {
        match self {
            Content::Files(site) => site.find(path).await,
            Content::Builtin(site) => site.find(path).map(Found::Object),
        }
    }
}
