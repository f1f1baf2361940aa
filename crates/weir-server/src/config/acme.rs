//! The table of the keys about certificates that weir obtains itself (`tls = "auto"`), beside that of the
//! server's other keys. Used by everything that reads those.

use std::path::PathBuf;

use weir_acme::{DirectoryUrl, HostName};

use super::table::settings;
use super::tls::FilePath;
use super::value::value;

value!(HostName, "HOST", |name| -> HostName { name });
value!(DirectoryUrl, "URL", |url| -> DirectoryUrl { url });

settings! {
    /// Flags and keys about certificates by ACME, as far as they were given.
    #[derive(clap::Args)]
    pub(super) struct AcmeKeys;

    /// What the configuration says about certificates by ACME, with the defaults filled in.
    pub struct AcmeConfig {}

    "Certificates by ACME" {
        /// Name to obtain a certificate for; may be given several times
        ///
        /// Each name gets a certificate of its own. Wildcards cannot be proved without access to the DNS.
        #[arg(long)]
        tls_names: Vec<HostName> = Vec::new(),
        else "the exact hosts of the routes",
        needs "auto among `tls`",
        example ["www.example.org", "example.org"];

        /// Where the certificate authority may write to
        #[arg(long)]
        tls_email: String,
        else "it is told no address",
        needs "auto among `tls`",
        example "admin@example.org";

        /// Directory of the accounts, keys and certificates that were obtained
        ///
        /// It is made with mode 0700 if it is not there. Several servers may share one: each certificate
        /// is ordered by one of them and served by all.
        #[arg(long)]
        tls_directory: PathBuf = PathBuf::from("/var/lib/weir/certificates"),
        else "/var/lib/weir/certificates",
        needs "auto among `tls`",
        example "/var/lib/weir/certificates";

        /// ACME server that certificates are ordered from: the https URL of its directory
        ///
        /// Whoever turns `tls = "auto"` on agrees to the terms of service of this server.
        #[arg(long)]
        acme_directory_url: DirectoryUrl = DirectoryUrl::default(),
        needs "auto among `tls`",
        example "https://acme-staging-v02.api.letsencrypt.org/directory";

        /// Authorities in PEM that the ACME server's own certificate is checked against
        #[arg(long)]
        acme_ca: FilePath,
        else "those of the system",
        needs "auto among `tls`",
        example "internal-ca.pem";

        /// File with the external account that the ACME account is bound to: its identifier, a space, and
        /// its HMAC key in base64url
        ///
        /// Some certificate authorities know their customers by it, and give out both. Have only weir's
        /// user read the file.
        #[arg(long)]
        acme_external_account: FilePath,
        else "the account is bound to none",
        needs "auto among `tls`",
        example "external-account";
    }
}
