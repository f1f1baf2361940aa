//! The two traffic patterns of section 4.2, as far as they can be had back. Figures 9 and 10
//! survive only in words: three and five ninths of the day (33 % and 56 %) in overload, the busy
//! day with one interval at 300 %, the rest "just under the server's capacity", 20 000 s in all.
//! Nine equal intervals, 95 % and 150 % are the choice that comes nearest to the throughputs that
//! Figures 11 and 12 state in the text.

use weir_workload::shape::{Period, Shape};

/// Names of the patterns, for help texts and errors.
pub const DAYS: [&str; 2] = ["carter-normal-day", "carter-busy-day"];

/// Seconds of the day (Figure 13).
const DAY: f64 = 20_000.0;
const UNDER: f64 = 0.95;
const OVER: f64 = 1.5;

/// The paper's pattern of this name; `None` if there is none.
pub fn day(name: &str) -> Option<Shape> {
    let loads = match DAYS.iter().position(|day| *day == name)? {
        0 => [UNDER, OVER, UNDER, UNDER, OVER, UNDER, UNDER, OVER, UNDER],
        _ => [UNDER, OVER, UNDER, OVER, 3.0, OVER, UNDER, OVER, UNDER],
    };
    let seconds = DAY / loads.len() as f64;
    Shape::new(name, loads.map(|load| Period { seconds, load }).to_vec()).ok()
}
