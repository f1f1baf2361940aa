//! Basic authentication (RFC 7617): the key `basic_auth` of a route. [`BasicAuth`] finds the user of a
//! request, from what was checked before or by having the password checked. Used by [`super::Guard`].

mod checker;
mod file;
mod results;
mod turns;
mod users;

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_http::message::Fields;
use weir_http::message::credentials::{self, BasicCredentials};

use self::checker::{Checker, Question};
pub(crate) use self::file::{PasswordFile, watch};
use super::refusal::Refusal;
use crate::config::ClientWidth;
use crate::error::ServeError;

/// What the routes of a server share: each file is read once, and all passwords are checked by the same
/// threads, also those of the configuration before.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    files: HashMap<PathBuf, Arc<PasswordFile>>,
    checker: Option<Arc<Checker>>,
}

impl Shelf {
    /// One for a new configuration: files are read anew, and passwords that were checked are known. A file
    /// that has changed makes no difference, as they are known by their hashes.
    pub(super) fn emptied(&self) -> Shelf {
        Shelf { files: HashMap::new(), checker: self.checker.clone() }
    }

    /// The authentication of a route by the users of `path`.
    ///
    /// # Errors
    ///
    /// The file cannot be used, or there is no randomness.
    pub(super) fn open(
        &mut self,
        path: &Path,
        realm: &str,
        width: ClientWidth,
    ) -> Result<BasicAuth, ServeError> {
        let file = match self.files.get(path) {
            Some(file) => file.clone(),
            None => {
                let file = Arc::new(PasswordFile::open(path)?);
                self.files.insert(path.to_owned(), file.clone());
                file
            }
        };
        let checker = match &self.checker {
            Some(checker) => checker.clone(),
            None => {
                let new = Checker::new();
                let new = new.map_err(|error| ServeError::new("cannot check passwords", &error))?;
                self.checker.insert(Arc::new(new)).clone()
            }
        };
        let challenge = credentials::challenge(realm).into();
        Ok(BasicAuth { file, checker, challenge, width })
    }

    /// The files, to be looked after.
    pub(super) fn files(&self) -> Vec<Arc<PasswordFile>> {
        self.files.values().cloned().collect()
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct BasicAuth {
    file: Arc<PasswordFile>,
    checker: Arc<Checker>,
    challenge: Arc<str>,
    width: ClientWidth,
}

impl BasicAuth {
    /// The user of a request with these fields from the client at `address`.
    ///
    /// # Errors
    ///
    /// The request names none, the password is wrong, or too many wait to be checked.
    pub(crate) async fn user(
        &self,
        fields: &Fields<'_>,
        address: IpAddr,
    ) -> Result<Box<str>, Refusal> {
        let unauthorized = || Refusal::Unauthorized(self.challenge.clone());
        let BasicCredentials { user, password } = credentials(fields).ok_or_else(unauthorized)?;
        let users = self.file.users();
        let (hash, is_user) = users.find(&user);
        // A stranger who becomes a user, even with the hash of another, is checked anew.
        let of_user = if is_user { &**hash } else { "" };
        let digest = self.checker.digest(of_user, &user, &password);
        let is_right = match self.checker.known(&digest) {
            Some(known) => known,
            None => {
                let question = Question { hash: hash.clone(), is_user, password, digest };
                let network = self.width.network(address);
                self.checker.check(network, question).await.ok_or(Refusal::Busy)?
            }
        };
        if is_right { Ok(user.into()) } else { Err(unauthorized()) }
    }
}

/// Those of the only `Authorization` field.
fn credentials(fields: &Fields<'_>) -> Option<BasicCredentials> {
    let mut values = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let (_, value) = values.next()?;
    credentials::basic(value).filter(|_| values.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `U*U`, from crypt_blowfish's own tests.
    const HASH: &str = "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";

    #[tokio::test]
    async fn the_user_is_who_knows_the_password() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users");
        std::fs::write(&path, format!("me:{HASH}\n")).unwrap();
        let mut shelf = Shelf::default();
        let auth = shelf.open(&path, "Staff", ClientWidth::default()).unwrap();
        let again = shelf.open(&path, "Others", ClientWidth::default()).unwrap();
        assert!(Arc::ptr_eq(&auth.checker, &again.checker) && shelf.files().len() == 1);
        let refused = |auth: &BasicAuth| Err(Refusal::Unauthorized(auth.challenge.clone()));
        let user = async |auth: &BasicAuth, lines: &[&str]| {
            let lines = lines.iter().map(|line| ("AUTHORIZATION", line.as_bytes()));
            auth.user(&lines.collect(), [192, 0, 2, 1].into()).await
        };
        // me:U*U, and me:U*V, and you:U*U
        let (right, wrong, stranger) = ("Basic bWU6VSpV", "Basic bWU6VSpW", "Basic eW91OlUqVQ==");
        for _ in 0..2 {
            assert_eq!(user(&auth, &[right]).await, Ok("me".into()));
            for lines in [&[][..], &[wrong], &[stranger], &["Bearer x"], &[right, right]] {
                assert_eq!(user(&auth, lines).await, refused(&auth), "{lines:?}");
            }
        }
        assert_eq!(&*again.challenge, "Basic realm=\"Others\", charset=\"UTF-8\"");
        assert_eq!(user(&again, &[right]).await, Ok("me".into()));
    }

    #[tokio::test]
    async fn what_was_checked_is_known_to_a_new_configuration_and_a_new_hash_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users");
        let another = HASH.replace("$05$", "$06$");
        let mut shelf = Shelf::default();
        for (hash, known) in [(HASH, None), (HASH, Some(true)), (another.as_str(), None)] {
            std::fs::write(&path, format!("me:{hash}\n")).unwrap();
            shelf = shelf.emptied();
            let auth = shelf.open(&path, "Staff", ClientWidth::default()).unwrap();
            assert_eq!(auth.checker.known(&auth.checker.digest(hash, "me", "U*U")), known);
            let right = [("Authorization", &b"Basic bWU6VSpV"[..])].into_iter().collect();
            let user = auth.user(&right, [192, 0, 2, 1].into()).await;
            assert_eq!(user.is_ok(), hash == HASH, "{hash}");
        }
    }
}
