//! Circles: files that use each other, directly or by way of others.
//!
//! `tests/house.rs` lists the few that may stay.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use petgraph::algo::{greedy_feedback_arc_set, is_cyclic_directed, tarjan_scc};
use petgraph::graph::{DiGraph, EdgeReference, NodeIndex};
use petgraph::visit::EdgeRef;

use crate::arrows::Arrow;

/// The circles that `arrows` form: of each, the arrows between its files, in order of their names.
pub fn circles<'a>(arrows: impl IntoIterator<Item = &'a Arrow>) -> Vec<Vec<&'a Arrow>> {
    let graph = graph(arrows);
    let mut found: Vec<Vec<&Arrow>> = tarjan_scc(&graph)
        .into_iter()
        .filter(|files| files.len() > 1)
        .map(|files| {
            let inside = |edge: &EdgeReference<'_, _>| {
                files.contains(&edge.source()) && files.contains(&edge.target())
            };
            let tied = graph.edge_references().filter(inside).map(|edge| *edge.weight());
            in_order(tied)
        })
        .collect();
    found.sort_by_key(|circle| circle.first().map(|arrow| &arrow.from));
    found
}

/// A few of `arrows` without which they form no circle. None of them could stay, but another choice may be smaller.
pub fn closing<'a>(arrows: impl IntoIterator<Item = &'a Arrow>) -> Vec<&'a Arrow> {
    let mut graph = graph(arrows);
    let closing: Vec<_> = greedy_feedback_arc_set(&graph).map(|edge| edge.id()).collect();
    let taken: Vec<_> = closing
        .iter()
        .filter_map(|edge| Some((graph.edge_endpoints(*edge)?, graph[*edge])))
        .collect();
    graph.retain_edges(|_, edge| !closing.contains(&edge));
    // The greedy choice takes some arrows in vain: those that close nothing are put back.
    let needed = taken.into_iter().filter(|((from, to), arrow)| {
        let edge = graph.add_edge(*from, *to, arrow);
        let closes = is_cyclic_directed(&graph);
        if closes {
            graph.remove_edge(edge);
        }
        closes
    });
    let needed: Vec<_> = needed.map(|(_, arrow)| arrow).collect();
    in_order(needed.into_iter())
}

fn graph<'a>(arrows: impl IntoIterator<Item = &'a Arrow>) -> DiGraph<&'a Path, &'a Arrow> {
    let mut graph = DiGraph::new();
    let mut nodes = BTreeMap::<&Path, NodeIndex>::new();
    for arrow in arrows {
        let mut node = |file| *nodes.entry(file).or_insert_with(|| graph.add_node(file));
        let (from, to) = (node(arrow.from.as_path()), node(arrow.to.as_path()));
        graph.add_edge(from, to, arrow);
    }
    graph
}

fn in_order<'a>(arrows: impl Iterator<Item = &'a Arrow>) -> Vec<&'a Arrow> {
    let mut arrows: Vec<_> = arrows.collect();
    arrows.sort_by_key(|arrow| (&arrow.from, &arrow.to));
    arrows
}

/// One line for each arrow: `from:line -> to: names`.
pub fn describe<'a>(arrows: impl IntoIterator<Item = &'a Arrow>) -> String {
    let mut text = String::new();
    for arrow in arrows {
        let line = arrow.names.values().min().copied().unwrap_or(1);
        let names: Vec<&str> = arrow.names.keys().map(String::as_str).collect();
        let (from, to) = (arrow.from.display(), arrow.to.display());
        let _ = writeln!(text, "  {from}:{line} -> {to}: {}", names.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow(from: &str, to: &str) -> Arrow {
        Arrow {
            from: from.into(),
            to: to.into(),
            from_room: None,
            to_room: None,
            names: BTreeMap::from([("Name".to_owned(), 7), ("other".to_owned(), 3)]),
        }
    }

    #[test]
    fn only_arrows_inside_a_circle_are_told() {
        let arrows =
            [arrow("a", "b"), arrow("b", "c"), arrow("c", "a"), arrow("c", "d"), arrow("e", "a")];
        let found = circles(&arrows);
        assert_eq!(found.len(), 1);
        let pairs: Vec<_> =
            found[0].iter().map(|arrow| (arrow.from.as_path(), arrow.to.as_path())).collect();
        let expected = [("a", "b"), ("b", "c"), ("c", "a")];
        assert_eq!(pairs, expected.map(|(from, to)| (Path::new(from), Path::new(to))));
    }

    #[test]
    fn without_the_closing_arrows_there_is_no_circle() {
        let arrows = [arrow("a", "b"), arrow("b", "c"), arrow("c", "a"), arrow("c", "d")];
        let closing = closing(&arrows);
        assert_eq!(closing.len(), 1);
        let is_closing = |arrow: &&Arrow| {
            closing.iter().any(|other| (&other.from, &other.to) == (&arrow.from, &arrow.to))
        };
        assert!(circles(arrows.iter().filter(|arrow| !is_closing(arrow))).is_empty());
    }

    #[test]
    fn arrows_in_one_direction_are_no_circle() {
        assert!(circles(&[arrow("a", "b"), arrow("b", "c"), arrow("a", "c")]).is_empty());
    }

    #[test]
    fn an_arrow_is_described_with_its_line_and_names() {
        assert_eq!(describe(&[arrow("a.rs", "b.rs")]), "  a.rs:3 -> b.rs: Name, other\n");
    }
}
