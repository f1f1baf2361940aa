//! What all measurements of compression share: the texts, the hot file, what lies compressed beside the
//! text, servers and clients.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use weir_peers::{Error, Result};
use weir_stand::root;
use weir_workload::documents::Documents;

use super::fetch;
use crate::client::Client;
use crate::connections::SIZE;
use crate::contender::{Coding, Contender};
use crate::machine;
use crate::network::Network;
use crate::options::{CompressionOptions, CompressionPart};
use crate::script::script;
use crate::server::{Role, Server, Setup};

/// The text that is asked for again and again.
pub(super) const TEXT: &str = "/text.js";
/// Bytes of a text that all compress: weir sends shorter and longer ones as they are.
const SIZES: std::ops::RangeInclusive<u64> = 2000..=1_000_000;
/// Connections that servers have room for beyond those that are meant to be open at once.
const SPARE: usize = 1000;
/// When all texts were changed last, since 1970, as clients are told.
const CHANGED: Duration = Duration::from_secs(1_600_000_000);

/// The stand.
pub(super) struct Stand<'a> {
    pub(super) options: &'a CompressionOptions,
    /// Files a server may have open.
    files: usize,
    root: PathBuf,
    /// What the hot file is the beginning of.
    pub(super) hot: Arc<[u8]>,
}

/// The path of one of the texts that are asked for first, from 0 on.
pub(super) fn first_path(number: u32) -> String {
    format!("/first-{number:06}.js")
}

impl<'a> Stand<'a> {
    /// Make the files, and keep this program to its core.
    pub(super) fn make(options: &'a CompressionOptions) -> Result<Stand<'a>> {
        if !SIZES.contains(&options.size) {
            let (least, most) = SIZES.into_inner();
            return Err(Error(format!("--size {}: give {least} to {most} bytes", options.size)));
        }
        let out = &options.common.out;
        let files = machine::prepare(out)?;
        let root = out.join("compression");
        // What a run with other texts left.
        let _ = fs::remove_dir_all(&root);
        let documents = Documents::of_sizes(&[SIZE], 0);
        root::make(&documents, &root)?;
        let stand = Stand { options, files, root, hot: documents.bodies().into() };
        stand.write(TEXT, &stand.text())?;
        if options.parts.contains(&CompressionPart::First) {
            for number in 0..options.files {
                let text = script(u64::from(number) + 1, options.size as usize);
                stand.write(&first_path(number), text.as_bytes())?;
            }
        }
        root::settle();
        if options.systems.iter().any(|contender| !contender.is_on_the_fly()) {
            stand.make_siblings()?;
            root::settle();
        }
        Ok(stand)
    }

    /// Remove the files.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.root);
    }

    /// The text that is asked for again and again.
    pub(super) fn text(&self) -> Vec<u8> {
        script(0, self.options.size as usize).into_bytes()
    }

    /// What weir makes of the text, so that all who send what lies beside it send the same.
    fn make_siblings(&self) -> Result<()> {
        let server = self.start(Contender::WEIR)?;
        for &coding in &self.options.codings {
            let body = fetch::coded(server.address, TEXT, coding)?;
            let why = || Error(format!("weir --compress sends no text in {}", coding.name()));
            self.write(&format!("{TEXT}.{}", coding.extension()), &body.ok_or_else(why)?)?;
        }
        Ok(())
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let file = self.root.join(path.trim_start_matches('/'));
        let written = || -> io::Result<()> {
            let mut file = File::create(&file)?;
            file.write_all(bytes)?;
            file.set_modified(SystemTime::UNIX_EPOCH + CHANGED)
        };
        written().map_err(|e| Error::file("write", &file, &e))
    }

    /// Start a server.
    pub(super) fn start(&self, contender: Contender) -> Result<Server> {
        let setup = Setup {
            common: &self.options.common,
            role: Role::Files,
            variant: &contender.variant(),
            network: &Network::HOST,
            root: &self.root,
            connections: self.options.connections + SPARE,
            files: self.files,
            tls: None,
        };
        Server::start(contender.system, &setup)
    }

    /// A client of a server, which accepts one coding or none; `bodies` is what bodies are the beginning of.
    pub(super) fn client(
        &self,
        server: &Server,
        accepts: Option<Coding>,
        bodies: &Arc<[u8]>,
    ) -> Client {
        Client {
            server: server.address,
            bodies: Arc::clone(bodies),
            headers: accepts.map(Coding::header).unwrap_or_default(),
            close: false,
            tls: None,
        }
    }
}
