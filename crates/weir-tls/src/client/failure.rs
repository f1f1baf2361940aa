//! What went wrong between weir and a backend over TLS, in words for the log. They name keys of a
//! route, since these are what a reader of the log can change. Used by the proxy of weir-server.

use std::error::Error;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError};

/// How much of a certificate's names a line of the log has room for.
const MOST_NAMES: usize = 5;
const LONGEST_NAME: usize = 100;

/// The last second of the year 9999, since 1970.
const LAST_DATE: u64 = 253_402_300_799;

/// What is wrong, if `error` or one of its causes is of TLS.
pub fn explain(error: &(dyn Error + 'static)) -> Option<String> {
    let mut error = error;
    loop {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(words(found));
        }
        // What an I/O error wraps is not its source, but has that.
        error = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => inner,
            None => error.source()?,
        };
    }
}

fn words(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(why) => of_certificate(why),
        rustls::Error::AlertReceived(alert) => refusal(*alert),
        rustls::Error::InvalidMessage(_) => {
            format!("it does not speak TLS on this port, or garbles it ({error})")
        }
        rustls::Error::PeerIncompatible(_) => {
            format!("it has no version of TLS from 1.2 on, or no cipher of weir's ({error})")
        }
        other => format!("TLS failed: {other}"),
    }
}

/// What is wrong with the backend's certificate.
fn of_certificate(why: &CertificateError) -> String {
    match why {
        CertificateError::Expired => "its certificate has expired; renew it".to_owned(),
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("its certificate expired on {}; renew it", date(*not_after))
        }
        CertificateError::NotValidYet => {
            "its certificate is not valid yet; are the clocks right?".to_owned()
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            let from = date(*not_before);
            format!("its certificate is not valid before {from}; are the clocks right?")
        }
        CertificateError::UnknownIssuer => {
            "its certificate is from an unknown issuer; name a file with that as `backend_ca`"
                .to_owned()
        }
        CertificateError::BadSignature => {
            "its certificate is signed by another authority of the same name; is `backend_ca` an older \
             one?"
                .to_owned()
        }
        CertificateError::NotValidForName => {
            "its certificate is for another name; say which as `backend_name`".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            format!(
                "its certificate is for {} and not for {}; say which is right as `backend_name`",
                list(presented),
                expected.to_str()
            )
        }
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is one of an authority (CA:TRUE), which a server must not use; make one \
             for it that is not"
                .to_owned()
        }
        other => format!("its certificate is not valid: {other}"),
    }
}

/// Why the backend ended TLS, as its alert says (RFC 8446, section 6.2).
fn refusal(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            "it demands a certificate; name the file of one as `backend_certificate`".to_owned()
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::DecryptError
        | AlertDescription::AccessDenied => {
            format!("it does not accept `backend_certificate` ({alert:?})")
        }
        AlertDescription::UnrecognisedName => {
            "it has no such name; say which it has as `backend_name`".to_owned()
        }
        AlertDescription::NoApplicationProtocol => "it does not speak HTTP/1.1".to_owned(),
        // A server of TLS 1.2 says no more if it misses a certificate (RFC 5246, section 7.4.6).
        AlertDescription::HandshakeFailure => {
            "it refused the handshake: it demands a certificate (`backend_certificate`), or has no \
             cipher of weir's"
                .to_owned()
        }
        AlertDescription::ProtocolVersion | AlertDescription::InsufficientSecurity => {
            format!("it refused the handshake: it has no version or cipher of weir's ({alert:?})")
        }
        other => format!("it ended TLS ({other:?})"),
    }
}

/// The first names of a certificate, which somebody else wrote: any bytes, and as many as they liked.
fn list(presented: &[String]) -> String {
    let printable = |name: &String| -> String {
        bare(name).chars().take(LONGEST_NAME).flat_map(char::escape_default).collect()
    };
    let names: Vec<String> = presented.iter().take(MOST_NAMES).map(printable).collect();
    match (names.as_slice(), presented.len().saturating_sub(MOST_NAMES)) {
        ([], _) => "no name".to_owned(),
        (names, 0) => names.join(", "),
        (names, more) => format!("{} and {more} more", names.join(", ")),
    }
}

/// The name in `DnsName("name")`, which is how rustls writes those of a certificate.
fn bare(presented: &str) -> &str {
    let inner = presented.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(presented).trim_matches('"')
}

/// As HTTP writes it, which has no later one than `LAST_DATE`.
fn date(time: UnixTime) -> String {
    let seconds = time.as_secs().min(LAST_DATE);
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_certificate_can_neither_end_a_line_nor_fill_the_log() {
        let named = |names: &[&str]| {
            list(&names.iter().map(|name| format!("DnsName(\"{name}\")")).collect::<Vec<_>>())
        };
        assert_eq!(named(&["a.test", "b)\nWARN"]), "a.test, b)\\nWARN");
        assert_eq!(named(&["a"; 7]), "a, a, a, a, a and 2 more");
        assert_eq!(named(&[&"a".repeat(10_000)]).len(), LONGEST_NAME);
        assert_eq!(list(&["IpAddress(192.0.2.1)".to_owned()]), "192.0.2.1");
        assert_eq!(list(&["Unsupported".to_owned()]), "Unsupported");
    }

    #[test]
    fn any_time_has_a_date() {
        let at = |seconds| date(UnixTime::since_unix_epoch(Duration::from_secs(seconds)));
        assert_eq!(at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(at(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    }
}
