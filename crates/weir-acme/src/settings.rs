//! What the user says about certificates by ACME, each value checked when it is read. Used by the
//! server's configuration, and by everything here that asks for it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::Uri;
use serde::{Deserialize, Serialize};

use crate::host_name::HostName;
use crate::invalid::InvalidSetting;

/// What certificates are ordered, from whom, and where they are kept.
#[derive(Clone, Debug)]
pub struct Settings {
    /// One certificate is kept for each.
    pub names: Vec<HostName>,
    /// The ACME server.
    pub directory_url: DirectoryUrl,
    /// Where the ACME server may write to; whether it does is its own affair.
    pub email: Option<String>,
    /// The directory of accounts, keys and certificates. It is made if it is not there.
    pub storage: PathBuf,
    /// A PEM file with the roots that the ACME server's own certificate is checked against, instead of
    /// the system's.
    pub roots: Option<PathBuf>,
    /// The account with the certificate authority that the ACME account is bound to.
    pub external_account: Option<ExternalAccount>,
    /// The ways that a name can be proved here. The first is tried first, the next after a failure.
    pub challenges: Vec<ChallengeKind>,
}

/// How a name is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum ChallengeKind {
    /// By a page on port 80 (RFC 8555 section 8.3).
    #[serde(rename = "http-01")]
    Http01,
    /// By a certificate in a handshake on port 443 (RFC 8737).
    #[serde(rename = "tls-alpn-01")]
    TlsAlpn01,
}

impl fmt::Display for ChallengeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChallengeKind::Http01 => "http-01",
            ChallengeKind::TlsAlpn01 => "tls-alpn-01",
        })
    }
}

/// The address of an ACME server's directory (RFC 8555 section 7.1.1), with https.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryUrl(Uri);

impl DirectoryUrl {
    /// Let's Encrypt, whose certificates browsers trust.
    pub const LETS_ENCRYPT: &'static str = "https://acme-v02.api.letsencrypt.org/directory";

    /// The name of the storage's part for this server: its host, port and path, without what file names
    /// cannot have.
    pub(crate) fn file_name(&self) -> String {
        let place = self.to_string();
        let place = place.strip_prefix("https://").unwrap_or(&place);
        let safe = |(at, letter): (usize, char)| match letter {
            '.' if at > 0 => '.',
            letter if letter.is_ascii_alphanumeric() || letter == '-' => letter,
            _ => '_',
        };
        place.chars().take(200).enumerate().map(safe).collect()
    }
}

impl Default for DirectoryUrl {
    fn default() -> DirectoryUrl {
        DirectoryUrl(Uri::from_static(DirectoryUrl::LETS_ENCRYPT))
    }
}

impl FromStr for DirectoryUrl {
    type Err = InvalidSetting;

    fn from_str(text: &str) -> Result<Self, InvalidSetting> {
        let example = DirectoryUrl::LETS_ENCRYPT;
        let uri: Uri = text.trim().parse().map_err(|error| {
            InvalidSetting::new(format!(
                "\"{text}\" is no URL ({error}); write one such as {example}"
            ))
        })?;
        if uri.scheme_str() != Some("https") || uri.host().is_none_or(str::is_empty) {
            return Err(InvalidSetting::new(format!(
                "\"{text}\" is not the https URL of an ACME directory, such as {example}"
            )));
        }
        Ok(DirectoryUrl(uri))
    }
}

impl fmt::Display for DirectoryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An account with a certificate authority, by which it recognises its customers (RFC 8555 section
/// 7.3.4). The authority gives out both values.
#[derive(Clone, PartialEq, Eq)]
pub struct ExternalAccount {
    id: String,
    key: Vec<u8>,
}

impl ExternalAccount {
    /// `key`: in base64url, as authorities give it out.
    ///
    /// # Errors
    ///
    /// If a value is empty, or `key` is not base64url. The error does not repeat the key.
    pub fn new(id: &str, key: &str) -> Result<ExternalAccount, InvalidSetting> {
        if id.is_empty() {
            return Err(InvalidSetting::new("the identifier of the external account is empty"));
        }
        let key =
            BASE64_URL_SAFE_NO_PAD.decode(key.trim().trim_end_matches('=')).map_err(|error| {
                InvalidSetting::new(format!(
                    "the key of the external account is not base64url ({error}): \
                 copy the HMAC key as the certificate authority shows it"
                ))
            })?;
        if key.is_empty() {
            return Err(InvalidSetting::new("the key of the external account is empty"));
        }
        Ok(ExternalAccount { id: id.to_owned(), key })
    }

    /// Reads a file with identifier and key, space between them.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or as [`ExternalAccount::new`].
    pub fn read(file: &Path) -> Result<ExternalAccount, InvalidSetting> {
        let wrong =
            |what: &dyn fmt::Display| InvalidSetting::new(format!("{}: {what}", file.display()));
        let text = fs::read_to_string(file).map_err(|error| wrong(&error))?;
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            [id, key] => ExternalAccount::new(id, key).map_err(|error| wrong(&error)),
            // Without repeating the key.
            _ => Err(wrong(
                &"write the identifier of the external account, a space, and its HMAC key",
            )),
        }
    }

    /// The identifier.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }
}

impl fmt::Debug for ExternalAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalAccount").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acme_server_is_named_by_an_https_url() {
        let url: DirectoryUrl = DirectoryUrl::LETS_ENCRYPT.parse().unwrap();
        assert_eq!(url.to_string(), DirectoryUrl::LETS_ENCRYPT);
        assert_eq!(url.file_name(), "acme-v02.api.letsencrypt.org_directory");
        for text in
            ["", "acme.example", "http://acme.example/directory", "https://", "https://a b/"]
        {
            let error = text.parse::<DirectoryUrl>().unwrap_err().to_string();
            assert!(error.contains(DirectoryUrl::LETS_ENCRYPT), "{error}");
        }
    }

    #[test]
    fn each_acme_server_has_a_directory_inside_the_storage() {
        let file_name = |text: &str| text.parse::<DirectoryUrl>().unwrap().file_name();
        assert_eq!(file_name("https://127.0.0.1:14000/dir"), "127.0.0.1_14000_dir");
        assert_eq!(file_name("https://../../etc"), "_._.._etc");
        assert!(file_name(&format!("https://acme.example/{}", "a".repeat(1000))).len() <= 200);
    }

    #[test]
    fn an_external_account_is_read_with_and_without_padding_and_never_shown() {
        let account = ExternalAccount::new("kid-1", "c2VjcmV0IQ==").unwrap();
        assert_eq!(account.key(), b"secret!");
        assert_eq!(ExternalAccount::new("kid-1", "c2VjcmV0IQ").unwrap(), account);
        assert!(!format!("{account:?}").contains("secret"));
        for (id, key) in [("", "c2VjcmV0IQ"), ("kid-1", ""), ("kid-1", "not base64!")] {
            let error = ExternalAccount::new(id, key).unwrap_err().to_string();
            assert!(
                error.contains("external account") && !error.contains("not base64!"),
                "{error}"
            );
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "kid-1 c2VjcmV0IQ\n").unwrap();
        assert_eq!(ExternalAccount::read(file.path()).unwrap(), account);
        fs::write(file.path(), "c2VjcmV0IQ\n").unwrap();
        let error = ExternalAccount::read(file.path()).unwrap_err().to_string();
        assert!(error.contains("a space") && !error.contains("c2V"), "{error}");
    }
}
