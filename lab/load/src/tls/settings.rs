//! What all connections of a run have in common in TLS. Callers make a [`Tls`] for a
//! [`Plan`](crate::Plan); the sessions of its connections begin with it.
//!
//! One curve (x25519) and one cipher (AES-128-GCM with SHA-256) are offered and no others, so that
//! every server that is measured does the same work.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, cipher_suite, kx_group};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, SupportedProtocolVersion, version};

use super::tickets::Tickets;
use super::trust::Trust;
use crate::error::Error;

/// What a run trusts and offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// Whose certificates are taken for the server's.
    pub trust: Trust,
    /// The only version that is offered; both if none is given.
    pub version: Option<TlsVersion>,
    /// Whether a connection resumes the session of an earlier one, as those of a browser do. Without,
    /// every connection is that of a new client, and makes a full handshake.
    pub resume: bool,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}

/// What all connections of a run have in common.
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// For connections to the server called `name`, a host name or an address, with brackets or
    /// without: the certificate must be for it, and a host name is sent (SNI, RFC 6066, section 3).
    ///
    /// # Errors
    ///
    /// When a server cannot be called so, or there is nothing to trust in.
    pub fn new(name: &str, options: &TlsOptions) -> Result<Tls, Error> {
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let server = ServerName::try_from(bare.to_owned()).map_err(|_| {
            Error(format!("{name:?} is no name that a certificate can have, nor an address"))
        })?;
        let provider = Arc::new(provider());
        let versions: &[&SupportedProtocolVersion] = match options.version {
            None => &[&version::TLS13, &version::TLS12],
            Some(TlsVersion::Tls12) => &[&version::TLS12],
            Some(TlsVersion::Tls13) => &[&version::TLS13],
        };
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(|e| Error(format!("cannot speak TLS: {e}")))?
            .dangerous()
            .with_custom_certificate_verifier(options.trust.verifier(&provider)?)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = match options.resume {
            true => Resumption::store(Arc::new(Tickets::default())),
            false => Resumption::disabled(),
        };
        Ok(Tls { config: Arc::new(config), name: server })
    }

    /// A connection's own, before anything was sent.
    pub(super) fn connection(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        ],
        kx_groups: vec![kx_group::X25519],
        ..aws_lc_rs::default_provider()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &str, trust: Trust) -> String {
        let options = TlsOptions { trust, version: None, resume: false };
        Tls::new(name, &options).expect_err("it cannot be").to_string()
    }

    #[test]
    fn names_and_addresses_are_taken() {
        let options = TlsOptions { trust: Trust::Anyone, version: None, resume: true };
        for name in ["example.org", "127.0.0.1", "::1", "[::1]"] {
            let tls = Tls::new(name, &options).expect(name);
            assert!(tls.connection().expect(name).wants_write(), "{name}");
        }
        assert!(message("a b", Trust::Anyone).contains("a b"));
    }

    #[test]
    fn an_authority_that_is_none_is_said() {
        for pem in ["", "no PEM", "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"]
        {
            let said = message("example.org", Trust::Authorities(pem.into()));
            assert!(said.contains("no certificate in PEM"), "{pem:?}: {said}");
        }
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let said = message("example.org", Trust::Authorities(pem.into()));
        assert!(said.contains("that is none"), "{said}");
        let pem = "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n";
        let said = message("example.org", Trust::Authorities(pem.into()));
        assert!(said.contains("is no PEM"), "{said}");
    }
}
