//! Requests for files: conditional requests, ranges, redirects to directories. What a path stands for
//! comes from [`Content`]. Used by [`super::sites`] for requests that no route sends elsewhere.

use http::{Method, StatusCode};
use weir_http::message::conditions;
use weir_http::message::path::{self, SitePath};
use weir_http::message::range::{self, Range};
use weir_http::message::{Request, is_get_or_head};
use weir_sched::Time;

use super::methods;
use crate::answer::{AbortOn, Answer, Part};
use crate::client::Wait;
use crate::content::{Accepts, Body, Content, Found, Object};

/// The answer to a valid request, if it is in memory; otherwise [`respond`] makes one.
pub(super) fn respond_from_memory(content: &Content, request: &Request<'_>) -> Option<Answer> {
    if !is_get_or_head(&request.method) {
        return Some(methods::answer(&request.method));
    }
    match path::resolve(request.path) {
        Ok(path) => {
            let found = content.find_in_memory(&path, &accepts(request))?;
            let mut answer = present_found(request, &path, found);
            answer.abort_on = abort_on(content);
            Some(answer)
        }
        Err(error) => Some(Answer::error(error.status())),
    }
}

/// Answers a valid request that came at `begun`; `wait`: the wait for a disk meanwhile.
pub(super) async fn respond(
    content: &Content,
    request: &Request<'_>,
    begun: Time,
    wait: Option<&Wait<'_>>,
) -> Answer {
    if !is_get_or_head(&request.method) {
        return methods::answer(&request.method);
    }
    match path::resolve(request.path) {
        Ok(path) => {
            let found = content.find(&path, &accepts(request), begun, wait).await;
            let answer = present_found(request, &path, found);
            let mut answer = begin(answer, content, request.method == Method::HEAD, begun).await;
            answer.abort_on = abort_on(content);
            answer
        }
        Err(error) => Answer::error(error.status()),
    }
}

/// Whether a response is given up when its client leaves.
pub(super) fn abort_on(content: &Content) -> AbortOn {
    if content.notices_departures() { AbortOn::FullClose } else { AbortOn::Never }
}

/// What a request says about codings.
pub(super) fn accepts<'b>(request: &Request<'b>) -> Accepts<'b> {
    Accepts { codings: request.accept_encoding, part: request.range.is_some() }
}

/// The answer with what `path`, the whole path of the request, stands for.
pub(super) fn present_found(
    request: &Request<'_>,
    path: &SitePath<'_>,
    found: Result<Found, StatusCode>,
) -> Answer {
    match found {
        Ok(Found::Object(object)) => present(request, object),
        Ok(Found::Directory) => Answer::moved_to_directory(path, request.query),
        Ok(Found::Shorter(cut)) => Answer::moved_to_shorter(path, cut, request.query),
        // Who shows lists, or a page in their place, has looked before.
        Ok(Found::List | Found::Bare) => Answer::error(StatusCode::FORBIDDEN),
        Err(status) => Answer::error(status),
    }
}

/// Sees to it that sending can begin at once: only now can an error still be told.
pub(super) async fn begin(
    mut answer: Answer,
    content: &Content,
    is_head: bool,
    since: Time,
) -> Answer {
    let (Body::File(file), Content::Files(site)) = (&answer.body, content) else {
        return answer;
    };
    if is_head || answer.body_length == Some(0) || site.is_ready(file, answer.body_at) {
        return answer;
    }
    match Box::pin(file.fetch(site.disks(), answer.body_at, site.window(), since)).await {
        Ok((at, bytes)) => {
            answer.first = Some(Part { at, bytes }).into();
            answer
        }
        Err(error) => Answer::error(site.fetch_failed(file, &error)),
    }
}

/// RFC 9110, sections 13.2.2 and 14.2, give the order of the steps.
pub(super) fn present(request: &Request<'_>, object: Object) -> Answer {
    let validators = object.facts.validators.as_ref();
    if conditions::precondition_failed(request, validators) {
        return Answer::error(StatusCode::PRECONDITION_FAILED);
    }
    if validators.is_some_and(|v| conditions::not_modified(request, v)) {
        return Answer::not_modified(object.facts);
    }
    let asked = request.range.filter(|_| request.method == Method::GET);
    let applies = |_: &&str| match validators {
        Some(validators) => conditions::range_applies(request, validators),
        // What has neither tag nor date is no copy of anything.
        None => request.if_range.is_none(),
    };
    let total = object.facts.length;
    let range = asked.filter(applies).map(|header| range::resolve(header, total));
    match range.unwrap_or(Range::Whole) {
        Range::Whole => Answer::whole(object),
        Range::Part { first, last } => Answer::part(object, first, last),
        // The coding would be that of the multipart body around them, and not that of their bytes.
        Range::Parts(_) if object.facts.coding.is_some() => Answer::whole(object),
        Range::Parts(parts) => Answer::parts(object, &parts),
        Range::Unsatisfiable => Answer::unsatisfied_range(total),
    }
}
