//! The messages between a server and the opener, as bytes. `connection` reads and writes them; the Apache
//! module has the same in C (`apache/weir_client.c`).
//!
//! They go over a Unix socket of type `SOCK_SEQPACKET`, which keeps them apart, so none has a length of its
//! own to trust. Numbers are little-endian.
//!
//! | from | message | bytes |
//! | --- | --- | --- |
//! | server | hello | `WOPN`, version (2), 0 (2) |
//! | opener | welcome | `WOPN`, its version (2), 1 if it takes the server's version, otherwise 0 (2) |
//! | server | question | number (4), 1 (2), length of the name (2), the name |
//! | opener | answer | number of the question (4), what was found (2), error number (2) |
//!
//! The server says hello once, reads the welcome, and asks; answers may come in another order than the
//! questions. With a file comes a descriptor to read it (`SCM_RIGHTS`), with a directory one that only
//! names it (`O_PATH`): fstat(2) tells the rest. All who get a file share its position; who reads other than
//! by offsets opens it anew (`/proc/self/fd`). A server that passes descriptors is cut off.

/// The version of these messages. Servers and openers of different versions do not talk.
pub const VERSION: u16 = 1;

/// Bytes of the longest name: PATH_MAX of Linux.
pub const LONGEST_NAME: usize = 4096;

/// Bytes of the longest question.
pub const LONGEST_QUESTION: usize = QUESTION_HEAD + LONGEST_NAME;

/// Bytes of a hello, a welcome and an answer.
pub const SHORT: usize = 8;

const MAGIC: [u8; 4] = *b"WOPN";
const QUESTION_HEAD: usize = 8;
/// The only kind of question: find a name, open it, warm it.
const OPEN: u16 = 1;

/// Bytes that are none of these messages. Whoever sends them is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The first message of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The version that the server speaks.
    pub version: u16,
}

impl Hello {
    /// As bytes.
    pub fn encode(self) -> [u8; SHORT] {
        opening(self.version, 0)
    }

    /// From bytes, of any version: this message is the same in all.
    ///
    /// # Errors
    ///
    /// They are no hello.
    pub fn decode(bytes: &[u8]) -> Result<Hello, Malformed> {
        match opened(bytes)? {
            (version, 0) => Ok(Hello { version }),
            _ => Err(Malformed),
        }
    }
}

/// The opener's answer to a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The version that the opener speaks.
    pub version: u16,
    /// Whether it takes the server's. If not, it closes the connection.
    pub accepted: bool,
}

impl Welcome {
    /// The opener's answer.
    pub fn to(hello: Hello) -> Welcome {
        Welcome { version: VERSION, accepted: hello.version == VERSION }
    }

    /// As bytes.
    pub fn encode(self) -> [u8; SHORT] {
        opening(self.version, self.accepted.into())
    }

    /// From bytes, of any version.
    ///
    /// # Errors
    ///
    /// They are no welcome.
    pub fn decode(bytes: &[u8]) -> Result<Welcome, Malformed> {
        match opened(bytes)? {
            (version, accepted @ (0 | 1)) => Ok(Welcome { version, accepted: accepted == 1 }),
            _ => Err(Malformed),
        }
    }
}

/// A name to be found, opened and warmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// The server's own number, which the answer repeats.
    pub number: u32,
    /// An absolute name without a zero byte.
    pub name: &'a [u8],
}

impl<'a> Question<'a> {
    /// As bytes.
    ///
    /// # Errors
    ///
    /// The name is longer than [`LONGEST_NAME`], not absolute, or has a zero byte.
    pub fn encode(self) -> Result<Vec<u8>, Malformed> {
        let length = u16::try_from(self.name.len()).map_err(|_| Malformed)?;
        let head = [&self.number.to_le_bytes()[..], &OPEN.to_le_bytes(), &length.to_le_bytes()];
        let bytes = [head.concat().as_slice(), self.name].concat();
        Question::decode(&bytes).map(|_| ())?;
        Ok(bytes)
    }

    /// From bytes.
    ///
    /// # Errors
    ///
    /// They are no question.
    pub fn decode(bytes: &'a [u8]) -> Result<Question<'a>, Malformed> {
        let (head, name) = bytes.split_first_chunk::<QUESTION_HEAD>().ok_or(Malformed)?;
        let [a, b, c, d, kind @ .., e, f] = *head;
        let (number, length) = (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]));
        let is_name = name.len() == usize::from(length)
            && name.len() <= LONGEST_NAME
            && name.first() == Some(&b'/')
            && !name.contains(&0);
        if u16::from_le_bytes(kind) != OPEN || !is_name {
            return Err(Malformed);
        }
        Ok(Question { number, name })
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A regular file. Its descriptor comes with the answer, and its first bytes are in memory.
    File,
    /// A directory. A descriptor that names it comes with the answer.
    Directory,
    /// Nothing, as the error number says: `ENOENT` or `ENOTDIR`.
    Nothing(u16),
    /// The opener does not say; the server opens the name itself. It lies outside the roots, is no file
    /// and no directory, or opening it failed with this error number.
    NotTold(u16),
}

/// The answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of the question.
    pub number: u32,
    /// What its name stands for.
    pub found: Found,
}

impl Answer {
    /// As bytes.
    pub fn encode(self) -> [u8; SHORT] {
        let (kind, error) = match self.found {
            Found::File => (1, 0),
            Found::Directory => (2, 0),
            Found::Nothing(error) => (3, error),
            Found::NotTold(error) => (4, error),
        };
        let [a, b, c, d] = self.number.to_le_bytes();
        let ([e, f], [g, h]) = (u16::to_le_bytes(kind), u16::to_le_bytes(error));
        [a, b, c, d, e, f, g, h]
    }

    /// From bytes.
    ///
    /// # Errors
    ///
    /// They are no answer.
    pub fn decode(bytes: &[u8]) -> Result<Answer, Malformed> {
        let [a, b, c, d, e, f, g, h] = *<&[u8; SHORT]>::try_from(bytes).map_err(|_| Malformed)?;
        let found = match (u16::from_le_bytes([e, f]), u16::from_le_bytes([g, h])) {
            (1, 0) => Found::File,
            (2, 0) => Found::Directory,
            (3, error) => Found::Nothing(error),
            (4, error) => Found::NotTold(error),
            _ => return Err(Malformed),
        };
        Ok(Answer { number: u32::from_le_bytes([a, b, c, d]), found })
    }
}

/// A hello or a welcome.
fn opening(version: u16, last: u16) -> [u8; SHORT] {
    let ([a, b, c, d], [e, f], [g, h]) = (MAGIC, version.to_le_bytes(), last.to_le_bytes());
    [a, b, c, d, e, f, g, h]
}

/// The version and the last number of a hello or a welcome.
fn opened(bytes: &[u8]) -> Result<(u16, u16), Malformed> {
    let [a, b, c, d, e, f, g, h] = *<&[u8; SHORT]>::try_from(bytes).map_err(|_| Malformed)?;
    if [a, b, c, d] != MAGIC {
        return Err(Malformed);
    }
    Ok((u16::from_le_bytes([e, f]), u16::from_le_bytes([g, h])))
}

#[cfg(test)]
mod tests;
