//! Figures of a closed form as text. Used by every model of `weir-lab sim model`.

/// A line of name and value each; those without a value are left out.
pub(super) fn table(rows: &[(&str, Option<f64>)]) -> String {
    let shown = rows.iter().filter_map(|(name, value)| value.map(|value| (name, value)));
    shown.map(|(name, value)| format!("{name:<36}{}\n", figure(value))).collect()
}

/// A number with six digits that count.
fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    match value.abs().log10().floor() {
        places @ -5.0..=8.0 => format!("{value:.*}", (5.0 - places).max(0.0) as usize),
        _ => format!("{value:.5e}"),
    }
}
