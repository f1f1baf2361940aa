//! What there is to serve: the files of a directory or the built-in site. It knows names and
//! bytes, not requests or connections.

mod builtin;
mod files;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use weir_http::Status;
use weir_http::conditions::Validators;
use weir_http::path::SitePath;
use weir_sched::ObjectId;

pub(crate) use files::Root;

/// A source of content, one to a worker.
#[derive(Debug)]
pub(crate) enum Content {
    Files(Root),
    Builtin,
}

/// What a name stands for.
#[derive(Debug)]
pub(crate) enum Found {
    Object(Object),
    /// A directory that was named without its slash.
    Directory,
}

/// Something that can be sent whole or in part.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) length: u64,
    pub(crate) media: &'static str,
    pub(crate) validators: Option<Validators>,
    pub(crate) id: ObjectId,
    pub(crate) body: Body,
}

/// Where the bytes of an object are.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Text(Arc<[u8]>),
    File(Arc<OwnedFd>),
    /// Bytes made up on the way, a function of their place.
    Pattern,
}

/// Why bytes were not to be had at once.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// They are not in memory: [`Body::read_cold`] gets them without blocking the worker.
    Cold,
    Failed(io::Error),
}

impl Content {
    pub(crate) async fn find(&self, path: &SitePath) -> Result<Found, Status> {
        match self {
            Content::Files(root) => root.find(path).await,
            Content::Builtin => builtin::find(path).map(Found::Object),
        }
    }
}

impl Object {
    /// A short text made for this response.
    pub(crate) fn text(text: impl Into<Vec<u8>>, media: &'static str) -> Object {
        let text: Arc<[u8]> = text.into().into();
        Object {
            length: text.len() as u64,
            media,
            validators: None,
            id: ObjectId(0),
            body: Body::Text(text),
        }
    }
}

impl Body {
    /// Appends up to `count` bytes from `offset` on, if they are in memory. Fewer only at the end.
    pub(crate) fn read(
        &self,
        offset: u64,
        count: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        match self {
            Body::Text(text) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
                let to = from.saturating_add(count).min(text.len());
                out.extend_from_slice(&text[from..to]);
                Ok(())
            }
            Body::File(file) => files::read_resident(file, offset, count, out),
            Body::Pattern => {
                builtin::pattern(offset, count, out);
                Ok(())
            }
        }
    }

    /// The same from the disk, on another thread. Fewer only at the end.
    pub(crate) async fn read_cold(&self, offset: u64, count: usize) -> io::Result<Vec<u8>> {
        match self {
            Body::File(file) => files::read_from_disk(file.clone(), offset, count).await,
            other => {
                let mut out = Vec::new();
                match other.read(offset, count, &mut out) {
                    Ok(()) | Err(ReadError::Cold) => Ok(out),
                    Err(ReadError::Failed(error)) => Err(error),
                }
            }
        }
    }
}
