//! The report as Markdown, for a document of results: verdicts and tables, and plots if they are files
//! beside it. What was not run is named, not printed line by line.

use std::fmt::Write as _;

use super::contents::Report;
use super::html;
use super::plots::plots_with_names;
use crate::choice::Scale;
use crate::findings::number::{self, bar, ours};
use crate::findings::{Row, Section, Table, Verdict};

/// The document without plots.
pub fn markdown(report: &Report) -> String {
    document(report, None)
}

/// The document with plots. `place` is what a link to one of the files has before the file's name: empty,
/// or a relative path with a slash at its end.
pub fn markdown_with_plots(report: &Report, place: &str) -> String {
    document(report, Some(place))
}

fn document(report: &Report, place: Option<&str>) -> String {
    let mut text = String::from("# What weir-lab measured\n\n");
    for run in &report.runs {
        let machine = &run.machine;
        let _ = write!(
            text,
            "{}, {} scale, {}, {} cores{}{}, weir {}:\n\n```console\n$ {}\n```\n\n",
            run.began,
            run.choice.scale.name(),
            machine.kernel,
            machine.cores,
            if machine.processor.is_empty() { "" } else { ", " },
            machine.processor,
            machine.weir,
            run.command,
        );
    }
    text.push_str(
        "Figures are medians over seeds; in brackets an interval from the least to the most, or nearly, that \
         has the true median with 94 % of five seeds and 75 % of three; of one seed there is none. \
         Ratios are taken seed by seed on the same requests. ",
    );
    text.push_str(html::VERDICTS);
    text.push('\n');
    report.sections.iter().for_each(|section| one(&mut text, section, place));
    text
}

fn one(text: &mut String, section: &Section, place: Option<&str>) {
    let _ = write!(
        text,
        "\n## {}\n\n{}: {}. `weir-lab run {}`. {}\n",
        section.title,
        section.paper,
        section.repeats,
        section.name,
        html::counted(&section.counts)
    );
    if section.scale == Scale::Quick {
        text.push_str("\nA quick run: it shows that all works; it is no result.\n");
    }
    for paragraph in &section.paragraphs {
        let _ = write!(text, "\n{}\n", escape(paragraph));
    }
    let (run, not_run): (Vec<&Row>, Vec<&Row>) =
        section.rows().iter().partition(|row| row.verdict() != Verdict::Nothing);
    if !run.is_empty() {
        text.push_str(
            "\n| what | paper | ours | bar | verdict | commit |\n\
             | --- | --- | --- | --- | --- | --- |\n",
        );
        run.into_iter().for_each(|row| line(text, row));
    }
    if !not_run.is_empty() {
        let names: Vec<String> = not_run.iter().map(|row| escape(&row.what)).collect();
        let _ = write!(text, "\nWithout a run that counts: {}.\n", names.join("; "));
    }
    if let Some(place) = place {
        for (name, plot) in plots_with_names(section) {
            let _ = write!(text, "\n![{}]({place}{name})\n", description(&plot.title));
        }
    }
    section.tables.iter().for_each(|one| table(text, one));
}

fn line(text: &mut String, row: &Row) {
    let words = match row.verdict() {
        Verdict::Missed | Verdict::Differs => format!("**{}**", row.words()),
        _ => row.words(),
    };
    let cells = [
        row.what.clone(),
        row.paper.clone(),
        ours(&row.ours, row.unit),
        bar(row.bar, row.unit),
        words,
        row.commits(),
    ];
    let _ = writeln!(text, "| {} |", cells.map(|cell| escape(&cell)).join(" | "));
}

/// A table without the lines that have no figure; nothing if there are no others.
fn table(text: &mut String, table: &Table) {
    let measured = |row: &&Vec<String>| row.iter().skip(1).any(|cell| cell != number::NONE);
    let rows: Vec<&Vec<String>> = table.rows.iter().filter(measured).collect();
    if rows.is_empty() {
        return;
    }
    let joined =
        |cells: &[String]| cells.iter().map(|cell| escape(cell)).collect::<Vec<_>>().join(" | ");
    let rule = vec!["---"; table.columns.len()].join(" | ");
    let _ = write!(
        text,
        "\n{}\n\n| {} |\n| {rule} |\n",
        escape(&table.caption),
        joined(&table.columns)
    );
    for row in rows {
        let _ = writeln!(text, "| {} |", joined(row));
    }
}

/// What is read in place of an image.
fn description(title: &str) -> String {
    escape(title).replace('[', "\\[").replace(']', "\\]")
}

/// What would end a cell or begin HTML.
fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use weir_plot::{Axis, Plot, Series};

    use super::*;
    use crate::findings::{Counts, Ours, Unit};
    use crate::report::plot_files;

    fn section(plots: Vec<Plot>, tables: Vec<Table>, rows: Vec<Row>) -> Section {
        Section {
            name: "some".into(),
            title: "Some".into(),
            paper: "Nobody".into(),
            repeats: "nothing".into(),
            scale: Scale::Full,
            counts: Counts::default(),
            paragraphs: Vec::new(),
            plots,
            tables,
            rows,
        }
    }

    fn row(what: &str, ours: Ours) -> Row {
        Row::new(what, "", ours, Unit::Times)
    }

    fn plot(title: &str, points: Vec<(f64, f64)>) -> Plot {
        let mut plot = Plot::new(title, Axis::linear(""), Axis::linear(""));
        plot.series.push(Series::new("weir", points));
        plot
    }

    #[test]
    fn what_was_not_run_is_named_once_and_has_no_lines() {
        let (run, not_run) = (Ours::computed(2.0), Ours::none());
        let mut half = Table::new("Half of it.", &["system", "mean"]);
        half.row("weir", &[(run.clone(), Unit::Times)]);
        half.row("nginx", &[(not_run.clone(), Unit::Times)]);
        let mut none = Table::new("None of it.", &["system", "mean"]);
        none.row("nginx", &[(not_run.clone(), Unit::Times)]);
        let rows = vec![row("a ratio", run), row("another ratio", not_run)];
        let section = section(Vec::new(), vec![half, none], rows);
        let text = markdown(&Report { runs: Vec::new(), sections: vec![section] });
        assert!(text.contains("| a ratio |") && !text.contains("| another ratio |"), "{text}");
        assert!(text.contains("Without a run that counts: another ratio."), "{text}");
        assert!(text.contains("| weir |") && !text.contains("| nginx |"), "{text}");
        assert!(!text.contains("None of it."), "{text}");
    }

    #[test]
    fn plots_with_a_point_are_shown_once_after_the_verdicts_and_only_on_demand() {
        let mut means = Table::new("Means.", &["system", "mean"]);
        means.row("weir", &[(Ours::computed(2.0), Unit::Times)]);
        let plots = vec![
            plot("Times [ms] < 1", vec![(0.0, 1.0)]),
            plot("Nothing", Vec::new()),
            plot("A gap", vec![(0.0, f64::NAN)]),
            plot("More", vec![(0.0, f64::NAN), (1.0, 2.0)]),
        ];
        let full = section(plots, vec![means], vec![row("a ratio", Ours::computed(2.0))]);
        let mut quick = section(vec![plot("Less", vec![(0.0, 1.0)])], Vec::new(), Vec::new());
        quick.scale = Scale::Quick;
        let report = Report { runs: Vec::new(), sections: vec![full, quick] };
        let text = markdown_with_plots(&report, "../plots/");
        let two = "\n![Times \\[ms\\] &lt; 1](../plots/some-1.svg)\n\n\
                   ![More](../plots/some-4.svg)\n";
        let last = "\n![Less](../plots/some-quick-1.svg)\n";
        assert!(text.contains(&format!("|\n{two}\nMeans.\n")), "{text}");
        assert!(text.ends_with(&format!("it is no result.\n{last}")), "{text}");
        // Nothing else differs.
        assert_eq!(text.replacen(two, "", 1).replacen(last, "", 1), markdown(&report));
        let files = plot_files(&report);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["some-1.svg", "some-4.svg", "some-quick-1.svg"]);
    }
}
