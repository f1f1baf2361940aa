//! The sites of a worker: which answer a request for files gets, with the options of its site if it has
//! any. Used by [`super::Service`] for requests that no route sends elsewhere.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use tokio::time::timeout;
use weir_http::message::path::{self, SitePath};
use weir_http::message::{Fields, Request, is_get_or_head};
use weir_sched::Time;

use super::site_options::SiteOptions;
use super::{files, methods};
use crate::answer::Answer;
use crate::client::Wait;
use crate::content::{Accepts, Content, Found, SitesConfig};

/// How long the answer to what went wrong waits for the page that tells so, which may be on the same disk.
const PATIENCE: Duration = Duration::from_millis(100);

/// One site. Without options it costs nothing that there are any.
#[derive(Debug)]
pub(crate) struct Files {
    content: Content,
    options: Option<Arc<SiteOptions>>,
}

/// A request for files.
#[derive(Clone, Copy)]
struct Asked<'a> {
    request: &'a Request<'a>,
    fields: &'a Fields<'a>,
    /// When it had come.
    begun: Time,
    /// Who asks.
    client: IpAddr,
    /// The wait for a disk that is under way.
    wait: Option<&'a Wait<'a>>,
}

impl Files {
    /// A site without options.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn plain(content: Content) -> Files {
        Files { content, options: None }
    }

    /// All sites of a worker; `options`: those of each.
    pub(crate) fn all(sites: SitesConfig, options: &[Option<Arc<SiteOptions>>]) -> Vec<Files> {
        let sites = Content::all(sites).into_iter().zip(options.iter().cloned());
        sites.map(|(content, options)| Files { content, options }).collect()
    }

    pub(super) fn content(&self) -> &Content {
        &self.content
    }

    /// Whether answers depend on fields beside those that a [`Request`] names.
    pub(super) fn wants_fields(&self) -> bool {
        self.options.is_some()
    }

    /// Whether a request asks what scripts of other origins may do, and is told so.
    pub(super) fn is_preflight(&self, request: &Request<'_>, fields: &Fields<'_>) -> bool {
        let options = self.options.as_ref();
        options.is_some_and(|options| options.preflight(request, fields).is_some())
    }

    /// The answer to a valid request, if it is in memory; otherwise [`Files::respond`] makes one.
    pub(super) fn respond_from_memory(
        &self,
        request: &Request<'_>,
        fields: &Fields<'_>,
    ) -> Option<Answer> {
        match &self.options {
            None => files::respond_from_memory(&self.content, request),
            Some(options) => self.answer_from_memory(options, request, fields),
        }
    }

    /// Answers a valid request that came at `begun` from `client`; `wait`: the wait for a disk meanwhile.
    pub(super) async fn respond(
        &self,
        request: &Request<'_>,
        fields: &Fields<'_>,
        begun: Time,
        client: IpAddr,
        wait: Option<&Wait<'_>>,
    ) -> Answer {
        match &self.options {
            None => files::respond(&self.content, request, begun, wait).await,
            Some(options) => {
                let asked = Asked { request, fields, begun, client, wait };
                Box::pin(self.respond_with(options, asked)).await
            }
        }
    }

    fn answer_from_memory(
        &self,
        options: &SiteOptions,
        request: &Request<'_>,
        fields: &Fields<'_>,
    ) -> Option<Answer> {
        if let Some(answer) = options.preflight(request, fields) {
            return Some(answer);
        }
        if !is_get_or_head(&request.method) {
            return None;
        }
        let path = path::resolve(request.path).ok()?;
        let below = options.below(&path)?;
        let found = self.content.find_in_memory(&below, &files::accepts(request))?;
        let found = match found {
            Ok(Found::Object(object)) => Found::Object(options.for_origin(object, fields)),
            // There may be a page in their place, or a list to be made.
            Ok(Found::Directory | Found::List | Found::Bare) | Err(_) => return None,
            Ok(found) => found,
        };
        let answer = files::present_found(request, &path, Ok(found));
        if answer.is_own_error() {
            // There may be a page for it.
            return None;
        }
        Some(self.watched(options.finish(answer, fields)))
    }

    async fn respond_with(&self, options: &SiteOptions, asked: Asked<'_>) -> Answer {
        let Asked { request, fields, begun, .. } = asked;
        if let Some(answer) = options.preflight(request, fields) {
            return answer;
        }
        let is_head = request.method == Method::HEAD;
        let answer = self.found(options, asked).await;
        let answer = files::begin(answer, &self.content, is_head, begun).await;
        let answer = self.with_error_page(answer, is_head, begun).await;
        self.watched(options.finish(answer, fields))
    }

    /// The answer before its error, if it is one, has a page.
    async fn found(&self, options: &SiteOptions, asked: Asked<'_>) -> Answer {
        let Asked { request, fields, begun, wait, .. } = asked;
        if !is_get_or_head(&request.method) {
            return methods::answer(&request.method);
        }
        let path = match path::resolve(request.path) {
            Ok(path) => path,
            Err(error) => return Answer::error(error.status()),
        };
        let Some(below) = options.below(&path) else { return Answer::error(StatusCode::NOT_FOUND) };
        let accepts = files::accepts(request);
        let found = match self.content.find(&below, &accepts, begun, wait).await {
            Ok(Found::Object(object)) => {
                return files::present(request, options.for_origin(object, fields));
            }
            Ok(Found::List) => return self.list(options, asked, &below, &path).await,
            found => found,
        };
        let page = self.fallback(options, asked, &below, &found).await;
        page.unwrap_or_else(|| files::present_found(request, &path, found))
    }

    /// The page that stands for others, if there is nothing to send for `below` and the client wants one.
    async fn fallback(
        &self,
        options: &SiteOptions,
        asked: Asked<'_>,
        below: &SitePath<'_>,
        found: &Result<Found, StatusCode>,
    ) -> Option<Answer> {
        let Asked { request, fields, begun, wait, .. } = asked;
        let page = options.fallback(below, fields)?;
        if !self.is_nothing(below, found, begun).await {
            return None;
        }
        let found = self.content.find(&page, &files::accepts(request), begun, wait).await;
        let Ok(Found::Object(object)) = found else { return None };
        let object = options.for_origin(options.as_fallback(object), fields);
        Some(files::present(request, object))
    }

    /// Whether there is nothing to send for `below`, under which that was found: neither a file nor, of a
    /// directory, an index or a list, whether it was named with its slash or without.
    async fn is_nothing(
        &self,
        below: &SitePath<'_>,
        found: &Result<Found, StatusCode>,
        begun: Time,
    ) -> bool {
        match found {
            Ok(Found::Bare) | Err(StatusCode::NOT_FOUND) => true,
            Ok(Found::Directory) => {
                let directory = below.as_directory();
                let found = self.content.find(&directory, &Accepts::PLAIN, begun, None).await;
                matches!(found, Ok(Found::Bare))
            }
            _ => false,
        }
    }

    /// The list of a directory; `path` is that of the request.
    async fn list(
        &self,
        options: &SiteOptions,
        asked: Asked<'_>,
        below: &SitePath<'_>,
        path: &SitePath<'_>,
    ) -> Answer {
        let Some(site) = self.content.site() else { return Answer::error(StatusCode::FORBIDDEN) };
        let format = options.list_format(asked.fields);
        match site.list(below, path, format, asked.begun, asked.client).await {
            Ok(body) => Answer::coming(body, format.media(), &options.changes(asked.fields, true)),
            Err(status) => Answer::error(status),
        }
    }

    /// The answer with the page for its error, if it is one of weir's own and there is a page that can be
    /// sent. A page is looked for once: what is wrong with it leads to no other.
    pub(super) async fn with_error_page(
        &self,
        answer: Answer,
        is_head: bool,
        begun: Time,
    ) -> Answer {
        let Some(path) = self.error_page(&answer) else { return answer };
        let page = async {
            let found = match self.content.find_in_memory(&path, &Accepts::PLAIN) {
                Some(found) => found,
                None => self.content.find(&path, &Accepts::PLAIN, begun, None).await,
            };
            let Ok(Found::Object(page)) = found else { return None };
            let answer = Answer::whole(page.clone());
            let answer = files::begin(answer, &self.content, is_head, begun).await;
            (answer.status == StatusCode::OK).then_some((page, answer.first))
        };
        match timeout(PATIENCE, page).await {
            Ok(Some((page, first))) => Answer { first, ..answer.showing(page) },
            Ok(None) | Err(_) => answer,
        }
    }

    /// An answer that was made elsewhere, with what all answers of the site have.
    pub(super) fn finish(&self, answer: Answer, fields: &Fields<'_>) -> Answer {
        match &self.options {
            None => answer,
            Some(options) => options.finish(answer, fields),
        }
    }

    /// Whether there may be a page for an answer.
    pub(super) fn has_error_page(&self, answer: &Answer) -> bool {
        self.error_page(answer).is_some()
    }

    fn error_page(&self, answer: &Answer) -> Option<SitePath<'_>> {
        let options = self.options.as_ref().filter(|_| answer.is_own_error())?;
        options.error_page(answer.status)
    }

    fn watched(&self, answer: Answer) -> Answer {
        Answer { abort_on: files::abort_on(&self.content), ..answer }
    }
}
