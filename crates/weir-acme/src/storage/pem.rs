//! A private key and the certificate chain that belongs to it, as text. Used by the storage, which keeps
//! both in one file, and by orders, which make them.

use std::fmt;
use std::io;

/// See the module.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Pem {
    /// The private key.
    pub(crate) key: String,
    /// The certificate, then what leads to its root.
    pub(crate) chain: String,
}

const FIRST_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";

impl Pem {
    /// Parts the text of a file.
    pub(super) fn split(text: &str) -> io::Result<Pem> {
        match text.find(FIRST_CERTIFICATE) {
            Some(at) if at > 0 => {
                let (key, chain) = text.split_at(at);
                Ok(Pem { key: key.to_owned(), chain: chain.to_owned() })
            }
            Some(_) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "the private key is missing"))
            }
            None => Err(io::Error::new(io::ErrorKind::InvalidData, "the certificate is missing")),
        }
    }

    /// The text of a file.
    pub(super) fn joined(&self) -> String {
        format!("{}\n{}", self.key.trim_end(), self.chain)
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        f.debug_struct("Pem").field("chain", &self.chain).finish_non_exhaustive()
    }
}
