//! Responses whole, in pieces, and of any bytes.

use proptest::prelude::*;

use super::*;

const BODY: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

/// What became of `text`, cut at `cuts`, when the server then closes; and the body bytes.
fn fed(size: Option<u64>, text: &[u8], cuts: &[usize]) -> (Outcome, bool, u64) {
    let body = Body::Prefix(BODY.into());
    let mut response = Response::new(size);
    let mut from = 0;
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    ends.push(text.len());
    ends.sort_unstable();
    for end in ends {
        if let Progress::Done(ending) = response.take(&text[from..end], &body) {
            // Whether bytes follow the end is not known before they have come.
            let reusable = ending.reusable && end == text.len();
            // Of wrong bytes those that came with the first one are counted too.
            let right = ending.outcome != Outcome::Wrong;
            return (ending.outcome, reusable, if right { response.body_bytes() } else { 0 });
        }
        from = end;
    }
    (response.closed(), false, response.body_bytes())
}

fn whole(size: Option<u64>, text: &str) -> (Outcome, bool) {
    let (outcome, reusable, _) = fed(size, text.as_bytes(), &[]);
    (outcome, reusable)
}

/// Responses of every kind, right and wrong, for a body of 5 bytes.
const SAMPLES: [(&str, Outcome, bool); 28] = [
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", Outcome::Ok, true),
    ("HTTP/1.1 200 OK\nContent-Length: 5\n\nabcde", Outcome::Ok, true),
    (
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nConnection: x, Close\r\n\r\nabcde",
        Outcome::Ok,
        false,
    ),
    ("HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nabcde", Outcome::Ok, false),
    (
        "HTTP/1.0 200 OK\r\ncontent-length: 5\r\nconnection: keep-alive\r\n\r\nabcde",
        Outcome::Ok,
        true,
    ),
    ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcdeX", Outcome::Ok, false),
    (
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde",
        Outcome::Ok,
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n",
        Outcome::Ok,
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\ncontent-length: 9\r\n\r\n5\r\nabcde\r\n0\r\na: b\r\n\r\n",
        Outcome::Ok,
        true,
    ),
    ("HTTP/1.1 200 OK\r\n\r\nabcde", Outcome::Ok, false),
    ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\nabcde", Outcome::Ok, true),
    ("HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\n\r\nno!", Outcome::Status, true),
    ("HTTP/1.1 503 Busy\r\n\r\nlater", Outcome::Status, false),
    ("HTTP/1.1 204 No Content\r\n\r\n", Outcome::Status, true),
    ("HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", Outcome::Status, true),
    ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcd", Outcome::Wrong, false),
    ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", Outcome::Wrong, false),
    ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabXde", Outcome::Wrong, false),
    (
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n",
        Outcome::Wrong,
        false,
    ),
    (
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n",
        Outcome::Wrong,
        false,
    ),
    ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz", Outcome::Wrong, false),
    ("HTTP/1.1 200 OK\r\n\r\nabcdef", Outcome::Wrong, false),
    (
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcde",
        Outcome::Wrong,
        false,
    ),
    ("HTTP/1.1 101 Switching Protocols\r\n\r\n", Outcome::Wrong, false),
    ("SSH-2.0-OpenSSH\r\n\r\n", Outcome::Wrong, false),
    ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcd", Outcome::Short, false),
    ("HTTP/1.1 200 OK\r\n\r\nabcd", Outcome::Short, false),
    ("HTTP/1.1 200 OK\r\ncontent-len", Outcome::Short, false),
];

#[test]
fn each_kind_of_response_has_its_outcome() {
    for (text, outcome, reusable) in SAMPLES {
        assert_eq!(whole(Some(5), text), (outcome, reusable), "{text:?}");
    }
    assert_eq!(whole(Some(5), ""), (Outcome::Short, false));
}

#[test]
fn without_a_size_any_length_is_right() {
    let (outcome, _, bytes) = fed(None, b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc", &[]);
    assert_eq!((outcome, bytes), (Outcome::Ok, 3));
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n";
    assert_eq!(whole(None, chunked).0, Outcome::Short);
}

#[test]
fn what_is_longer_than_the_known_bytes_is_compared_as_far_as_they_go() {
    let text = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 30\r\n\r\n{}????",
        std::str::from_utf8(BODY).expect("letters")
    );
    assert_eq!(whole(Some(30), &text).0, Outcome::Ok);
}

#[test]
fn a_head_without_end_is_wrong() {
    let mut text = b"HTTP/1.1 200 OK\r\n".to_vec();
    text.extend(b"a: b\r\n".repeat(LONGEST_HEAD));
    assert_eq!(fed(Some(5), &text, &[]).0, Outcome::Wrong);
    assert_eq!(fed(Some(5), &text, &[100, 40_000]).0, Outcome::Wrong);
}

#[test]
fn a_connection_carries_one_response_after_the_other() {
    let mut response = Response::new(Some(5));
    for size in [5, 3, 5] {
        response.reset(Some(size));
        let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n\r\n");
        assert_eq!(response.take(&text.as_bytes()[..9], &Body::Any), Progress::More);
        assert_eq!(response.take(&text.as_bytes()[9..], &Body::Any), Progress::More);
        let rest = &BODY[..size as usize];
        let ending = Ending { outcome: Outcome::Ok, reusable: true };
        assert_eq!(response.take(rest, &Body::Any), Progress::Done(ending));
        assert_eq!((response.head_bytes(), response.body_bytes()), (text.len() as u64, size));
    }
}

#[test]
fn a_request_names_its_path_and_whether_it_is_the_last() {
    let template = Template::new("a:1", "Accept: */*\r\n");
    let mut out = vec![1];
    template.write(&mut out, "/x", false);
    assert_eq!(out, b"GET /x HTTP/1.1\r\nHost: a:1\r\nAccept: */*\r\n\r\n");
    template.write(&mut out, "/y?z", true);
    let last = b"GET /y?z HTTP/1.1\r\nHost: a:1\r\nAccept: */*\r\nConnection: close\r\n\r\n";
    assert_eq!(out, last);
}

proptest! {
    #[test]
    fn where_a_response_is_cut_makes_no_difference(
        which in 0..SAMPLES.len(),
        cuts in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let text = SAMPLES[which].0.as_bytes();
        prop_assert_eq!(fed(Some(5), text, &cuts), fed(Some(5), text, &[]));
    }

    #[test]
    fn any_bytes_have_some_outcome_wherever_they_are_cut(
        which in 0..SAMPLES.len(),
        keep in any::<usize>(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        cuts in prop::collection::vec(any::<usize>(), 0..20),
        size in prop::option::of(0_u64..40),
    ) {
        let sample = SAMPLES[which].0.as_bytes();
        let mut text = sample[..keep % (sample.len() + 1)].to_vec();
        text.extend_from_slice(&bytes);
        prop_assert_eq!(fed(size, &text, &cuts), fed(size, &text, &[]));
    }
}
