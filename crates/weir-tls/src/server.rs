//! What a server offers: versions and ciphers by presets with the names that Mozilla's recommendations
//! have, HTTP/1.1 by ALPN, tickets for sessions that go on, and whether clients must show a certificate.
//! Made when a server starts, shared by its workers; sessions are answered with it.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::aws_lc_rs::cipher_suite;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::{
    ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier,
};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedCipherSuite, SupportedProtocolVersion};
use weir_units::choice;

use crate::certificates::{ACME_TLS, Authorities, CertificateStore, is_challenge};

/// HTTP/1.1 in ALPN (RFC 7301, section 6).
pub const HTTP_1: &[u8] = b"http/1.1";

choice! {
    /// Versions and ciphers. All have forward secrecy and authenticated encryption, as RFC 9325 (BCP
    /// 195), sections 3 and 4, asks.
    pub enum Preset, "a preset of versions and ciphers", default Intermediate {
        /// TLS 1.3 and 1.2, for clients of the last ten years.
        Intermediate = "intermediate",
        /// TLS 1.3 alone.
        Modern = "modern",
    }
}

static INTERMEDIATE: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
static MODERN: [&SupportedProtocolVersion; 1] = [&TLS13];

impl Preset {
    fn versions(self) -> &'static [&'static SupportedProtocolVersion] {
        match self {
            Preset::Intermediate => &INTERMEDIATE,
            Preset::Modern => &MODERN,
        }
    }
}

choice! {
    /// Whether a client must show a certificate.
    pub enum ClientCertificates, "whether clients need certificates", default Required {
        /// Who has none is refused.
        Required = "required",
        /// Who has none is served, too; one that is not valid is refused all the same.
        Optional = "optional",
    }
}

/// Of which authorities clients show certificates, and whether they must.
#[derive(Clone, Debug)]
pub struct Clients {
    /// Who may have signed them.
    pub authorities: Authorities,
    /// Whether they must show one.
    pub certificates: ClientCertificates,
}

/// Why a server cannot offer what it was told to.
#[derive(Debug)]
pub struct ServerError(String);

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServerError {}

/// See the module.
#[derive(Debug)]
pub struct Server {
    preset: Preset,
    certificates: Arc<CertificateStore>,
    /// For clients that want pages.
    serving: RwLock<Arc<ServerConfig>>,
    /// For those that want to see the answer to a challenge: they show no certificate.
    challenges: Arc<ServerConfig>,
}

impl Server {
    /// `clients`: whose certificates are asked for; `None`: nobody's.
    ///
    /// # Errors
    ///
    /// The authorities cannot be used, or there are no random numbers for the keys of tickets.
    pub fn new(
        certificates: &Arc<CertificateStore>,
        preset: Preset,
        clients: Option<&Clients>,
    ) -> Result<Server, ServerError> {
        let mut challenges = config(certificates, preset, None)?;
        challenges.alpn_protocols = vec![ACME_TLS.to_vec()];
        Ok(Server {
            preset,
            certificates: certificates.clone(),
            serving: RwLock::new(Arc::new(serving(certificates, preset, clients)?)),
            challenges: Arc::new(challenges),
        })
    }

    /// From the next handshake on, certificates of these clients are asked for. Sessions that began
    /// before cannot go on by their tickets.
    ///
    /// # Errors
    ///
    /// As [`Server::new`]; then nothing changes.
    pub fn replace_clients(&self, clients: Option<&Clients>) -> Result<(), ServerError> {
        let config = Arc::new(serving(&self.certificates, self.preset, clients)?);
        *self.serving.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(crate) fn for_client(&self, hello: &ClientHello<'_>) -> Arc<ServerConfig> {
        match is_challenge(hello) {
            true => self.challenges.clone(),
            false => self.serving.read().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

fn serving(
    certificates: &Arc<CertificateStore>,
    preset: Preset,
    clients: Option<&Clients>,
) -> Result<ServerConfig, ServerError> {
    let mut config = config(certificates, preset, clients)?;
    config.alpn_protocols = vec![HTTP_1.to_vec()];
    // Its keys change every six hours, and each opens tickets for twelve. Tickets are for sessions on
    // all workers, and nothing is remembered for them here. There is no early data (0-RTT), which
    // anybody could send again (RFC 8446, section 8): rustls refuses it unless told otherwise.
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(|error| {
        ServerError(format!("there are no random numbers for the keys of tickets: {error}"))
    })?;
    Ok(config)
}

fn config(
    certificates: &Arc<CertificateStore>,
    preset: Preset,
    clients: Option<&Clients>,
) -> Result<ServerConfig, ServerError> {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites = ciphers();
    let provider: Arc<CryptoProvider> = Arc::new(provider);
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder
        .with_protocol_versions(preset.versions())
        .map_err(|error| ServerError(format!("the preset {preset} cannot be had: {error}")))?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(Clients { authorities, certificates }) => {
            let verifier =
                WebPkiClientVerifier::builder_with_provider(authorities.0.clone(), provider);
            let verifier = match certificates {
                ClientCertificates::Required => verifier,
                ClientCertificates::Optional => verifier.allow_unauthenticated(),
            };
            let verifier = verifier.build().map_err(|error| {
                ServerError(format!("certificates of clients cannot be verified: {error}"))
            })?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let certificates: Arc<dyn ResolvesServerCert> = certificates.clone();
    let mut config = builder.with_cert_resolver(certificates);
    config.ignore_client_order = true;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

/// All ciphers in the order in which they are chosen: those first that take both sides the least time and
/// are as good (RFC 9325, section 4.2).
fn ciphers() -> Vec<SupportedCipherSuite> {
    vec![
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]
}
