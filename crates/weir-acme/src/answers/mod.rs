//! What challenges are answered with while names are being proved. Orders put answers in, the server
//! gives them out: pages of http-01 through [`Challenges`], certificates of tls-alpn-01 through the
//! certificate store.
//!
//! The certificate authority may reach any of the processes that share a storage, so each of them gives
//! out the answers of all: they stand in the storage while their orders are under way.

mod answer;
mod certificate;
mod pages;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use instant_acme::KeyAuthorization;
use tokio::time::sleep;
use weir_tls::CertificateStore;

use self::answer::Answer;
use self::certificate::challenge_certificate;
pub use self::pages::{Challenges, token_of};
use crate::failure::Failure;
use crate::host_name::HostName;
use crate::settings::ChallengeKind;
use crate::storage::Storage;

/// How often a process looks for answers of others.
const LOOK: Duration = Duration::from_millis(500);
/// How long after it was given an answer is known to all processes of this machine.
pub(crate) const KNOWN_TO_ALL: Duration = Duration::from_millis(1500);

/// Where orders put their answers.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    challenges: Challenges,
    store: Arc<CertificateStore>,
    storage: Storage,
}

/// An answer that is given out until this is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Given {
    answers: Answers,
    name: HostName,
    answer: Answer,
}

impl Answers {
    pub(crate) fn new(
        challenges: Challenges,
        store: Arc<CertificateStore>,
        storage: Storage,
    ) -> Answers {
        Answers { challenges, store, storage }
    }

    /// Gives out the answer to a challenge of `name` from here on, and after [`KNOWN_TO_ALL`] in every
    /// process that shares the storage.
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
    ) -> Result<Given, Failure> {
        let answer = Answer::new(kind, token, authorization);
        self.put(name, &answer)?;
        let text = serde_json::to_string(&answer).map_err(|error| error.to_string());
        let shared = text.and_then(|text| {
            self.storage.share_answer(name, &text).map_err(|error| error.to_string())
        });
        if let Err(error) = shared {
            tracing::warn!("other processes cannot answer the challenge for {name}: {error}");
        }
        Ok(Given { answers: self.clone(), name: name.clone(), answer })
    }

    /// Gives out the answers of all processes that share the storage, until it is dropped.
    pub(crate) async fn follow(self) {
        let mut known = HashMap::new();
        loop {
            // What cannot be read for a moment stays as it was.
            if let Ok(found) = self.storage.shared_answers() {
                known = self.replace(known, found);
            }
            sleep(LOOK).await;
        }
    }

    fn replace(
        &self,
        known: HashMap<HostName, Answer>,
        found: Vec<(HostName, String)>,
    ) -> HashMap<HostName, Answer> {
        let read =
            |(name, text): (HostName, String)| Some((name, serde_json::from_str(&text).ok()?));
        let found: HashMap<HostName, Answer> = found.into_iter().filter_map(read).collect();
        for (name, answer) in
            known.iter().filter(|(name, answer)| found.get(*name) != Some(*answer))
        {
            self.take_away(name, answer);
        }
        for (name, answer) in
            found.iter().filter(|(name, answer)| known.get(*name) != Some(*answer))
        {
            if let Err(failure) = self.put(name, answer) {
                tracing::warn!("the challenge for {name} is not answered here: {failure}");
            }
        }
        found
    }

    fn put(&self, name: &HostName, answer: &Answer) -> Result<(), Failure> {
        match answer.kind {
            ChallengeKind::Http01 if !pages::is_token(&answer.token) => {
                Err(Failure::refused(format!(
                    "the ACME server's challenge has a token that is not base64url: {:?}",
                    answer.token
                )))
            }
            ChallengeKind::Http01 => {
                self.challenges.put(&answer.token, &answer.page);
                Ok(())
            }
            ChallengeKind::TlsAlpn01 => {
                let certificate = challenge_certificate(name, &answer.digest)?;
                self.store.set_challenge(name.as_str(), Some(certificate));
                Ok(())
            }
        }
    }

    fn take_away(&self, name: &HostName, answer: &Answer) {
        match answer.kind {
            ChallengeKind::Http01 => self.challenges.remove(&answer.token),
            ChallengeKind::TlsAlpn01 => self.store.set_challenge(name.as_str(), None),
        }
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        self.answers.storage.withdraw_answer(&self.name);
        self.answers.take_away(&self.name, &self.answer);
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn answers(home: &TempDir) -> Answers {
        let server = "https://acme.example/directory".parse().unwrap();
        let storage = Storage::open(home.path(), &server).unwrap();
        Answers::new(Challenges::default(), CertificateStore::new(), storage)
    }

    fn answer(token: &str) -> String {
        format!(
            r#"{{"kind": "http-01", "token": "{token}", "page": "{token}.thumb", "digest": []}}"#
        )
    }

    #[test]
    fn what_one_process_answers_all_do_until_it_is_over() {
        let home = TempDir::new().unwrap();
        let (one, other) = (answers(&home), answers(&home));
        let name: HostName = "a.example".parse().unwrap();
        let page =
            |token: &str| other.challenges.page(&format!("/.well-known/acme-challenge/{token}"));
        one.storage.share_answer(&name, &answer("first")).unwrap();
        let known = other.replace(HashMap::new(), other.storage.shared_answers().unwrap());
        assert_eq!(page("first").as_deref(), Some("first.thumb"));
        one.storage.share_answer(&name, &answer("second")).unwrap();
        let known = other.replace(known, other.storage.shared_answers().unwrap());
        assert_eq!((page("first"), page("second").as_deref()), (None, Some("second.thumb")));
        one.storage.withdraw_answer(&name);
        let known = other.replace(known, other.storage.shared_answers().unwrap());
        assert_eq!(page("second"), None);
        assert!(known.is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_not_given_out() {
        let home = TempDir::new().unwrap();
        let answers = answers(&home);
        let name: HostName = "a.example".parse().unwrap();
        for text in ["", "{}", &answer("../x")] {
            answers.storage.share_answer(&name, text).unwrap();
            answers.replace(HashMap::new(), answers.storage.shared_answers().unwrap());
            assert_eq!(answers.challenges.page("/.well-known/acme-challenge/../x"), None);
        }
    }
}
