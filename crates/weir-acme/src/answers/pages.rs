//! The pages of http-01 (RFC 8555 section 8.3). Orders put them in; the server asks for them before it
//! looks at its routes, on every address that speaks plain HTTP.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Where the pages are.
const PREFIX: &str = "/.well-known/acme-challenge/";
/// Bytes of a token at most; those of known servers have 43.
const LONGEST_TOKEN: usize = 256;

/// The pages that answer challenges at this moment. Clones share them; all threads may ask.
#[derive(Clone, Debug, Default)]
pub struct Challenges(Arc<RwLock<HashMap<String, String>>>);

impl Challenges {
    /// What a request for `path` (without a query) is answered with: status 200, `text/plain` or
    /// `application/octet-stream`, and these bytes. `None`: it asks for something else, or for a
    /// challenge that is not open.
    pub fn page(&self, path: &str) -> Option<String> {
        let token = token_of(path)?;
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(token).cloned()
    }

    pub(super) fn put(&self, token: &str, page: &str) {
        let mut pages = self.0.write().unwrap_or_else(PoisonError::into_inner);
        pages.insert(token.to_owned(), page.to_owned());
    }

    pub(super) fn remove(&self, token: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(token);
    }
}

/// The token of the challenge whose answer is at `path` (without a query); `None`: it is no such path.
pub fn token_of(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX).filter(|token| is_token(token))
}

/// Whether `text` is base64url, as tokens are (RFC 8555 section 8.3).
pub(super) fn is_token(text: &str) -> bool {
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=LONGEST_TOKEN).contains(&text.len()) && text.bytes().all(is_base64url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_challenges_have_pages_and_nothing_else_has() {
        let challenges = Challenges::default();
        let seen_by_server = challenges.clone();
        challenges.put("token", "token.thumb");
        let page = |path| seen_by_server.page(path);
        assert_eq!(page("/.well-known/acme-challenge/token").as_deref(), Some("token.thumb"));
        for path in
            ["/.well-known/acme-challenge/other", "/.well-known/acme-challenge/", "/", "token"]
        {
            assert_eq!(page(path), None, "{path}");
        }
        challenges.remove("token");
        assert_eq!(page("/.well-known/acme-challenge/token"), None);
    }

    #[test]
    fn a_path_that_leads_elsewhere_has_no_token() {
        assert_eq!(token_of("/.well-known/acme-challenge/a_B-1"), Some("a_B-1"));
        for rest in ["", "..", "../../secret.html", "%2e%2e/%2e%2e/secret", "a/b", "a.html"] {
            assert_eq!(token_of(&format!("{PREFIX}{rest}")), None, "{rest}");
        }
    }

    #[test]
    fn tokens_are_base64url() {
        assert!(is_token("evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA"));
        for text in ["", "a/b", "..", "a b", "a=", "ä", &"a".repeat(257)] {
            assert!(!is_token(text), "{text}");
        }
    }
}
