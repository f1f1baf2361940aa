//! One answer to a challenge, as processes that share a storage pass it on. Used by the answers.

use instant_acme::KeyAuthorization;
use serde::{Deserialize, Serialize};

use crate::settings::ChallengeKind;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Answer {
    pub(super) kind: ChallengeKind,
    /// What the page of http-01 is called.
    pub(super) token: String,
    /// What stands there (RFC 8555 section 8.1).
    pub(super) page: String,
    /// SHA-256 of that, for the certificate of tls-alpn-01.
    pub(super) digest: Vec<u8>,
}

impl Answer {
    pub(super) fn new(
        kind: ChallengeKind,
        token: &str,
        authorization: &KeyAuthorization,
    ) -> Answer {
        Answer {
            kind,
            token: token.to_owned(),
            page: authorization.as_str().to_owned(),
            digest: authorization.digest().as_ref().to_vec(),
        }
    }
}
