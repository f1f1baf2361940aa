//! How to speak TLS to each backend, made of the keys of its route. Used by [`super::route`] when the
//! server starts, and by `weir serve --check`.

use std::time::SystemTime;

use weir_tls::certificates::{read, read_authorities};
use weir_tls::client::{ClientTls, system_authorities};
use weir_tls::{Authorities, CertificateError};

use crate::config::{Action, BackendAddress, ProxyConfig, RouteConfig};
use crate::error::ServeError;

/// Makes it for one backend after the other.
#[derive(Debug, Default)]
pub(super) struct TlsBuilder {
    /// The system's authorities, once they were needed: they are many.
    of_system: Option<Authorities>,
}

impl TlsBuilder {
    /// How to speak TLS to the backend at `address`; `None`: it speaks none.
    ///
    /// # Errors
    ///
    /// What is wrong with the files or names of `config`, or that the system has no authorities.
    pub(super) fn build(
        &mut self,
        address: &BackendAddress,
        config: &ProxyConfig,
    ) -> Result<Option<ClientTls>, ServeError> {
        let BackendAddress::Tcp { host, tls: true, .. } = address else { return Ok(None) };
        let built = self.client(host, config);
        built.map(Some).map_err(|error| {
            ServeError::told(format_args!("cannot set up TLS to backend {address}: {error}"))
        })
    }

    fn client(&mut self, host: &str, config: &ProxyConfig) -> Result<ClientTls, CertificateError> {
        let keys = config.tls();
        let authorities = match (keys.ca, &self.of_system) {
            (Some(file), _) => read_authorities(file)?,
            (None, Some(authorities)) => authorities.clone(),
            (None, None) => self.of_system.insert(system_authorities()?).clone(),
        };
        let now = SystemTime::now();
        let own = keys.identity.map(|(chain, key)| read(chain, key, now)).transpose()?;
        ClientTls::new(&authorities, keys.name.unwrap_or(host), own.as_ref())
    }
}

/// Looks whether the server could speak TLS to its backends.
///
/// # Errors
///
/// As the server would tell when it starts.
pub(crate) fn check(routes: &[RouteConfig]) -> Result<(), ServeError> {
    let mut tls = TlsBuilder::default();
    for route in routes {
        if let Action::Proxy(config) = &route.action {
            for backend in &config.backends {
                tls.build(backend, config)?;
            }
        }
    }
    Ok(())
}
