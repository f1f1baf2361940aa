//! What is written reads back.

use proptest::prelude::*;

use super::*;

fn any_requests() -> impl Strategy<Value = Vec<Request>> {
    let path = prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| safe_path(&bytes));
    let gap = prop_oneof![Just(0.0), 0.0f64..1e-6, 0.0f64..1e4];
    let request = (gap, any::<u32>(), any::<u16>(), path, any::<Option<u64>>());
    prop::collection::vec(request, 1..50).prop_map(|requests| {
        let mut now = 0.0;
        let request = |(gap, client, class, path, size): (f64, _, _, String, _)| {
            now += gap;
            Request { at: now, client, class, path: path.into(), size }
        };
        requests.into_iter().map(request).collect()
    })
}

proptest! {
    #[test]
    fn csv_reads_back_equal(requests in any_requests()) {
        let mut csv = CsvWriter::new(Vec::new()).unwrap();
        for request in &requests {
            csv.write(request).unwrap();
        }
        let csv = csv.finish().unwrap();
        prop_assert_eq!(Format::detect(&csv).unwrap(), Format::Csv);
        prop_assert_eq!(read(csv, Options::default()).unwrap(), requests);
    }

    #[test]
    fn safe_paths_stay_as_they_are(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let safe = safe_path(&bytes);
        prop_assert!(safe.starts_with('/'));
        prop_assert!(safe.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'));
        prop_assert_eq!(safe_path(safe.as_bytes()), safe);
    }

    #[test]
    fn world_cup_98_keeps_what_it_can(requests in any_requests()) {
        let mut log = Vec::new();
        let written = wc98::write(requests.clone(), 893_971_817, &mut log).unwrap();
        prop_assert_eq!((written, log.len()), (requests.len() as u64, requests.len() * wc98::RECORD));
        let options = Options { format: Some(Format::Wc98), spread: Spread::None, ..Options::default() };
        let back = read(&log, options).unwrap();
        let first = requests[0].at.floor();
        for (before, after) in requests.iter().zip(&back) {
            prop_assert_eq!(before.at.floor() - first, after.at);
            prop_assert_eq!(before.client, after.client);
            prop_assert_eq!(before.size.filter(|&size| size < 0xffff_ffff), after.size);
        }
        let distinct = |requests: &[Request]| {
            requests.iter().map(|r| r.path.clone()).collect::<std::collections::HashSet<_>>().len()
        };
        prop_assert_eq!(distinct(&requests), distinct(&back));
    }
}

#[test]
fn a_time_beyond_the_format_is_an_error() {
    let late = Request { at: 4e9, client: 0, class: 0, path: "/".into(), size: None };
    let error = wc98::write([late], 893_971_817, Vec::new()).unwrap_err();
    assert!(error.to_string().contains("does not fit"), "{error}");
}
