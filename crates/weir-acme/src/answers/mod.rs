//! What challenges are answered with while names are being proved. Orders put answers in, the server
//! gives them out: pages of http-01 through [`Challenges`], certificates of tls-alpn-01 through the
//! certificate store.

mod certificate;
mod pages;

use std::sync::Arc;

use instant_acme::KeyAuthorization;
use weir_tls::CertificateStore;

pub use self::pages::Challenges;
use self::certificate::challenge_certificate;
use crate::failure::Failure;
use crate::host_name::HostName;
use crate::settings::ChallengeKind;

/// Where orders put their answers.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    challenges: Challenges,
    store: Arc<CertificateStore>,
}

/// An answer that is given out until this is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Answer {
    answers: Answers,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Page { token: String },
    Handshake { name: HostName },
}

impl Answers {
    pub(crate) fn new(challenges: Challenges, store: Arc<CertificateStore>) -> Answers {
        Answers { challenges, store }
    }

    /// Gives out the answer to a challenge of `name` from here on.
    ///
    /// # Errors
    ///
    /// If the token cannot be one, or the certificate cannot be made.
    pub(crate) fn give(
        &self,
        kind: ChallengeKind,
        name: &HostName,
        token: &str,
        authorization: &KeyAuthorization,
    ) -> Result<Answer, Failure> {
        let place = match kind {
            ChallengeKind::Http01 => {
                if !pages::is_token(token) {
                    return Err(Failure::refused(format!(
                        "the ACME server's challenge has a token that is not base64url: {token:?}"
                    )));
                }
                self.challenges.put(token, authorization.as_str());
                Place::Page { token: token.to_owned() }
            }
            ChallengeKind::TlsAlpn01 => {
                let certificate = challenge_certificate(name, authorization.digest().as_ref())?;
                self.store.set_challenge(name.as_str(), Some(certificate));
                Place::Handshake { name: name.clone() }
            }
        };
        Ok(Answer { answers: self.clone(), place })
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        match &self.place {
            Place::Page { token } => self.answers.challenges.remove(token),
            Place::Handshake { name } => self.answers.store.set_challenge(name.as_str(), None),
        }
    }
}
