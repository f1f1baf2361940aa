//! Parts of the page of the admin address: tiles, charts, and quantities in the unit that suits them. Used by
//! [`super::page`].

use maud::{Markup, html};

/// A figure with a word above it and more below.
pub(super) fn tile(word: &str, value: &str, more: &str) -> Markup {
    html! { div { span { (word) } b { (value) } small { (more) } } }
}

/// Seconds as they came, the latest at the right; `top` is as high as the chart, and `said` there.
pub(super) fn chart(title: &str, values: &[f64], top: f64, said: &str) -> Markup {
    const WIDTH: usize = 300;
    let from = WIDTH.saturating_sub(values.len());
    let mut line = String::new();
    for (place, value) in values.iter().enumerate() {
        let height = 100.0 - (value / top).clamp(0.0, 1.0) * 100.0;
        let pen = if place == 0 { 'M' } else { 'L' };
        line.push_str(&format!("{pen}{} {height:.1}", from + place));
    }
    let area = match values.len() {
        0 => String::new(),
        count => format!("{line}L{} 100L{from} 100Z", from + count - 1),
    };
    html! {
        figure {
            figcaption { span { (title) } span { (said) } }
            svg viewBox=(format!("0 0 {} 100", WIDTH - 1)) preserveAspectRatio="none" role="img"
                aria-label=(title) { path.area d=(area) {} path.line d=(line) {} }
            div.span { span { "5 min ago" } span { "now" } }
        }
    }
}

/// Bits a second, in the unit that suits them.
pub(super) fn bits(per_second: f64) -> String {
    let (value, unit) = match per_second {
        b if b >= 1e9 => (b / 1e9, "Gbit/s"),
        b if b >= 1e6 => (b / 1e6, "Mbit/s"),
        b if b >= 1e3 => (b / 1e3, "kbit/s"),
        b => (b, "bit/s"),
    };
    let text = format!("{value:.1}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// Seconds, in the unit that suits them.
pub(super) fn span(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => {
            let text = format!("{s:.1}");
            format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
        }
        s if s < 3600.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// A share in hundredths.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
