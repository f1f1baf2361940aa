//! Changes to header fields: the values of `request_headers` and `response_headers`. Used by the table
//! of routes' keys; the proxy applies them.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use serde::de::{Deserialize, Deserializer, Error};
use weir_http::forward::FieldEdits;

use crate::config::key::{Key, Table as _};
use crate::config::table::settings;
use crate::config::value::Value;

settings! {
    /// The keys of `request_headers` and `response_headers`.
    pub(super) struct EditKeys;

    /// The same with the defaults filled in.
    pub(super) struct Lists {}

    "Paths and header fields" {
        /// Fields to set, in place of those that are there
        set: BTreeMap<String, String> = BTreeMap::new(),
        else "none",
        example { "X-Site" = "www" };

        /// Names of fields to remove
        remove: Vec<String> = Vec::new(),
        else "none",
        example ["Cookie"];
    }
}

/// Changes to the fields of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits(pub(super) FieldEdits);

impl Value for Edits {
    type Resolved = Arc<FieldEdits>;

    const NAME: &'static str = "TABLE";

    fn keys() -> Vec<Key> {
        EditKeys::keys()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Edits, D::Error> {
        let keys = EditKeys::deserialize(deserializer)?;
        Edits::try_from(keys.resolve()).map_err(D::Error::custom)
    }

    fn resolve(self) -> Arc<FieldEdits> {
        self.0.into()
    }
}

impl Edits {
    /// Whether a field of this name is changed.
    fn changes(&self, name: &str) -> bool {
        let mut names = self.0.remove.iter().chain(self.0.set.iter().map(|(set, _)| set));
        names.any(|changed| changed.as_str() == name)
    }

    /// Refuses changes to fields of requests that another key sets.
    pub(super) fn check_for_requests(&self) -> Result<(), String> {
        if self.changes("host") {
            return Err("what backends see as Host is said by `host_header`".to_owned());
        }
        Ok(())
    }
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

impl TryFrom<Lists> for Edits {
    type Error = String;

    fn try_from(lists: Lists) -> Result<Self, String> {
        let mut edits = Edits::default();
        for (name, value) in lists.set {
            let name = field(&name)?;
            if edits.changes(name.as_str()) {
                return Err(format!("the field {name} is set twice"));
            }
            let value = HeaderValue::from_str(value.trim_matches([' ', '\t']))
                .map_err(|_| format!("the value of {name} holds what no field may hold"))?;
            edits.0.set.push((name, value));
        }
        edits.0.set.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        for name in lists.remove {
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
