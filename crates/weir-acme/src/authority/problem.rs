//! Errors of the ACME library as failures, in words. Used by everything here that calls it.

use instant_acme::{Error, Problem};

use crate::failure::{Failure, printable, with_causes};

/// The account was deleted at the server, or the server's database was (RFC 8555 section 6.7).
const NO_ACCOUNT: &str = "urn:ietf:params:acme:error:accountDoesNotExist";
/// Another order already replaces that certificate (RFC 9773 section 5).
const ALREADY_REPLACED: &str = "urn:ietf:params:acme:error:alreadyReplaced";
/// The server has trouble of its own, wants to be asked less often, or wants another nonce (RFC 8555
/// section 6.7): that says nothing of an order.
const PASSING: [&str; 3] = [
    "urn:ietf:params:acme:error:serverInternal",
    "urn:ietf:params:acme:error:rateLimited",
    "urn:ietf:params:acme:error:badNonce",
];
/// Letters of what the server tells at most.
const LONGEST: usize = 500;

/// `what`: what was being done, such as "the order was not taken".
pub(super) fn failure(what: &str, error: &Error) -> Failure {
    match error {
        Error::Api(problem) => {
            Failure::refused(format!("{what}: the ACME server says: {}", told(problem)))
        }
        Error::Json(error) => {
            Failure::unjudged(format!("{what}: the ACME server's answer makes no sense ({error})"))
        }
        Error::Timeout(_) => {
            Failure::unjudged(format!("{what}: the ACME server did not come to a decision in time"))
        }
        other => Failure::unjudged(format!("{what}: {}", with_causes(other))),
    }
}

/// What the server tells in a problem document, bounded so that what comes after it is not cut off.
pub(super) fn told(problem: &Problem) -> String {
    let text = problem.to_string();
    printable(text.strip_prefix("API error: ").unwrap_or(&text), LONGEST)
}

pub(super) fn is_no_account(error: &Error) -> bool {
    has_type(error, NO_ACCOUNT)
}

pub(super) fn is_already_replaced(error: &Error) -> bool {
    has_type(error, ALREADY_REPLACED)
}

/// Whether an order can be gone on with all the same: the server was not reached, or did not judge it.
pub(super) fn may_pass(error: &Error) -> bool {
    let Error::Api(problem) = error else { return true };
    PASSING.into_iter().any(|name| has_type(error, name))
        || problem.status.is_some_and(|status| status == 429 || status >= 500)
}

fn has_type(error: &Error, name: &str) -> bool {
    matches!(error, Error::Api(problem) if problem.r#type.as_deref() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(json: &str) -> Error {
        Error::Api(serde_json::from_str::<Problem>(json).unwrap())
    }

    #[test]
    fn what_the_server_says_is_told_on_one_line_and_counts_as_refused() {
        let json = r#"{"type": "urn:ietf:params:acme:error:rateLimited", "detail": "too\nmany"}"#;
        let failure = failure("the order was not taken", &problem(json));
        assert_eq!(
            failure.to_string(),
            "the order was not taken: the ACME server says: too many \
             (urn:ietf:params:acme:error:rateLimited)"
        );
        assert!(failure.setback().is_refusal);
    }

    #[test]
    fn what_was_not_judged_is_no_refusal() {
        let error = Error::Json(serde_json::from_str::<Problem>("[").unwrap_err());
        assert!(!failure("x", &error).setback().is_refusal);
        assert!(!failure("x", &Error::Timeout(None)).setback().is_refusal);
    }

    #[test]
    fn trouble_that_passes_is_told_from_an_order_that_is_lost() {
        for json in [
            r#"{"type": "urn:ietf:params:acme:error:rateLimited", "status": 403}"#,
            r#"{"type": "urn:ietf:params:acme:error:serverInternal"}"#,
            r#"{"status": 429}"#,
            r#"{"type": "about:blank", "status": 503}"#,
        ] {
            assert!(may_pass(&problem(json)), "{json}");
        }
        assert!(may_pass(&Error::Timeout(None)));
        for json in [
            r#"{"type": "urn:ietf:params:acme:error:malformed", "status": 404}"#,
            r#"{"type": "urn:ietf:params:acme:error:unauthorized"}"#,
            "{}",
        ] {
            assert!(!may_pass(&problem(json)), "{json}");
        }
    }

    #[test]
    fn problems_are_known_by_their_types() {
        let gone = problem(&format!(r#"{{"type": "{NO_ACCOUNT}"}}"#));
        let replaced = problem(&format!(r#"{{"type": "{ALREADY_REPLACED}"}}"#));
        assert!(is_no_account(&gone) && !is_no_account(&replaced));
        assert!(is_already_replaced(&replaced) && !is_already_replaced(&gone));
    }
}
