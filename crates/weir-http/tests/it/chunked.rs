//! Properties of the chunked coding: pieces change nothing, what is written reads back, and a strict
//! reader accepts nothing that a lenient one reads otherwise.

use std::cell::{Cell, RefCell};

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use weir_http::h1::chunked::{ChunkedBody, ChunkedDecoder, Piece, Source};

/// What came of bytes, cut at `cuts`: the data; whether and where the body ended, or that it is none.
fn read(
    mut reader: ChunkedDecoder,
    bytes: &[u8],
    cuts: &[usize],
) -> (Option<(Vec<u8>, usize)>, bool, ChunkedDecoder) {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let (mut data, mut at) = (Vec::new(), 0);
    for end in ends {
        while at < end {
            match reader.decode(&bytes[at..end]) {
                Piece::Data { skip, data: count } => {
                    assert!(skip + count > 0, "stands still");
                    data.extend_from_slice(&bytes[at + skip..at + skip + count]);
                    at += skip + count;
                }
                Piece::End(used) => return (Some((data, at + used)), false, reader),
                Piece::Malformed => return (None, true, reader),
            }
        }
    }
    (None, false, reader)
}

/// Pieces of bodies: joined at random they often make a valid one, or nearly.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "1\r\na\r\n",
        "3\r\nabc\r\n",
        "0\r\n",
        "\r\n",
        "\n",
        "\r",
        "A: b\r\n",
        " ",
        "\t",
        ";",
        "a",
        "=",
        "\"",
        "\\",
        "1",
        "0",
        "f",
        ":",
        "\0",
        "1;a=\"b\"\r\na\r\n",
        "0\r\n\r\n",
    ]);
    let piece = prop_oneof![
        12 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn pieces_change_nothing_and_strict_is_part_of_lenient(
        bytes in bodies(), cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let (strict, strictly_bad, reader) = read(ChunkedDecoder::strict(), &bytes, &[]);
        let (lenient, leniently_bad, _) = read(ChunkedDecoder::lenient(), &bytes, &[]);
        let pieces = read(ChunkedDecoder::strict(), &bytes, &cuts);
        prop_assert_eq!((&pieces.0, pieces.1), (&strict, strictly_bad));
        prop_assert_eq!(pieces.2.trailers(), reader.trailers());
        let pieces = read(ChunkedDecoder::lenient(), &bytes, &cuts);
        prop_assert_eq!((&pieces.0, pieces.1), (&lenient, leniently_bad));
        prop_assert_eq!(reader.trailers().is_some(), strict.is_some());
        prop_assert!(!leniently_bad || strictly_bad);
        if strict.is_some() {
            prop_assert_eq!(strict, lenient);
        }
    }

    #[test]
    fn what_is_written_reads_back(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
        fields in prop::collection::vec(("x-[a-z]{1,5}", "([!-~]([ -~]{0,10}[!-~])?)?"), 0..4),
        steps in prop::collection::vec((any::<bool>(), 1..30_usize, any::<usize>()), 1..60),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
        rest in prop::collection::vec(any::<u8>(), 0..5),
    ) {
        let mut trailers = HeaderMap::new();
        for (name, value) in &fields {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            trailers.append(name, HeaderValue::from_str(value).unwrap());
        }
        let arriving = Arriving { trailers: trailers.clone(), ..Arriving::default() };
        let mut body = ChunkedBody::new(&arriving);
        let mut coming = pieces.iter();
        let (mut out, mut extent) = (Vec::new(), None);
        // More arrives, or the client takes a part of what it is given.
        for (arrives, room, taken) in steps.into_iter().cycle().take(4000) {
            if arrives {
                match coming.next() {
                    Some(piece) => arriving.data.borrow_mut().extend_from_slice(piece),
                    None => arriving.all.set(true),
                }
                continue;
            }
            let mut space = vec![0; room];
            let count = body.read(out.len() as u64, &mut space);
            let (known, all) = body.extent();
            prop_assert!(known >= (out.len() + count) as u64);
            if all {
                prop_assert_eq!(*extent.get_or_insert(known), known);
                if known == out.len() as u64 {
                    break;
                }
            }
            prop_assert!(body.needs(out.len() as u64) <= arriving.data.borrow().len() as u64);
            out.extend_from_slice(&space[..count.min(1 + taken % room)]);
        }
        let length = out.len();
        prop_assume!(extent == Some(length as u64));
        out.extend_from_slice(&rest);
        let (whole, _, reader) = read(ChunkedDecoder::strict(), &out, &cuts);
        prop_assert_eq!(whole, Some((pieces.concat(), length)));
        prop_assert_eq!(reader.trailers(), Some(trailers));
    }
}

/// A body that arrives in pieces.
#[derive(Default)]
struct Arriving {
    data: RefCell<Vec<u8>>,
    all: Cell<bool>,
    trailers: HeaderMap,
}

impl Source for &Arriving {
    fn extent(&self) -> (u64, bool) {
        (self.data.borrow().len() as u64, self.all.get())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> usize {
        let data = self.data.borrow();
        let rest = &data[offset as usize..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        count
    }

    fn trailers(&self) -> Option<HeaderMap> {
        Some(self.trailers.clone())
    }
}
