//! The flags of `weir-lab load` for `https` URLs, and what the generator is told of TLS by them. Part of
//! the [`arguments`](super::arguments), used by the command.

use std::path::PathBuf;

use weir_load::{Tls, TlsOptions, TlsVersion, Trust};

use super::target::Target;
use crate::failure::{Failure, failed, invalid_usage};

/// How TLS is spoken.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct SecureArguments {
    /// Certificate authority (PEM) that must have signed the server's certificate, or that certificate
    /// itself [default: the system's authorities]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// Take any certificate, of any name
    #[arg(long, conflicts_with = "ca")]
    pub(crate) insecure: bool,

    /// Offer this version alone: 1.2 or 1.3 [default: both]
    #[arg(long, value_name = "VERSION")]
    pub(crate) tls: Option<Version>,

    /// Resume the session of an earlier connection, as a browser does, instead of a full handshake for
    /// each
    #[arg(long)]
    pub(crate) resume: bool,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Version {
    #[value(name = "1.2")]
    V12,
    #[value(name = "1.3")]
    V13,
}

impl SecureArguments {
    /// What the generator is told; nothing for a URL in clear text.
    ///
    /// # Errors
    ///
    /// Flags of TLS without it, or a name that no certificate has (status 2); an authority that cannot
    /// be read (status 1).
    pub(crate) fn tls(&self, target: &Target) -> Result<Option<Tls>, Failure> {
        let Some(name) = &target.certificate_name else {
            return match self.first_given() {
                None => Ok(None),
                Some(flag) => Err(invalid_usage(format!("{flag} is for https:// URLs"))),
            };
        };
        let trust = match &self.ca {
            _ if self.insecure => Trust::Anyone,
            None => Trust::System,
            Some(file) => {
                let why = |error| failed(format!("--ca: cannot read {}: {error}", file.display()));
                Trust::Authorities(std::fs::read(file).map_err(why)?)
            }
        };
        let version = self.tls.map(|version| match version {
            Version::V12 => TlsVersion::Tls12,
            Version::V13 => TlsVersion::Tls13,
        });
        let options = TlsOptions { trust, version, resume: self.resume };
        let tls = Tls::new(name, &options);
        tls.map(Some).map_err(|error| match &self.ca {
            Some(file) => failed(format!("--ca {}: {error}", file.display())),
            None => failed(error.to_string()),
        })
    }

    fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--ca", self.ca.is_some()),
            ("--insecure", self.insecure),
            ("--tls", self.tls.is_some()),
            ("--resume", self.resume),
        ];
        given.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
    }

    /// TLS in words, for the plan.
    pub(crate) fn words(&self) -> String {
        let version = match self.tls {
            None => "1.3 or 1.2",
            Some(Version::V12) => "1.2",
            Some(Version::V13) => "1.3",
        };
        let handshakes = match self.resume {
            true => "sessions are resumed",
            false => "a full handshake per connection",
        };
        let trust = match (&self.ca, self.insecure) {
            (_, true) => "any certificate".to_owned(),
            (Some(file), _) => format!("certificates signed by {}", file.display()),
            (None, _) => "certificates of the system's authorities".to_owned(),
        };
        format!("{version}, AES-128-GCM, x25519; {handshakes}; {trust}")
    }
}
