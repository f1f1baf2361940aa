//! TLS of a cell with a link: the server's certificate, and the users' side of it. The run of a cell makes
//! both.

use std::net::SocketAddrV4;
use std::path::Path;

use weir_load::{Tls, TlsOptions, TlsVersion, Trust};
use weir_peers::{Certificate, Error, Result};

/// Both sides of a cell's TLS.
pub(crate) struct Secure {
    /// The server's.
    pub(crate) certificate: Certificate,
    /// The users'. Every connection is that of a new user, without a session to resume.
    pub(crate) users: Tls,
}

impl Secure {
    /// For a server at `address`, whose certificate goes to `directory`.
    ///
    /// # Errors
    ///
    /// When the certificate cannot be made.
    pub(crate) fn make(directory: &Path, address: SocketAddrV4) -> Result<Secure> {
        let name = address.ip().to_string();
        let certificate = Certificate::make(directory, std::slice::from_ref(&name))?;
        let options = TlsOptions {
            trust: Trust::Authorities(certificate.pem()?),
            version: Some(TlsVersion::Tls13),
            resume: false,
        };
        let users = Tls::new(&name, &options).map_err(|e| Error(e.to_string()))?;
        Ok(Secure { certificate, users })
    }
}
