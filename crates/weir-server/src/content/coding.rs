//! In which codings a site offers its files, and which of them a request accepts. The configuration of the
//! site and the file handler make them; the site chooses by them.

use std::sync::Arc;

use http::header;
use weir_http::forward::FieldEdits;

use super::object::Facts;
use crate::compress::{Compressor, LONGEST, SHORTEST};
use crate::config::{CompressionConfig, MediaPattern};

/// What a request says about codings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepts<'a> {
    /// Its `Accept-Encoding`.
    pub(crate) codings: Option<&'a str>,
    /// It asks for a part. What is compressed on the fly has none that are good for ever: it may be
    /// compressed otherwise the next time.
    pub(crate) part: bool,
}

impl Accepts<'_> {
    /// Nothing but the content as it is.
    pub(crate) const PLAIN: Accepts<'static> = Accepts { codings: None, part: false };
}

/// What a site offers beside its files as they are.
#[derive(Debug)]
pub(crate) struct SiteCoding {
    types: Vec<MediaPattern>,
    /// Files that lie beside them.
    pub(super) precompressed: bool,
    /// What is compressed on the fly.
    compressor: Option<Arc<Compressor>>,
}

impl SiteCoding {
    /// As the configuration says; `None`: nothing. `edits`: what the site changes about fields. One that
    /// says itself in which coding its files are has no others.
    pub(super) fn new(
        config: &CompressionConfig,
        edits: &FieldEdits,
        compressor: Option<&Arc<Compressor>>,
    ) -> Option<SiteCoding> {
        if edits.changes(&header::CONTENT_ENCODING) {
            return None;
        }
        let compressor = compressor.filter(|_| config.compress).cloned();
        (config.precompressed || compressor.is_some()).then(|| SiteCoding {
            types: config.compress_types.clone(),
            precompressed: config.precompressed,
            compressor,
        })
    }

    /// Whether there may be something else for a file, so that caches have to know that.
    pub(super) fn varies(&self, facts: &Facts) -> bool {
        let may_have_another = self.precompressed || self.compressor(facts).is_some();
        may_have_another && self.types.iter().any(|pattern| pattern.matches(&facts.media))
    }

    /// What compresses a file of this length.
    pub(super) fn compressor(&self, facts: &Facts) -> Option<&Arc<Compressor>> {
        self.compressor.as_ref().filter(|_| (SHORTEST..=LONGEST).contains(&facts.length))
    }
}
