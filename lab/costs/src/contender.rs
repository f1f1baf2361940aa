//! What `weir-costs compression` compares, by the names that its command line and its tables have: each
//! system as it compresses on the fly and as it sends what lies compressed beside a file, and the codings.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::Serialize;
use weir_peers::Compression;
use weir_peers::nginx::Reading;

use crate::system::System;
use crate::variant::Variant;

/// A content coding (RFC 9110, section 8.4.1).
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Coding {
    Gzip,
    Br,
    Zstd,
}

impl Coding {
    /// What `Content-Encoding` calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Br => "br",
            Coding::Zstd => "zstd",
        }
    }

    /// What the name of a file in it ends in, behind a dot.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Coding::Gzip => "gz",
            Coding::Br => "br",
            Coding::Zstd => "zst",
        }
    }

    /// The header line of a client that accepts it and no other.
    pub(crate) fn header(self) -> String {
        format!("Accept-Encoding: {}\r\n", self.name())
    }
}

/// A system and how it comes by compressed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contender {
    pub(crate) system: System,
    compression: Compression,
}

/// On the fly, for those who choose the level themselves: they are not told this one.
const OWN_LEVEL: Compression = Compression::OnTheFly(1);

const fn contender(system: System, compression: Compression) -> Contender {
    Contender { system, compression }
}

/// All of them with their names. nginx's default level is 1; 6 is zlib's, and makes about as few bytes as
/// weir does.
const ALL: [(&str, Contender); 7] = [
    ("weir", Contender::WEIR),
    ("weir-siblings", contender(System::Weir, Compression::Siblings)),
    ("nginx-1", contender(System::Nginx(Reading::Sendfile), Compression::OnTheFly(1))),
    ("nginx-6", contender(System::Nginx(Reading::Sendfile), Compression::OnTheFly(6))),
    ("nginx-siblings", contender(System::Nginx(Reading::Sendfile), Compression::Siblings)),
    ("h2o", contender(System::H2o, OWN_LEVEL)),
    ("h2o-siblings", contender(System::H2o, Compression::Siblings)),
];

impl Contender {
    /// weir, compressing on the fly and keeping the results.
    pub(crate) const WEIR: Contender = contender(System::Weir, OWN_LEVEL);

    /// Whether it compresses, rather than send what was compressed before.
    pub(crate) fn is_on_the_fly(self) -> bool {
        self.compression != Compression::Siblings
    }

    /// Whether it can send a coding, built as Debian builds it.
    pub(crate) fn has(self, coding: Coding) -> bool {
        match self.system {
            System::Weir => true,
            System::H2o => coding != Coding::Zstd,
            _ => coding == Coding::Gzip,
        }
    }

    /// What its server does beside serving files, with a name if others of the same system run beside it.
    pub(crate) fn variant(self) -> Variant {
        let name = match (self.system, self.compression) {
            (_, Compression::Siblings) => Some("siblings".to_owned()),
            (System::Nginx(_), Compression::OnTheFly(level)) => Some(level.to_string()),
            _ => None,
        };
        Variant { name, compression: self.compression, ..Variant::default() }
    }
}

impl FromStr for Contender {
    type Err = String;

    fn from_str(text: &str) -> Result<Contender, String> {
        let found = ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, contender)| *contender).ok_or_else(|| {
            let known = ALL.map(|(name, _)| name).join(", ");
            format!("no system {text:?} that compresses: choose from {known}")
        })
    }
}

impl Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ALL.iter().find(|(_, known)| known == self).map_or("", |(name, _)| *name);
        f.pad(name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn contenders_are_named_as_they_are_written_and_have_directories_of_their_own() {
        let mut directories = BTreeSet::new();
        for (name, contender) in ALL {
            assert_eq!(name.parse(), Ok(contender));
            assert_eq!(contender.to_string(), name);
            assert_eq!(contender.is_on_the_fly(), !name.ends_with("siblings"));
            directories.insert((contender.system.to_string(), contender.variant().name));
        }
        assert_eq!(directories.len(), ALL.len());
        assert!("lighttpd".parse::<Contender>().is_err_and(|why| why.contains("nginx-6, ")));
    }

    #[test]
    fn nginx_has_gzip_alone_and_h2o_no_zstd() {
        let has = |name: &str| {
            let contender: Contender = name.parse().expect("it is known");
            [Coding::Gzip, Coding::Br, Coding::Zstd].map(|coding| contender.has(coding))
        };
        assert_eq!(has("nginx-siblings"), [true, false, false]);
        assert_eq!((has("h2o"), has("weir")), ([true, true, false], [true; 3]));
        assert_eq!(Coding::Br.header(), "Accept-Encoding: br\r\n");
    }
}
