//! What can be sent: the files of directories or the built-in site, and the bytes of any body. `service`
//! looks paths up here and makes responses of what is found; `send` reads the bodies.

mod below;
mod builtin;
mod coding;
mod config;
mod descriptor;
mod entry;
mod file;
mod hot;
mod listing;
mod mount;
mod mounts;
mod names;
mod object;
mod open;
mod open_files;
mod pattern;
mod places;
mod root;
mod rules;
mod site;
mod sources;
mod tag;
mod uses;
mod variants;
mod work;

use std::rc::Rc;

use http::StatusCode;
use weir_http::message::path::SitePath;
use weir_sched::Time;

use self::builtin::Builtin;
pub(crate) use self::coding::Accepts;
pub(crate) use self::config::{
    SiteConfig, SitesConfig, has_same_sites, missing_pages, open_root, served, window_for,
};
pub(crate) use self::file::ReadError;
use self::hot::HotSet;
pub(crate) use self::listing::ListFormat;
pub use self::mount::{Access as FileAccess, access as file_access};
use self::names::NameBudget;
pub(crate) use self::object::{Body, Facts, Found, Object, copy};
pub(crate) use self::open::{CHUNK, DIRECT_FROM};
pub(crate) use self::site::Site;
pub(crate) use self::work::FileDisks;
use crate::runtime::wait::Wait;

/// Where the content of a worker comes from.
#[derive(Debug)]
pub(crate) enum Content {
    Files(Site),
    Builtin(Box<Builtin>),
}

impl Content {
    /// The built-in site.
    pub(crate) fn builtin() -> Content {
        Content::Builtin(Box::new(Builtin::new()))
    }

    /// Those of all sites of a worker, which share the memory for small files and that for names.
    pub(crate) fn all(config: SitesConfig) -> Vec<Content> {
        let hot = Rc::new(HotSet::new(config.hot));
        let names = Rc::new(NameBudget::new(config.names));
        let content = |site: Option<SiteConfig>| match site {
            Some(site) => Content::Files(Site::new(site, hot.clone(), names.clone())),
            None => Content::builtin(),
        };
        config.sites.into_iter().map(content).collect()
    }

    /// The files of the site, if it has any.
    pub(crate) fn site(&self) -> Option<&Site> {
        match self {
            Content::Files(site) => Some(site),
            Content::Builtin(_) => None,
        }
    }

    /// Whether a response is given up when its client has left.
    pub(crate) fn notices_departures(&self) -> bool {
        self.site().is_none_or(Site::notices_departures)
    }

    /// What `path` stands for, if that can be told and sent from memory; otherwise [`Content::find`] tells.
    pub(crate) fn find_in_memory(
        &self,
        path: &SitePath<'_>,
        accepts: &Accepts<'_>,
    ) -> Option<Result<Found, StatusCode>> {
        match self {
            Content::Files(site) => site.find_in_memory(path, accepts),
            Content::Builtin(site) => Some(site.find(path).map(Found::Object)),
        }
    }

    /// What `path` stands for; `since`: when it was asked for, `wait`: the wait for a disk meanwhile, of which
    /// waiting for the compressor is no part.
    ///
    /// # Errors
    ///
    /// The status of the answer, if there is nothing to send.
    pub(crate) async fn find(
        &self,
        path: &SitePath<'_>,
        accepts: &Accepts<'_>,
        since: Time,
        wait: Option<&Wait<'_>>,
    ) -> Result<Found, StatusCode> {
        match self {
            Content::Files(site) => site.find(path, accepts, since, wait).await,
            Content::Builtin(site) => site.find(path).map(Found::Object),
        }
    }
}
