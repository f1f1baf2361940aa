//! Which certificates weir is to obtain, from whom, and how it can prove its names. Made of the
//! configuration for `app`, which starts to look after them.

use weir_acme::{ChallengeKind, HostName};

use super::settings::Config;
use super::tls::CertificateSource;

impl Config {
    /// Whether weir obtains certificates itself.
    pub(crate) fn obtains_certificates(&self) -> bool {
        self.tls.contains(&CertificateSource::Auto)
    }

    /// What it obtains; `None`: nothing. Whoever uses it reads the file of the external account.
    ///
    /// # Errors
    ///
    /// There is no name to obtain a certificate for.
    pub(crate) fn acme_settings(&self) -> Result<Option<weir_acme::Settings>, String> {
        if !self.obtains_certificates() {
            return Ok(None);
        }
        let acme = &self.acme;
        let names = match acme.tls_names.as_slice() {
            [] => self.hosts(),
            names => names.to_vec(),
        };
        if names.is_empty() {
            return Err(
                "`tls` is auto, and there is no name to obtain a certificate for: write them as \
                        `tls_names`, or give routes an exact `host`"
                    .to_owned(),
            );
        }
        Ok(Some(weir_acme::Settings {
            names,
            directory_url: acme.acme_directory_url.clone(),
            email: acme.tls_email.clone(),
            storage: acme.tls_directory.clone(),
            roots: acme.acme_ca.clone(),
            external_account: None,
            challenges: self.challenges(),
        }))
    }

    /// The exact hosts of the routes that can have a certificate.
    fn hosts(&self) -> Vec<HostName> {
        let hosts = self.routes.iter().filter_map(|route| route.host.as_deref()?.parse().ok());
        let mut hosts: Vec<HostName> = hosts.collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// Who has an address in clear text has it so that it is asked there. In a handshake every name can
    /// be proved, unless somebody before this server ends TLS.
    fn challenges(&self) -> Vec<ChallengeKind> {
        match self.listen_clear.is_empty() {
            true => vec![ChallengeKind::TlsAlpn01],
            false => vec![ChallengeKind::Http01, ChallengeKind::TlsAlpn01],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    fn settings(text: &str) -> Result<Option<weir_acme::Settings>, String> {
        let settings = parse(text).map_err(|wrong| wrong.to_string())?;
        let config = Config::from_settings(settings).map_err(|wrong| wrong.to_string())?;
        config.acme_settings()
    }

    fn names(text: &str) -> Vec<String> {
        settings(text).unwrap().unwrap().names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_are_those_given_else_the_exact_hosts_of_routes() {
        assert_eq!(
            names("tls = \"auto\"\ntls_names = [\"b.test\", \"A.test\"]"),
            ["b.test", "a.test"]
        );
        let route =
            |host: &str| format!("[[route]]\npath = \"/\"\nhost = \"{host}\"\nredirect = \"/x\"\n");
        let hosts = ["b.test", "*.c.test", "192.0.2.1", "a.test"].map(route).concat();
        assert_eq!(names(&format!("tls = \"auto\"\n{hosts}")), ["a.test", "b.test"]);
        let wrong = settings("tls = \"auto\"").unwrap_err();
        assert!(wrong.contains("`tls_names`"), "{wrong}");
        let wrong = settings("tls = \"auto\"\ntls_names = \"*.a.test\"").unwrap_err();
        assert!(wrong.starts_with("2: \"*.a.test\" is a wildcard"), "{wrong}");
    }

    #[test]
    fn a_name_can_be_proved_where_the_server_listens() {
        let challenges = |text: &str| {
            let text = format!("tls = \"auto\"\ntls_names = \"a.test\"\n{text}");
            settings(&text).unwrap().unwrap().challenges
        };
        assert_eq!(challenges(""), [ChallengeKind::TlsAlpn01]);
        let clear = challenges("listen_clear = \"127.0.0.1:80\"");
        assert_eq!(clear, [ChallengeKind::Http01, ChallengeKind::TlsAlpn01]);
    }

    #[test]
    fn without_auto_nothing_is_obtained_and_the_keys_have_no_effect() {
        let text = "tls = \"a.pem\"\ntls_names = \"a.test\"";
        assert!(settings(text).unwrap().is_none());
        let config = Config::from_settings(parse(text).unwrap()).unwrap();
        assert_eq!(config.without_effect, ["`tls_names` has no effect: `tls` does not say auto"]);
    }

    #[test]
    fn everything_else_is_passed_on() {
        let text = "tls = [\"auto\", \"a.pem\"]\ntls_names = \"a.test\"\ntls_email = \"a@a.test\"\n\
                    tls_directory = \"/c\"\nacme_directory_url = \"https://b.test/d\"\nacme_ca = \"/e\"";
        let settings = settings(text).unwrap().unwrap();
        assert_eq!(settings.email.as_deref(), Some("a@a.test"));
        assert_eq!(settings.storage, std::path::Path::new("/c"));
        assert_eq!(settings.directory_url.to_string(), "https://b.test/d");
        assert_eq!(settings.roots.as_deref(), Some(std::path::Path::new("/e")));
    }
}
