//! TLS to backends: which authorities are believed, which name a certificate must have, and which
//! certificate weir shows. Used by the proxy of weir-server, which has the sockets.

mod error;
mod failure;
mod identity;
mod pem;
mod roots;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;

pub use error::ClientTlsError;
pub use failure::explain;
pub use identity::Identity;
pub use roots::Roots;

/// The only protocol that weir speaks to backends, as ALPN names it (RFC 7301, section 6).
const PROTOCOL: &[u8] = b"http/1.1";

/// How to speak TLS, 1.2 or 1.3, to one backend. One is shared by all workers: it holds the sessions
/// that later connections resume, at most 256.
#[derive(Clone, Debug)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl ClientTls {
    /// `name`, a host or an address, is what the backend's certificate must be for. A host is also
    /// asked for by SNI (RFC 6066, section 3).
    ///
    /// # Errors
    ///
    /// A name that no certificate can have.
    pub fn new(
        roots: &Roots,
        name: &str,
        identity: Option<&Identity>,
    ) -> Result<ClientTls, ClientTlsError> {
        let wrong = |_| {
            ClientTlsError::new(format!(
                "no certificate can be for \"{name}\"; say which name it is for as `backend_name`"
            ))
        };
        let name = ServerName::try_from(name.to_owned()).map_err(wrong)?;
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| ClientTlsError::new(format!("TLS cannot be set up: {error}")))?
            .with_root_certificates(roots.store());
        let mut config = match identity {
            None => config.with_no_client_auth(),
            Some(identity) => config.with_client_cert_resolver(identity.resolver()),
        };
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
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
