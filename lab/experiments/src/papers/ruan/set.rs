//! Ruan & Pai, Tables 2 and 3: how few bytes most of the requests are for, and the sizes that are told
//! apart in deciles. Computed from the set that the other experiments ask for.

use weir_stats::composition::{RUAN_SERIES, RUAN_SHARES};
use weir_workload::FileSet;

use crate::experiment::{Evidence, Experiment};
use crate::findings::{Axis, Ours, Plot, Row, Section, Unit, series};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "ruan-set",
    paper: "Ruan 2006",
    repeats: "Tables 2 and 3",
    title: "How few bytes most of the requests are for",
    groups: |_| Vec::new(),
    report,
};

/// A megabyte of the paper's.
const MB: u64 = 1 << 20;
/// Shares of the requests in Table 2.
const SHARES: [f64; 4] = [0.50, 0.90, 0.95, 0.99];
/// Table 2: the set's size and the bytes of each share, in MB.
const TABLE_2: [(u64, [f64; 4]); 4] = [
    (1024, [2.1, 39.5, 64.6, 138.3]),
    (2048, [3.0, 72.9, 123.6, 262.8]),
    (3072, [4.4, 101.8, 181.2, 385.7]),
    (4096, [4.9, 131.8, 235.0, 505.0]),
];
/// Table 3.
const SERIES: [&str; 4] = ["0.1 to 0.5 KB", "0.6 to 4 KB", "5 to 6 KB", "7 to 900 KB"];

fn report(_: &Evidence<'_>, section: &mut Section) {
    section.text(
        "Computed from the set and the law of the requests (weir-workload's file set): directories of \
         36 files by Zipf's law with exponent 1; in each, classes of 35, 50, 14 and 1 % of the \
         requests with nine files of 102 B, 1020 B, 10.2 KB and 102 KB times 1 to 9, whose popularity \
         is SPECweb99's. Files are counted from the most popular one on, until they have the share of \
         the requests; MB are of 1024 × 1024 bytes.",
    );
    let mut plot = Plot::new(
        "Table 2: bytes of the most popular files, set of 3 GB",
        Axis::linear("share of the requests, %"),
        Axis::log("MB"),
    );
    for (size, paper) in TABLE_2 {
        let set = FileSet::of_bytes(size * MB);
        let found = set.most_popular(&SHARES).into_iter().map(|bytes| bytes as f64 / MB as f64);
        for ((share, ours), paper) in SHARES.into_iter().zip(found).zip(paper) {
            let what = format!("set of {size} MB, top {:.0} % of the requests, MB", share * 100.0);
            let row = Row::new(what, format!("{paper}"), Ours::computed(ours), Unit::Count);
            section.row(row.paper_is(paper));
        }
    }
    for ((series, paper), ours) in
        SERIES.into_iter().zip(RUAN_SHARES).zip(FileSet::of_bytes(MB).series(&RUAN_SERIES))
    {
        let what = format!("share of the requests for {series}");
        let words = format!("{:.2} %", paper * 100.0);
        section.row(Row::new(what, words, Ours::computed(ours), Unit::Percent).paper_is(paper));
    }
    let percents: Vec<f64> = (1..=100).map(f64::from).collect();
    let shares: Vec<f64> = percents.iter().map(|percent| percent / 100.0).collect();
    let bytes = FileSet::of_bytes(3072 * MB).most_popular(&shares);
    let points = percents.into_iter().zip(bytes.into_iter().map(|bytes| bytes as f64 / MB as f64));
    plot.series.push(series::line("model", points.collect()).named("our set").coloured(0, false));
    let paper = SHARES.into_iter().zip(TABLE_2[2].1).map(|(share, mb)| (share * 100.0, mb));
    let paper = series::line("model", paper.collect()).named("the paper's").coloured(3, false);
    plot.series.push(paper.marked());
    section.plot(plot);
}
