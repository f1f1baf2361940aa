//! Worked cases of the preconditions.

use weir_http::h1::request::{Limits, parse_request};
use weir_http::message::Request;
use weir_http::message::coding::Coding;
use weir_http::message::conditions::{
    ETag, Validators, not_modified, precondition_failed, range_applies,
};

/// Sun, 06 Nov 1994 08:49:37 GMT
const MODIFIED: i64 = 784_111_777;

fn validators() -> Validators {
    Validators { etag: ETag::new(1, 500, 64), modified: Some(MODIFIED) }
}

fn judged<T>(method: &str, fields: &str, judge: impl FnOnce(&Request<'_>) -> T) -> T {
    let text = format!("{method} / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    let Ok(Some((request, _))) = parse_request(text.as_bytes(), &Limits::default()) else {
        unreachable!("not a request: {text}");
    };
    judge(&request)
}

fn ask(method: &str, fields: &str) -> (bool, bool) {
    let validators = validators();
    judged(method, fields, |request| {
        (not_modified(request, &validators), range_applies(request, &validators))
    })
}

fn is_not_modified(fields: &str) -> bool {
    ask("GET", fields).0
}

fn applies(fields: &str) -> bool {
    ask("GET", fields).1
}

/// Whether the answer is 412, of a representation with both validators, with a tag alone, with none.
fn fails(fields: &str) -> [bool; 3] {
    let both = validators();
    let tag_alone = Validators { modified: None, ..both };
    [Some(&both), Some(&tag_alone), None]
        .map(|validators| judged("GET", fields, |request| precondition_failed(request, validators)))
}

#[test]
fn tags_are_short_and_distinct() {
    assert_eq!(ETag::new(0, 0, 0).as_str(), "\"0.0\"");
    assert_eq!(ETag::new(0, 64, 63).as_str(), "\"10._\"");
    assert_eq!(ETag::new(-1, 999_999_999, u64::MAX).as_str(), "\"F__________.F__________\"");
    assert_eq!(ETag::new(1_700_000_000, 123_456_789, 10_240).as_str().len(), 17);
    assert_ne!(ETag::new(1, 0, 0), ETag::new(0, 1, 0));
    assert_ne!(ETag::new(0, 1, 0), ETag::new(0, 0, 1));
}

#[test]
fn tags_of_hashes_are_short_and_tell_every_bit() {
    assert_eq!(ETag::from_hash([0; 12]).as_str(), "\"0000000000000000\"");
    assert_eq!(ETag::from_hash([255; 12]).as_str(), "\"________________\"");
    let mut tags = vec![ETag::from_hash([0; 12])];
    for bit in 0..96 {
        let mut hash = [0; 12];
        hash[bit / 8] = 1 << (bit % 8);
        let tag = ETag::from_hash(hash);
        assert!(tag.as_str().len() == 18 && !tags.contains(&tag), "bit {bit}: {tag:?}");
        tags.push(tag);
    }
}

#[test]
fn if_match_compares_strongly_over_a_list() {
    let tag = validators().etag;
    let tag = tag.as_str();
    assert_eq!(fails(""), [false; 3]);
    assert_eq!(fails(&format!("If-Match: {tag}\r\n")), [false, false, true]);
    assert_eq!(fails(&format!("If-Match: \"a,b\", W/\"c\" , ,{tag}\r\n")), [false, false, true]);
    assert_eq!(fails(&format!("If-Match: W/{tag}\r\n")), [true; 3]);
    assert_eq!(fails(&format!("If-Match: W/{tag}, {tag}\r\n")), [false, false, true]);
    assert_eq!(fails("If-Match: \"other\"\r\n"), [true; 3]);
    assert_eq!(fails("If-Match:\r\n"), [true; 3]);
    assert_eq!(fails(&format!("If-Match: junk, {tag}\r\n")), [true; 3]);
    assert_eq!(fails(&format!("If-Match: {}\r\n", tag.trim_matches('"'))), [true; 3]);
    // Several lines are one list.
    let lines = |values: [&str; 3]| values.map(|value| format!("If-Match: {value}\r\n")).concat();
    for values in [[tag, "\"a\"", "\"b\""], ["\"a\"", "", tag], ["W/\"a\",", ",", tag]] {
        assert_eq!(fails(&lines(values)), [false, false, true], "{values:?}");
    }
    for values in [["\"a\"", "\"b\"", "\"c\""], ["junk", tag, tag], ["*", "*", tag], ["", "", ""]] {
        assert_eq!(fails(&lines(values)), [true; 3], "{values:?}");
    }
    // What exists matches, whatever is known of it.
    assert_eq!(fails("If-Match: *\r\n"), [false; 3]);
}

#[test]
fn if_unmodified_since_is_not_before_the_modification() {
    let since = |date: &str| fails(&format!("If-Unmodified-Since: {date}\r\n"));
    assert_eq!(since("Sun, 06 Nov 1994 08:49:37 GMT"), [false; 3]);
    assert_eq!(since("Sun, 06 Nov 1994 08:49:38 GMT"), [false; 3]);
    assert_eq!(since("Sun, 06 Nov 1994 08:49:36 GMT"), [true, false, false]);
    assert_eq!(since("Sunday, 06-Nov-94 08:49:36 GMT"), [true, false, false]);
    assert_eq!(since("yesterday"), [false; 3]);
    let early = "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n";
    assert_eq!(fails(&format!("{early}{early}")), [false; 3]);
    // `If-Match` hides it, whichever comes first.
    let tag = validators().etag;
    let tag = tag.as_str();
    assert_eq!(fails(&format!("{early}If-Match: {tag}\r\n")), [false, false, true]);
    assert_eq!(fails(&format!("If-Match: *\r\n{early}")), [false; 3]);
}

#[test]
fn if_none_match_compares_weakly_over_a_list() {
    let tag = validators().etag;
    let tag = tag.as_str();
    assert!(is_not_modified(&format!("If-None-Match: {tag}\r\n")));
    assert!(is_not_modified(&format!("If-None-Match: W/{tag}\r\n")));
    assert!(is_not_modified(&format!("If-None-Match: \"a,b\", W/\"\" , ,{tag}\r\n")));
    assert!(is_not_modified("If-None-Match: *\r\n"));
    assert!(!is_not_modified("If-None-Match: \"other\"\r\n"));
    assert!(!is_not_modified(&format!("If-None-Match: {}\r\n", tag.trim_matches('"'))));
    assert!(!is_not_modified(&format!("If-None-Match: junk {tag}\r\n")));
    assert!(!is_not_modified("If-None-Match:\r\n"));
    let first = "If-None-Match: \"other\"\r\n";
    assert!(is_not_modified(&format!("{first}If-None-Match: W/{tag}\r\n")));
    assert!(!is_not_modified(&format!("{first}If-None-Match: \"more\"\r\n")));
    assert!(!ask("PUT", "If-None-Match: *\r\n").0);
    assert!(ask("HEAD", "If-None-Match: *\r\n").0);
}

#[test]
fn if_modified_since_is_not_before_the_modification() {
    assert!(is_not_modified("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
    assert!(is_not_modified("If-Modified-Since: Sun, 06 Nov 1994 08:49:38 GMT\r\n"));
    assert!(!is_not_modified("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n"));
    assert!(!is_not_modified("If-Modified-Since: yesterday\r\n"));
    assert!(!is_not_modified(""));
}

#[test]
fn if_none_match_wins_over_if_modified_since() {
    let date = "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    assert!(!is_not_modified(&format!("If-None-Match: \"other\"\r\n{date}")));
    assert!(!is_not_modified(&format!("If-None-Match: *\r\nIf-None-Match: *\r\n{date}")));
    assert!(!is_not_modified(&format!("{date}{date}")));
}

#[test]
fn if_range_compares_strongly_or_by_the_exact_date() {
    let tag = validators().etag;
    let tag = tag.as_str();
    assert!(applies(""));
    assert!(applies(&format!("If-Range: {tag}\r\n")));
    assert!(!applies(&format!("If-Range: W/{tag}\r\n")));
    assert!(!applies("If-Range: \"other\"\r\n"));
    assert!(!applies("If-Range: *\r\n"));
    assert!(applies("If-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
    assert!(!applies("If-Range: Sun, 06 Nov 1994 08:49:38 GMT\r\n"));
    assert!(!applies("If-Range: junk\r\n"));
}

#[test]
fn a_weak_tag_is_good_for_caches_and_not_for_ranges() {
    let longest = ETag::new(-1, 999_999_999, u64::MAX);
    assert_eq!(longest.weak_in(Coding::Gzip).as_str(), "W/\"F__________.F__________-g\"");
    for strong in [longest, ETag::from_hash([7; 12])] {
        let [weak, ..] = Coding::ALL.map(|coding| strong.weak_in(coding));
        assert!(weak.is_weak() && !strong.is_weak() && weak != strong);
        let validators = Validators { etag: weak, modified: None };
        // None is good for another coding, nor for the content as it is.
        for other in [strong, strong.weak_in(Coding::Gzip), strong.weak_in(Coding::Brotli)] {
            let names_other = format!("If-None-Match: {}\r\n", other.as_str());
            let matches = |request: &Request<'_>| not_modified(request, &validators);
            assert!(!judged("GET", &names_other, matches), "{other:?}");
        }
        for tag in [weak.as_str(), weak.as_str().trim_start_matches("W/")] {
            let text = format!(
                "GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: {tag}\r\nIf-Range: {tag}\r\n\r\n"
            );
            let Ok(Some((request, _))) = parse_request(text.as_bytes(), &Limits::default()) else {
                unreachable!("not a request: {text}");
            };
            assert!(not_modified(&request, &validators), "{tag}");
            assert!(!range_applies(&request, &validators), "{tag}");
            let fails = |request: &Request<'_>| precondition_failed(request, Some(&validators));
            assert!(judged("GET", &format!("If-Match: {tag}\r\n"), fails), "{tag}");
        }
    }
}

#[test]
fn without_a_modification_time_no_date_matches() {
    let validators = Validators { modified: None, ..validators() };
    judged("GET", "If-Range: junk\r\n", |request| {
        assert!(!range_applies(request, &validators));
        assert!(!not_modified(request, &validators));
    });
}
