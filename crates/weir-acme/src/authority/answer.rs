//! What of an ACME server's answer is passed on to the ACME library. A server may talk nonsense, and
//! the library believes it: it panics at URLs that are none and at waits beyond the end of time, and
//! calls a page of a broken proxy invalid JSON. Used by the client, for every answer.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::response::Parts;
use http::{HeaderMap, HeaderValue, Uri};
use serde_json::{Map, Value};

/// No wait that a server asks for is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);
/// How much of an answer that makes no sense is shown.
const SHOWN: usize = 80;

/// How long the server asks to wait (RFC 9110 section 10.2.3), up to a day.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            LONGEST_WAIT
        }
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(LONGEST_WAIT))
}

/// Writes the wait in a form that the library cannot stumble over.
pub(super) fn set_retry_after(headers: &mut HeaderMap, wait: Option<Duration>) {
    match wait {
        Some(wait) => drop(headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs()))),
        None => drop(headers.remove(RETRY_AFTER)),
    }
}

/// Why an answer with an error status cannot be passed on: it is not the problem document that an ACME
/// server sends (RFC 8555 section 6.7).
pub(super) fn check_problem(parts: &Parts, body: &Bytes) -> Result<(), String> {
    if parts.status.is_success() || parts.status.is_redirection() {
        return Ok(());
    }
    match serde_json::from_slice::<Map<String, Value>>(body) {
        Ok(_) => Ok(()),
        Err(_) => {
            Err(format!("answered {}, and not as ACME servers do: {}", parts.status, shown(body)))
        }
    }
}

/// Why the answer for the directory is none (RFC 8555 section 7.1.1).
pub(super) fn check_directory(parts: &Parts, body: &Bytes) -> Result<(), String> {
    if !parts.status.is_success() {
        return Err(format!("answered {}: {}", parts.status, shown(body)));
    }
    let directory: Map<String, Value> = serde_json::from_slice(body)
        .map_err(|_| format!("is no ACME directory: it answered {}", shown(body)))?;
    for name in ["newNonce", "newAccount", "newOrder"] {
        let url = directory.get(name).and_then(Value::as_str);
        let url = url.ok_or_else(|| format!("is no ACME directory: it has no `{name}`"))?;
        let uri: Option<Uri> = url.parse().ok();
        if uri.is_none_or(|uri| uri.scheme_str() != Some("https")) {
            return Err(format!("is no ACME directory: its `{name}` is no https URL: {url:?}"));
        }
    }
    Ok(())
}

/// The beginning of a text that somebody else wrote, safe to print.
fn shown(body: &Bytes) -> String {
    let text = String::from_utf8_lossy(body);
    let start: String = text.trim().chars().take(SHOWN).collect();
    match start.is_empty() {
        true => "nothing".to_owned(),
        false => format!("{start:?}"),
    }
}

#[cfg(test)]
mod tests {
    use http::Response;
    use proptest::prelude::*;

    use super::*;

    fn parts(status: u16) -> Parts {
        Response::builder().status(status).body(()).unwrap().into_parts().0
    }

    fn wait(text: &[u8]) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_bytes(text).unwrap());
        // 1994-11-06T08:49:37Z
        retry_after(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777))
    }

    #[test]
    fn waits_are_seconds_or_dates_and_end_within_a_day() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(wait(b"120"), seconds(120));
        assert_eq!(wait(b"Sun, 06 Nov 1994 08:50:37 GMT"), seconds(60));
        assert_eq!(wait(b"Tue, 06 Nov 1984 08:50:37 GMT"), seconds(0));
        for absurd in
            ["18446744073709551615", "99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"]
        {
            assert_eq!(wait(absurd.as_bytes()), Some(LONGEST_WAIT), "{absurd}");
        }
        for nonsense in ["", "soon", "-5", "1.5"] {
            assert_eq!(wait(nonsense.as_bytes()), None, "{nonsense}");
        }
    }

    #[test]
    fn pages_of_broken_proxies_are_told_by_status_and_beginning() {
        let html = Bytes::from_static(b"<html>Bad Gateway</html>");
        let error = check_problem(&parts(502), &html).unwrap_err();
        assert!(error.contains("502 Bad Gateway") && error.contains("<html>"), "{error}");
        assert!(check_problem(&parts(503), &Bytes::new()).unwrap_err().ends_with("nothing"));
        let problem = Bytes::from_static(br#"{"type": "urn:ietf:params:acme:error:rateLimited"}"#);
        check_problem(&parts(429), &problem).unwrap();
        check_problem(&parts(200), &html).unwrap();
    }

    #[test]
    fn a_directory_has_urls() {
        let directory = |nonce: &str| {
            Bytes::from(format!(
                r#"{{"newNonce": {nonce}, "newAccount": "https://a.example/", "newOrder": "https://a.example/"}}"#
            ))
        };
        check_directory(&parts(200), &directory("\"https://a.example/nonce\"")).unwrap();
        for (status, body, problem) in [
            (200, directory("\"not a url\""), "`newNonce` is no https URL"),
            (200, directory("\"http://a.example/\""), "`newNonce` is no https URL"),
            (200, directory("7"), "no `newNonce`"),
            (200, Bytes::from_static(b"[]"), "no ACME directory"),
            (200, Bytes::from_static(b"\xFF\xFE"), "no ACME directory"),
            (404, Bytes::from_static(b"{}"), "404 Not Found"),
        ] {
            let error = check_directory(&parts(status), &body).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_is_too_strange(
            text in proptest::collection::vec(0x20u8..0x7F, 0..40), body: Vec<u8>, status in 200u16..600,
        ) {
            if let Some(wait) = wait(&text) {
                prop_assert!(wait <= LONGEST_WAIT);
            }
            let body = Bytes::from(body);
            let _ = check_problem(&parts(status), &body);
            let _ = check_directory(&parts(status), &body);
        }
    }
}
