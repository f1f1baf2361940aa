//! `weir-lab list`, `run` and `report`: the experiments of the papers and their report; and the
//! hidden `application`, which the experiments with proxies start.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use weir_experiments::backend::Application;
use weir_experiments::experiment::{Experiment, Runs};
use weir_experiments::papers::{EXPERIMENTS, FIGURES, State, find, read_runs, report};
use weir_experiments::report::{Report, Run, html, markdown, markdown_with_plots};
use weir_experiments::{Cell, Choice, Scale, Settings, backend, cell_name, run_cells};
use weir_units::TimeSpan;

use crate::failure::{Failure, failed, invalid_usage};

mod plots;
mod progress;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// The experiments, and every figure and table of the papers with its state
    List,
    /// Run experiments and write the report (needs root)
    Run(RunArguments),
    /// Make the report again from the directories of one or several runs
    Report(ReportArguments),
    /// The application of the experiments with proxies: one request at a time
    #[command(hide = true)]
    Application(ApplicationArguments),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 done, 1 could not run, 2 bad arguments, 3 some cells failed \
or do not count. A run that was interrupted goes on where it was when it is started again."
)]
pub(crate) struct RunArguments {
    /// Experiments by name, or `all` (see `weir-lab list`)
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// One seed and about a minute of load: shows that all works, is no result
    #[arg(long, conflicts_with = "paper")]
    quick: bool,
    /// The paper's 30 minutes
    #[arg(long)]
    paper: bool,
    /// Seeds, of points of a curve at most 3 [default: 5; with --quick or --paper 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Directory of results
    #[arg(long, default_value = "lab", value_name = "DIR")]
    out: PathBuf,
    /// Cells at once [default: 7 for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    side_by_side: Option<u16>,
    /// Directory of the real traces, for experiments that replay one
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Systems under test instead of the experiments' own, with commas between
    #[arg(long, value_delimiter = ',', value_name = "SYSTEM")]
    systems: Option<Vec<String>>,
    /// Only cells whose names contain one of these, with commas between: `-file` is the load of the
    /// papers, `_q1000` a queue of 1000 packets; the report has the others as not run
    #[arg(long, value_delimiter = ',', value_name = "PART", allow_hyphen_values = true)]
    matching: Option<Vec<String>>,
    /// The weir to test [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
    /// Keep the record of every request
    #[arg(long)]
    keep_records: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArguments {
    /// Directories that `weir-lab run` wrote
    #[arg(required = true, value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Write the HTML page here [default: report.html in the first directory]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the tables as Markdown here [default: report.md in the first directory]
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write each plot as SVG into this directory, and have the Markdown show them. Other files there stay
    #[arg(long, value_name = "DIR", requires = "markdown")]
    plots: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApplicationArguments {
    /// Where it listens
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Mean service time
    #[arg(long, value_name = "DURATION")]
    mean: TimeSpan,
    /// Drop requests whose clients have left when their turn comes
    #[arg(long)]
    checks: bool,
    /// File for what was served
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
}

/// As many 10 Mbit/s cells leave a core idle time enough (lab/experiments/README.md).
const CELLS_PER_CORE: usize = 7;
/// A script sees this when some cells failed or do not count.
const SOME_CELLS: u8 = 3;

pub(crate) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::List => {
            print!("{}", list());
            Ok(())
        }
        Command::Run(arguments) => run_experiments(&arguments),
        Command::Report(arguments) => report_again(&arguments),
        Command::Application(ApplicationArguments { listen, mean, checks, log }) => {
            backend::serve(&Application { listen, mean: mean.0, checks, log }).map_err(failed)
        }
    }
}

fn list() -> String {
    let mut text = String::from("Experiments (weir-lab run NAME):\n\n");
    let full = Choice::of(Scale::Full);
    for experiment in &EXPERIMENTS {
        let cells = experiment.cells(&full).len();
        let (name, title) = (experiment.name, experiment.title);
        text.push_str(&format!("  {name:<34} {cells:>4} cells  {title}\n"));
    }
    text.push_str("\nFigures and tables of the papers:\n");
    let mut paper = "";
    for figure in FIGURES {
        if figure.paper != paper {
            paper = figure.paper;
            text.push_str(&format!("\n  {paper}\n"));
        }
        let state = match figure.state {
            State::Here(experiments) => experiments.join(", "),
            State::Nothing => "nothing to measure".to_owned(),
        };
        text.push_str(&format!("    {:<15} {:<44} {state}\n", figure.name, figure.shows));
    }
    text
}

fn run_experiments(arguments: &RunArguments) -> Result<(), Failure> {
    let experiments = experiments(&arguments.names)?;
    let scale = match (arguments.quick, arguments.paper) {
        (true, _) => Scale::Quick,
        (_, true) => Scale::Paper,
        _ => Scale::Full,
    };
    let choice = Choice { scale, seeds: arguments.seeds, systems: arguments.systems.clone() };
    let settings = settings(arguments)?;
    let names = experiments.iter().map(|experiment| experiment.name.to_owned()).collect();
    let command: Vec<String> = std::env::args().collect();
    let this = Run::now(names, choice.clone(), command_line(&command));
    let cells = matching(cells(&experiments, &choice), arguments.matching.as_deref())?;
    this.keep(&settings.out).map_err(failed)?;
    eprintln!("{} cells, {} at once", cells.len(), settings.side_by_side);
    let progress = progress::Lines::new();
    let outcomes = run_cells(&cells, &settings, &progress).map_err(failed)?;
    progress.end();
    let bad = outcomes
        .iter()
        .filter(|outcome| outcome.as_ref().is_none_or(|outcome| !outcome.invalid.is_empty()))
        .count();
    let report = report(vec![this], &Runs::new(outcomes.into_iter().flatten()));
    let out = &settings.out;
    write_report(&report, &out.join("report.html"), &out.join("report.md"), None)?;
    write_results(&report, &out.join("results.json"))?;
    match bad {
        0 => Ok(()),
        all if all == cells.len() => Err(failed(format!("none of {all} cells counts"))),
        some => {
            let message = format!("{some} of {} cells failed or do not count", cells.len());
            Err(Failure { message, code: SOME_CELLS })
        }
    }
}

fn experiments(names: &[String]) -> Result<Vec<&'static Experiment>, Failure> {
    if names.iter().any(|name| name == "all") {
        return Ok(EXPERIMENTS.iter().collect());
    }
    let named = |name: &String| {
        find(name).ok_or_else(|| {
            invalid_usage(format!("no experiment is called {name}: `weir-lab list` names them"))
        })
    };
    names.iter().map(named).collect()
}

fn settings(arguments: &RunArguments) -> Result<Settings, Failure> {
    let weir_lab = std::env::current_exe()
        .map_err(|e| failed(format!("cannot find the program weir-lab itself: {e}")))?;
    let weir = arguments.weir.clone().unwrap_or_else(|| weir_lab.with_file_name("weir"));
    if !weir.is_file() {
        let name = weir.display();
        return Err(invalid_usage(format!(
            "there is no program {name} to test: build it (`cargo build --release`), or name another \
             with --weir FILE"
        )));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let side_by_side = arguments.side_by_side.map_or(CELLS_PER_CORE * cores, usize::from);
    let full = |path: &Path| {
        std::path::absolute(path)
            .map_err(|e| invalid_usage(format!("{} is no directory: {e}", path.display())))
    };
    if let Some(data) = arguments.data.as_ref().filter(|data| !data.is_dir()) {
        return Err(invalid_usage(format!("--data {}: no such directory", data.display())));
    }
    Ok(Settings {
        out: full(&arguments.out)?,
        data: arguments.data.as_deref().map(full).transpose()?,
        weir,
        weir_lab,
        side_by_side,
        keep_records: arguments.keep_records,
    })
}

/// The cells of all experiments, seed by seed, each once.
fn cells(experiments: &[&Experiment], choice: &Choice) -> Vec<(String, Cell)> {
    let mut cells: Vec<(String, Cell)> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for (name, cell) in experiments.iter().flat_map(|experiment| experiment.cells(choice)) {
        if known.insert(cell_name(&cell)) {
            cells.push((name, cell));
        }
    }
    // Stable: within a seed, experiments keep their order.
    cells.sort_by_key(|(_, cell)| cell.seed);
    cells
}

/// Those whose names contain one of the parts; all if there are none.
fn matching(
    mut cells: Vec<(String, Cell)>,
    parts: Option<&[String]>,
) -> Result<Vec<(String, Cell)>, Failure> {
    let Some(parts) = parts else { return Ok(cells) };
    let example = cells.first().map(|(name, _)| name.clone()).unwrap_or_default();
    cells.retain(|(name, _)| parts.iter().any(|part| name.contains(part)));
    match cells.is_empty() {
        false => Ok(cells),
        true => Err(invalid_usage(format!(
            "--matching {}: no cell is called so; one is {example}",
            parts.join(",")
        ))),
    }
}

fn report_again(arguments: &ReportArguments) -> Result<(), Failure> {
    let mut runs = Vec::new();
    let mut outcomes = Vec::new();
    for directory in &arguments.directories {
        let (run, found) = read_runs(directory).map_err(failed)?;
        runs.extend(run);
        outcomes.extend(found);
    }
    let report = report(runs, &Runs::new(outcomes));
    let Some(first) = arguments.directories.first() else { return Ok(()) };
    let page = arguments.html.clone().unwrap_or_else(|| first.join("report.html"));
    let tables = arguments.markdown.clone().unwrap_or_else(|| first.join("report.md"));
    write_report(&report, &page, &tables, arguments.plots.as_deref())
}

/// The page, the tables as Markdown, and the plots that are to be in it as files of a directory.
fn write_report(
    report: &Report,
    page: &Path,
    tables: &Path,
    plots: Option<&Path>,
) -> Result<(), Failure> {
    write(page, &html(report))?;
    let document = match plots {
        Some(directory) => {
            let place = plots::write_plots(report, directory, tables)?;
            markdown_with_plots(report, &place)
        }
        None => markdown(report),
    };
    write(tables, &document)?;
    println!("{}", page.display());
    println!("{}", tables.display());
    if let Some(directory) = plots {
        println!("{}", directory.display());
    }
    Ok(())
}

fn write_results(report: &Report, path: &Path) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(report)
        .map_err(|e| failed(format!("the report cannot be written as JSON: {e}")))?;
    write(path, &text)?;
    println!("{}", path.display());
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|e| failed(format!("cannot write {}: {e}", path.display())))
}

/// The command as a user would type it again.
fn command_line(arguments: &[String]) -> String {
    let plain =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:,=".contains(c));
    let shown = arguments.iter().enumerate().map(|(index, text)| match index {
        0 => "weir-lab".to_owned(),
        _ if plain(text) => text.clone(),
        _ => format!("'{text}'"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed_again() {
        let typed = ["/x/weir-lab", "run", "--systems", "weir:srpt --workers 4"];
        let shown = command_line(&typed.map(str::to_owned));
        assert_eq!(shown, "weir-lab run --systems 'weir:srpt --workers 4'");
    }

    #[test]
    fn a_part_of_their_names_chooses_cells() {
        let choice = Choice::of(Scale::Quick);
        let all = || cells(&[find("schroeder-w1").expect("there is one")], &choice);
        let chosen = |parts: &[&str]| {
            let parts: Vec<String> = parts.iter().map(|&part| part.to_owned()).collect();
            matching(all(), Some(&parts)).map(|cells| cells.len())
        };
        let (paper, today) = (chosen(&["-file"]).unwrap(), chosen(&["_q1000"]).unwrap());
        assert!(paper > 0 && today > 0 && paper + today < all().len());
        assert_eq!(chosen(&["-file", "_q1000"]).unwrap(), paper + today);
        assert_eq!(matching(all(), None).unwrap().len(), all().len());
        assert!(chosen(&["nowhere"]).unwrap_err().message.contains("one is weir-srpt"));
    }

    #[test]
    fn cells_of_several_experiments_are_run_once_and_seed_by_seed() {
        let choice = Choice::of(Scale::Full);
        let all: Vec<&Experiment> = EXPERIMENTS.iter().collect();
        let cells = cells(&all, &choice);
        let names: std::collections::HashSet<_> = cells.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), cells.len());
        assert!(cells.is_sorted_by_key(|(_, cell)| cell.seed));
        let each: usize = all.iter().map(|experiment| experiment.cells(&choice).len()).sum();
        assert!(cells.len() < each, "W1's baseline is in several");
    }
}
