//! What several applications behind the gate get done: useful work in % of the time of all workers,
//! a line for each law, number of workers and mean service time, a column for each gap and load.

use super::row::Row;
use crate::print;

/// The rows are by law, workers, service time, gap, load and order, and have all combinations. With
/// several orders each has a line of its own.
pub(super) fn grid(rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut gaps = vec!["gap".to_owned()];
    let mut loads = vec!["load".to_owned()];
    let several = rows.windows(2).any(|two| two[0].order != two[1].order);
    for row in rows {
        let Some((mut name, gap, percent)) = row.of_grid() else { continue };
        if several {
            name += &format!(", {}", row.order);
        }
        if lines.first().is_none_or(|first| first[0] == name) {
            gaps.push(gap);
            loads.push(format!("{} %", row.load_percent));
        }
        match lines.iter_mut().find(|line| line[0] == name) {
            Some(line) => line.push(percent),
            None => lines.push(vec![name, percent]),
        }
    }
    lines.splice(0..0, [gaps, loads]);
    format!("useful work in % of the time of all workers\n{}", print::table(&lines))
}
