//! The tables of `weir-costs disk`: medians over rounds. `disk_run` prints them.

use crate::disk_phases::{Kind, Phase};
use crate::system::System;
use crate::table::{heading, median, row, spread};

/// All phases as Markdown; `hot` is the share of requests that are hot.
pub(crate) fn markdown(systems: &[System], rows: &[Phase], hot: f64) -> String {
    let mut text = String::from("\n### Capacity, closed loop, warm cache\n\n");
    let names =
        ["system", "requests/s", "Mbit/s", "disk reads per 1000", "disk busy", "p99 ms", "errors"];
    text.push_str(&heading(&names));
    for name in systems.iter().map(System::to_string) {
        let of = Of { rows, name: &name, kind: Kind::Capacity };
        text.push_str(&row([
            name.clone(),
            spread(&of.values(|r| r.per_second), 0),
            spread(&of.values(|r| r.megabits), 0),
            of.median(|r| r.disk_reads_per_1000, 0),
            format!("{} %", of.median(|r| r.disk_busy * 100.0, 0)),
            of.median(|r| r.all.p99, 1),
            of.errors(),
        ]));
    }
    let titles = [
        (Kind::Rate, "open loop, warm cache", true),
        (Kind::Cold, "open loop, cold caches", false),
    ];
    for (kind, title, with_hot) in titles {
        let offered = rows.iter().find(|r| r.phase == kind).and_then(|r| r.offered);
        let offered = offered.unwrap_or(f64::NAN);
        text.push_str(&format!("\n### {offered:.0} requests/s, {title}\n\n"));
        text.push_str("Response times in ms from the intended start");
        if with_hot {
            let percent = hot * 100.0;
            text.push_str(&format!(
                "; *hot*: files up to 9 KB that are asked for at least once a second, \
                 {percent:.0} % of the requests"
            ));
        }
        text.push_str(".\n\n");
        let mut names = vec!["system", "p50", "p90", "p99", "max"];
        if with_hot {
            names.extend(["hot p50", "hot p90", "hot p99", "hot max"]);
        }
        names.extend(["disk reads per 1000", "errors"]);
        text.push_str(&heading(&names));
        for name in systems.iter().map(System::to_string) {
            let of = Of { rows, name: &name, kind };
            let mut cells = vec![name.clone()];
            cells.extend([
                spread(&of.values(|r| r.all.p50), 1),
                of.median(|r| r.all.p90, 1),
                spread(&of.values(|r| r.all.p99), 1),
                of.median(|r| r.all.max, 0),
            ]);
            if with_hot {
                cells.extend([
                    of.median(|r| r.hot.p50, 2),
                    of.median(|r| r.hot.p90, 2),
                    spread(&of.values(|r| r.hot.p99), 1),
                    of.median(|r| r.hot.max, 0),
                ]);
            }
            cells.extend([of.median(|r| r.disk_reads_per_1000, 0), of.errors()]);
            text.push_str(&row(cells));
        }
    }
    for bad in rows.iter().filter(|r| !r.invalid.is_empty()) {
        let (system, phase, round) = (&bad.system, bad.phase, bad.round);
        let why = bad.invalid.join(", ");
        text.push_str(&format!("\nINVALID: {system}, {phase:?}, round {round}: {why}\n"));
    }
    text
}

/// The rows of one cell.
struct Of<'a> {
    rows: &'a [Phase],
    name: &'a str,
    kind: Kind,
}

impl Of<'_> {
    fn rows(&self) -> impl Iterator<Item = &Phase> {
        self.rows.iter().filter(|r| r.phase == self.kind && r.system == self.name)
    }

    fn values(&self, value: fn(&Phase) -> f64) -> Vec<f64> {
        self.rows().map(value).collect()
    }

    fn median(&self, value: fn(&Phase) -> f64, digits: usize) -> String {
        format!("{:.digits$}", median(&self.values(value)))
    }

    /// Over all rounds.
    fn errors(&self) -> String {
        let mut sum = std::collections::BTreeMap::new();
        for (why, count) in self.rows().flat_map(|r| &r.errors) {
            *sum.entry(*why).or_insert(0) += count;
        }
        let each: Vec<String> = sum.iter().map(|(why, count)| format!("{count} {why}")).collect();
        if each.is_empty() { "0".into() } else { each.join(", ") }
    }
}
