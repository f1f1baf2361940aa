//! What the answers of a site have beside what is found: a prefix that is taken off paths, a page that
//! stands for others, pages for errors, fields, CORS. Made of the configuration once; a site that has
//! nothing of the kind has no options. Used by [`super::sites`].

use std::sync::Arc;

use http::{HeaderName, HeaderValue, StatusCode, header};
use weir_http::message::accept::{Named, wanted};
use weir_http::message::path::SitePath;
use weir_http::message::{FieldChanges, Fields, Request};

use super::cors::Cors;
use crate::answer::Answer;
use crate::config::{Config, ErrorPages, FilesConfig};
use crate::content::{ListFormat, Object, served};

const HTML: &str = "text/html";
const JSON: &str = "application/json";

/// See the module.
#[derive(Debug)]
pub(crate) struct SiteOptions {
    /// Taken off the path of a request: segments joined by `/`.
    strips: Option<String>,
    /// The name below the root of the page that stands for others.
    fallback: Option<String>,
    error_pages: ErrorPages,
    cors: Option<Cors>,
    /// What all answers have.
    changes: Arc<FieldChanges>,
    /// The same where the answer depends on `Accept`.
    varied: Arc<FieldChanges>,
}

impl SiteOptions {
    /// Those of all sites, in the order of [`served`].
    pub(crate) fn all(config: &Config) -> Vec<Option<Arc<SiteOptions>>> {
        let options = served(config).map(|(root, files)| root.and_then(|_| SiteOptions::of(files)));
        options.map(|options| options.map(Arc::new)).collect()
    }

    /// `None`: there are none.
    fn of(files: &FilesConfig) -> Option<SiteOptions> {
        let FilesConfig { strips, pages, fields, .. } = files;
        let changes = files.changes();
        let is_plain = strips.is_none()
            && pages.fallback.is_none()
            && !pages.listing
            && fields.error_pages.is_empty()
            && changes.is_empty();
        if is_plain {
            return None;
        }
        let varied = changes.clone().adding(header::VARY, HeaderValue::from_static("Accept"));
        Some(SiteOptions {
            strips: strips.clone(),
            fallback: pages.fallback.clone(),
            error_pages: fields.error_pages.clone(),
            cors: Cors::of(fields),
            changes: Arc::new(changes),
            varied: Arc::new(varied),
        })
    }

    /// The path below the root that `path`, that of a request, asks for; `None`: it is not one of the site's.
    pub(super) fn below<'p>(&self, path: &'p SitePath<'_>) -> Option<SitePath<'p>> {
        path.below(self.strips.as_deref().unwrap_or_default().as_bytes())
    }

    /// The answer to a request that asks whether another origin may read files.
    pub(super) fn preflight(&self, request: &Request<'_>, fields: &Fields<'_>) -> Option<Answer> {
        self.cors.as_ref()?.preflight(request, fields, &self.changes)
    }

    /// The page that stands for `path`, which there is not, if the client wants one.
    pub(super) fn fallback(
        &self,
        path: &SitePath<'_>,
        fields: &Fields<'_>,
    ) -> Option<SitePath<'_>> {
        let page = self.fallback.as_deref()?;
        self.wants_html(path, fields).then(|| SitePath::exactly(page.as_bytes()))
    }

    /// Whether the client wants HTML for `path`: it says so, or takes everything and the path has not the
    /// name of a file.
    fn wants_html(&self, path: &SitePath<'_>, fields: &Fields<'_>) -> bool {
        let accept = fields.list("accept").unwrap_or_else(|| "*/*".to_owned());
        let html = wanted(&accept, HTML);
        let last = path.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        html.quality > 0 && (html.named > Named::AsAnything || !last.contains(&b'.'))
    }

    /// The page for an answer with this status.
    pub(super) fn error_page(&self, status: StatusCode) -> Option<SitePath<'_>> {
        self.error_pages.name(status).map(|name| SitePath::exactly(name.as_bytes()))
    }

    /// What a list is written as: JSON for those who would rather have it.
    pub(super) fn list_format(&self, fields: &Fields<'_>) -> ListFormat {
        let accept = fields.list("accept").unwrap_or_default();
        let (html, json) = (wanted(&accept, HTML), wanted(&accept, JSON));
        let is_json = json.quality > 0 && (json.quality, json.named) > (html.quality, html.named);
        if is_json { ListFormat::Json } else { ListFormat::Html }
    }

    /// The object with the field for the origin that asks, where that depends on it.
    pub(super) fn for_origin(&self, object: Object, fields: &Fields<'_>) -> Object {
        match self.of_origin(fields) {
            Some((name, value)) => with_field(object, name, value),
            None => object,
        }
    }

    /// The object in the place of another: who asks with another `Accept` gets no such answer.
    pub(super) fn as_fallback(&self, object: Object) -> Object {
        with_field(object, header::VARY, HeaderValue::from_static("Accept"))
    }

    /// The fields of an answer without an object; `varies`: it depends on `Accept`.
    pub(super) fn changes(&self, fields: &Fields<'_>, varies: bool) -> Arc<FieldChanges> {
        let changes = if varies { &self.varied } else { &self.changes };
        match self.of_origin(fields) {
            Some((name, value)) => Arc::new((**changes).clone().adding(name, value)),
            None => changes.clone(),
        }
    }

    /// The answer with what all answers of the site have, unless it has an object, which has that already.
    pub(super) fn finish(&self, answer: Answer, fields: &Fields<'_>) -> Answer {
        // Who asks with another `Accept` may get the fallback in the place of these: it stands for what is
        // not there, and for directories without an index.
        let may_differ = matches!(
            answer.status,
            StatusCode::NOT_FOUND | StatusCode::FORBIDDEN | StatusCode::MOVED_PERMANENTLY
        );
        let varies = self.fallback.is_some() && may_differ;
        let changes = self.changes(fields, varies);
        if changes.is_empty() { answer } else { answer.changed_by(&changes) }
    }

    fn of_origin(&self, fields: &Fields<'_>) -> Option<(HeaderName, HeaderValue)> {
        self.cors.as_ref()?.for_origin(fields)
    }
}

fn with_field(object: Object, name: HeaderName, value: HeaderValue) -> Object {
    let changes = object.facts.changes.as_deref().cloned().unwrap_or_default();
    object.changed_by(Arc::new(changes.adding(name, value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use weir_http::message::path::resolve;

    fn options(text: &str) -> Option<Arc<SiteOptions>> {
        let config = Config::from_settings(parse(&format!("root = \".\"\n{text}")).unwrap());
        SiteOptions::all(&config.unwrap()).remove(0)
    }

    fn fields(accept: &'static str) -> Fields<'static> {
        [("Accept", accept.as_bytes())].into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    #[test]
    fn a_plain_site_has_no_options() {
        for text in [
            "",
            "index = \"a.html\"\ntypes = { \".a\" = \"a/b\" }\ncache_control = \"no-cache\"",
            "clean_urls = true\nserve_sources = true",
        ] {
            assert!(options(text).is_none(), "{text}");
        }
        for text in [
            "fallback = \"/a.html\"",
            "listing = true",
            "cors = \"*\"",
            "cors = \"https://a\"",
            "headers = { remove = [\"ETag\"] }",
            "error_pages = { 404 = \"/a\" }",
        ] {
            assert!(options(text).is_some(), "{text}");
        }
    }

    #[test]
    fn who_wants_html_gets_the_page_that_stands_for_others() {
        let options = options("fallback = \"/app.html\"").unwrap();
        let falls_back = |path: &str, accept: &'static str| {
            options.fallback(&resolve(path).unwrap(), &fields(accept)).is_some()
        };
        let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
        for (path, accept, expected) in [
            ("/users/5", browser, true),
            ("/old.js", browser, true),
            ("/users/5", "*/*", true),
            ("/users/5", "", true),
            ("/old.js", "*/*", false),
            ("/assets/old.js", "", false),
            ("/users/5", "application/json", false),
            ("/users/5", "text/html;q=0", false),
        ] {
            assert_eq!(falls_back(path, accept), expected, "{path} for {accept}");
        }
    }

    #[test]
    fn lists_are_json_for_those_who_would_rather_have_it() {
        let options = options("listing = true").unwrap();
        for (accept, format) in [
            ("", ListFormat::Html),
            ("*/*", ListFormat::Html),
            ("text/html,*/*;q=0.8", ListFormat::Html),
            ("application/json", ListFormat::Json),
            ("application/json, */*;q=0.1", ListFormat::Json),
            ("application/json;q=0.5, text/html", ListFormat::Html),
        ] {
            assert_eq!(options.list_format(&fields(accept)), format, "{accept}");
        }
    }
}
