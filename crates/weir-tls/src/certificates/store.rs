//! The certificates of a server, and which of them a client gets: by the name that it asks for (SNI, RFC
//! 6066, section 3), and by what it can verify. Shared by all workers; what is replaced takes effect with
//! the next handshake.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{CipherSuite, SignatureAlgorithm, SignatureScheme};

use super::certificate::Certificate;

/// The protocol of a challenge in ALPN (RFC 8737, section 6.2). A session that agreed on it has shown its
/// certificate and is over.
pub const ACME_TLS: &[u8] = b"acme-tls/1";

/// See the module.
#[derive(Debug, Default)]
pub struct CertificateStore(RwLock<Stored>);

#[derive(Debug, Default)]
struct Stored {
    /// Those of files; the first is the default.
    files: Vec<Certificate>,
    /// Those that were obtained, by the name that they were obtained for.
    managed: BTreeMap<String, Certificate>,
    /// Those that answer a challenge for their name (RFC 8737).
    challenges: HashMap<String, Certificate>,
    /// Of `files` and `managed`, by name or `*.` and the rest of a name; with several, those that are
    /// cheaper to sign with first.
    by_name: HashMap<String, Vec<Certificate>>,
    /// For clients that ask for no name, or for one that nothing here has.
    default: Vec<Certificate>,
}

/// What a client said that it can verify.
#[derive(Clone, Copy, Debug)]
struct Abilities<'a> {
    schemes: &'a [SignatureScheme],
    suites: &'a [CipherSuite],
}

impl CertificateStore {
    /// One without certificates.
    pub fn new() -> Arc<CertificateStore> {
        Arc::default()
    }

    /// Takes `files` instead of all certificates of files. The first is the default; others for its
    /// first name are so with it, for clients that cannot verify it.
    pub fn replace_files(&self, files: Vec<Certificate>) {
        let mut stored = self.write();
        stored.files = files;
        stored.index();
    }

    /// Takes a certificate that was obtained for `name`, instead of the one before.
    pub fn set_managed(&self, name: &str, certificate: Certificate) {
        let mut stored = self.write();
        stored.managed.insert(name.to_ascii_lowercase(), certificate);
        stored.index();
    }

    /// Takes what answers a challenge for `name` (tls-alpn-01, RFC 8737), or forgets it. It is given out
    /// to nobody but who offers the protocol `acme-tls/1` and nothing else.
    pub fn set_challenge(&self, name: &str, certificate: Option<Certificate>) {
        let name = name.to_ascii_lowercase();
        let challenges = &mut self.write().challenges;
        match certificate {
            Some(certificate) => drop(challenges.insert(name, certificate)),
            None => drop(challenges.remove(&name)),
        }
    }

    /// All certificates that clients may get, but for those of challenges.
    pub fn all(&self) -> Vec<Certificate> {
        let stored = self.read();
        stored.files.iter().chain(stored.managed.values()).cloned().collect()
    }

    fn challenge(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        Some(self.read().challenges.get(&name.to_ascii_lowercase())?.key.clone())
    }

    fn read(&self) -> RwLockReadGuard<'_, Stored> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Stored> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResolvesServerCert for CertificateStore {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name();
        if is_challenge(&hello) {
            return self.challenge(name?);
        }
        let suites = hello.cipher_suites();
        let can = Abilities { schemes: hello.signature_schemes(), suites };
        Some(self.read().choose(name, can)?.key.clone())
    }
}

/// Whether the client wants to see the answer to a challenge, and nothing else (RFC 8737, section 3).
pub(crate) fn is_challenge(hello: &ClientHello<'_>) -> bool {
    let Some(mut offered) = hello.alpn() else { return false };
    offered.next() == Some(ACME_TLS) && offered.next().is_none()
}

impl Stored {
    /// Orders the certificates by their names anew.
    fn index(&mut self) {
        let mut by_name: HashMap<String, Vec<Certificate>> = HashMap::new();
        for certificate in self.files.iter().chain(self.managed.values()) {
            for name in certificate.names() {
                by_name.entry(name.clone()).or_default().push(certificate.clone());
            }
        }
        by_name.values_mut().for_each(|all| all.sort_by_key(Certificate::is_rsa));
        let first = self.files.first().or_else(|| self.managed.values().next());
        let of_its_name = first.and_then(|first| by_name.get(first.names().first()?).cloned());
        self.default = of_its_name.unwrap_or_else(|| first.cloned().into_iter().collect());
        self.by_name = by_name;
    }

    /// The certificate for a client that asks for `name`.
    fn choose(&self, name: Option<&str>, can: Abilities<'_>) -> Option<&Certificate> {
        let of_name = name.and_then(|name| self.of_name(&name.to_ascii_lowercase()));
        let candidates = of_name.unwrap_or(&self.default);
        // If it can verify none, the handshake fails with the first, and says why.
        candidates.iter().find(|one| can.verify(&one.key)).or(candidates.first())
    }

    /// Exactly, or by a wildcard, which stands for one label (RFC 9525, section 6.3).
    fn of_name(&self, name: &str) -> Option<&Vec<Certificate>> {
        let name = name.strip_suffix('.').unwrap_or(name);
        let wildcard = || self.by_name.get(&format!("*.{}", name.split_once('.')?.1));
        self.by_name.get(name).or_else(wildcard)
    }
}

impl Abilities<'_> {
    fn verify(self, key: &CertifiedKey) -> bool {
        let of_suites = match key.key.algorithm() {
            SignatureAlgorithm::RSA => RSA_SUITES,
            _ => ECDSA_SUITES,
        };
        let has_suite =
            self.suites.iter().any(|suite| of_suites.contains(suite) || ANY_KEY.contains(suite));
        has_suite && key.key.choose_scheme(self.schemes).is_some()
    }
}

/// Of TLS 1.3, whose suites do not say with which kind of key a server signs.
const ANY_KEY: [CipherSuite; 3] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS13_AES_256_GCM_SHA384,
    CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
];

/// Of TLS 1.2, whose suites do.
const RSA_SUITES: [CipherSuite; 3] = [
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
];
const ECDSA_SUITES: [CipherSuite; 3] = [
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::tests::{Kind, certificate};

    const MODERN: Abilities<'static> = Abilities {
        schemes: &[SignatureScheme::ECDSA_NISTP256_SHA256, SignatureScheme::RSA_PSS_SHA256],
        suites: &ANY_KEY,
    };

    fn subject(store: &CertificateStore, name: Option<&str>, can: Abilities<'_>) -> Option<String> {
        let stored = store.read();
        stored.choose(name, can).map(|chosen| chosen.names().join(" "))
    }

    #[test]
    fn a_name_is_found_exactly_then_by_a_wildcard_then_the_default_stands_in() {
        let store = CertificateStore::new();
        assert_eq!(subject(&store, Some("a.test"), MODERN), None);
        let names: [&[&str]; 3] = [&["default.test"], &["*.test", "b.a.test"], &["a.test"]];
        store.replace_files(names.map(|names| certificate(Kind::P256, names)).into());
        for (name, chosen) in [
            (Some("a.test"), "a.test"),
            (Some("A.TEST"), "a.test"),
            (Some("a.test."), "a.test"),
            (Some("z.test"), "*.test b.a.test"),
            (Some("b.a.test"), "*.test b.a.test"),
            // A wildcard is one label.
            (Some("c.a.test"), "default.test"),
            (Some("elsewhere.example"), "default.test"),
            (None, "default.test"),
        ] {
            assert_eq!(subject(&store, name, MODERN).as_deref(), Some(chosen), "{name:?}");
        }
    }

    #[test]
    fn of_one_name_a_client_gets_what_it_can_verify() {
        let store = CertificateStore::new();
        let (ecdsa, rsa) =
            (certificate(Kind::P256, &["a.test"]), certificate(Kind::Rsa, &["a.test"]));
        store.replace_files(vec![rsa, ecdsa]);
        let is_rsa = |name, can| store.read().choose(name, can).map(Certificate::is_rsa);
        let old = Abilities { schemes: MODERN.schemes, suites: &RSA_SUITES };
        let only_rsa = Abilities { schemes: &[SignatureScheme::RSA_PSS_SHA256], suites: &ANY_KEY };
        for name in [Some("a.test"), None] {
            assert_eq!(is_rsa(name, MODERN), Some(false));
            assert_eq!(is_rsa(name, old), Some(true));
            assert_eq!(is_rsa(name, only_rsa), Some(true));
        }
    }

    #[test]
    fn what_was_obtained_is_replaced_by_its_name_and_challenges_are_apart() {
        let store = CertificateStore::new();
        store.set_managed("A.test", certificate(Kind::P256, &["a.test"]));
        assert_eq!(subject(&store, None, MODERN).as_deref(), Some("a.test"));
        store.set_managed("a.test", certificate(Kind::P256, &["a.test", "b.test"]));
        assert_eq!(subject(&store, Some("a.test"), MODERN).as_deref(), Some("a.test b.test"));
        assert_eq!(store.all().len(), 1);
        store.set_challenge("A.test", Some(certificate(Kind::P256, &["a.test"])));
        assert_eq!(subject(&store, Some("a.test"), MODERN).as_deref(), Some("a.test b.test"));
        assert!(store.challenge("a.TEST").is_some() && store.challenge("b.test").is_none());
        store.set_challenge("a.test", None);
        assert!(store.challenge("a.test").is_none());
    }
}
