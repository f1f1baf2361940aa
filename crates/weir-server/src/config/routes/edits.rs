//! Changes to the fields of messages on their way, as they are configured. It sees no messages.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use weir_http::forward::FieldEdits;

/// Changes as they are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "EditKeys")]
pub(super) struct Edits(pub(super) FieldEdits);

impl Edits {
    /// Whether a field of this name is changed.
    fn changes(&self, name: &str) -> bool {
        let mut names = self.0.remove.iter().chain(self.0.set.iter().map(|(set, _)| set));
        names.any(|changed| changed.as_str() == name)
    }

    /// Refuses what a request gets elsewhere.
    pub(super) fn check_for_requests(&self) -> Result<(), String> {
        if self.changes("host") {
            return Err("what backends see as Host is said by `host_header`".to_owned());
        }
        Ok(())
    }
}

/// The keys of `request_headers` and `response_headers`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EditKeys {
    set: BTreeMap<String, String>,
    remove: Vec<String>,
}

/// Fields that belong to one connection or say where a message ends (RFC 9110, section 7.6.1;
/// RFC 9112, section 6). They are the proxy's: a change could make two messages of one.
const OWN: [&str; 8] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl TryFrom<EditKeys> for Edits {
    type Error = String;

    fn try_from(keys: EditKeys) -> Result<Self, String> {
        let mut edits = Edits::default();
        for (name, value) in keys.set {
            let name = field(&name)?;
            if edits.changes(name.as_str()) {
                return Err(format!("the field {name} is set twice"));
            }
            let value = HeaderValue::from_str(value.trim_matches([' ', '\t']))
                .map_err(|_| format!("the value of {name} holds what no field may hold"))?;
            edits.0.set.push((name, value));
        }
        edits.0.set.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        for name in keys.remove {
            let name = field(&name)?;
            if edits.changes(name.as_str()) {
                return Err(format!(
                    "the field {name} is named twice; what is set need not be removed"
                ));
            }
            edits.0.remove.push(name);
        }
        Ok(edits)
    }
}

fn field(text: &str) -> Result<HeaderName, String> {
    let name: HeaderName =
        text.parse().map_err(|_| format!("\"{text}\" is not the name of a field"))?;
    if OWN.contains(&name.as_str()) {
        return Err(format!("the field {name} belongs to the connection; weir writes it itself"));
    }
    Ok(name)
}
