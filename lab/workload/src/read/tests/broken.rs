//! Damaged files: said with their place, or counted and passed over; and nothing ever panics.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;

use super::*;

fn log(lines: usize) -> Vec<u8> {
    let line = |i: usize| {
        format!(
            "10.0.0.{} - - [10/Oct/2000:13:55:{:02} +0000] \"GET /{i}/{} HTTP/1.1\" 200 {i}\n",
            i % 7,
            i * 60 / lines,
            i * i * 7919 % 1009
        )
    };
    (0..lines).map(line).collect::<String>().into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compression_is_found_by_content() {
    let log = log(500);
    let plain = requests(&log);
    assert_eq!(plain.len(), 500);
    assert_eq!(requests(gzip(&log)), plain);
    assert_eq!(requests(zstd::encode_all(&log[..], 3).unwrap()), plain);
    // A log rotated and concatenated: two members.
    let (first, second) = log.split_at(log.len() / 2);
    assert_eq!(requests([gzip(first), gzip(second)].concat()), plain);
}

#[test]
fn a_truncated_file_says_so_and_what_is_before_can_be_used() {
    let log = log(5000);
    for (packed, name) in [(gzip(&log), "gzip"), (zstd::encode_all(&log[..], 3).unwrap(), "zstd")] {
        let half = &packed[..packed.len() * 2 / 3];
        let said = error(half);
        assert!(said.contains(&format!("the {name} data end early")), "{said}");
        assert!(said.starts_with("line "), "{said}");
        let (kept, counts) = skipping(half, None);
        assert_eq!(counts.bad.get(&Reason::TruncatedFile), Some(&1));
        assert_eq!(counts.bad.len(), 1, "the half line at the end is no bad line: {counts:?}");
        let place: usize = said[5..].split(':').next().unwrap().parse().unwrap();
        assert_eq!(kept.len(), place - 1);
        assert!(kept.len() > 100, "{}", kept.len());
    }
}

#[test]
fn a_corrupt_file_says_so() {
    let log = log(5000);
    let mut packed = gzip(&log);
    let end = packed.len();
    // The checksum at the end: only it can tell.
    packed[end - 6] ^= 0x55;
    let said = error(&packed);
    assert!(said.starts_with("line 5001: the gzip data are corrupt"), "{said}");
    let (kept, counts) = skipping(&packed, None);
    assert_eq!((kept.len(), counts.bad.get(&Reason::CorruptFile)), (5000, Some(&1)));
    let mut packed = zstd::encode_all(&log[..], 3).unwrap();
    packed[7] ^= 0xff;
    assert!(error(&packed).contains("the zstd data are corrupt"), "{}", error(&packed));
    // So damaged that nothing can be read.
    assert!(error(&gzip(&log)[..12]).contains("end early"));
}

#[test]
fn skipped_lines_are_counted_by_reason() {
    let header = "time,client,path,size\n";
    let long = "x".repeat(LONGEST_LINE + 1);
    let csv = format!(
        "{header}0,1,/a,5\n1,1,/b\nnever,1,/c,5\n2,1,{long},5\n3,1,/d,5\n2.5,1,/e,5\n4,1,\"/f,5\n"
    );
    assert_eq!(error(&csv), "line 3: the line has 3 columns; expected 4 as in the header");
    let (kept, counts) = skipping(&csv, None);
    assert_eq!(kept.iter().map(|r| &r.path[..]).collect::<Vec<_>>(), ["/a", "/d"]);
    let bad: Vec<_> = counts.bad.into_iter().collect();
    let once = |reason| (reason, 1);
    assert_eq!(
        bad,
        [
            (Reason::BadField, 2),
            once(Reason::WrongColumns),
            once(Reason::LineTooLong),
            once(Reason::OutOfOrder)
        ]
    );
    assert!(counts.first_bad.unwrap().starts_with("line 3:"));
    for (line, part) in [
        ("-1,1,/,5", "the time is \"-1\"; expected seconds"),
        ("NaN,1,/,5", "the time is"),
        ("1,1,/,x", "the size is \"x\""),
        ("1,ann,/,5", "the client is \"ann\"; expected a number"),
        ("1,4294967296,/,5", "the client is"),
    ] {
        let said = error(format!("{header}0,1,/,1\n{line}\n"));
        assert!(said.starts_with("line 3: ") && said.contains(part), "{said}");
    }
    // A bad first line does not decide that clients are numbers.
    let (kept, _) = skipping(format!("{header}never,7,/,1\n0,ann,/,1\n1,8,/,1\n"), None);
    assert_eq!(kept.iter().map(|r| r.client).collect::<Vec<_>>(), [0, 1]);
    let format = Some(Format::Csv);
    let said = read("time,client,size\n", Options { format, ..Options::default() }).unwrap_err();
    assert!(said.to_string().starts_with("line 1: the header names no column `path`"), "{said}");
}

/// Pieces of which many fit together.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "time,client,path,size\n",
        "ip,date,time,zone,cik,accession,extention,code,size\n",
        "host\tlogname\ttime\tmethod\turl\tresponse\tbytes\n",
        "date,time,size,package,version,country,ip_id,r_os\n",
        "2012-10-06,",
        "00:14:24,",
        "10.0.0.1",
        " - - ",
        "[10/Oct/2000:13:55:36 -0700]",
        " \"GET /a",
        "\\x4",
        "\\\"",
        " HTTP/1.0\"",
        " 200 ",
        "-",
        "\n",
        "\t",
        ",",
        "\"",
        "1",
        ".5",
        "99999999999999999999",
        "/",
        "%",
        "\r\n",
        "\u{feff}",
        "ä",
    ];
    let piece = prop_oneof![
        8 => prop::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..24),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// No bytes make any reader panic; what comes out is in order, with safe paths.
    #[test]
    fn no_reader_panics(
        bytes in prop_oneof![soup(), prop::collection::vec(any::<u8>(), 0..400)],
        format in prop::option::of(prop::sample::select(Format::NAMES.to_vec())),
        packed in 0..3,
        skip_bad in any::<bool>(),
        reorder in prop_oneof![Just(0.0), 0.0f64..1e9],
    ) {
        let bytes = match packed {
            1 => gzip(&bytes),
            2 => zstd::encode_all(&bytes[..], 1).unwrap(),
            _ => bytes,
        };
        let format = format.map(|name| name.parse().unwrap());
        let options = Options { format, skip_bad, reorder, ..Options::default() };
        let _ = curve::read(Cursor::new(bytes.clone()));
        let _ = SizeBuckets::read(Cursor::new(bytes.clone()));
        let Ok(trace) = Trace::new(Cursor::new(bytes), options) else { return Ok(()) };
        let mut last = 0.0;
        let mut failed = false;
        for request in trace {
            prop_assert!(!failed, "something follows an error");
            let Ok(request) = request else { failed = true; continue };
            prop_assert!(request.at >= last, "{} after {last}", request.at);
            last = request.at;
            prop_assert!(request.path.starts_with('/'));
            prop_assert!(request.path.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
