//! Arbitrary bytes as a body in the chunked coding. The first two bytes choose where it is cut; the
//! cuts must change nothing, and what a strict reader accepts a lenient one must read the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_http::h1::chunked::{ChunkedDecoder, Piece};

#[derive(Debug, PartialEq, Eq)]
enum Read {
    Whole(Vec<u8>, usize),
    Cut,
    Malformed,
}

fn read<'a>(
    mut reader: ChunkedDecoder,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Read, ChunkedDecoder) {
    let (mut data, mut used) = (Vec::new(), 0);
    for mut piece in pieces {
        while !piece.is_empty() {
            match reader.decode(piece) {
                Piece::Data { skip, data: count } => {
                    assert!(skip + count > 0, "stands still");
                    data.extend_from_slice(&piece[skip..skip + count]);
                    used += skip + count;
                    piece = &piece[skip + count..];
                }
                Piece::End(count) => return (Read::Whole(data, used + count), reader),
                Piece::Malformed => return (Read::Malformed, reader),
            }
        }
    }
    (Read::Cut, reader)
}

fuzz_target!(|input: &[u8]| {
    let [cut, step, body @ ..] = input else {
        return;
    };
    let (strict, reader) = read(ChunkedDecoder::strict(), [body]);
    let (lenient, _) = read(ChunkedDecoder::lenient(), [body]);
    assert_eq!(reader.trailers().is_some(), matches!(strict, Read::Whole(..)));
    match strict {
        Read::Whole(..) => assert_eq!(strict, lenient),
        Read::Cut => assert_ne!(lenient, Read::Malformed),
        Read::Malformed => {}
    }
    let (first, second) = body.split_at(usize::from(*cut).min(body.len()));
    let steps = usize::from(*step).max(1);
    for (whole, reader) in
        [(&strict, ChunkedDecoder::strict()), (&lenient, ChunkedDecoder::lenient())]
    {
        assert_eq!(&read(reader.clone(), [first, second]).0, whole);
        assert_eq!(&read(reader, body.chunks(steps)).0, whole);
    }
});
