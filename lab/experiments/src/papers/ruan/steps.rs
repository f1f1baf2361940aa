//! Ruan & Pai, Table 5: what each step from a blocking server to one that never waits for a disk is
//! worth. The steps are one server, switched for study.

use super::conditions::{
    self, AIO, APACHE, BLOCKS, EVENT, FLASHPACHE, HIGH, LIGHTTPD, NGINX, OPENER, WEIR, WORKER,
    case, files, own, own_loads,
};
use super::found::{Figure, Found, hot_p99, incomplete, inversion, mean, median, megabits, p90};
use crate::cell::Phase;
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::{Evidence, Experiment, Group};
use crate::findings::{Axis, Claim, Plot, Row, Section, Table, Unit, label, series};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "ruan-steps",
    paper: "Ruan 2006",
    repeats: "Table 5",
    title: "From blocking to not blocking, step by step",
    groups,
    report,
};

/// Opening elsewhere, reading in the loop; the other way round.
const READ_BLOCKS: &str = "weir:files --disk-work read-blocks";
const OPEN_BLOCKS: &str = "weir:files --disk-work open-blocks";
/// Apache in its three forms, each with files opened by itself, by the opener where they are not in memory, by
/// `mod_file_cache`; prefork has the opener asked for each file, too.
const WORKER_OPENER: &str = "apache-worker-opener";
const EVENT_OPENER: &str = "apache-event-opener";
const PREFORK_CACHE: &str = "apache-prefork-file-cache";
const WORKER_CACHE: &str = "apache-worker-file-cache";
const EVENT_CACHE: &str = "apache-event-file-cache";
const OWN: [&str; 17] = [
    WEIR,
    BLOCKS,
    READ_BLOCKS,
    OPEN_BLOCKS,
    NGINX,
    AIO,
    LIGHTTPD,
    APACHE,
    OPENER,
    FLASHPACHE,
    PREFORK_CACHE,
    WORKER,
    WORKER_OPENER,
    WORKER_CACHE,
    EVENT,
    EVENT_OPENER,
    EVENT_CACHE,
];

/// Table 5: its name, and median, mean and 90th percentile in ms at 0.95, and capacity in Mb/s.
type Line = (&'static str, [f64; 4]);
const FLASH: Line = ("Flash", [67.4, 181.0, 362.0, 336.0]);
const TABLE_5: [(&str, Line); 6] = [
    (BLOCKS, FLASH),
    (READ_BLOCKS, ("fd pass", [11.5, 50.0, 71.2, 395.0])),
    (WEIR, ("New-Flash", [1.6, 29.3, 6.6, 450.0])),
    (NGINX, FLASH),
    (APACHE, ("Apache 1.3", [6.6, 180.2, 414.7, 241.1])),
    (FLASHPACHE, ("Flashpache", [1.1, 12.0, 5.7, 272.9])),
];

fn of(scale: Scale) -> Case {
    case(files(scale, own_loads(&[HIGH])))
}

fn groups(choice: &Choice) -> Vec<Group> {
    of(choice.scale).groups(&conditions::systems(choice, &OWN)).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "The steps are weir with `disk_work`: `blocks` opens and reads files in the worker itself. (The \
         paper's Flash has helpers open files first, repeats that in its loop, and waits there for locks \
         that helpers hold; so `blocks` waits for more.) `read-blocks` opens them on helper threads \
         (the paper's \"fd pass\"); `open-blocks` reads on helper threads; without a switch both are \
         on helper threads (New-Flash). The paper's third step, \"no mmap\" (1.8, 93.5 and 92.9 ms, \
         437.5 Mb/s), loses what told it which pages were in memory, and has no counterpart here; its \
         \"factor of 3\" is from there to New-Flash. From \"fd pass\" it is 50.0 ÷ 29.3 = 1.71, which is \
         set beside ours. Apache has its files opened by itself, by `weir-lab opener` where it \
         would wait for the disk, or by `mod_file_cache`, which has as many files as may be open. Prefork \
         with the opener always asked, for what is in memory, too, is the paper's Flashpache. Response \
         times at 0.95 of each one's own capacity; the paper's throughput is that in saturation.",
    );
    let case = of(evidence.choice.scale);
    let systems = conditions::systems(evidence.choice, &OWN);
    let found = Found::of(evidence, &case);
    section.plot(distribution(found, &systems));
    section.table(table(found, &systems));
    rows(found, section);
}

fn distribution(found: Found<'_>, systems: &[String]) -> Plot {
    let mut plot = Plot::new(
        "Distribution of response times at 0.95 of own capacity",
        Axis::log("response time, ms"),
        Axis::linear("share of responses"),
    );
    for system in systems {
        let points = (0..=100).filter_map(|percent| {
            let at = found.value(system, own(HIGH), |phase| phase.all.at(percent));
            Some((at.middle()?, percent as f64 / 100.0))
        });
        plot.series.push(series::line(system, points.collect()));
    }
    plot
}

/// The columns of Table 5.
const COLUMNS: [(&str, Unit, Figure); 4] = [
    ("median", Unit::Ms, median),
    ("mean", Unit::Ms, mean),
    ("p90", Unit::Ms, p90),
    ("Mbit/s", Unit::Count, megabits),
];

/// The phase of a column: the throughput is that in saturation.
fn phase(unit: Unit) -> Phase {
    if unit == Unit::Ms { own(HIGH) } else { Phase::SATURATED }
}

fn table(found: Found<'_>, systems: &[String]) -> Table {
    let mut columns = vec!["system", "keeps up with, requests/s"];
    columns.extend(COLUMNS.map(|(name, ..)| name));
    columns.extend(["hot p99", "inversion", "incomplete %"]);
    let caption = "Table 5. Response times in ms at 0.95 of own capacity, throughput in saturation. The server did \
         not keep up with a higher rate, or the row says what else ended the search.";
    let mut table = Table::new(caption, &columns);
    for system in systems {
        let capacity = [(found.capacity(system), Unit::Count)];
        let of_table = COLUMNS.map(|(_, unit, of)| (found.value(system, phase(unit), of), unit));
        let ours = [
            (found.value(system, own(HIGH), hot_p99), Unit::Ms),
            (found.value(system, own(HIGH), inversion), Unit::Count),
            (found.value(system, own(HIGH), incomplete), Unit::Percent),
        ];
        let figures = [capacity.as_slice(), &of_table, &ours].concat();
        table.row(found.searched(system), &figures);
    }
    table
}

fn rows(found: Found<'_>, section: &mut Section) {
    for (system, (name, paper)) in TABLE_5 {
        for ((column, unit, of), paper) in COLUMNS.into_iter().zip(paper) {
            let what = format!("{}, {column}", label(system));
            let ours = found.value(system, phase(unit), of);
            section.row(Row::new(what, format!("{paper} ({name})"), ours, unit));
        }
    }
    // What section 5.2 makes of the table.
    let ratio = |(above, below): (&str, &str), column: usize| {
        let (_, unit, of) = COLUMNS[column];
        found.ratio(above, below, phase(unit), of)
    };
    let steps = [
        ((BLOCKS, WEIR), 0, "40x", Claim::Is(40.0)),
        ((BLOCKS, WEIR), 1, "6x", Claim::Is(6.0)),
        ((BLOCKS, WEIR), 2, "54x", Claim::Is(54.0)),
        ((WEIR, BLOCKS), 3, "34 % more", Claim::Is(1.34)),
        ((BLOCKS, READ_BLOCKS), 0, "5.8x", Claim::Is(5.8)),
        ((BLOCKS, READ_BLOCKS), 1, "3.6x", Claim::Is(3.6)),
        ((READ_BLOCKS, WEIR), 1, "50.0 ÷ 29.3", Claim::Is(1.71)),
        ((NGINX, WEIR), 0, "40x (Flash)", Claim::Is(40.0)),
        ((NGINX, WEIR), 1, "6x (Flash)", Claim::Is(6.0)),
        ((NGINX, WEIR), 2, "54x (Flash)", Claim::Is(54.0)),
        ((APACHE, FLASHPACHE), 0, "6x", Claim::Is(6.0)),
        ((APACHE, FLASHPACHE), 1, "15x", Claim::Is(15.0)),
        ((APACHE, FLASHPACHE), 2, "72x", Claim::Is(72.0)),
        ((FLASHPACHE, APACHE), 3, "13 % more", Claim::Is(1.13)),
    ];
    for (both, column, paper, claim) in steps {
        let what = format!("{} ÷ {}, {}", label(both.0), label(both.1), COLUMNS[column].0);
        let row = Row::new(what, paper, ratio(both, column), Unit::Times);
        section.row(Row { claim: Some(claim), ..row });
    }
    // Of servers that the paper does not have.
    for both in [
        (AIO, WEIR),
        (APACHE, OPENER),
        (WORKER, WORKER_OPENER),
        (EVENT, EVENT_OPENER),
        (FLASHPACHE, OPENER),
        (PREFORK_CACHE, OPENER),
        (WORKER_CACHE, WORKER_OPENER),
        (EVENT_CACHE, EVENT_OPENER),
    ] {
        for (column, (name, ..)) in COLUMNS.into_iter().enumerate().take(3) {
            let what = format!("{} ÷ {}, {name}", label(both.0), label(both.1));
            section.row(Row::new(what, "", ratio(both, column), Unit::Times));
        }
    }
}
