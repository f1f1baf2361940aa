//! Whose certificates a run takes for the server's. [`Tls`](super::Tls) is made with it.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::Error;

/// Whose certificates are taken for the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those that an authority of this system has signed.
    System,
    /// Those that one of these certificates (PEM) has signed, and these themselves.
    Authorities(Vec<u8>),
    /// Anybody's, of any name: for a server with a certificate of its own making. That the server has
    /// the certificate's key is checked all the same.
    Anyone,
}

impl Trust {
    /// What checks the server's certificate.
    ///
    /// # Errors
    ///
    /// When there is no certificate to trust in, or one cannot be read.
    pub(super) fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        let roots = match self {
            Trust::System => of_this_system()?,
            Trust::Authorities(pem) => of_pem(pem)?,
            Trust::Anyone => return Ok(Arc::new(TakesAny(Arc::clone(provider)))),
        };
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        let verifier = verifier.build();
        Ok(verifier.map_err(|e| Error(format!("cannot check certificates: {e}")))?)
    }
}

fn of_this_system() -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    // Single certificates that cannot be used are in most systems' stores.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    match roots.is_empty() {
        false => Ok(roots),
        true => Err(Error(
            "this system has no certificate authorities (Debian's are in the package \
             ca-certificates): name one with its file, or take any certificate"
                .into(),
        )),
    }
}

fn of_pem(pem: &[u8]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate
            .map_err(|e| Error(format!("the certificate authority's file is no PEM: {e}")))?;
        roots.add(certificate).map_err(|e| {
            Error(format!("the certificate authority's file has a certificate that is none: {e}"))
        })?;
    }
    match roots.is_empty() {
        false => Ok(roots),
        true => Err(Error("the certificate authority's file has no certificate in PEM".into())),
    }
}

/// Takes any certificate, and checks only that the server has its key.
#[derive(Debug)]
struct TakesAny(Arc<CryptoProvider>);

impl ServerCertVerifier for TakesAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
