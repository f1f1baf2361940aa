//! Figures of the certificates that weir obtains itself, by name. The admin address tells them when
//! `/metrics` is asked for; when certificates end is told with those of files.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use weir_acme::CertificateStatus;

type Name = [(&'static str, String); 1];
type Count = Family<Name, Counter>;
type Level = Family<Name, Gauge>;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Obtained {
    obtained: Count,
    taken_over: Count,
    failed: Count,
    failed_in_a_row: Level,
    unsaved: Level,
    renewal: Level,
}

impl Obtained {
    pub(super) fn register(registry: &mut Registry) -> Obtained {
        let all = Obtained::default();
        let counts = [
            ("tls_certificates_obtained", "Certificates obtained by ACME", &all.obtained),
            (
                "tls_certificates_taken_over",
                "Certificates found in `tls_directory`, at the start or because another server had obtained them",
                &all.taken_over,
            ),
            (
                "tls_certificate_failures",
                "Attempts to obtain a certificate that failed; the log says why",
                &all.failed,
            ),
        ];
        for (name, help, count) in counts {
            registry.register(name, help, count.clone());
        }
        let levels = [
            (
                "tls_certificate_failures_in_a_row",
                "Attempts that failed since the last certificate was obtained",
                &all.failed_in_a_row,
            ),
            (
                "tls_certificate_unsaved",
                "1 if a certificate is served and cannot be written to `tls_directory`",
                &all.unsaved,
            ),
        ];
        for (name, help, level) in levels {
            registry.register(name, help, level.clone());
        }
        registry.register_with_unit(
            "tls_certificate_renewal_timestamp",
            "When the certificate for a name is renewed, in seconds since 1970",
            Unit::Seconds,
            all.renewal.clone(),
        );
        all
    }

    /// This is how a certificate is now.
    pub(crate) fn read(&self, certificate: &CertificateStatus) {
        let label: Name = [("name", certificate.name.clone())];
        let count = |family: &Count, value| {
            family.get_or_create(&label).inner().store(value, Ordering::Relaxed);
        };
        count(&self.obtained, certificate.obtained);
        count(&self.taken_over, certificate.taken_over);
        count(&self.failed, certificate.failed);
        let level = |family: &Level, value: i64| family.get_or_create(&label).set(value);
        level(&self.failed_in_a_row, i64::from(certificate.failed_in_a_row));
        level(&self.unsaved, i64::from(certificate.unsaved));
        if let Some(renewal) = certificate.renewal {
            level(&self.renewal, seconds(renewal));
        }
    }
}

fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
