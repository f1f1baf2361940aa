//! What all measurements of TLS share: the documents, the certificate, servers that have it, and clients
//! that trust in it.

use std::path::PathBuf;
use std::sync::Arc;

use weir_load::{Tls, TlsOptions as Offer, TlsVersion, Trust};
use weir_peers::nginx::Reading;
use weir_peers::{Certificate, Error, Result};
use weir_stand::root;
use weir_workload::documents::Documents;

use crate::client::Client;
use crate::connections::SIZE;
use crate::machine;
use crate::network::Network;
use crate::options::{TlsOptions, bytes};
use crate::server::{Role, Server, Setup};
use crate::system::System;
use crate::variant::Variant;

/// Connections that servers have room for beyond those that are meant to be open at once: handshakes
/// that come in a row leave some behind that are being closed.
const SPARE: usize = 2000;
/// Where servers listen, and what the certificate is for.
const NAME: &str = "127.0.0.1";

/// The stand.
pub(super) struct Stand<'a> {
    pub(super) options: &'a TlsOptions,
    /// Files a server may have open.
    files: usize,
    root: PathBuf,
    /// What all documents are the beginning of.
    pub(super) bodies: Arc<[u8]>,
    certificate: Certificate,
    /// For those who have no files of their own; on the clients' core, in clear text.
    backend: Option<Server>,
}

/// How the connections of a client are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connections {
    /// They carry any number of requests.
    Kept,
    /// One for each request, with a full handshake.
    Full,
    /// One for each request, which resumes an earlier session.
    Resumed,
}

impl<'a> Stand<'a> {
    /// Make the documents and the certificate, and keep this program to its core.
    pub(super) fn make(options: &'a TlsOptions) -> Result<Stand<'a>> {
        let out = &options.common.out;
        let files = machine::prepare(out)?;
        let mut sizes =
            options.sizes.iter().map(|name| size(name)).collect::<Result<Vec<u64>>>()?;
        sizes.push(SIZE);
        let documents = Documents::of_sizes(&sizes, 0);
        let root = out.join("tls");
        // What a run with other sizes left.
        let _ = std::fs::remove_dir_all(&root);
        root::make(&documents, &root)?;
        let certificate = Certificate::make(out, &[NAME.to_owned()])?;
        let bodies = documents.bodies().into();
        let mut stand = Stand { options, files, root, bodies, certificate, backend: None };
        if options.systems.contains(&System::Haproxy) {
            let nginx = System::Nginx(Reading::Sendfile);
            stand.backend = Some(stand.server(nginx, Role::Backend)?);
        }
        Ok(stand)
    }

    /// Start a server with TLS.
    pub(super) fn start(&self, system: System) -> Result<Server> {
        let role = match (system, &self.backend) {
            (System::Haproxy, Some(backend)) => Role::Proxy(backend.address),
            _ => Role::Files,
        };
        self.server(system, role)
    }

    /// Start all of them.
    pub(super) fn start_all(&self) -> Result<Vec<Server>> {
        self.options.systems.iter().map(|system| self.start(*system)).collect()
    }

    fn server(&self, system: System, role: Role) -> Result<Server> {
        let setup = Setup {
            common: &self.options.common,
            role,
            variant: &Variant::default(),
            network: &Network::HOST,
            root: &self.root,
            connections: self.options.connections.max(self.options.idle) + SPARE,
            files: self.files,
            tls: Some(&self.certificate),
        };
        Server::start(system, &setup)
    }

    /// A client of a server, without sessions of earlier ones.
    pub(super) fn client(&self, server: &Server, connections: Connections) -> Result<Client> {
        let offer = Offer {
            trust: Trust::Authorities(self.certificate.pem()?),
            version: Some(TlsVersion::Tls13),
            resume: connections == Connections::Resumed,
        };
        let tls = Tls::new(NAME, &offer).map_err(|e| Error(e.to_string()))?;
        Ok(Client {
            server: server.address,
            bodies: Arc::clone(&self.bodies),
            headers: String::new(),
            close: connections != Connections::Kept,
            tls: Some(tls),
        })
    }
}

/// The bytes that a size on the command line means.
pub(super) fn size(name: &str) -> Result<u64> {
    match bytes(name)? {
        0 => Err(Error(format!("size {name}: files have at least 1 byte"))),
        size => Ok(size),
    }
}
