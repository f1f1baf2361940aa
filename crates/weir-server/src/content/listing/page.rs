//! How a list is written: HTML that is read on a phone as well, without scripts, or JSON. Used by
//! [`super::entries`], which has the entries.

use maud::{Markup, PreEscaped, html};
use serde_json::json;
use weir_http::message::{date, path};

const STYLE: &str = include_str!("page.css");

/// What a list is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListFormat {
    Html,
    Json,
}

impl ListFormat {
    /// Its media type.
    pub(crate) fn media(self) -> &'static str {
        match self {
            ListFormat::Html => "text/html; charset=utf-8",
            ListFormat::Json => "application/json",
        }
    }
}

/// A file or directory as it is shown.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Box<[u8]>,
    pub(super) is_directory: bool,
    /// In bytes; of directories it says nothing.
    pub(super) length: u64,
    /// In seconds since 1970.
    pub(super) modified: i64,
}

/// Writes a list piece by piece.
#[derive(Debug)]
pub(super) struct Page {
    format: ListFormat,
    /// The path of the directory, for its title.
    title: String,
    /// There is no directory above it that can be asked for.
    is_top: bool,
    /// Entries so far.
    written: usize,
}

impl Page {
    /// Of the directory whose path is `shown`: segments joined by `/`.
    pub(super) fn new(format: ListFormat, shown: &[u8], is_top: bool) -> Page {
        let slash = if shown.is_empty() { "" } else { "/" };
        let title = format!("/{}{slash}", String::from_utf8_lossy(shown));
        Page { format, title, is_top, written: 0 }
    }

    /// Begins the list; `is_sorted`: all of it.
    pub(super) fn begin(&self, out: &mut Vec<u8>, is_sorted: bool) {
        match self.format {
            ListFormat::Json => out.extend_from_slice(b"["),
            ListFormat::Html => {
                let PreEscaped(title) = html! { (self.title) };
                let title = title.as_str();
                for text in [
                    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                     <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
                    title,
                    "</title>\n<style>\n",
                    STYLE,
                    "</style>\n</head>\n<body>\n<main>\n<h1>",
                    title,
                    "</h1>\n",
                ] {
                    out.extend_from_slice(text.as_bytes());
                }
                if !is_sorted {
                    let note = "<p>There is so much here that it is not sorted to its end.</p>\n";
                    out.extend_from_slice(note.as_bytes());
                }
                out.extend_from_slice(b"<table>\n<thead><tr><th>Name</th><th>Size</th><th>Modified</th></tr></thead>\n<tbody>\n");
                if !self.is_top {
                    push(out, html! { tr { td { a href="../" { "../" } } td {} td {} } });
                }
            }
        }
    }

    /// Adds an entry.
    pub(super) fn entry(&mut self, out: &mut Vec<u8>, entry: &Entry) {
        let name = String::from_utf8_lossy(&entry.name);
        let slash = if entry.is_directory { "/" } else { "" };
        let link = format!("{}{slash}", path::reference(&entry.name));
        let modified = date::format(entry.modified);
        let modified = std::str::from_utf8(&modified).unwrap_or_default();
        match self.format {
            ListFormat::Html => push(
                out,
                html! {
                    tr {
                        td { a href=(link) { (&*name) (slash) } }
                        td { @if !entry.is_directory { (size(entry.length)) } }
                        // The day and the minute: `06 Nov 1994 08:49`.
                        td { (modified.get(5..22).unwrap_or_default()) }
                    }
                },
            ),
            ListFormat::Json => {
                let separator = if self.written == 0 { "\n" } else { ",\n" };
                let kind = if entry.is_directory { "directory" } else { "file" };
                let mut shown = json!({
                    "name": name, "url": link, "type": kind, "mtime": modified,
                });
                if !entry.is_directory {
                    shown["size"] = json!(entry.length);
                }
                out.extend_from_slice(separator.as_bytes());
                out.extend_from_slice(shown.to_string().as_bytes());
            }
        }
        self.written += 1;
    }

    /// Ends the list.
    pub(super) fn end(&self, out: &mut Vec<u8>) {
        match self.format {
            ListFormat::Json => out.extend_from_slice(b"\n]\n"),
            ListFormat::Html => {
                out.extend_from_slice(b"</tbody>\n</table>\n");
                if self.written == 0 {
                    out.extend_from_slice(b"<p>There is nothing here.</p>\n");
                }
                out.extend_from_slice(b"</main>\n</body>\n</html>\n");
            }
        }
    }
}

fn push(out: &mut Vec<u8>, markup: Markup) {
    let PreEscaped(text) = markup;
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let (mut value, mut unit) = (bytes as f64 / 1000.0, 0);
    // What rounds to a thousand is one of the next.
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: ListFormat, shown: &str, entries: &[Entry]) -> String {
        let mut page = Page::new(format, shown.as_bytes(), shown.is_empty());
        let mut out = Vec::new();
        page.begin(&mut out, true);
        entries.iter().for_each(|entry| page.entry(&mut out, entry));
        page.end(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn entry(name: &[u8], is_directory: bool) -> Entry {
        Entry { name: name.into(), is_directory, length: 1_234_567, modified: 784_111_777 }
    }

    #[test]
    fn names_can_be_anything_and_are_only_names() {
        let entries = [
            entry(b"a<b>&\"c'", true),
            entry(b"javascript:alert(1)", false),
            entry(b"\xff?#%", false),
        ];
        let page = written(ListFormat::Html, "x/<y>", &entries);
        assert!(page.contains("<title>/x/&lt;y&gt;/</title>"), "{page}");
        assert!(
            page.contains("<a href=\"a%3Cb%3E%26%22c%27/\">a&lt;b&gt;&amp;&quot;c'/</a>"),
            "{page}"
        );
        assert!(page.contains("<a href=\"javascript%3Aalert%281%29\">"), "{page}");
        assert!(page.contains("<a href=\"%FF%3F%23%25\">"), "{page}");
        assert!(page.contains("<td>1.2 MB</td><td>06 Nov 1994 08:49</td>"), "{page}");
        assert!(page.contains("href=\"../\"") && !page.contains("<script"), "{page}");
        assert!(!written(ListFormat::Html, "", &[]).contains("href=\"../\""));
        assert!(written(ListFormat::Html, "", &[]).contains("nothing here"));

        let list: serde_json::Value =
            serde_json::from_str(&written(ListFormat::Json, "x", &entries)).unwrap();
        assert_eq!(list[0]["name"], "a<b>&\"c'");
        assert_eq!((&list[0]["type"], list[0].get("size")), (&json!("directory"), None));
        assert_eq!((&list[1]["type"], &list[1]["size"]), (&json!("file"), &json!(1_234_567)));
        assert_eq!(list[2]["url"], "%FF%3F%23%25");
        assert_eq!(list[0]["mtime"], "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(written(ListFormat::Json, "", &[]), "[\n]\n");
    }

    #[test]
    fn sizes_as_people_read_them() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (1_550_000, "1.6 MB"),
            (999_999, "1.0 MB"),
            (5_000_000_000_000, "5.0 TB"),
            (u64::MAX, "18446.7 PB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
