//! `weir-lab` as a user calls it: what it lists, what it refuses, and reports made again. Runs need
//! root and minutes; CI has one.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use weir_experiments::papers::find;
use weir_experiments::report::Run;
use weir_experiments::{Choice, Outcome, Scale};

use crate::made_up;

fn lab(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-lab"));
    command.args(arguments).output().expect("the binary runs")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A directory as `weir-lab run` leaves it.
fn ran(directory: &Path, name: &str, change: impl Fn(&mut Outcome)) {
    let choice = Choice::of(Scale::Full);
    Run::now(vec![name.to_owned()], choice.clone(), format!("weir-lab run {name}"))
        .keep(directory)
        .expect("a directory that can be written");
    for (cell_name, cell) in find(name).expect(name).cells(&choice) {
        let mut outcome = made_up::outcome(&cell);
        change(&mut outcome);
        let directory = directory.join(&cell_name);
        fs::create_dir(&directory).expect("a new directory");
        let text = serde_json::to_vec(&outcome).expect("an outcome is JSON");
        fs::write(directory.join("outcome.json"), text).expect("a new file");
    }
}

#[test]
fn the_list_names_experiments_and_figures_with_their_state() {
    let listed = lab(&["list"]);
    assert!(listed.status.success());
    let text = out(&listed);
    for words in [
        "schroeder-w1",
        "crovella-concurrency",
        "Figure 13",
        "Table 2",
        "Ruan 2006",
        "nothing to measure",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_2() {
    for (arguments, words) in [
        (&["run", "schroeder-w99"][..], "weir-lab list"),
        (&["run"][..], "NAME"),
        (&["run", "schroeder-w1", "--quick", "--paper"][..], "--paper"),
        (&["run", "schroeder-w1", "--seeds", "0"][..], "--seeds"),
        (&["run", "real-traces", "--data", "/nowhere/at/all"][..], "no such directory"),
        (&["report"][..], "DIR"),
        (&["report", "lab", "--plots", "plots"][..], "--markdown"),
    ] {
        let refused = lab(arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(err(&refused).contains(words), "{arguments:?}: {}", err(&refused));
    }
}

#[test]
fn a_directory_that_is_no_run_is_refused_with_1() {
    let directory = tempfile::tempdir().unwrap();
    let refused = lab(&["report", directory.path().to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("runs.json"), "{}", err(&refused));
}

#[test]
fn a_report_is_made_again_from_several_directories() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    ran(one.path(), "schroeder-router", |outcome| {
        if outcome.cell.system == "nginx" {
            outcome.measured.mean *= 4.0;
        }
    });
    ran(other.path(), "crovella", |_| ());
    let page = one.path().join("page.html");
    let made = lab(&[
        "report",
        one.path().to_str().unwrap(),
        other.path().to_str().unwrap(),
        "--html",
        page.to_str().unwrap(),
    ]);
    assert!(made.status.success(), "{}", err(&made));
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("schroeder-router-full") && html.contains("crovella-full"));
    let tables = fs::read_to_string(one.path().join("report.md")).unwrap();
    let row = tables.lines().find(|line| line.starts_with("| nginx ÷ weir srpt, means |")).unwrap();
    assert!(row.ends_with("| ≥ 20.0 | reached (5 seeds) | 0123456789 |"), "{row}");
}

#[test]
fn markdown_shows_plots_that_are_files() {
    let directory = tempfile::tempdir().unwrap();
    ran(directory.path(), "schroeder-router", |_| ());
    let documents = tempfile::tempdir().unwrap();
    let (document, plots) = (documents.path().join("report.md"), documents.path().join("new/svg"));
    let made = lab(&[
        "report",
        directory.path().to_str().unwrap(),
        "--markdown",
        document.to_str().unwrap(),
        "--plots",
        plots.to_str().unwrap(),
    ]);
    assert!(made.status.success(), "{}", err(&made));
    let text = fs::read_to_string(&document).unwrap();
    let linked = text.lines().filter_map(|line| line.strip_prefix("![")?.split_once("]("));
    let linked: Vec<_> = linked.collect();
    assert!(linked.iter().any(|(title, _)| *title == "Response time by size, router"), "{text}");
    for (title, link) in &linked {
        let link = link.strip_suffix(')').unwrap();
        assert!(link.starts_with("new/svg/schroeder-router-"), "{link}");
        let svg = fs::read_to_string(documents.path().join(link)).unwrap();
        let title = format!("<title>{title}</title>");
        assert!(svg.starts_with("<svg ") && svg.contains(&title), "{svg}");
    }
    assert_eq!(fs::read_dir(&plots).unwrap().count(), linked.len(), "no other files");
}

#[test]
fn an_outcome_that_is_none_is_named() {
    let directory = tempfile::tempdir().unwrap();
    ran(directory.path(), "schroeder-router", |_| ());
    let broken = directory.path().join("aaa");
    fs::create_dir(&broken).unwrap();
    fs::write(broken.join("outcome.json"), "{\"cell\": 1}").unwrap();
    let refused = lab(&["report", directory.path().to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("aaa/outcome.json: not an outcome"), "{}", err(&refused));
}

#[test]
fn a_run_whose_cells_are_all_there_only_tells() {
    // No root is needed: nothing is run again.
    let directory = tempfile::tempdir().unwrap();
    ran(directory.path(), "schroeder-router", |_| ());
    let again = lab(&["run", "schroeder-router", "--out", directory.path().to_str().unwrap()]);
    assert!(again.status.success(), "{}", err(&again));
    assert!(err(&again).contains("30 cells"), "{}", err(&again));
    for file in ["report.html", "report.md", "results.json", "runs.json"] {
        assert!(directory.path().join(file).is_file(), "{file}");
    }
}
