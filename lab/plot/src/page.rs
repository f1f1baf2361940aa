//! The frame of an HTML page: everything in one file, so that it can be sent and kept. Callers fill
//! in the content.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::svg;

const STYLE: &str = include_str!("style.css");

/// A page of HTML that needs nothing else. `style` is what the page needs beside the common style
/// sheet.
pub fn page(title: &str, style: &str, body: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                // Colours of the dark, and sizes on a phone, come after those of plots.
                style { (PreEscaped(svg::STYLE)) (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body { main { (body) } }
        }
    };
    page.into_string()
}
