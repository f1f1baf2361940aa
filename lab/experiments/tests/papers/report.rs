//! Reports of made-up outcomes: one page that needs nothing else, and tables that hold together.

use std::collections::HashSet;
use std::fs;
use std::sync::OnceLock;

use weir_experiments::experiment::{Experiment, Runs};
use weir_experiments::papers::{self, EXPERIMENTS, read_runs};
use weir_experiments::report::{Report, Run, html, markdown, markdown_with_plots, plot_files};
use weir_experiments::{Choice, Outcome, Scale};

use crate::made_up;

fn run(names: &[&str], scale: Scale) -> Run {
    let names = names.iter().map(|&name| name.to_owned()).collect();
    Run::now(names, Choice::of(scale), "weir-lab run <all> & more".to_owned())
}

fn outcomes(run: &Run) -> Vec<Outcome> {
    let experiments = EXPERIMENTS.iter().filter(|e| run.experiments.iter().any(|n| n == e.name));
    let cells = experiments.flat_map(|experiment| experiment.cells(&run.choice));
    cells.map(|(_, cell)| made_up::outcome(&cell)).collect()
}

/// All experiments; those that are simulated are quick ones, since they are not made up.
fn all() -> &'static Report {
    static ALL: OnceLock<Report> = OnceLock::new();
    ALL.get_or_init(|| {
        let (simulated, run_there): (Vec<&Experiment>, Vec<&Experiment>) =
            EXPERIMENTS.iter().partition(|experiment| experiment.is_simulated());
        assert!(!simulated.is_empty());
        let names = |all: &[&'static Experiment]| all.iter().map(|e| e.name).collect::<Vec<_>>();
        let there = run(&names(&run_there), Scale::Full);
        let outcomes = Runs::new(outcomes(&there));
        papers::report(vec![there, run(&names(&simulated), Scale::Quick)], &outcomes)
    })
}

#[test]
fn the_page_needs_nothing_else() {
    let page = html(all());
    for outside in ["http://", "https://", "src=", "url(", "@import", "<link", "<script", "<iframe"]
    {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<h2").count(), EXPERIMENTS.len() + 1, "a section each, and the bars");
    assert!(page.contains("weir-lab run &lt;all&gt; &amp; more"), "what users type is escaped");
    assert!(!page.contains("NaN") && !page.contains("inf"), "no figure is not a number");
}

#[test]
fn every_entry_of_the_contents_is_there() {
    let page = html(all());
    let wanted: Vec<&str> =
        page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(wanted.len() >= EXPERIMENTS.len());
    for anchor in wanted {
        assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
}

#[test]
fn rows_of_markdown_tables_have_the_columns_of_their_heads() {
    let text = markdown(all());
    let mut columns = None;
    for line in text.lines() {
        let bars = line.replace("\\|", "").matches('|').count();
        match (line.starts_with('|'), columns) {
            (false, _) => columns = None,
            (true, None) => columns = Some(bars),
            (true, Some(expected)) => assert_eq!(bars, expected, "{line}"),
        }
    }
    assert!(
        text.contains("| reached (5 seeds) | 0123456789 |")
            && text.contains("$ weir-lab run <all> & more")
    );
}

#[test]
fn every_plot_is_a_file_and_in_the_markdown_that_is_to_show_it() {
    let files = plot_files(all());
    assert!(!files.is_empty());
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let text = markdown_with_plots(all(), "plots/");
    let shown = text.split("](plots/").skip(1).filter_map(|rest| rest.split(')').next());
    assert_eq!(shown.collect::<Vec<_>>(), names, "each once, in the order of the report");
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    assert!(names.iter().all(|name| name.chars().all(plain)), "{names:?}");
    for file in &files {
        assert!(!file.svg.contains("NaN"), "{}", file.name);
    }
    assert!(!markdown(all()).contains("!["), "without plots");
}

#[test]
fn a_run_is_read_back_from_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    let quick = run(&["schroeder-router"], Scale::Quick);
    quick.keep(directory.path()).unwrap();
    let other = run(&["schroeder-aborts"], Scale::Quick);
    other.keep(directory.path()).unwrap();
    quick.keep(directory.path()).unwrap();
    for outcome in outcomes(&quick) {
        let cell = directory.path().join(weir_experiments::cell_name(&outcome.cell));
        fs::create_dir(&cell).unwrap();
        fs::write(cell.join("outcome.json"), serde_json::to_vec(&outcome).unwrap()).unwrap();
    }
    let (runs, found) = read_runs(directory.path()).unwrap();
    assert_eq!(runs, [other, quick.clone()], "the same run again is kept once");
    assert_eq!(found.len(), outcomes(&quick).len());
    let report = papers::report(runs, &Runs::new(found));
    let names: Vec<&str> = report.sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, ["schroeder-aborts", "schroeder-router"], "in the order of the papers");
    assert_eq!(report.sections[1].counts.valid, outcomes(&quick).len());
    assert!(markdown(&report).contains("it is no result"));
}

#[test]
fn runs_of_other_systems_and_seeds_are_told_together() {
    let mut one = run(&["schroeder-w1"], Scale::Full);
    one.choice.systems = Some(vec!["weir:srpt".to_owned(), "nginx".to_owned()]);
    let mut other = one.clone();
    other.choice.systems = Some(vec!["nginx".to_owned(), "caddy".to_owned()]);
    other.choice.seeds = Some(2);
    let planned = |runs: &[&Run]| {
        let runs: Vec<Run> = runs.iter().copied().cloned().collect();
        let sections = papers::report(runs, &Runs::default()).sections;
        assert_eq!(sections.len(), 1);
        sections[0].counts.planned
    };
    let each = planned(&[&one]);
    assert_eq!(planned(&[&one, &other]), each / 2 * 3);
    assert_eq!(planned(&[&other, &one]), each / 2 * 3, "the order does not matter");
    let whole = run(&["schroeder-w1"], Scale::Full);
    assert_eq!(
        planned(&[&whole, &other]),
        planned(&[&whole]),
        "the experiment's own and another's"
    );
}

#[test]
fn what_cannot_be_read_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let error = read_runs(directory.path()).unwrap_err().to_string();
    assert!(error.contains("runs.json") && error.contains("weir-lab run"), "{error}");
    run(&["schroeder-w2"], Scale::Full).keep(directory.path()).unwrap();
    let error = read_runs(directory.path()).unwrap_err().to_string();
    assert!(error.contains("no experiment is called schroeder-w2"), "{error}");
    run(&["schroeder-w1"], Scale::Full).keep(directory.path()).unwrap();
    fs::write(directory.path().join("runs.json"), "[").unwrap();
    let error = read_runs(directory.path()).unwrap_err().to_string();
    assert!(error.contains("not a list of runs"), "{error}");
}

/// Writes the report of made-up outcomes where `MADE_UP_REPORT` says, to look at.
#[test]
fn write_a_report_to_look_at() {
    if let Ok(directory) = std::env::var("MADE_UP_REPORT") {
        fs::create_dir_all(&directory).unwrap();
        fs::write(format!("{directory}/report.html"), html(all())).unwrap();
        fs::write(format!("{directory}/report.md"), markdown_with_plots(all(), "")).unwrap();
        for file in plot_files(all()) {
            fs::write(format!("{directory}/{}", file.name), file.svg).unwrap();
        }
    }
}
