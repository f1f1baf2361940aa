//! The report as one page of HTML that needs nothing else: style and plots are in it.

use maud::{Markup, html};

use super::contents::Report;
use crate::choice::Scale;
use crate::findings::number::{bar, ours};
use crate::findings::{Counts, Row, Section, Table, Verdict};

const STYLE: &str = include_str!("style.css");

/// What a verdict says.
pub(super) const VERDICTS: &str = "A bar is what weir is to reach. Beside what a paper says, the \
     verdict is \"as the paper says\" for a limit or a range, \"as in the paper, within a quarter\" for a \
     figure, or by how much it is not. Behind it is the number of seeds, and in the last column the \
     commit of the weir that was measured.";

/// The page.
pub fn html(report: &Report) -> String {
    let body =
        html! { (head(report)) (bars(report)) @for section in &report.sections { (one(section)) } };
    weir_plot::page("weir-lab", STYLE, body)
}

fn head(report: &Report) -> Markup {
    html! {
        h1 { "What weir-lab measured" }
        p.soft {
            "Experiments of papers on web servers under overload, repeated: the paper's figure, ours, "
            "and a verdict. Figures are medians over seeds; in brackets an interval from the least to "
            "the most, or nearly, that has the true median with 94 % of five seeds and 75 % of three; "
            "of one seed there is none. Ratios between systems are taken seed by seed on the same "
            "requests. " (VERDICTS)
        }
        @for run in &report.runs {
            dl {
                dt { "began" } dd { (run.began) }
                dt { "command" } dd { code { (run.command) } }
                dt { "scale" } dd { (run.choice.scale.name()) }
                dt { "machine" } dd {
                    (run.machine.kernel) ", " (run.machine.cores) " cores"
                    @if !run.machine.processor.is_empty() { ", " (run.machine.processor) }
                    "; weir " (run.machine.weir)
                }
            }
        }
        nav {
            ol {
                @for section in &report.sections {
                    li {
                        a href=(format!("#{}", anchor(section))) { (section.title) }
                        " " span.soft { (section.paper) }
                    }
                }
            }
        }
    }
}

fn anchor(section: &Section) -> String {
    format!("{}-{}", section.name, section.scale.name())
}

/// All bars in one table, first.
fn bars(report: &Report) -> Markup {
    let rows = rows_with_bars(report);
    let count = |verdict| rows.iter().filter(|(_, row)| row.verdict() == verdict).count();
    let reached = count(Verdict::Reached);
    let missed = count(Verdict::Missed);
    html! {
        @if !rows.is_empty() {
            h2 id="bars" { "Bars" }
            p { (reached) " reached, " (missed) " missed, " (rows.len() - reached - missed) " not run." }
            div.scroll { table.verdicts {
                thead { tr { th { "experiment" } th { "what" } th { "bar" } th { "ours" } th { "verdict" } } }
                tbody {
                    @for (section, row) in &rows {
                        tr {
                            td { a href=(format!("#{}", anchor(section))) { (section.name) } }
                            td { (row.what) }
                            td { (bar(row.bar, row.unit)) }
                            td { (ours(&row.ours, row.unit)) }
                            (verdict(row))
                        }
                    }
                }
            } }
        }
    }
}

/// A quick run is no result.
fn rows_with_bars(report: &Report) -> Vec<(&Section, &Row)> {
    let sections = report.sections.iter().filter(|section| section.scale != Scale::Quick);
    let rows = sections.flat_map(|section| section.rows().iter().map(move |row| (section, row)));
    rows.filter(|(_, row)| row.bar.is_some()).collect()
}

fn verdict(row: &Row) -> Markup {
    let class = match row.verdict() {
        Verdict::Reached | Verdict::Agrees => "reached",
        Verdict::Missed | Verdict::Differs => "missed",
        _ => "soft",
    };
    html! { td class=(class) { (row.words()) } }
}

fn one(section: &Section) -> Markup {
    html! {
        section {
            h2 id=(anchor(section)) { (section.title) }
            p.soft { (section.paper) ": " (section.repeats) ". " code { "weir-lab run " (section.name) } }
            p.soft { (counted(&section.counts)) }
            @if section.scale == Scale::Quick {
                p.warn { "A quick run: one seed and one short cycle. It shows that all works; it is no result." }
            }
            @for paragraph in &section.paragraphs { p { (paragraph) } }
            @if !section.rows().is_empty() { (rows(section)) }
            @if !section.plots.is_empty() {
                div.plots { @for plot in &section.plots { (plot) } }
            }
            @for one in &section.tables { (table(one)) }
        }
    }
}

/// How many runs there are and count.
pub(super) fn counted(counts: &Counts) -> String {
    if counts.planned == 0 {
        return "Simulated or computed: the same wherever it is run.".to_owned();
    }
    let mut text = format!("{} cells, {} run, {} valid", counts.planned, counts.run, counts.valid);
    for (reason, times) in &counts.reasons {
        text.push_str(&format!("; {times} × {reason}"));
    }
    text + "."
}

fn rows(section: &Section) -> Markup {
    html! {
        h3 { "Verdicts" }
        div.scroll { table.verdicts {
            thead { tr { th { "what" } th { "paper" } th { "ours" } th { "bar" } th { "verdict" } th { "commit" } } }
            tbody {
                @for row in section.rows() {
                    tr {
                        td { (row.what) }
                        td { (row.paper) }
                        td { (ours(&row.ours, row.unit)) }
                        td { (bar(row.bar, row.unit)) }
                        (verdict(row))
                        td.soft { (row.commits()) }
                    }
                }
            }
        } }
    }
}

fn table(table: &Table) -> Markup {
    html! {
        div.scroll { table {
            caption { (table.caption) }
            thead { tr { @for column in &table.columns { th { (column) } } } }
            tbody {
                @for row in &table.rows { tr { @for text in row { td { (cell(text)) } } } }
            }
        } }
    }
}

/// A figure, and its interval below it in small print: tables are wide.
fn cell(text: &str) -> Markup {
    match text.split_once(" (").and_then(|(figure, rest)| Some((figure, rest.strip_suffix(')')?))) {
        Some((figure, interval)) => html! { (figure) small { (interval) } },
        None => html! { (text) },
    }
}
