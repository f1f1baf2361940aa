//! A certificate with its chain and its key, checked: the key belongs to it, and the chain is in order.
//! Made of PEM by whoever reads or obtains one; [`super::CertificateStore`] gives it out.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use httpdate::fmt_http_date;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, SignatureAlgorithm};

use super::error::CertificateError;
use super::pem;
use super::x509::Facts;

/// See the module. Copies share their content.
#[derive(Clone)]
pub struct Certificate {
    pub(crate) key: Arc<CertifiedKey>,
    facts: Arc<Facts>,
}

impl Certificate {
    /// Of a chain in PEM, the server's own certificate first, and its private key (PKCS #8, PKCS #1 or
    /// SEC 1).
    ///
    /// # Errors
    ///
    /// What is wrong with either: missing, cut off, damaged, encrypted, of different certificates, out of
    /// order.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Certificate, CertificateError> {
        let chain = pem::chain(chain)?;
        let all: Result<Vec<Facts>, _> = chain.iter().map(|der| Facts::read(der)).collect();
        let mut all = all?.into_iter();
        let (Some(facts), next) = (all.next(), all.next()) else { return Err(none()) };
        if let Some(next) = next.filter(|next| next.subject != facts.issuer) {
            return Err(CertificateError::new(format!(
                "the chain is out of order: the first certificate was issued by \"{}\", and the second is \
                 of \"{}\"; write the server's certificate first, then the one that signed it",
                facts.issuer, next.subject
            )));
        }
        let key = any_supported_type(&pem::key(key)?).map_err(|error| {
            CertificateError::new(format!(
                "the private key cannot be used ({error}); weir takes ECDSA (P-256, P-384, P-521), \
                 Ed25519, and RSA from 2048 bits"
            ))
        })?;
        let key = CertifiedKey::new(chain, key);
        // rustls cannot tell of every kind of key, nor of certificates with critical extensions that it does
        // not know, such as those that answer challenges (RFC 8737, section 3).
        if let Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) = key.keys_match() {
            return Err(CertificateError::new(
                "the private key belongs to another certificate; name the key that this certificate \
                 was made with",
            ));
        }
        Ok(Certificate { key: Arc::new(key), facts: Arc::new(facts) })
    }

    /// The DNS names that it is for, in lower case; one may begin with `*.`.
    pub fn names(&self) -> &[String] {
        &self.facts.names
    }

    /// From when on it is valid.
    pub fn not_before(&self) -> SystemTime {
        self.facts.not_before
    }

    /// Up to when it is valid.
    pub fn not_after(&self) -> SystemTime {
        self.facts.not_after
    }

    /// Whether a client would take it at `now`, as far as time goes.
    ///
    /// # Errors
    ///
    /// It has expired, or is not valid yet.
    pub fn check_time(&self, now: SystemTime) -> Result<(), CertificateError> {
        if now > self.not_after() {
            let ended = fmt_http_date(self.not_after());
            return Err(CertificateError::new(format!("it has expired, on {ended}; renew it")));
        }
        if now < self.not_before() {
            let begins = fmt_http_date(self.not_before());
            return Err(CertificateError::new(format!(
                "it is valid only from {begins} on; wait until then, or set the clock of this machine"
            )));
        }
        Ok(())
    }

    /// Whether its key is one of RSA: such signatures take a server long, so others go first.
    pub(super) fn is_rsa(&self) -> bool {
        self.key.key.algorithm() == SignatureAlgorithm::RSA
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("facts", &self.facts).finish_non_exhaustive()
    }
}

fn none() -> CertificateError {
    CertificateError::new("there is no certificate in it")
}
