//! Media types by file name extension; text is taken to be UTF-8. Used by the file handler of
//! `weir-server`, once for each file that it opens.

/// The type of a file whose extension is not known (RFC 9110, section 8.3).
const UNKNOWN: &str = "application/octet-stream";

/// The value of `Content-Type` for a file of this name (its last segment is enough).
///
/// Textual types carry `charset=utf-8`. JSON does not: it has no such parameter and is UTF-8 anyway
/// (RFC 8259, sections 8.1 and 11). No allocation.
pub fn content_type(name: &[u8]) -> &'static str {
    let guess = extension(name).and_then(|extension| mime_guess::from_ext(extension).first_raw());
    guess.map_or(UNKNOWN, with_charset)
}

/// What follows the last dot of the last segment. A leading dot does not begin an extension.
fn extension(name: &[u8]) -> Option<&str> {
    let file = name.rsplit(|&byte| byte == b'/').next()?;
    let dot = file.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0)?;
    std::str::from_utf8(file.get(dot + 1..)?).ok()
}

/// Adds the charset to the types browsers render as text. `application/javascript` is the old name
/// of `text/javascript` (RFC 9239, section 6).
fn with_charset(guess: &'static str) -> &'static str {
    match guess {
        "text/html" => "text/html; charset=utf-8",
        "text/css" => "text/css; charset=utf-8",
        "text/javascript" | "application/javascript" => "text/javascript; charset=utf-8",
        "text/plain" => "text/plain; charset=utf-8",
        "text/markdown" => "text/markdown; charset=utf-8",
        "text/csv" => "text/csv; charset=utf-8",
        "text/tab-separated-values" => "text/tab-separated-values; charset=utf-8",
        "text/calendar" => "text/calendar; charset=utf-8",
        "text/vcard" => "text/vcard; charset=utf-8",
        "text/vtt" => "text/vtt; charset=utf-8",
        "text/turtle" => "text/turtle; charset=utf-8",
        "text/cache-manifest" => "text/cache-manifest; charset=utf-8",
        "text/x-c" => "text/x-c; charset=utf-8",
        "text/x-rust" => "text/x-rust; charset=utf-8",
        "text/x-toml" => "text/x-toml; charset=utf-8",
        "text/x-yaml" => "text/x-yaml; charset=utf-8",
        "text/xml" => "text/xml; charset=utf-8",
        "application/xml" => "application/xml; charset=utf-8",
        "application/xhtml+xml" => "application/xhtml+xml; charset=utf-8",
        "application/atom+xml" => "application/atom+xml; charset=utf-8",
        "application/rss+xml" => "application/rss+xml; charset=utf-8",
        "image/svg+xml" => "image/svg+xml; charset=utf-8",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::content_type;

    #[test]
    fn common_names() {
        let cases: [(&[u8], &str); 9] = [
            (b"index.html", "text/html; charset=utf-8"),
            (b"a/b/STYLE.CSS", "text/css; charset=utf-8"),
            (b"app.js", "text/javascript; charset=utf-8"),
            (b"app.mjs", "text/javascript; charset=utf-8"),
            (b"data.json", "application/json"),
            (b"logo.svg", "image/svg+xml; charset=utf-8"),
            (b"app.wasm", "application/wasm"),
            (b"font.woff2", "font/woff2"),
            (b"a.tar.gz", "application/gzip"),
        ];
        for (name, media_type) in cases {
            assert_eq!(content_type(name), media_type);
        }
    }

    #[test]
    fn names_without_a_known_extension() {
        let names: [&[u8]; 8] =
            [b"", b"LICENSE", b".html", b"a.", b"a.no-such", b"a.\xff", b"dir.html/file", b"html"];
        for name in names {
            assert_eq!(content_type(name), "application/octet-stream");
        }
    }
}
