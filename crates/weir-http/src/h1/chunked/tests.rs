//! Worked cases of the chunked coding, read and written.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{ChunkedBody, ChunkedDecoder, MAX_EXTENSIONS, MAX_TRAILERS, Piece, Source};

/// What came of a body: its data and the bytes the coding took, or whether it is none.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    Whole(Vec<u8>, usize),
    Cut,
    Malformed,
}

/// Feeds `text` to a reader, `step` bytes at a time.
fn read(mut chunked: ChunkedDecoder, text: &[u8], step: usize) -> (Read, ChunkedDecoder) {
    let mut out = Vec::new();
    let mut used = 0;
    for part in text.chunks(step) {
        let mut part = part;
        while !part.is_empty() {
            match chunked.decode(part) {
                Piece::Data { skip, data } => {
                    out.extend_from_slice(&part[skip..skip + data]);
                    used += skip + data;
                    part = &part[skip + data..];
                }
                Piece::End(count) => return (Read::Whole(out, used + count), chunked),
                Piece::Malformed => return (Read::Malformed, chunked),
            }
        }
    }
    (Read::Cut, chunked)
}

fn strict(text: &str) -> Read {
    read(ChunkedDecoder::strict(), text.as_bytes(), 64).0
}

fn lenient(text: &str) -> Read {
    read(ChunkedDecoder::lenient(), text.as_bytes(), 64).0
}

fn is_whole(read: &Read) -> bool {
    matches!(read, Read::Whole(..))
}

#[test]
fn the_same_in_any_pieces() {
    let text =
        b"5\r\nhello\r\n1a;name=x\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer-A: 1\r\n\r\nrest";
    for reader in [ChunkedDecoder::strict(), ChunkedDecoder::lenient()] {
        for step in 1..=text.len() {
            let (whole, chunked) = read(reader.clone(), text, step);
            let data = b"helloabcdefghijklmnopqrstuvwxyz".to_vec();
            assert_eq!(whole, Read::Whole(data, text.len() - 4), "in pieces of {step}");
            let trailers = chunked.trailers();
            assert_eq!(trailers.map(|fields| fields["trailer-a"].clone()).is_some(), reader.strict);
        }
    }
}

#[test]
fn what_is_not_the_coding_is_said() {
    for text in ["x\r\n", "\r\n", "5\r\nhelloX", "11111111111111111\r\n", "1\rX", ";\r\n", "-1\r\n"]
    {
        assert_eq!(strict(text), Read::Malformed, "{text:?}");
        assert_eq!(lenient(text), Read::Malformed, "{text:?}");
    }
    for text in ["", "5", "5\r\nhel", "5\r\nhello\r\n", "0\r\n", "0\r\nA: b\r\n", "0\r\n\r"] {
        assert_eq!(strict(text), Read::Cut, "{text:?}");
        assert_eq!(lenient(text), Read::Cut, "{text:?}");
    }
}

#[test]
fn what_two_readers_could_understand_differently_is_refused() {
    let end = "0\r\n\r\n";
    for text in [
        "1\na\r\n0\r\n\r\n",
        "1\r\na\n0\r\n\r\n",
        "1\r\na\r\n0\n\r\n",
        "1\r\na\r\n0\r\n\n",
        "1 \r\na\r\n0\r\n\r\n",
        "1\t\r\na\r\n0\r\n\r\n",
        "1 ;a\r\na\r\n0\r\n\r\n",
        "1; a\r\na\r\n0\r\n\r\n",
        "1;a =b\r\na\r\n0\r\n\r\n",
        "1;\r\na\r\n0\r\n\r\n",
        "1;a=\r\na\r\n0\r\n\r\n",
        "1;;a\r\na\r\n0\r\n\r\n",
        "1;a=\"b\r\na\r\n0\r\n\r\n",
        "1;a=\"b\"c\r\na\r\n0\r\n\r\n",
        "1;a=\"\x01\"\r\na\r\n0\r\n\r\n",
        "1;a=b\0\r\na\r\n0\r\n\r\n",
        "1;a(b\r\na\r\n0\r\n\r\n",
        "0\r\nA: b\r\n c\r\n\r\n",
        "0\r\nA: b\r\n\tc\r\n\r\n",
        "0\r\n A: b\r\n\r\n",
        "0\r\nA: b\n\r\n",
        "0\r\nA: b\n\n",
        "0\r\nA : b\r\n\r\n",
        "0\r\nA\r\n\r\n",
        "0\r\n: b\r\n\r\n",
        "0\r\nA: \0\r\n\r\n",
        "0\r\nA: \x7f\r\n\r\n",
        "0\r\nGET / HTTP/1.1\r\n\r\n",
    ] {
        assert_eq!(strict(text), Read::Malformed, "{text:?}");
        assert!(is_whole(&lenient(text)), "{text:?}");
    }
    for text in [
        " 1\r\na\r\n",
        "+1\r\na\r\n",
        "0x1\r\na\r\n",
        "1\r\r\na\r\n",
        "\r\n1\r\na\r\n",
        "1\r\nab\r\n",
        "00000000000000001\r\na\r\n",
        "0\r\nA: b\rc\r\n\r\n",
        "1;a\rb\r\na\r\n",
        "1;a\nX\r\na\r\n",
    ] {
        assert_eq!(strict(&format!("{text}{end}")), Read::Malformed, "{text:?}");
    }
}

#[test]
fn what_the_grammar_has_is_taken() {
    for text in [
        "1\r\na\r\n0\r\n\r\n",
        "0000000000000001\r\na\r\n000\r\n\r\n",
        "1;a\r\na\r\n0;b=c;d=\"e; \\\" f\t\";g\r\n\r\n",
        "0\r\nA:b\r\nC: \r\nD:\t d \r\n\r\n",
    ] {
        assert!(is_whole(&strict(text)), "{text:?}");
        assert_eq!(strict(text), lenient(text), "{text:?}");
    }
    assert_eq!(strict("ffffffffffffffff\r\n"), Read::Cut);
}

#[test]
fn once_malformed_it_stays_so_and_after_the_end_nothing_is_taken() {
    for mut reader in [ChunkedDecoder::strict(), ChunkedDecoder::lenient()] {
        assert_eq!(reader.decode(b"0\r\n\r\nX"), Piece::End(5));
        assert_eq!((reader.decode(b"5\r\n"), reader.decode(b"")), (Piece::End(0), Piece::End(0)));
    }
    for mut reader in [ChunkedDecoder::strict(), ChunkedDecoder::lenient()] {
        assert_eq!(reader.decode(b"x"), Piece::Malformed);
        assert_eq!(reader.decode(b"0\r\n\r\n"), Piece::Malformed);
        assert_eq!((reader.decode(b""), reader.trailers()), (Piece::Malformed, None));
    }
}

#[test]
fn trailers_have_a_bound() {
    let most = MAX_TRAILERS - "a: \r\n".len();
    let text = |length| format!("0\r\na: {}\r\n\r\n", "b".repeat(length));
    assert!(is_whole(&strict(&text(most))));
    assert_eq!(strict(&text(most + 1)), Read::Malformed);
    let lines = |count| format!("0\r\n{}\r\n", "a: b\r\n".repeat(count));
    assert!(is_whole(&strict(&lines(128))));
    assert_eq!(strict(&lines(129)), Read::Malformed);
}

#[test]
fn extensions_have_a_bound_that_data_raise() {
    let most = MAX_EXTENSIONS as usize;
    let text = |length| format!("1;{}\r\na\r\n", "b".repeat(length));
    assert_eq!(strict(&text(most - 1)), Read::Cut);
    assert_eq!(strict(&text(most)), Read::Malformed);
    let chunk = format!("1;{}\r\na\r\n", "b".repeat(9));
    assert_eq!(strict(&chunk.repeat(most / 9 - 10)), Read::Cut);
    assert_eq!(strict(&chunk.repeat(most / 9 + 10)), Read::Malformed);
    let paid = format!("a;{}\r\n0123456789\r\n", "b".repeat(9));
    assert_eq!(strict(&paid.repeat(most)), Read::Cut);
}

#[test]
fn trailers_that_frame_or_route_are_dropped() {
    let (whole, chunked) = read(
        ChunkedDecoder::strict(),
        b"0\r\nContent-Length: 5\r\nX-Sum: 1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nx-sum: 2\r\n\
          Connection: close\r\nX-Forwarded-For: b\r\nIf-Match: *\r\nSet-Cookie: c\r\nContent_Length: 5\r\n\r\n",
        7,
    );
    assert!(is_whole(&whole));
    let trailers = chunked.trailers().unwrap();
    assert_eq!(trailers.len(), 2);
    assert_eq!(trailers.get_all("x-sum").iter().collect::<Vec<_>>(), ["1", "2"]);
}

/// A body of which so much has arrived.
struct Arriving(&'static str, usize, Option<HeaderMap>);

impl Source for Arriving {
    fn extent(&self) -> (u64, bool) {
        (self.1 as u64, self.1 == self.0.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> usize {
        let rest = &self.0.as_bytes()[offset as usize..self.1];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        count
    }

    fn trailers(&self) -> Option<HeaderMap> {
        self.2.clone()
    }
}

#[test]
fn what_is_written() {
    let mut trailers = HeaderMap::new();
    for (name, value) in [("x-sum", "1"), ("content-length", "2"), ("x-sum", "3")] {
        trailers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let written = |text, trailers| {
        let mut out = [0; 100];
        let mut body = ChunkedBody::new(Arriving(text, text.len(), trailers));
        let count = body.read(0, &mut out);
        assert_eq!(body.extent(), (count as u64, true));
        assert_eq!(body.read(count as u64, &mut out), 0);
        String::from_utf8(out[..count].to_vec()).unwrap()
    };
    assert_eq!(
        written("0123456789abcdef", Some(trailers)),
        "10\r\n0123456789abcdef\r\n0\r\nx-sum: 1\r\nx-sum: 3\r\n\r\n"
    );
    assert_eq!(written("", None), "0\r\n\r\n");
    let mut body = ChunkedBody::new(Arriving("ab", 1, None));
    let mut out = [0; 100];
    assert_eq!((body.read(0, &mut out), &out[..6]), (6, &b"1\r\na\r\n"[..]));
    assert_eq!((body.read(6, &mut out), body.needs(6), body.extent()), (0, 1, (6, false)));
}
