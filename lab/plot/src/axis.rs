//! An axis on paper: where values lie and where ticks are. The SVG of a plot is laid out by it.

use crate::plot::{Axis, Range};

/// A range of values laid over a span of the page.
#[derive(Debug)]
pub(crate) struct Laid {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
    /// Value and text.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Laid {
    /// Lay the values over `from` to `to`. `ticks` is about how many there is room for.
    pub(crate) fn new(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        (from, to): (f64, f64),
        ticks: f64,
    ) -> Laid {
        let log = axis.range == Range::Log;
        let drawn = values.filter(|value| value.is_finite() && (!log || *value > 0.0));
        let (least, most) =
            drawn.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), v| (l.min(v), m.max(v)));
        let (low, high, mut ticks) = match &axis.range {
            Range::Names(names) => {
                let named = names.iter().enumerate().map(|(i, name)| (i as f64, name.clone()));
                (-0.5, names.len() as f64 - 0.5, named.collect())
            }
            Range::Log => decades(least, most, ticks),
            Range::Linear => steps(least.min(0.0), most, ticks),
            Range::Places { from, to, ticks } => (*from, *to, ticks.clone()),
        };
        if let (Some(text), Range::Log | Range::Linear) = (axis.text, &axis.range) {
            ticks.iter_mut().for_each(|(value, tick)| *tick = text(*value));
        }
        Laid { low, high, log, from, to, ticks }
    }

    /// Where a value is drawn, if it can be.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        let value = match self.log {
            true if value > 0.0 => value.log10(),
            true => return None,
            false => value,
        };
        let share = (value - self.low) / (self.high - self.low);
        let at = self.from + share * (self.to - self.from);
        at.is_finite().then_some(at)
    }
}

type Ticks = (f64, f64, Vec<(f64, String)>);

/// Steps of 1, 2 or 5 times a power of ten.
fn steps(least: f64, most: f64, ticks: f64) -> Ticks {
    let least = if least.is_finite() { least } else { 0.0 };
    let most = if most > least { most } else { least + 1.0 };
    let rough = (most - least) / ticks;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|&step| step >= rough * 0.999).unwrap_or(10.0 * power);
    let low = (least / step).floor() * step;
    let count = ((most - low) / step - 1e-9).ceil();
    let digits = (-step.log10().floor()).max(0.0) as usize;
    let values = (0..=count as usize).map(|i| low + i as f64 * step);
    let ticks = values.map(|value| (value, format!("{value:.digits$}"))).collect();
    (low, low + count * step, ticks)
}

/// Powers of ten; 2 and 5 between them where there are few.
fn decades(least: f64, most: f64, ticks: f64) -> Ticks {
    if !(least.is_finite() && most.is_finite()) {
        return (0.0, 1.0, Vec::new());
    }
    let bounds = [1.0, 2.0, 5.0];
    let decade = least.log10().floor() as i32;
    let last = most.log10().ceil() as i32;
    let mut values: Vec<f64> =
        (decade..=last).flat_map(|power| bounds.map(|b| b * 10_f64.powi(power))).collect();
    let low = values.iter().copied().filter(|v| *v <= least * 1.0001).fold(0.0, f64::max);
    let low = if low > 0.0 { low } else { least };
    let high = values.iter().copied().filter(|v| *v >= most * 0.9999).fold(f64::INFINITY, f64::min);
    let high = if high.is_finite() && high > low { high } else { low * 10.0 };
    values.retain(|value| (low * 0.999..=high * 1.001).contains(value));
    if values.len() as f64 > ticks {
        let whole = |value: &f64| (value.log10() - value.log10().round()).abs() < 1e-6;
        values.retain(whole);
    }
    (low.log10(), high.log10(), values.into_iter().map(|value| (value, short(value))).collect())
}

/// 1000 as 1 k, a millionth as 1e-6.
fn short(value: f64) -> String {
    match value {
        v if v >= 0.999e9 => format!("{:.0} G", v / 1e9),
        v if v >= 0.999e6 => format!("{:.0} M", v / 1e6),
        v if v >= 0.999e3 => format!("{:.0} k", v / 1e3),
        v if v >= 0.999 => format!("{v:.0}"),
        v if v >= 0.999e-4 => {
            let digits = (-v.log10() + 0.001).ceil().max(0.0) as usize;
            format!("{v:.digits$}")
        }
        v => format!("{v:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(laid: &Laid) -> Vec<&str> {
        laid.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_hold_all_values() {
        let linear = Axis::linear("");
        let laid = Laid::new(&linear, [3.0, 47.0].into_iter(), (0.0, 100.0), 5.0);
        assert_eq!(texts(&laid), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(laid.at(25.0), Some(50.0));
        let laid = Laid::new(&linear, [0.31].into_iter(), (0.0, 1.0), 4.0);
        assert_eq!(texts(&laid), ["0.0", "0.1", "0.2", "0.3", "0.4"]);
    }

    #[test]
    fn log_ticks_are_decades_and_zero_is_not_drawn() {
        let log = Axis::log("");
        let laid = Laid::new(&log, [0.5, 20_000.0, 0.0].into_iter(), (0.0, 10.0), 6.0);
        assert_eq!(texts(&laid), ["1", "10", "100", "1 k", "10 k"]);
        assert_eq!(laid.at(0.0), None);
        assert!(laid.at(0.5).is_some_and(|x| x.abs() < 1e-9));
        let laid = Laid::new(&log, [0.02, 0.04].into_iter(), (0.0, 10.0), 6.0);
        assert_eq!(texts(&laid), ["0.02", "0.05"]);
    }

    #[test]
    fn ticks_can_be_written_and_placed_otherwise() {
        let seconds = Axis::log("").written(|value| format!("{value} s"));
        let laid = Laid::new(&seconds, [1.0, 1000.0].into_iter(), (0.0, 3.0), 6.0);
        assert_eq!(texts(&laid), ["1 s", "10 s", "100 s", "1000 s"]);
        let noon = vec![(12.0, "noon".to_owned())];
        let axis = Axis::places("", (0.0, 24.0), noon).written(|_| "never".to_owned());
        let laid = Laid::new(&axis, [100.0].into_iter(), (0.0, 1.0), 6.0);
        assert_eq!((texts(&laid), laid.at(12.0)), (vec!["noon"], Some(0.5)));
    }

    #[test]
    fn nothing_to_draw_is_no_harm() {
        let names = Axis::names("", ["W1".to_owned()]);
        for axis in [Axis::linear(""), Axis::log(""), names] {
            for values in [&[][..], &[0.0], &[1.0], &[f64::NAN], &[f64::INFINITY]] {
                let laid = Laid::new(&axis, values.iter().copied(), (0.0, 1.0), 5.0);
                assert!(laid.at(1.0).is_some(), "{axis:?} {values:?}");
                for (value, text) in &laid.ticks {
                    let at = laid.at(*value).unwrap_or(f64::NAN);
                    assert!((-1e-9..1.0 + 1e-9).contains(&at), "{axis:?} {values:?} {text}");
                }
            }
        }
    }
}
