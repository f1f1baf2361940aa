//! TLS to backends: which authorities are believed, which name a certificate must have, and which
//! certificate weir shows. Used by the proxy of weir-server, which has the sockets.

mod failure;
mod system;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use crate::certificates::{Authorities, Certificate, CertificateError};
use crate::server::HTTP_1;
pub use failure::explain;
pub use system::system_authorities;

/// How to speak TLS, 1.2 or 1.3, to one backend. One is shared by all workers: it holds the sessions
/// that later connections resume, at most 256.
#[derive(Clone, Debug)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl ClientTls {
    /// `name`, a host or an address, is what the backend's certificate must be for. A host is also
    /// asked for by SNI (RFC 6066, section 3). `certificate` is shown to backends that ask for one.
    ///
    /// # Errors
    ///
    /// A name that no certificate can have.
    pub fn new(
        authorities: &Authorities,
        name: &str,
        certificate: Option<&Certificate>,
    ) -> Result<ClientTls, CertificateError> {
        let wrong = |_| {
            CertificateError::new(format_args!(
                "no certificate can be for \"{name}\"; say which name it is for as `backend_name`"
            ))
        };
        let name = ServerName::try_from(name.to_owned()).map_err(wrong)?;
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| CertificateError::new(format_args!("no TLS: {error}")))?
            .with_root_certificates(authorities.0.clone());
        let mut config = match certificate {
            None => config.with_no_client_auth(),
            Some(own) => {
                let own = SingleCertAndKey::from(CertifiedKey::clone(&own.key));
                config.with_client_cert_resolver(Arc::new(own))
            }
        };
        config.alpn_protocols = vec![HTTP_1.to_vec()];
        Ok(ClientTls { config: Arc::new(config), name })
    }

    /// What a connection is made of, beside a socket and [`ClientTls::name`].
    pub fn config(&self) -> &Arc<ClientConfig> {
        &self.config
    }

    /// What the backend's certificate must be for.
    pub fn name(&self) -> &ServerName<'static> {
        &self.name
    }
}
