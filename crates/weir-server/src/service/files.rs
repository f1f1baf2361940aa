//! Requests for files: conditional requests, ranges, redirects to directories. What a path stands for
//! comes from [`Content`]. Used by [`super::Service`] for requests that no route sends elsewhere.

use http::{Method, StatusCode};
use weir_http::message::conditions::{self, ETag, Validators};
use weir_http::message::path;
use weir_http::message::range::{self, Range};
use weir_http::message::{Request, is_get_or_head};

use crate::answer::{Answer, Part};
use crate::content::{Body, Content, Found, Object};

/// Answers a valid request (RFC 9110 sections 13.2.2 and 14.2 give the order of the steps).
pub(super) async fn respond(content: &Content, request: &Request<'_>) -> Answer {
    if !is_get_or_head(&request.method) {
        return Answer::error(StatusCode::METHOD_NOT_ALLOWED);
    }
    let path = match path::resolve(request.path) {
        Ok(path) => path,
        Err(error) => return Answer::error(error.status()),
    };
    match content.find(&path).await {
        Ok(Found::Object(object)) => {
            let is_head = request.method == Method::HEAD;
            begin(present(request, object), content, is_head).await
        }
        Ok(Found::Directory) => Answer::moved_to_directory(&path, request.query),
        Err(status) => Answer::error(status),
    }
}

/// Sees to it that sending can begin at once: only now can an error still be told.
async fn begin(mut answer: Answer, content: &Content, is_head: bool) -> Answer {
    let (Body::File(file), Content::Files(site)) = (&answer.body, content) else {
        return answer;
    };
    if is_head || answer.body_length == Some(0) || site.is_ready(file, answer.body_at) {
        return answer;
    }
    match Box::pin(file.fetch(site.disk(), answer.body_at, site.window())).await {
        Ok((at, bytes)) => {
            answer.first = Some(Part { at, bytes });
            answer
        }
        Err(error) => Answer::error(site.fetch_failed(file, &error)),
    }
}

fn present(request: &Request<'_>, object: Object) -> Answer {
    let none = Validators { etag: ETag::new(0, 0, 0), modified: None };
    let validators = object.facts.validators.as_ref();
    if validators.is_some_and(|v| conditions::not_modified(request, v)) {
        return Answer::not_modified(object.facts);
    }
    let asked = request.range.filter(|_| request.method == Method::GET);
    let applies = |_: &&str| conditions::range_applies(request, validators.unwrap_or(&none));
    let total = object.facts.length;
    let range = asked.filter(applies).map(|header| range::resolve(header, total));
    match range.unwrap_or(Range::Whole) {
        Range::Whole => Answer::whole(object),
        Range::Part { first, last } => Answer::part(object, first, last),
        Range::Unsatisfiable => Answer::unsatisfied_range(total),
    }
}
