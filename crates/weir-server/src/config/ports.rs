//! What is spoken on which address, and with which certificates. Used by whoever listens, and by `app`,
//! which reads the files.

use std::path::{Path, PathBuf};

use super::address::ListenAddress;
use super::settings::Config;
use super::tls::CertificateSource;

/// What is spoken on an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortKind {
    /// HTTP in clear text.
    Clear,
    /// HTTP with TLS.
    Tls,
    /// HTTP in clear text, to be told where the address with TLS is.
    Redirecting,
}

impl Config {
    /// The addresses to listen on, and what is spoken there.
    pub(crate) fn ports(&self) -> impl Iterator<Item = (&ListenAddress, PortKind)> {
        let kind = if self.has_tls() { PortKind::Tls } else { PortKind::Clear };
        let served = self.listen.iter().map(move |address| (address, kind));
        // Without TLS there is nothing to redirect to; the warning about the key says so.
        let clear = self.listen_clear.iter().filter(|_| self.has_tls());
        served.chain(clear.map(|address| (address, PortKind::Redirecting)))
    }

    /// Whether `listen` speaks TLS.
    pub(crate) fn has_tls(&self) -> bool {
        !self.tls.is_empty()
    }

    /// The files of each certificate: its chain, and its key, which may be the same file.
    pub(crate) fn certificate_files(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let chains = self.tls.iter().filter_map(CertificateSource::file);
        chains.enumerate().map(|(place, chain)| {
            let key = self.tls_key.get(place).map_or(chain, PathBuf::as_path);
            (chain, key)
        })
    }

    /// Whether each certificate has its key.
    ///
    /// # Errors
    ///
    /// What to write instead.
    pub(super) fn check_keys(&self) -> Result<(), String> {
        let (chains, keys) = (self.certificate_files().count(), self.tls_key.len());
        if keys == 0 || chains == 0 || chains == keys {
            return Ok(());
        }
        Err(format!(
            "`tls` names {chains} and `tls_key` {keys}: name one key for each certificate, in the same \
             order, or no key if each file has its own"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    fn read(text: &str) -> Result<Config, String> {
        let settings = parse(text).map_err(|wrong| wrong.to_string())?;
        Config::from_settings(settings).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn each_certificate_has_its_key() {
        let files = |text: &str| {
            let config = read(text)?;
            let name = |path: &Path| path.display().to_string();
            let files =
                config.certificate_files().map(|(chain, key)| name(chain) + " " + &name(key));
            Ok::<_, String>(files.collect::<Vec<_>>().join(", "))
        };
        for (text, pairs) in [
            ("", ""),
            ("tls = \"a\"", "a a"),
            ("tls = \"a\"\ntls_key = \"b\"", "a b"),
            ("tls = [\"a\", \"c\"]\ntls_key = [\"b\", \"d\"]", "a b, c d"),
        ] {
            assert_eq!(files(text).as_deref(), Ok(pairs), "{text}");
        }
        let wrong = files("tls = [\"a\", \"c\"]\ntls_key = \"b\"").unwrap_err();
        assert!(
            wrong.starts_with("`tls` names 2 and `tls_key` 1: name one key for each"),
            "{wrong}"
        );
    }

    #[test]
    fn what_is_spoken_on_which_address() {
        let kinds = |text: &str| {
            let config = read(text).unwrap();
            config.ports().map(|(address, kind)| (address.to_string(), kind)).collect::<Vec<_>>()
        };
        let both = "listen = \"127.0.0.1:1\"\nlisten_clear = \"127.0.0.1:2\"\n";
        let [first, second] = ["127.0.0.1:1", "127.0.0.1:2"].map(str::to_owned);
        assert_eq!(kinds(both), [(first.clone(), PortKind::Clear)]);
        let with = kinds(&format!("{both}tls = \"a\""));
        assert_eq!(with, [(first, PortKind::Tls), (second, PortKind::Redirecting)]);
        let told = read(both).unwrap().without_effect;
        assert_eq!(told, ["`listen_clear` has no effect: there is no `tls`"]);
    }
}
