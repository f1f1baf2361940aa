//! What a gap costs several applications: useful work in % of that of an application that is never
//! idle, a line for each law, number of workers and mean service time, a column for each gap and load.

use super::super::output;
use super::output::Row;

/// The rows are by law, workers, service time, gap and load, and have all combinations.
pub(super) fn grid(rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    let mut gaps = vec!["gap".to_owned()];
    let mut loads = vec!["load".to_owned()];
    for row in rows {
        let Some(application) = &row.application else { continue };
        let (workers, mean) = (application.workers, 1e3 / row.service_rate_per_second);
        let name = format!("{}, {workers} × {mean} ms", row.law);
        let percent = row.of_never_idle().map_or("-".into(), |share| format!("{share:.1}"));
        if lines.len() < 2 {
            gaps.push(format!("{} ms", 1e3 * application.gap_seconds));
            loads.push(format!("{} %", row.load_percent));
        }
        match lines.last_mut().filter(|line| line[0] == name) {
            Some(line) => line.push(percent),
            None => lines.push(vec![name, percent]),
        }
    }
    let columns = lines.first().map_or(0, Vec::len);
    gaps.truncate(columns);
    loads.truncate(columns);
    lines.splice(0..0, [gaps, loads]);
    format!(
        "useful work in % of that of an application that is never idle\n{}",
        output::table(&lines)
    )
}
