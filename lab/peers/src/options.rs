//! What every server is told, whichever it is. The users of this crate fill it in; each server's file
//! says what of it the server knows.

use std::fs;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};

use crate::certificate::Certificate;
use crate::error::{Error, Result};

/// What a server answers with.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// The files below this directory.
    Files(&'a Path),
    /// The answers of this backend, over HTTP/1.
    Proxy(SocketAddrV4),
}

/// What a server compresses of what it sends, where it can be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Nothing.
    #[default]
    Off,
    /// Text, as it is sent; at this level of gzip, from 1 to 9, where that can be set.
    OnTheFly(u32),
    /// It sends compressed files that lie beside others in their place.
    Siblings,
}

/// What a server is told. One worker always, and no access log unless its own file says so.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Where it listens.
    pub listen: SocketAddrV4,
    /// TLS on all connections, of version 1.3 with AES-128-GCM and x25519, where the server can be told;
    /// sessions are resumed by tickets.
    pub tls: Option<&'a Certificate>,
    /// Connections that wait to be accepted.
    pub backlog: u32,
    /// What it serves.
    pub content: Content<'a>,
    /// Where its configuration and its temporary files go; an absolute path.
    pub directory: &'a Path,
    /// Where its errors go; its standard error if nowhere else.
    pub error_log: Option<&'a Path>,
    /// Only critical errors are written.
    pub critical_only: bool,
    /// User of its workers, where it is not the one who starts it; with the group after a blank, where
    /// that has another name.
    pub user: Option<&'a str>,
    /// Connections at once that it has room for.
    pub connections: usize,
    /// Files it may have open; its own default if not given.
    pub open_files: Option<usize>,
    /// Seconds after which an idle connection is closed; its own default if not given.
    pub idle_timeout: Option<u32>,
    /// Requests that a connection may carry; its own default if not given.
    pub requests_per_connection: Option<u32>,
}

impl Options<'_> {
    /// An error if TLS is wanted of a server that is measured in clear text alone.
    pub(crate) fn in_clear_text(&self, name: &str) -> Result<()> {
        match self.tls {
            None => Ok(()),
            Some(_) => Err(Error(format!("{name} is measured in clear text only, not with TLS"))),
        }
    }

    /// Write a configuration below [`Options::directory`]; where it is.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.directory.join(name);
        fs::write(&file, text).map_err(|e| Error::file("write", &file, &e))?;
        Ok(file)
    }
}

/// A line of a configuration, if there is something to say.
pub(crate) fn line<T: std::fmt::Display>(before: &str, value: Option<T>, after: &str) -> String {
    value.map_or(String::new(), |value| format!("{before}{value}{after}\n"))
}
