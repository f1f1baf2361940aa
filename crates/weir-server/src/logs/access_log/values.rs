//! All values of an entry with their names, in one order: the line in JSON, and the fields of an entry in
//! systemd's journal.

use std::fmt::Write as _;
use std::time::Duration;

use weir_http::message::version_text;

use super::details::{Details, GateKind};
use super::entry::Entry;
use crate::logs::date::Date;
use crate::logs::json::Object;
use crate::logs::numbers;

/// What takes the values of an entry; `None` is one that it does not have.
trait Values {
    /// A text that a client, or the configuration, has chosen.
    fn text(&mut self, name: &'static str, value: Option<&str>);

    /// A number.
    fn number(&mut self, name: &'static str, value: u64);

    /// A time in seconds.
    fn seconds(&mut self, name: &'static str, value: Option<Duration>);
}

/// Adds an entry as an object of JSON.
pub(super) fn json(out: &mut String, entry: &Entry<'_>, date: &Date) {
    let mut object = Object::begin(out);
    object.date("time", date);
    match entry.peer.known_ip() {
        Some(address) => object.plain("client", address.to_canonical()),
        None => object.plain("client", entry.peer),
    }
    give(entry, &mut object);
    object.end();
}

/// Adds an entry as fields of the journal, each with its line end; the first is the line `message`.
pub(super) fn fields(out: &mut String, entry: &Entry<'_>, message: impl FnOnce(&mut String)) {
    out.push_str("MESSAGE=");
    message(out);
    // Informational (syslog(3)).
    out.push_str("\nPRIORITY=6\nSYSLOG_IDENTIFIER=weir\nWEIR_CLIENT=");
    let _ = match entry.peer.known_ip() {
        Some(address) => writeln!(out, "{}", address.to_canonical()),
        None => writeln!(out, "{}", entry.peer),
    };
    give(entry, &mut Fields(out));
}

/// Gives all values but the date and the client's address.
fn give(entry: &Entry<'_>, to: &mut impl Values) {
    let request = entry.request;
    to.text("user", entry.user);
    to.text("method", request.map(|request| request.method.as_str()));
    to.text("path", request.map(|request| request.path));
    to.text("query", request.and_then(|request| request.query));
    to.text("protocol", request.map(|request| version_text(request.version)));
    to.text("host", request.and_then(|request| request.host));
    let details = entry.details;
    to.text("route", details.and_then(Details::route).as_deref());
    to.text("backend", details.and_then(Details::backend).as_deref());
    to.number("status", entry.code.into());
    to.number("bytes", entry.sent);
    to.text("referer", request.and_then(|request| request.referer));
    to.text("user_agent", request.and_then(|request| request.user_agent));
    to.seconds("first_byte", details.and_then(Details::first_byte));
    to.seconds("total", Some(entry.took));
    let waited = |at| details.map(|details| details.waited(at));
    to.seconds("wait_uplink", waited(GateKind::Uplink));
    to.seconds("wait_disk", waited(GateKind::Disk));
    to.seconds("wait_backend", waited(GateKind::Backend));
    to.text("ended", Some(entry.ending.words()));
}

impl Values for Object<'_> {
    fn text(&mut self, name: &'static str, value: Option<&str>) {
        self.text_or_null(name, value);
    }

    fn number(&mut self, name: &'static str, value: u64) {
        Object::number(self, name, value);
    }

    fn seconds(&mut self, name: &'static str, value: Option<Duration>) {
        Object::seconds(self, name, value);
    }
}

/// Fields of the journal. Those without a value are left out.
struct Fields<'o>(&'o mut String);

impl Fields<'_> {
    /// The name as the journal wants it, in capitals.
    fn name(&mut self, name: &'static str) {
        self.0.push_str("WEIR_");
        self.0.extend(name.chars().map(|letter| letter.to_ascii_uppercase()));
        self.0.push('=');
    }
}

impl Values for Fields<'_> {
    fn text(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.name(name);
            // A line end would begin another field. No request has one; the name of a socket may.
            self.0.extend(value.chars().map(|letter| if letter == '\n' { ' ' } else { letter }));
            self.0.push('\n');
        }
    }

    fn number(&mut self, name: &'static str, value: u64) {
        self.name(name);
        numbers::number(self.0, value);
        self.0.push('\n');
    }

    fn seconds(&mut self, name: &'static str, value: Option<Duration>) {
        if let Some(value) = value {
            self.name(name);
            numbers::seconds(self.0, value);
            self.0.push('\n');
        }
    }
}
