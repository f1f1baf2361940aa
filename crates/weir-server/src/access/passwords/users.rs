//! The users of a file that `htpasswd -B` has made: lines of a name, a colon and a hash of bcrypt. Read by
//! [`super::file`].

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The costs of hashes that are checked (each step takes twice as long): the least of bcrypt, and one that
/// takes seconds.
const COSTS: std::ops::RangeInclusive<u32> = 4..=16;

/// The bytes of a hash: `$2y$`, two digits, `$`, 22 of salt and 31 of digest.
const LENGTH: usize = 60;

/// Other hashes that such files have, by how they begin.
const OTHERS: [(&str, &str); 9] = [
    ("$apr1$", "MD5, as Apache has it"),
    ("$1$", "MD5"),
    ("$2x$", "a bcrypt that is known to be wrong"),
    ("$5$", "SHA-256"),
    ("$6$", "SHA-512"),
    ("$argon2", "Argon2"),
    ("$y$", "yescrypt"),
    ("{SHA}", "SHA-1 without a salt"),
    ("{SSHA}", "SHA-1"),
];

/// See the module.
pub(super) struct Users {
    hashes: HashMap<Box<str>, Arc<str>>,
    /// What the password of a user that is not there is checked against, so that nobody learns by the time
    /// it takes who is.
    decoy: Arc<str>,
}

/// Without the hashes: what is printed may end in a log.
impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users").field("count", &self.hashes.len()).finish_non_exhaustive()
    }
}

impl Users {
    /// Reads the text of a file. What follows a second colon is ignored, and so are empty lines and those
    /// that begin with `#`. Of several lines for one user the first counts, as with Apache.
    ///
    /// # Errors
    ///
    /// What is wrong, beginning with the line, and what to do.
    pub(super) fn parse(text: &str) -> Result<Users, String> {
        let mut hashes: HashMap<Box<str>, Arc<str>> = HashMap::new();
        let mut decoy = None;
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((user, rest)) = line.split_once(':') else {
                return Err(format!(
                    "{number}: write a user, a colon and a hash, as `htpasswd -B` does"
                ));
            };
            let hash = rest.split(':').next().unwrap_or_default().trim_end();
            check(user, hash).map_err(|wrong| format!("{number}: {wrong}"))?;
            let hash: Arc<str> = hash.into();
            decoy.get_or_insert_with(|| hash.clone());
            hashes.entry(user.into()).or_insert(hash);
        }
        match decoy {
            Some(decoy) => Ok(Users { hashes, decoy }),
            None => Err("1: it has no users; add one with `htpasswd -B`".to_owned()),
        }
    }

    /// The least and the greatest cost of the hashes, if they differ: then the time that a wrong password takes
    /// tells who is a user.
    pub(super) fn unequal_costs(&self) -> Option<(u32, u32)> {
        let costs = || self.hashes.values().filter_map(|hash| cost(hash));
        costs().min().zip(costs().max()).filter(|(least, most)| least != most)
    }

    /// The hash to check a password of `user` against, and whether there is such a user: if not, no password
    /// is right.
    pub(super) fn find(&self, user: &str) -> (&Arc<str>, bool) {
        match self.hashes.get(user) {
            Some(hash) => (hash, true),
            None => (&self.decoy, false),
        }
    }
}

/// Refuses hashes that cannot be checked.
fn check(user: &str, hash: &str) -> Result<(), String> {
    let user = user.escape_debug();
    if let Some(cost) = cost(hash) {
        return match COSTS.contains(&cost) {
            true => Ok(()),
            false => Err(format!(
                "the hash of {user} has a cost of {cost}, and {} to {} are checked; make it anew with \
                 `htpasswd -B -C 10`",
                COSTS.start(),
                COSTS.end()
            )),
        };
    }
    let known = OTHERS.iter().find(|(start, _)| hash.starts_with(start));
    let kind = known.map_or("not a hash of bcrypt", |(_, kind)| *kind);
    Err(format!(
        "the password of {user} is {kind}, and only bcrypt ($2y$) is checked; make it anew with \
         `htpasswd -B`"
    ))
}

/// The cost of a hash of bcrypt; `None`: it is none.
fn cost(hash: &str) -> Option<u32> {
    let rest = ["$2y$", "$2b$", "$2a$"].iter().find_map(|kind| hash.strip_prefix(kind))?;
    let (cost, digest) = rest.split_once('$')?;
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/');
    let is_whole = hash.len() == LENGTH && cost.len() == 2 && digest.bytes().all(is_digit);
    cost.parse().ok().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HASH: &str = "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";

    #[test]
    fn users_as_htpasswd_writes_them() {
        let text = format!(
            "# staff\n\nann:{HASH}\r\nbob smith:{}:Bob\nann:{}\n",
            HASH.replace("$2y$05", "$2b$10"),
            HASH.replace("05", "04")
        );
        let users = Users::parse(&text).unwrap();
        assert_eq!(users.find("ann"), (&HASH.into(), true));
        assert!(users.find("bob smith").0.starts_with("$2b$10$"));
        assert_eq!(users.find("nobody"), (&HASH.into(), false), "what ann's costs");
        assert!(!format!("{users:?}").contains("$2y$"));
        assert_eq!(users.unequal_costs(), Some((5, 10)));
        let equal = Users::parse(&format!("ann:{HASH}\nbob:{HASH}\n")).unwrap();
        assert_eq!(equal.unequal_costs(), None);
    }

    #[test]
    fn what_cannot_be_checked_is_named_with_its_remedy() {
        for (line, message) in [
            ("ann", "2: write a user, a colon and a hash"),
            ("ann:", "2: the password of ann is not a hash of bcrypt, and only bcrypt ($2y$)"),
            ("ann:secret", "2: the password of ann is not a hash of bcrypt"),
            ("ann:$apr1$x$y", "2: the password of ann is MD5, as Apache has it, and only"),
            ("ann:{SHA}x=", "2: the password of ann is SHA-1 without a salt"),
            ("ann:$6$x$y", "2: the password of ann is SHA-512"),
            ("ann:$argon2id$v=19$x", "2: the password of ann is Argon2"),
            (&HASH.replace("$2y$", "ann:$2x$"), "2: the password of ann is a bcrypt that is known"),
            (&format!("ann:{}", HASH.replace("05", "17")), "2: the hash of ann has a cost of 17"),
            (
                &format!("ann:{}", HASH.replace("05", "03")),
                "2: the hash of ann has a cost of 3, and 4",
            ),
            (&format!("ann:{HASH}x"), "2: the password of ann is not a hash of bcrypt"),
            (&format!("ann:{}", HASH.replace('C', "+")), "2: the password of ann is not a hash"),
        ] {
            let wrong = Users::parse(&format!("bob:{HASH}\n{line}\n")).unwrap_err();
            assert!(wrong.starts_with(message), "{line}: {wrong}");
            assert!(wrong.contains("htpasswd -B"), "{wrong}");
        }
        let wrong = Users::parse("# nobody\n").unwrap_err();
        assert!(wrong.starts_with("1: it has no users"), "{wrong}");
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "([a-z]|:|\\$2y\\$|05|\\$|\n|#|\\PC){0,90}") {
            let _ = Users::parse(&text);
        }
    }
}
