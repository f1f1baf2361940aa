//! What a server does beside serving files: it compresses, writes an access log, or passes uploads on. The
//! measurements of these start servers with a variant; here stands how weir and nginx are told.

use std::net::SocketAddrV4;

use weir_peers::Compression;
use weir_peers::nginx::{AccessLog, LogFormat, Nginx};

/// The path of uploads.
pub(crate) const UPLOAD: &str = "/upload";

/// The default does nothing else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variant {
    /// What tells it from other variants that run at the same time, in the name of its directory.
    pub(crate) name: Option<String>,
    pub(crate) compression: Compression,
    /// weir's is always written in batches.
    pub(crate) access_log: Option<AccessLog>,
    /// Requests for [`UPLOAD`] go to this backend.
    pub(crate) uploads: Option<SocketAddrV4>,
}

impl Variant {
    /// Flags of weir and their values.
    pub(crate) fn weir_flags(&self) -> Vec<(&'static str, String)> {
        let mut flags = match &self.access_log {
            None => vec![("--access-log", "off".to_owned())],
            Some(AccessLog { file, format, .. }) => {
                let format = match format {
                    LogFormat::Combined => "combined",
                    LogFormat::Json => "json",
                };
                let file = file.display().to_string();
                vec![("--access-log", file), ("--log-format", format.to_owned())]
            }
        };
        let proxy = |backend| ("--proxy", format!("{UPLOAD}=http://{backend}"));
        flags.extend(self.uploads.map(proxy));
        flags
    }

    /// Flags of weir that have no value.
    pub(crate) fn weir_switches(&self) -> &'static [&'static str] {
        match self.compression {
            Compression::Off => &[],
            Compression::OnTheFly(_) => &["--compress"],
            Compression::Siblings => &["--precompressed"],
        }
    }

    /// nginx that does this beside what it does anyway.
    pub(crate) fn nginx(&self, plain: Nginx) -> Nginx {
        Nginx {
            compression: self.compression,
            access_log: self.access_log.clone(),
            uploads: self.uploads,
            ..plain
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weir_is_told_what_nginx_is_told() {
        let plain = Variant::default();
        assert_eq!(plain.weir_flags(), [("--access-log", "off".to_owned())]);
        assert!(plain.weir_switches().is_empty());
        let log = AccessLog { file: "/x/log".into(), format: LogFormat::Json, buffered: true };
        let all = Variant {
            compression: Compression::Siblings,
            access_log: Some(log.clone()),
            uploads: Some("127.0.0.1:9".parse().expect("an address")),
            ..plain
        };
        let flags: Vec<String> =
            all.weir_flags().into_iter().map(|(flag, value)| format!("{flag} {value}")).collect();
        let expected =
            ["--access-log /x/log", "--log-format json", "--proxy /upload=http://127.0.0.1:9"];
        assert_eq!(flags, expected);
        assert_eq!(all.weir_switches(), ["--precompressed"]);
        let nginx = all.nginx(Nginx { multi_accept: true, ..Nginx::default() });
        assert!(nginx.multi_accept && nginx.access_log == Some(log) && nginx.uploads.is_some());
        assert_eq!(nginx.compression, Compression::Siblings);
    }
}
