//! Compresses the answers of backends for clients that accept it, where the route says so: one that has
//! come whole at once, others as they come. Used by [`super::attempt`] once there is an answer.

use std::future::poll_fn;
use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use weir_http::forward::FieldEdits;
use weir_http::message::coding::{AcceptedCodings, Coding};

use super::proxy_request::{ProxyOutcome, ProxyRequest};
use crate::answer::AnswerFields;
use crate::body::{Coming, Reader, RelayedBody, Room, Truncated, Writer};
use crate::client::Requester;
use crate::compress::{Compressor, SHORTEST, Stream};
use crate::content::Body;

/// Bytes that are compressed at a time at most; others have their turn between two pieces.
const PIECE: usize = 64 * 1024;

/// Fields that tell the bytes of a body by their hash, which others would not have.
const DIGESTS: [&str; 4] = ["content-digest", "repr-digest", "digest", "content-md5"];

/// Whether answers may be compressed that are changed so by a route: not if it says itself what they depend
/// on or in which coding they are, or that nobody may transform them.
fn is_allowed(edits: &FieldEdits) -> bool {
    let mut set = edits.set.iter();
    ![header::VARY, header::CONTENT_ENCODING].iter().any(|name| edits.changes(name))
        && !set.any(|(name, value)| *name == header::CACHE_CONTROL && forbids_transforming(value))
}

/// The outcome with a compressed body, if the answer allows that, the client accepts it, and there is not
/// too much to do.
pub(super) async fn compressed(
    compressor: &Compressor,
    proxied: &ProxyRequest<'_, impl Requester>,
    mut outcome: ProxyOutcome,
) -> ProxyOutcome {
    let answer = &mut outcome.answer;
    let AnswerFields::Relayed(relayed) = &mut answer.fields else { return outcome };
    if !is_allowed(&relayed.edits) {
        return outcome;
    }
    let fields = &mut relayed.received;
    let coding = || {
        let accepted = proxied.request.accept_encoding.map(AcceptedCodings::parse);
        accepted?.best(Coding::ALL.map(|coding| (coding, coding.place() as u64)))
    };
    if stands_for_compressible(compressor, answer.status, fields) {
        vary(fields);
        if answer.status == StatusCode::NOT_MODIFIED && coding().is_some() {
            weaken(fields);
        }
        return outcome;
    }
    let is_head = proxied.request.method == Method::HEAD;
    let length = if is_head { announced(fields) } else { answer.body_length };
    let is_short = length.is_some_and(|length| length < SHORTEST);
    if is_short || !is_compressible(compressor, answer.status, fields) {
        return outcome;
    }
    vary(fields);
    let Some(coding) = coding() else { return outcome };
    match &answer.body {
        _ if is_head => {}
        Body::Text(content) => {
            let Some(made) = compressor.once(coding, content.clone()).await else {
                return outcome;
            };
            answer.body_length = Some(made.len() as u64);
            answer.body = Body::Text(made.into());
        }
        Body::Relayed(content) => {
            let Some(stream) = compressor.stream(coding) else { return outcome };
            let compressed = RelayedBody::new(proxied.route.answer_limits(), proxied.account());
            let writer = Writer(compressed.clone());
            tokio::task::spawn_local(pass_through(content.clone(), stream, writer));
            answer.body_length = None;
            answer.body = Body::Relayed(Rc::new(Reader(compressed)));
        }
        Body::Compressed(_) | Body::File(_) | Body::Pattern => return outcome,
    }
    mark(fields, coding);
    compressor.answered(coding);
    outcome
}

/// The length of the body that a response to HEAD announces.
fn announced(fields: &HeaderMap) -> Option<u64> {
    fields.get(header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// Whether the body of an answer may be replaced by a compressed one, and is worth it.
fn is_compressible(compressor: &Compressor, status: StatusCode, fields: &HeaderMap) -> bool {
    let is_part = matches!(
        status,
        StatusCode::NO_CONTENT | StatusCode::PARTIAL_CONTENT | StatusCode::NOT_MODIFIED
    );
    !status.is_informational()
        && !is_part
        && fields.contains_key(header::CONTENT_TYPE)
        && !fields.contains_key(header::CONTENT_RANGE)
        && is_transformable(compressor, fields)
}

/// Whether an answer without the whole body stands for one that may be compressed, and must have the same
/// `Vary` and `ETag` (RFC 9110, sections 15.3.7 and 15.4.5). A 304 need not tell of which type that is.
fn stands_for_compressible(
    compressor: &Compressor,
    status: StatusCode,
    fields: &HeaderMap,
) -> bool {
    matches!(status, StatusCode::PARTIAL_CONTENT | StatusCode::NOT_MODIFIED)
        && is_transformable(compressor, fields)
}

/// Whether nothing in these fields forbids that the body is replaced; a type that is missing does not.
fn is_transformable(compressor: &Compressor, fields: &HeaderMap) -> bool {
    let is_covered =
        |media: &HeaderValue| media.to_str().is_ok_and(|media| compressor.covers(media));
    fields.get(header::CONTENT_TYPE).is_none_or(is_covered)
        && !fields.contains_key(header::CONTENT_ENCODING)
        && !DIGESTS.iter().any(|name| fields.contains_key(*name))
        && !fields.get_all(header::CACHE_CONTROL).iter().any(forbids_transforming)
}

/// Whether a value of `Cache-Control` has the body stay as it is.
fn forbids_transforming(value: &HeaderValue) -> bool {
    has_member(value, "no-transform")
}

/// Whether a list has this member.
fn has_member(list: &HeaderValue, member: &str) -> bool {
    let mut members = list.to_str().unwrap_or_default().split(',').map(str::trim);
    members.any(|found| found.eq_ignore_ascii_case(member))
}

/// Tells caches that the answer depends on `Accept-Encoding`.
fn vary(fields: &mut HeaderMap) {
    let tells = |value| ["accept-encoding", "*"].iter().any(|name| has_member(value, name));
    if !fields.get_all(header::VARY).iter().any(tells) {
        fields.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// Changes the fields to those of the compressed answer. Parts of it are not to be asked for.
fn mark(fields: &mut HeaderMap, coding: Coding) {
    fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    fields.remove(header::CONTENT_LENGTH);
    fields.remove(header::ACCEPT_RANGES);
    weaken(fields);
}

/// Makes the tag a weak one, as the backend has given it to other bytes.
fn weaken(fields: &mut HeaderMap) {
    if let Some(tag) = fields.get_mut(header::ETAG)
        && !tag.as_bytes().starts_with(b"W/")
        && let Ok(weak) = HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat())
    {
        *tag = weak;
    }
}

/// Compresses a body as it comes. When the client leaves, its end of the body is dropped, and with that
/// the backend's.
async fn pass_through(content: Rc<dyn Coming>, stream: Stream, compressed: Writer) {
    match pieces(&*content, stream, &compressed).await {
        Ok(Passed::All) => compressed.end_with(content.trailers()),
        Ok(Passed::ClientLeft) => {}
        Err(truncated) => compressed.end(Err(truncated)),
    }
}

/// How passing a body on ended.
enum Passed {
    All,
    ClientLeft,
}

async fn pieces(
    content: &dyn Coming,
    mut stream: Stream,
    compressed: &Writer,
) -> Result<Passed, Truncated> {
    let (mut piece, mut at) = (vec![0; PIECE], 0);
    loop {
        let has_room = match compressed.room().await {
            Room::Yes => true,
            Room::Full => compressed.has_room().await,
            Room::Gone => false,
        };
        if !has_room {
            return Ok(Passed::ClientLeft);
        }
        tokio::select! {
            biased;
            more = poll_fn(|context| content.poll_more(context, at)) => more?,
            () = compressed.client_left() => return Ok(Passed::ClientLeft),
        }
        let count = content.read(at, &mut piece);
        if count == 0 {
            if content.extent() == (at, true) {
                break;
            }
            tokio::task::yield_now().await;
            continue;
        }
        at += count as u64;
        let bytes = piece.get(..count).unwrap_or_default().to_vec();
        compressed.push(stream.write(bytes).await.map(Bytes::from).map_err(failed)?);
    }
    compressed.push(stream.finish().await.map(Bytes::from).map_err(failed)?);
    Ok(Passed::All)
}

fn failed(error: std::io::Error) -> Truncated {
    tracing::warn!("an answer was cut short, as it cannot be compressed further: {error}");
    Truncated("it cannot be compressed further")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{Config, parse};
    use crate::metrics::Metrics;

    fn fields(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in lines {
            fields.append(*name, HeaderValue::from_static(value));
        }
        fields
    }

    fn compressor() -> Arc<Compressor> {
        let text = "[[route]]\npath = \"/\"\nbackends = \"http://a\"\ncompress = true";
        let config = Config::from_settings(parse(text).unwrap()).unwrap();
        Compressor::open(&config, &Arc::new(Metrics::new())).unwrap()
    }

    #[test]
    fn what_is_no_text_or_must_stay_as_it_is_stays() {
        let compressor = compressor();
        let is_compressible = |code: u16, more: &[(&'static str, &'static str)]| {
            let mut all = fields(&[("content-type", "text/html; charset=utf-8")]);
            for (name, value) in more {
                all.insert(*name, HeaderValue::from_static(value));
            }
            is_compressible(&compressor, StatusCode::from_u16(code).unwrap(), &all)
        };
        for code in [200, 201, 203, 403, 404, 500] {
            assert!(is_compressible(code, &[]), "{code}");
        }
        for code in [101, 204, 206, 304] {
            assert!(!is_compressible(code, &[]), "{code}");
        }
        assert!(is_compressible(200, &[("cache-control", "no-cache, public")]));
        for (name, value) in [
            ("content-type", "image/png"),
            ("content-type", "nonsense"),
            ("content-encoding", "gzip"),
            ("content-encoding", "identity"),
            ("content-range", "bytes 0-1/5000"),
            ("cache-control", "no-transform"),
            ("cache-control", "public,No-Transform , max-age=5"),
            ("content-digest", "sha-256=:AAAA:"),
            ("repr-digest", "sha-256=:AAAA:"),
            ("content-md5", "AAAA"),
        ] {
            assert!(!is_compressible(200, &[(name, value)]), "{name}: {value}");
        }
        assert!(!super::is_compressible(&compressor, StatusCode::OK, &HeaderMap::new()));
    }

    #[test]
    fn what_has_no_body_or_a_part_stands_for_what_would_be_compressed() {
        let compressor = compressor();
        let stands = |code: u16, lines: &[(&'static str, &'static str)]| {
            let status = StatusCode::from_u16(code).unwrap();
            stands_for_compressible(&compressor, status, &fields(lines))
        };
        for code in [206, 304] {
            assert!(stands(code, &[("content-type", "text/html")]), "{code}");
            assert!(!stands(code, &[("content-type", "image/png")]), "{code}");
            assert!(!stands(code, &[("content-encoding", "gzip")]), "{code}");
            assert!(!stands(code, &[("cache-control", "no-transform")]), "{code}");
        }
        assert!(stands(304, &[("etag", "\"a\"")]), "of a type that is not told");
        assert!(!stands(200, &[("content-type", "text/html")]));
        assert!(!stands(204, &[]));
    }

    #[test]
    fn a_route_that_tells_of_the_coding_itself_has_nothing_compressed() {
        let edits = |set: &[(&'static str, &'static str)], remove: &[&'static str]| FieldEdits {
            set: set
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
                .collect(),
            remove: remove.iter().map(|name| name.parse().unwrap()).collect(),
        };
        assert!(is_allowed(&edits(&[("cache-control", "no-store"), ("x-a", "1")], &["etag"])));
        for name in ["vary", "content-encoding"] {
            assert!(!is_allowed(&edits(&[(name, "cookie")], &[])), "{name}");
            assert!(!is_allowed(&edits(&[], &[name])), "{name}");
        }
        assert!(!is_allowed(&edits(&[("cache-control", "private, no-transform")], &[])));
    }

    #[test]
    fn the_fields_are_those_of_the_compressed_answer() {
        let mut all = fields(&[
            ("content-length", "5000"),
            ("accept-ranges", "bytes"),
            ("etag", "\"a\""),
            ("vary", "Cookie"),
            ("x-other", "stays"),
        ]);
        assert_eq!(announced(&all), Some(5000));
        vary(&mut all);
        vary(&mut all);
        mark(&mut all, Coding::Brotli);
        let expected = fields(&[
            ("etag", "W/\"a\""),
            ("vary", "Cookie"),
            ("vary", "accept-encoding"),
            ("x-other", "stays"),
            ("content-encoding", "br"),
        ]);
        assert_eq!(all, expected);
        for told in ["*", "cookie, Accept-Encoding"] {
            let mut all = fields(&[("vary", told), ("etag", "W/\"a\"")]);
            vary(&mut all);
            mark(&mut all, Coding::Gzip);
            assert_eq!(all.get_all("vary").iter().count(), 1, "{told}");
            assert_eq!(all["etag"], "W/\"a\"");
        }
    }
}
