//! A demand in words, for the plan that is printed before a run. Used by [`demand`](super::demand)
//! and [`replay`](super::replay).

use std::sync::Arc;

use weir_workload::law::Law;
use weir_workload::shape::Shape;

use super::arguments::Arguments;
use super::planned::speaks_tls;
use super::target::Target;
use crate::values::LoadIs;
use crate::words::{bits, bytes};

/// Offered load in words.
pub(crate) fn load_words(shape: &Shape, link: f64, arguments: &Arguments) -> String {
    let loads = match shape.periods() {
        [only] => format!("{}", only.load),
        periods if periods.len() <= 4 => {
            let each: Vec<String> =
                periods.iter().map(|p| format!("{} for {} s", p.load, p.seconds)).collect();
            format!("{}, again and again ({:.3} on average)", each.join(", "), shape.mean_load())
        }
        periods => {
            format!("{shape}: {} periods, {:.3} on average", periods.len(), shape.mean_load())
        }
    };
    format!("{loads}, of {}; {}", bits(link * 8.0), meaning(arguments))
}

/// What load counts.
pub(crate) fn meaning(arguments: &Arguments) -> String {
    match arguments.load_is {
        LoadIs::Wire => format!(
            "load is wire bytes asked ÷ link rate: bodies, heads of {} B, packets and connections{}",
            arguments.head_bytes,
            if speaks_tls(arguments) { ", TLS's records and handshakes" } else { "" }
        ),
        LoadIs::File => "load is file bytes asked ÷ link rate: bodies alone".into(),
    }
}

/// What is asked for, in words.
pub(crate) fn what(target: &Target, law: Option<&Arc<dyn Law>>) -> Vec<(String, String)> {
    let what = match law {
        Some(law) => {
            format!("{}SIZE.bin, sizes by {law}, {} on average", target.base(), bytes(law.mean()))
        }
        None => target.path.clone(),
    };
    vec![("asks for".into(), what)]
}
