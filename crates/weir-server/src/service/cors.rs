//! Whose scripts may read the files of a site (CORS, as the Fetch standard has it in section 3.3). Used by
//! the options of a site.

use http::{HeaderName, HeaderValue, Method, header};
use weir_http::message::{FieldChanges, Fields, Request};

use crate::answer::Answer;
use crate::config::FieldsConfig;

/// See the module.
#[derive(Debug)]
pub(super) struct Cors {
    /// `None`: those of every origin.
    origins: Option<Vec<HeaderValue>>,
    /// What preflight requests are told.
    methods: Option<HeaderValue>,
    /// In seconds.
    max_age: Option<HeaderValue>,
}

impl Cors {
    /// `None`: nobody else's scripts may.
    pub(super) fn of(fields: &FieldsConfig) -> Option<Cors> {
        if fields.cors.is_empty() {
            return None;
        }
        let value = |text: &str| HeaderValue::from_str(text).ok();
        let named = || fields.cors.iter().filter_map(|origin| value(origin)).collect();
        let methods: Vec<&str> = fields.cors_methods.iter().map(Method::as_str).collect();
        Some(Cors {
            origins: (!fields.admits_every_origin()).then(named),
            methods: value(&methods.join(", ")),
            max_age: fields.cors_max_age.map(|age| HeaderValue::from(age.as_secs())),
        })
    }

    /// The field for the origin that asks, where it depends on that and the origin may read the files.
    pub(super) fn for_origin(&self, fields: &Fields<'_>) -> Option<(HeaderName, HeaderValue)> {
        let origins = self.origins.as_ref()?;
        let asks = fields.list("origin")?;
        let found = origins.iter().find(|origin| origin.as_bytes() == asks.as_bytes())?;
        Some((header::ACCESS_CONTROL_ALLOW_ORIGIN, found.clone()))
    }

    /// The answer to a request that asks what another may do; `None`: it is none. `changes`: what all
    /// answers of the site have.
    pub(super) fn preflight(
        &self,
        request: &Request<'_>,
        fields: &Fields<'_>,
        changes: &FieldChanges,
    ) -> Option<Answer> {
        if request.method != Method::OPTIONS {
            return None;
        }
        fields.list("origin")?;
        fields.list("access-control-request-method")?;
        let asked = HeaderValue::from_static("Access-Control-Request-Headers");
        let mut changes = changes.clone().adding(header::VARY, asked);
        let admitted = self.for_origin(fields);
        if admitted.is_some() || self.origins.is_none() {
            let names = fields.list("access-control-request-headers").filter(|it| are_names(it));
            let names = names.and_then(|names| HeaderValue::from_str(&names).ok());
            let told = [
                (header::ACCESS_CONTROL_ALLOW_METHODS, self.methods.clone()),
                (header::ACCESS_CONTROL_ALLOW_HEADERS, names),
                (header::ACCESS_CONTROL_MAX_AGE, self.max_age.clone()),
            ];
            let told = told.into_iter().filter_map(|(name, value)| Some((name, value?)));
            changes.add.extend(admitted.into_iter().chain(told));
        }
        Some(Answer::no_content(changes))
    }
}

/// Whether a text is a list of names of fields.
fn are_names(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~, ".contains(&byte);
    text.bytes().all(is_part)
}
