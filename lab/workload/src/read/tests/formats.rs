//! The other formats, each on the first lines of a real log, and detection.

use super::*;

const EDGAR: &[u8] = include_bytes!("../fixtures/edgar.csv");
const CRAN: &[u8] = include_bytes!("../fixtures/cran.csv");
const NASA: &[u8] = include_bytes!("../fixtures/nasa.tsv");
const MINUTES: &[u8] = include_bytes!("../fixtures/minutes.csv");
const CDN: &[u8] = include_bytes!("../fixtures/cdn.json");

#[test]
fn edgar() {
    let requests = requests(EDGAR);
    assert_eq!(Format::detect(EDGAR).unwrap(), Format::Edgar);
    assert_eq!((requests.len(), requests[0].size), (20, Some(80_251)));
    let path = "/Archives/edgar/data/1608552/0001047469-17-004337-index.htm";
    assert_eq!(&requests[0].path[..], path);
    let path = "/Archives/edgar/data/725363/0001236031-06-000018/primary_doc.xml";
    assert_eq!(&requests[19].path[..], path);
    assert_eq!([0, 1, 2, 19].map(|i| requests[i].client), [0, 1, 1, 2]);
}

#[test]
fn cran() {
    let requests = requests(CRAN);
    assert_eq!(Format::detect(CRAN).unwrap(), Format::Cran);
    assert_eq!(requests.len(), 21);
    let first = &requests[0];
    assert_eq!((&first.path[..], first.size), ("/src/contrib/digest_0.5.2.tar.gz", Some(42_308)));
    let at: Vec<f64> = requests.iter().map(|r| r.at).collect();
    assert_eq!([at[3], at[4], at[11], at[19]], [0.0, 1.0, 147.0, 373.0]);
    assert!(requests[20].path.starts_with("/bin/windows/contrib/"), "{}", requests[20].path);
    // Clients are numbered per day: the same number on another day is somebody else.
    let day = |date| {
        format!(
            "date,time,size,package,version,country,ip_id,r_os\n{date},00:00:00,1,a,1,US,1,NA\n"
        )
    };
    let two = day("2012-10-06") + day("2012-10-07").lines().nth(1).unwrap();
    assert_eq!(super::requests(two).iter().map(|r| r.client).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn nasa() {
    let requests = requests(NASA);
    assert_eq!(Format::detect(NASA).unwrap(), Format::Nasa);
    assert!(requests.len() < 20 && requests.len() > 10, "without those of status 304");
    let second = &requests[1];
    assert_eq!(&second.path[..], "/shuttle/missions/missions.html");
    assert_eq!((second.at, second.client, second.size), (4.0, 1, Some(8677)));
}

#[test]
fn world_cup_98_records() {
    let record = |time: u32, client: u32, object: u32, size: u32, tail: [u8; 4]| {
        [time, client, object, size].map(u32::to_be_bytes).concat().into_iter().chain(tail)
    };
    let log: Vec<u8> = [
        record(893_971_817, 55, 9, 985, [0, 0x40 | 2, 0, 2]),
        record(893_971_817, 56, 10, 7, [1, 0x40 | 2, 1, 2]), // HEAD
        record(893_971_819, 57, 11, 7, [0, 0x80 | 13, 1, 2]), // 304
        record(893_971_820, 55, 12, 0xffff_ffff, [0, 8, 12, 0xff]), // 206, size unknown
        record(893_971_820, 55, 12, 1, [0, 37, 12, 0]),      // some other status
    ]
    .into_iter()
    .flatten()
    .collect();
    assert_eq!(Format::detect(&log).unwrap(), Format::Wc98);
    let requests = requests(&log);
    let seen: Vec<_> = requests.iter().map(|r| (r.at, r.client, &r.path[..], r.size)).collect();
    assert_eq!(seen, [(0.0, 55, "/9", Some(985)), (3.0, 55, "/12", None)]);
    let said = error(&log[..45]);
    assert!(said.starts_with("record 3: the file ends after 5 bytes"), "{said}");
    let (kept, counts) = skipping(&log[..45], None);
    assert_eq!((kept.len(), counts.bad.get(&Reason::ShortRecord)), (1, Some(&1)));
    let mut bad = log.clone();
    bad[20 + 17] = 0x3f;
    let options = Options { format: Some(Format::Wc98), ..Options::default() };
    let said = read(&bad, options).unwrap_err().to_string();
    assert!(said.starts_with("record 2: the status is \"63\""), "{said}");
}

#[test]
fn plain_csv_in_any_order_of_columns() {
    let requests =
        requests("size, Path ,client,extra,time\n12,\"/a,b\",7,x,0.25\n,c,9,\"y\"\"\",1e1\n");
    let seen: Vec<_> = requests.iter().map(|r| (r.at, r.client, &r.path[..], r.size)).collect();
    assert_eq!(seen, [(0.25, 7, "/a,b", Some(12)), (10.0, 9, "/c", None)]);
    // Times since 1970 count from the first; names are numbered.
    let since = "time,client,path,size\n1600000000.5,ann,/,1\n1600000001.75,bob,/,1\n";
    let seen: Vec<_> = super::requests(since).iter().map(|r| (r.at, r.client)).collect();
    assert_eq!(seen, [(0.0, 0), (1.25, 1)]);
}

#[test]
fn what_holds_no_requests_is_named() {
    assert!(error(MINUTES).contains("load curve"));
    assert!(error(CDN).contains("JSON"));
    assert!(error("").contains("empty"));
    let said = error("what is this\nno idea\n");
    assert!(said.contains("fits no format") && said.contains("clf, wc98, csv"), "{said}");
    assert_eq!("edgar".parse(), Ok(Format::Edgar));
    assert!("apache".parse::<Format>().unwrap_err().contains("clf, wc98"));
}

#[test]
fn minutes_are_a_curve() {
    let minutes = curve::read(MINUTES).unwrap();
    assert_eq!(minutes.len(), 20);
    let first = Minute { start: 893_971_800.0, requests: 2, bytes: 49_472 };
    assert_eq!((minutes[0], minutes[1].start - first.start), (first, 60.0));
    for (bad, said) in [
        ("timestamp,num_request,size\n1998-04-30 21:30,2\n", "line 2: the line is"),
        ("timestamp,num_request,size\n1998-04-30 21:30,2,x\n", "line 2: the size is \"x\""),
        ("timestamp,num_request,size\n1998-04-31 21:30,2,3\n", "line 2: the date is"),
        (
            "timestamp,num_request,size\n1998-04-30 21:30,2,3\n1998-04-30 21:29,2,3\n",
            "line 3: the time is 60 s before",
        ),
        ("a,b,c\n", "line 1: the header"),
    ] {
        let error = curve::read(bad.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn weighted_sizes() {
    let sizes = SizeBuckets::read(CDN).unwrap();
    assert_eq!((sizes.buckets.len(), sizes.buckets[1]), (20, (159, 983_936.0)));
    let mean = SizeBuckets { buckets: vec![(10, 1.0), (40, 2.0)] }.mean();
    assert_eq!(mean, 30.0);
    for (bad, said) in [
        ("{\"valSizeRange\":[1,2],\"valSizeRangeProbability\":[1]}", "1 columns; expected 2"),
        ("{\"valSizeRange\":[-1],\"valSizeRangeProbability\":[1]}", "the size is \"-1\""),
        ("{\"valSizeRange\":[],\"valSizeRangeProbability\":[]}", "empty"),
        ("{\n\"valSizeRange\":[1]}", "line 2: the JSON is"),
        ("{", "line 1: the JSON is"),
    ] {
        let error = SizeBuckets::read(bad.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn the_numbers_of_a_trace() {
    let mut gather = Gather::new(crate::Wire::default());
    for i in 0..100u32 {
        let size = if i == 50 { 901 } else { 1 };
        let at = f64::from(i / 10) * 0.25;
        let path = if i % 2 == 0 { "/a" } else { "/b" };
        gather.add(&Request { at, client: i % 7, class: 0, path: path.into(), size: Some(size) });
    }
    gather.add(&Request { at: 100.0, client: 0, class: 0, path: "/a".into(), size: None });
    let summary = gather.summary();
    assert_eq!(
        (summary.requests, summary.unknown_sizes, summary.clients, summary.objects),
        (101, 1, 7, 2)
    );
    assert_eq!((summary.bytes, summary.mean, summary.median, summary.max), (1000, 10.0, 1, 901));
    assert_eq!((summary.p90, summary.p99, summary.span), (1, 1, 100.0));
    assert_eq!((summary.peak_per_second, summary.peak_per_minute), (40, 100));
    assert!((summary.cv - 8.955).abs() < 0.001, "{}", summary.cv);
    assert!((summary.bytes_in_largest_1_percent - 0.901).abs() < 1e-9);
    assert!((summary.bytes_in_largest_3_percent - 0.903).abs() < 1e-9);
    assert_eq!(summary.wire_bytes, 1000 + 101 * (200 + 66 + 206));
    let load = summary.load(8.0 * summary.wire_bytes as f64 / 50.0).unwrap();
    assert!((load - 0.5).abs() < 1e-12);
    assert_eq!(Gather::new(crate::Wire::default()).summary().load(1e6), None);
}
