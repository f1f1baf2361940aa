//! The report as Markdown, for a document of results: verdicts and tables, without plots. What was not
//! run is named, not printed line by line.

use std::fmt::Write as _;

use super::contents::Report;
use super::html;
use crate::choice::Scale;
use crate::findings::number::{self, bar, ours};
use crate::findings::{Row, Section, Table, Verdict};

/// The document.
pub fn markdown(report: &Report) -> String {
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
    report.sections.iter().for_each(|section| one(&mut text, section));
    text
}

fn one(text: &mut String, section: &Section) {
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

/// What would end a cell or begin HTML.
fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Counts, Ours, Unit};

    #[test]
    fn what_was_not_run_is_named_once_and_has_no_lines() {
        let (run, not_run) = (Ours::computed(2.0), Ours::none());
        let mut half = Table::new("Half of it.", &["system", "mean"]);
        half.row("weir", &[(run.clone(), Unit::Times)]);
        half.row("nginx", &[(not_run.clone(), Unit::Times)]);
        let mut none = Table::new("None of it.", &["system", "mean"]);
        none.row("nginx", &[(not_run.clone(), Unit::Times)]);
        let row = |what: &str, ours| Row::new(what, "", ours, Unit::Times);
        let section = Section {
            name: "some".into(),
            title: "Some".into(),
            paper: "Nobody".into(),
            repeats: "nothing".into(),
            scale: Scale::Full,
            counts: Counts::default(),
            paragraphs: Vec::new(),
            plots: Vec::new(),
            tables: vec![half, none],
            rows: vec![row("a ratio", run), row("another ratio", not_run)],
        };
        let text = markdown(&Report { runs: Vec::new(), sections: vec![section] });
        assert!(text.contains("| a ratio |") && !text.contains("| another ratio |"), "{text}");
        assert!(text.contains("Without a run that counts: another ratio."), "{text}");
        assert!(text.contains("| weir |") && !text.contains("| nginx |"), "{text}");
        assert!(!text.contains("None of it."), "{text}");
    }
}
