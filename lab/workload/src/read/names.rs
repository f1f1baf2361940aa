//! Paths made safe to request and clients made numbers, for all formats. Equal names share memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use percent_encoding::percent_encode_byte;

use super::entry::Client;

/// More paths than this are not remembered, so that memory has a bound however long the log.
const MOST_PATHS: usize = 65_536;

/// The names that a trace has used.
#[derive(Default)]
pub(super) struct Names {
    clients: HashMap<Vec<u8>, u32>,
    paths: HashSet<Arc<str>>,
    path: String,
}

impl Names {
    /// Numbers count from 0 in the order in which names are first seen.
    pub(super) fn client(&mut self, client: &Client<'_>) -> u32 {
        let name = match client {
            Client::Number(number) => return *number,
            Client::Name(name) => name,
        };
        if let Some(&number) = self.clients.get(&name[..]) {
            return number;
        }
        let number = u32::try_from(self.clients.len()).unwrap_or(u32::MAX);
        self.clients.insert(name.to_vec(), number);
        number
    }

    pub(super) fn path(&mut self, path: &[u8]) -> Arc<str> {
        make_safe(path, &mut self.path);
        if let Some(path) = self.paths.get(&self.path[..]) {
            return path.clone();
        }
        let path: Arc<str> = Arc::from(&self.path[..]);
        if self.paths.len() < MOST_PATHS {
            self.paths.insert(path.clone());
        }
        path
    }
}

/// A path as it can stand in a request: beginning with `/`, of the characters that RFC 3986 allows
/// in a path or query, everything else percent-encoded. Scheme and host of an absolute URI are
/// dropped. What is safe stays as it is.
#[cfg(test)]
pub(crate) fn safe_path(path: &[u8]) -> String {
    let mut safe = String::new();
    make_safe(path, &mut safe);
    safe
}

fn make_safe(path: &[u8], safe: &mut String) {
    safe.clear();
    let scheme = [&b"http://"[..], b"https://"]
        .into_iter()
        .find(|scheme| path.get(..scheme.len()).is_some_and(|p| p.eq_ignore_ascii_case(scheme)));
    let path = match scheme {
        Some(scheme) => {
            let host = &path[scheme.len()..];
            let end = host.iter().position(|byte| b"/?".contains(byte)).unwrap_or(host.len());
            &host[end..]
        }
        None => path,
    };
    if !path.starts_with(b"/") {
        safe.push('/');
    }
    for (place, &byte) in path.iter().enumerate() {
        let allowed = match byte {
            b'%' => {
                matches!(path.get(place + 1..place + 3), Some(two) if two.iter().all(u8::is_ascii_hexdigit))
            }
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(&byte),
        };
        if allowed {
            safe.push(char::from(byte));
        } else {
            safe.push_str(percent_encode_byte(byte));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_share_memory_and_it_has_a_bound() {
        let mut names = Names::default();
        assert!(Arc::ptr_eq(&names.path(b"/a"), &names.path(b"/a")));
        for number in 0..2 * MOST_PATHS {
            names.path(format!("/{number}").as_bytes());
        }
        assert_eq!(names.paths.len(), MOST_PATHS);
        assert_eq!(&*names.path(b"/last"), "/last");
    }
}
