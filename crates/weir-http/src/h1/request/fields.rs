//! The fields of a request head that matter to this server, found in one pass. Used by
//! [`mod@super::parse`].

use std::borrow::Cow;

use super::body::TransferEncoding;
use super::error::BadRequest;
use super::singleton::Singleton;
use super::target;
use crate::message::fields::members;
use http::Version;

/// The options of all `Connection` fields (RFC 9110, section 7.6.1).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConnectionOptions {
    close: bool,
    keep_alive: bool,
    upgrade: bool,
}

impl ConnectionOptions {
    fn add(&mut self, value: &[u8]) {
        for option in members(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            self.upgrade |= option.eq_ignore_ascii_case(b"upgrade");
        }
    }

    /// Whether the connection persists after the response (RFC 9112, section 9.3).
    pub(super) fn is_persistent(self, version: Version) -> bool {
        !self.close && (self.keep_alive || version == Version::HTTP_11)
    }
}

/// The expectations of all `Expect` fields (RFC 9110, section 10.1.1). HTTP/1.0 has none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Expect {
    pub(super) expects_continue: bool,
    pub(super) unknown: bool,
}

impl Expect {
    fn add(&mut self, value: &[u8]) {
        for expectation in members(value).filter(|expectation| !expectation.is_empty()) {
            let known = expectation.eq_ignore_ascii_case(b"100-continue");
            self.expects_continue |= known;
            self.unknown |= !known;
        }
    }
}

/// The values found.
#[derive(Debug, Default)]
pub(super) struct KnownFields<'b> {
    host: Singleton<'b>,
    pub(super) content_length: Singleton<'b>,
    pub(super) transfer_encoding: TransferEncoding,
    pub(super) connection: ConnectionOptions,
    upgrade: Singleton<'b>,
    expect: Expect,
    if_match: Singleton<'b>,
    if_unmodified_since: Singleton<'b>,
    pub(super) if_none_match: Singleton<'b>,
    pub(super) if_modified_since: Singleton<'b>,
    pub(super) range: Singleton<'b>,
    pub(super) if_range: Singleton<'b>,
    pub(super) accept_encoding: Singleton<'b>,
    pub(super) user_agent: Singleton<'b>,
    pub(super) referer: Singleton<'b>,
}

impl<'b> KnownFields<'b> {
    pub(super) fn collect(headers: &[httparse::Header<'b>]) -> KnownFields<'b> {
        let mut fields = KnownFields::default();
        for header in headers {
            fields.add(header.name, header.value);
        }
        fields
    }

    fn add(&mut self, name: &str, value: &'b [u8]) {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        // The length comes first: it rules out most names at the price of one comparison.
        match name.len() {
            4 if is("Host") => self.host.add(value),
            5 if is("Range") => self.range.add(value),
            6 if is("Expect") => self.expect.add(value),
            7 if is("Upgrade") => self.upgrade.add(value),
            7 if is("Referer") => self.referer.add(value),
            8 if is("If-Range") => self.if_range.add(value),
            8 if is("If-Match") => self.if_match.add(value),
            10 if is("Connection") => self.connection.add(value),
            10 if is("User-Agent") => self.user_agent.add(value),
            13 if is("If-None-Match") => self.if_none_match.add(value),
            14 if is("Content-Length") => self.content_length.add(value),
            15 if is("Accept-Encoding") => self.accept_encoding.add(value),
            17 if is("Transfer-Encoding") => self.transfer_encoding.add(value),
            17 if is("If-Modified-Since") => self.if_modified_since.add(value),
            19 if is("If-Unmodified-Since") => self.if_unmodified_since.add(value),
            _ => {}
        }
    }

    /// `If-Match`, empty if it cannot be used. `lines`: all fields.
    pub(super) fn if_match(&self, lines: &[httparse::Header<'b>]) -> Option<Cow<'b, str>> {
        let value = || list(self.if_match, "If-Match", lines).unwrap_or_default();
        (!self.if_match.is_absent()).then(value)
    }

    /// `If-None-Match`, if it can be used. `lines`: all fields.
    pub(super) fn if_none_match(&self, lines: &[httparse::Header<'b>]) -> Option<Cow<'b, str>> {
        list(self.if_none_match, "If-None-Match", lines)
    }

    /// `If-Unmodified-Since`, which `If-Match` hides even if that cannot be used.
    pub(super) fn if_unmodified_since(&self) -> Option<&'b str> {
        self.if_unmodified_since.text().filter(|_| self.if_match.is_absent())
    }

    /// The protocols to change to, which a client has to announce in `Connection` as well; HTTP/1.0
    /// does not have it (RFC 9110, section 7.8).
    pub(super) fn upgrade(&self, version: Version) -> Option<&'b str> {
        let announced = version == Version::HTTP_11 && self.connection.upgrade;
        self.upgrade.text().filter(|protocols| announced && !protocols.is_empty())
    }

    pub(super) fn expect(&self, version: Version) -> Expect {
        if version == Version::HTTP_11 { self.expect } else { Expect::default() }
    }

    /// The `Host` field: at most one, exactly one since HTTP/1.1, and valid (RFC 9112, section 3.2).
    pub(super) fn host(&self, version: Version) -> Result<Option<&'b str>, BadRequest> {
        match self.host {
            Singleton::Absent if version == Version::HTTP_10 => Ok(None),
            Singleton::Absent => Err(BadRequest::syntax("no Host field")),
            Singleton::Repeated => Err(BadRequest::syntax("several Host fields")),
            Singleton::Once(_) => {
                match self.host.text().filter(|host| target::is_authority(host)) {
                    Some(host) => Ok(Some(host)),
                    None => Err(BadRequest::syntax("malformed Host field")),
                }
            }
        }
    }
}

/// The value of a field that is a list: `found`, or all of its `lines` as one if there are several (RFC
/// 9110, section 5.3). `None`: there is none, or it is not UTF-8.
fn list<'b>(
    found: Singleton<'b>,
    name: &str,
    lines: &[httparse::Header<'b>],
) -> Option<Cow<'b, str>> {
    match found {
        Singleton::Repeated => joined(name, lines).map(Cow::Owned),
        Singleton::Absent | Singleton::Once(_) => found.text().map(Cow::Borrowed),
    }
}

/// The values of all `lines` of this name, with commas between them.
#[cold]
fn joined(name: &str, lines: &[httparse::Header<'_>]) -> Option<String> {
    let named = lines.iter().filter(|line| line.name.eq_ignore_ascii_case(name));
    let values: Vec<&[u8]> = named.map(|line| line.value).collect();
    String::from_utf8(values.join(&b',')).ok()
}
