//! The report as Markdown, for a document of results: verdicts and tables, without plots.

use std::fmt::Write as _;

use super::contents::Report;
use super::html;
use crate::choice::Scale;
use crate::findings::number::{bar, ours};
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
        "Figures are medians over seeds; in brackets an interval that has the true median with about \
         94 % (of five seeds, least to most). Ratios are taken seed by seed on the same requests. ",
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
    if !section.rows().is_empty() {
        text.push_str(
            "\n| what | paper | ours | bar | verdict | commit |\n\
             | --- | --- | --- | --- | --- | --- |\n",
        );
        section.rows().iter().for_each(|row| line(text, row));
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

fn table(text: &mut String, table: &Table) {
    let joined =
        |cells: &[String]| cells.iter().map(|cell| escape(cell)).collect::<Vec<_>>().join(" | ");
    let rule = vec!["---"; table.columns.len()].join(" | ");
    let _ = write!(
        text,
        "\n{}\n\n| {} |\n| {rule} |\n",
        escape(&table.caption),
        joined(&table.columns)
    );
    for row in &table.rows {
        let _ = writeln!(text, "| {} |", joined(row));
    }
}

/// What would end a cell or begin HTML.
fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}
