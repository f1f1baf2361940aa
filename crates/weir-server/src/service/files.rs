//! Requests for files: conditional requests, ranges, redirects to directories. What a path stands for
//! comes from [`Content`]. Used by [`super::Service`] for requests that no route sends elsewhere.

use weir_http::Status;
use weir_http::h1::response::ResponseHead;
use weir_http::message::conditions::{self, Validators};
use weir_http::message::path;
use weir_http::message::range::ContentRange;
use weir_http::message::range::{self, Range};
use weir_http::message::{Method, Request};

use crate::content::{Body, Content, Found, Object};
use crate::response::{Part, Response, ResponseTemplate};

/// Answers a valid request (RFC 9110 sections 13.2.2 and 14.2 give the order of the steps).
pub(super) async fn respond(
    content: &Content,
    request: &Request<'_>,
    template: ResponseTemplate,
) -> Response {
    if request.method == Method::Other {
        return template.error(Status::MethodNotAllowed);
    }
    let path = match path::resolve(request.path) {
        Ok(path) => path,
        Err(error) => return template.error(error.status()),
    };
    match content.find(&path).await {
        Ok(Found::Object(object)) => {
            let response = present(request, object, template);
            begin(response, content, template).await
        }
        Ok(Found::Directory) => template.moved_to_directory(&path, request.query),
        Err(status) => template.error(status),
    }
}

/// Sees to it that sending can begin at once: only now can an error still be told.
async fn begin(mut response: Response, content: &Content, template: ResponseTemplate) -> Response {
    let (Body::File(file), Content::Files(site)) = (&response.body, content) else {
        return response;
    };
    if response.body_length == Some(0) || site.is_ready(file, response.body_at) {
        return response;
    }
    match Box::pin(file.fetch(site.disk(), response.body_at, site.window())).await {
        Ok((at, bytes)) => {
            response.first = Some(Part { at, bytes });
            response
        }
        Err(error) => template.error(site.fetch_failed(file, &error)),
    }
}

fn present(request: &Request<'_>, object: Object, template: ResponseTemplate) -> Response {
    let none = Validators { etag: conditions::ETag::new(0, 0, 0), modified: None };
    let facts = object.facts.clone();
    let validators = facts.validators.as_ref();
    if validators.is_some_and(|v| conditions::not_modified(request, v)) {
        return template.not_modified(validators.unwrap_or(&none));
    }
    let asked = request.range.filter(|_| request.method == Method::Get);
    let applies = |_: &&str| conditions::range_applies(request, validators.unwrap_or(&none));
    let total = facts.length;
    let range = asked.filter(applies).map(|header| range::resolve(header, total));
    match range.unwrap_or(Range::Whole) {
        Range::Whole => template.whole(object),
        Range::Part { first, last } => {
            let length = last - first + 1;
            let head = ResponseHead {
                length: Some(length),
                content_range: Some(ContentRange::Part { first, last, total }),
                accept_ranges: false,
                ..facts.head(template.head(Status::PartialContent))
            };
            let mut response = template.response(&head, object.body, first, length);
            response.range_of = Some(facts.id);
            response
        }
        Range::Unsatisfiable => {
            let content_range = Some(ContentRange::Unsatisfied { total });
            template
                .page(&ResponseHead { content_range, ..template.head(Status::RangeNotSatisfiable) })
        }
    }
}
