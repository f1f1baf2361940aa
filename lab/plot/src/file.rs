//! A plot as a file of SVG that needs no page: title, legend and style are in it, on white, since an
//! image does not know whether what is around it is dark. `weir-lab report --plots` writes such files.

use maud::{Markup, PreEscaped, html};

use crate::plot::Plot;
use crate::svg::{self, FONT, HEIGHT, WIDTH, px, sample, width};

/// Rules for what only a file has.
const STYLE: &str = include_str!("file.css");
const FONTS: &str = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
/// Size of the title in the style sheet.
const TITLE_FONT: f64 = 15.0;
/// White on every side.
const MARGIN: f64 = 14.0;
/// Height of a line of the title or the legend.
const LINE: f64 = 20.0;
/// From the beginning of an entry of the legend to its text: a piece of the curve is there.
const INDENT: f64 = 30.0;
/// Between two entries of the legend.
const GAP: f64 = 16.0;

impl Plot {
    /// The contents of a file of SVG.
    pub fn to_svg(&self) -> String {
        let title = wrapped(&self.title);
        let entries = self.entries();
        let places = places(entries.iter().map(|(_, name)| INDENT + width(name, FONT)));
        let lines = places.last().map_or(0.0, |&(_, line)| line + 1.0);
        let legend = title.len() as f64 * LINE;
        let curves = legend + lines * LINE;
        let (across, down) = (WIDTH + 2.0 * MARGIN, curves + HEIGHT + 2.0 * MARGIN);
        let file = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {across} {down}"))
                width=(px(across)) height=(px(down)) role="img" font-family=(FONTS) {
                title { (self.title) }
                style { (PreEscaped(style())) }
                rect.page width=(px(across)) height=(px(down)) {}
                g transform=(moved(MARGIN, MARGIN)) {
                    @for (line, text) in title.iter().enumerate() {
                        text.title y=(px(line as f64 * LINE + TITLE_FONT)) { (text) }
                    }
                    @for ((piece, name), &(at, line)) in entries.iter().zip(&places) {
                        g transform=(moved(at, legend + line * LINE + 4.0)) {
                            (piece)
                            text x=(px(INDENT)) y="9.5" { (name) }
                        }
                    }
                    g transform=(moved(0.0, curves)) { (self.drawn()) }
                }
            }
        };
        file.into_string() + "\n"
    }

    /// The legend: what is drawn and what is written.
    fn entries(&self) -> Vec<(Markup, &str)> {
        let curves = self.named().map(|series| (sample(series), series.name.as_str()));
        let mut entries: Vec<(Markup, &str)> = curves.collect();
        if !self.shaded.is_empty() {
            let shade = html! { rect.shade x="5" width="14" height="10" {} };
            entries.push((shade, self.shade.as_str()));
        }
        entries
    }
}

/// The style sheet with colours in place of their names: not every program that shows SVG has heard
/// of variables.
fn style() -> String {
    let rules = format!("{}{STYLE}", svg::STYLE);
    let (variables, rules) = rules.split_once('}').unwrap_or(("", rules.as_str()));
    let variables = variables.split_once('{').map_or("", |(_, variables)| variables);
    let pairs = variables.split(';').filter_map(|variable| variable.trim().split_once(": "));
    pairs.fold(rules.to_owned(), |rules, (name, colour)| {
        rules.replace(&format!("var({name})"), colour)
    })
}

/// A title in lines as wide as the plot.
fn wrapped(title: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in title.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), TITLE_FONT) <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Where things as wide as these begin, and in which line each is, from 0: one that has no room left
/// begins a line.
fn places(widths: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    let (mut end, mut line) = (0.0, 0.0);
    let place = |width: f64| {
        if end > 0.0 && end + width > WIDTH {
            (end, line) = (0.0, line + 1.0);
        }
        let at = end;
        end += width + GAP;
        (at, line)
    };
    widths.map(place).collect()
}

fn moved(across: f64, down: f64) -> String {
    format!("translate({} {})", px(across), px(down))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Series};

    /// With all that can be drawn.
    fn plot() -> Plot {
        let mut plot = Plot::new("a < b & \"c\"", Axis::linear("s"), Axis::log("ms"));
        plot.shaded.push((1.0, 2.0));
        let mut marked = Series::new("one & all", vec![(0.0, 1.0), (2.0, 10.0)]).marked().filled();
        marked.intervals = vec![(0.9, 1.1), (9.0, 11.0)];
        plot.series.push(marked);
        plot.series.push(Series::new("<two>", vec![(0.0, 3.0), (2.0, 4.0)]).coloured(1, true));
        plot
    }

    /// The names of the elements, if it is XML that every reader takes.
    fn elements(xml: &str) -> Vec<&str> {
        for entity in xml.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;"].iter().any(|name| entity.starts_with(name));
            assert!(known, "&{entity}");
        }
        let (mut open, mut all): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for part in xml.trim_end().split('<').skip(1) {
            let (tag, text) = part.split_once('>').expect("a tag ends");
            match tag.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name)),
                None => {
                    let name = tag.split(' ').next().unwrap_or_default();
                    assert_eq!(tag.matches("=\"").count() * 2, tag.matches('"').count(), "{tag}");
                    open.push(name);
                    all.push(name);
                }
            }
            assert!(!open.is_empty() || text.is_empty(), "nothing follows the root: {text}");
        }
        assert!(open.is_empty(), "not closed: {open:?}");
        all
    }

    #[test]
    fn a_file_is_xml_with_its_title_and_legend() {
        let svg = plot().to_svg();
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 588 "));
        let elements = elements(&svg);
        assert_eq!(elements[..4], ["svg", "title", "style", "rect"], "{svg}");
        assert!(svg.contains("<title>a &lt; b &amp; &quot;c&quot;</title>"), "{svg}");
        for text in ["a &lt; b &amp; &quot;c&quot;", "one &amp; all", "&lt;two&gt;", "overload"] {
            assert!(svg.contains(&format!(">{text}</text>")), "{text} is not seen in {svg}");
        }
    }

    #[test]
    fn a_file_has_a_rule_for_all_that_is_drawn_and_looks_nothing_up() {
        let svg = plot().to_svg();
        let (style, drawn) = svg.split_once("</style>").expect("a style sheet");
        assert!(!style.contains("var(") && !style.contains("@media"), "{style}");
        let classes = drawn.split("class=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let classes: Vec<&str> = classes.flat_map(str::split_whitespace).collect();
        assert!(["page", "shade", "whisker", "area", "dash"].iter().all(|c| classes.contains(c)));
        // What is only there on a wide screen is always there in a file.
        for class in classes.into_iter().filter(|&class| class != "wide") {
            assert!(style.contains(&format!(".{class} {{")), "no rule for {class}");
        }
        assert!(style.contains("svg .page { fill: #ffffff; }"), "{style}");
    }

    #[test]
    fn what_has_no_room_in_a_line_begins_another() {
        let begin = places([300.0, 200.0, 100.0, 700.0, 10.0].into_iter());
        assert_eq!(begin, [(0.0, 0.0), (316.0, 0.0), (0.0, 1.0), (0.0, 2.0), (0.0, 3.0)]);
        let long = "word ".repeat(30);
        let lines = wrapped(&long);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, TITLE_FONT) <= WIDTH));
        assert_eq!(lines.join(" "), long.trim_end());
        let mut many = plot();
        many.series.extend((0..20).map(|n| Series::new(format!("system {n}"), vec![(0.0, 1.0)])));
        let height = |plot: &Plot| {
            let svg = plot.to_svg();
            let height = svg.split("height=\"").nth(1).and_then(|rest| rest.split('"').next());
            height.and_then(|height| height.parse::<f64>().ok()).expect("a height")
        };
        assert!(height(&many) >= height(&plot()) + 2.0 * LINE);
    }
}
