//! Compresses the answers of backends for clients that accept it, where the route says so: one that has
//! come whole at once, others as they come. Used by [`super::attempt`] once there is an answer.

use std::future::poll_fn;
use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
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

/// The outcome with a compressed body, if the answer allows that, the client accepts it, and there is not
/// too much to do.
pub(super) async fn compressed(
    compressor: &Compressor,
    proxied: &ProxyRequest<'_, impl Requester>,
    mut outcome: ProxyOutcome,
) -> ProxyOutcome {
    let answer = &mut outcome.answer;
    let AnswerFields::Relayed(relayed) = &mut answer.fields else { return outcome };
    let fields = &mut relayed.received;
    let is_head = proxied.request.method == Method::HEAD;
    let length = if is_head { announced(fields) } else { answer.body_length };
    let is_short = length.is_some_and(|length| length < SHORTEST);
    if is_short || !is_compressible(compressor, answer.status, fields) {
        return outcome;
    }
    vary(fields);
    let accepted = proxied.request.accept_encoding.map(AcceptedCodings::parse);
    let offers = Coding::ALL.map(|coding| (coding, coding.place() as u64));
    let Some(coding) = accepted.and_then(|accepted| accepted.best(offers)) else { return outcome };
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
        Body::File(_) | Body::Pattern => return outcome,
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
    let media = fields.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok());
    !status.is_informational()
        && !is_part
        && media.is_some_and(|media| compressor.covers(media))
        && !fields.contains_key(header::CONTENT_ENCODING)
        && !fields.contains_key(header::CONTENT_RANGE)
        && !DIGESTS.iter().any(|name| fields.contains_key(*name))
        && !has_member(fields, header::CACHE_CONTROL, "no-transform")
}

/// Whether a list has this member.
fn has_member(fields: &HeaderMap, name: header::HeaderName, member: &str) -> bool {
    let values = fields.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    let mut members = values.flat_map(|value| value.split(',')).map(str::trim);
    members.any(|found| found.eq_ignore_ascii_case(member))
}

/// Tells caches that the answer depends on `Accept-Encoding`.
fn vary(fields: &mut HeaderMap) {
    let is_told =
        ["accept-encoding", "*"].iter().any(|name| has_member(fields, header::VARY, name));
    if !is_told {
        fields.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// Changes the fields to those of the compressed answer. Its tag is a weak one, as the backend has given
/// the tag to other bytes; parts are not to be asked for.
fn mark(fields: &mut HeaderMap, coding: Coding) {
    fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    fields.remove(header::CONTENT_LENGTH);
    fields.remove(header::ACCEPT_RANGES);
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
