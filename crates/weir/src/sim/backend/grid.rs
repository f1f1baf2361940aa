//! What several applications behind the gate get done: useful work in % of the time of all workers, a
//! line for each law, number of workers and mean service time, a column for each gap and load.

use super::super::output;
use super::output::Row;

/// The rows are by law, workers, service time, gap and load, and have all combinations.
pub(super) fn grid(rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut gaps = vec!["gap".to_owned()];
    let mut loads = vec!["load".to_owned()];
    for row in rows {
        let Some((name, gap, percent)) = row.of_grid() else { continue };
        if lines.len() < 2 {
            gaps.push(gap);
            loads.push(format!("{} %", row.load_percent));
        }
        match lines.last_mut().filter(|line| line.first() == Some(&name)) {
            Some(line) => line.push(percent),
            None => lines.push(vec![name, percent]),
        }
    }
    let columns = lines.first().map_or(0, Vec::len);
    gaps.truncate(columns);
    loads.truncate(columns);
    lines.splice(0..0, [gaps, loads]);
    format!("useful work in % of the time of all workers\n{}", output::table(&lines))
}
