//! Media types by file name extension; text is taken to be UTF-8. Used by the file handler of
//! `weir-server`, once for each file that it opens.

/// The type of a file whose extension is not known (RFC 9110, section 8.3).
const UNKNOWN: &str = "application/octet-stream";

const PLAIN: &str = "text/plain; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Types that `mime_guess` does not have, or has from a time before the extension meant what it means
/// on the web: those of packages, archives, web applications, streams, and of texts that browsers are to
/// show. `.ts` is a stream of video, which players insist on; no browser loads TypeScript.
const OWN: [(&str, &str); 56] = [
    ("7z", "application/x-7z-compressed"),
    ("apk", "application/vnd.android.package-archive"),
    ("asc", PLAIN),
    ("avif", "image/avif"),
    ("br", "application/x-brotli"),
    ("bz2", "application/x-bzip2"),
    ("cjs", SCRIPT),
    ("conf", PLAIN),
    ("crate", "application/gzip"),
    ("deb", "application/vnd.debian.binary-package"),
    ("diff", "text/x-diff; charset=utf-8"),
    ("dmg", "application/x-apple-diskimage"),
    ("flac", "audio/flac"),
    ("geojson", "application/geo+json"),
    ("glb", "model/gltf-binary"),
    ("gltf", "model/gltf+json"),
    ("gz", "application/gzip"),
    ("ico", "image/x-icon"),
    ("ini", PLAIN),
    ("iso", "application/x-iso9660-image"),
    ("jar", "application/java-archive"),
    ("js", SCRIPT),
    ("jsonld", "application/ld+json"),
    ("jxl", "image/jxl"),
    ("log", PLAIN),
    ("m2ts", "video/mp2t"),
    ("m3u8", "application/vnd.apple.mpegurl"),
    ("m4a", "audio/mp4"),
    ("m4s", "video/iso.segment"),
    ("map", "application/json"),
    ("md", "text/markdown; charset=utf-8"),
    ("mjs", SCRIPT),
    ("mkv", "video/matroska"),
    ("mpd", "application/dash+xml"),
    ("opus", "audio/ogg"),
    ("otf", "font/otf"),
    ("patch", "text/x-diff; charset=utf-8"),
    ("pem", "application/x-pem-file"),
    ("rpm", "application/x-rpm"),
    ("sha256", PLAIN),
    ("sha512", PLAIN),
    ("sig", UNKNOWN),
    ("tgz", "application/gzip"),
    ("toml", "application/toml"),
    ("ts", "video/mp2t"),
    ("ttf", "font/ttf"),
    ("txz", "application/x-xz"),
    ("wasm", "application/wasm"),
    ("webm", "video/webm"),
    ("webmanifest", "application/manifest+json"),
    ("webp", "image/webp"),
    ("whl", "application/zip"),
    ("xz", "application/x-xz"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zst", "application/zstd"),
];

/// The value of `Content-Type` for a file of this name (its last segment is enough).
///
/// Textual types carry `charset=utf-8`. JSON does not: it has no such parameter and is UTF-8 anyway
/// (RFC 8259, sections 8.1 and 11). No allocation.
pub fn content_type(name: &[u8]) -> &'static str {
    let Some(extension) = extension(name) else { return UNKNOWN };
    if let Some(own) = own(extension) {
        return own;
    }
    mime_guess::from_ext(extension).first_raw().map_or(UNKNOWN, with_charset)
}

fn own(extension: &str) -> Option<&'static str> {
    let found = OWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    found.map(|(_, media)| *media)
}

/// What follows the last dot of the last segment. A leading dot does not begin an extension.
pub fn extension(name: &[u8]) -> Option<&str> {
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
        "text/javascript" | "application/javascript" => SCRIPT,
        "text/plain" => PLAIN,
        "text/markdown" | "text/x-markdown" => "text/markdown; charset=utf-8",
        "text/csv" => "text/csv; charset=utf-8",
        "text/tab-separated-values" => "text/tab-separated-values; charset=utf-8",
        "text/calendar" => "text/calendar; charset=utf-8",
        "text/vcard" => "text/vcard; charset=utf-8",
        "text/vtt" => "text/vtt; charset=utf-8",
        "text/turtle" => "text/turtle; charset=utf-8",
        "text/n3" => "text/n3; charset=utf-8",
        "text/cache-manifest" => "text/cache-manifest; charset=utf-8",
        "text/jsx" => "text/jsx; charset=utf-8",
        "text/less" => "text/less; charset=utf-8",
        "text/x-scss" => "text/x-scss; charset=utf-8",
        "text/x-sass" => "text/x-sass; charset=utf-8",
        "text/troff" => "text/troff; charset=utf-8",
        "text/x-c" => "text/x-c; charset=utf-8",
        "text/x-java-source" => "text/x-java-source; charset=utf-8",
        "text/x-lua" => "text/x-lua; charset=utf-8",
        "text/x-org" => "text/x-org; charset=utf-8",
        "text/x-python" => "text/x-python; charset=utf-8",
        "text/x-rust" => "text/x-rust; charset=utf-8",
        "text/x-toml" => "text/x-toml; charset=utf-8",
        "text/x-yaml" => "text/x-yaml; charset=utf-8",
        "text/yaml" => "text/yaml; charset=utf-8",
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
    use super::{OWN, content_type};

    #[test]
    fn common_names() {
        let cases: [(&[u8], &str); 26] = [
            (b"index.html", "text/html; charset=utf-8"),
            (b"a/b/STYLE.CSS", "text/css; charset=utf-8"),
            (b"app.js", "text/javascript; charset=utf-8"),
            (b"app.mjs", "text/javascript; charset=utf-8"),
            (b"app.js.map", "application/json"),
            (b"data.json", "application/json"),
            (b"logo.svg", "image/svg+xml; charset=utf-8"),
            (b"app.wasm", "application/wasm"),
            (b"font.woff2", "font/woff2"),
            (b"a.tar.gz", "application/gzip"),
            (b"a.tgz", "application/gzip"),
            (b"a.tar.zst", "application/zstd"),
            (b"a.tar.xz", "application/x-xz"),
            (b"a.zip", "application/zip"),
            (b"weir-0.2.x86_64.rpm", "application/x-rpm"),
            (b"weir_0.2_amd64.DEB", "application/vnd.debian.binary-package"),
            (b"site.webmanifest", "application/manifest+json"),
            (b"photo.avif", "image/avif"),
            (b"photo.webp", "image/webp"),
            (b"photo.jpg", "image/jpeg"),
            (b"segment0.ts", "video/mp2t"),
            (b"live.m3u8", "application/vnd.apple.mpegurl"),
            (b"film.mp4", "video/mp4"),
            (b"README.md", "text/markdown; charset=utf-8"),
            (b"build.log", "text/plain; charset=utf-8"),
            (b"feed.atom", "application/atom+xml; charset=utf-8"),
        ];
        for (name, media_type) in cases {
            let shown = String::from_utf8_lossy(name);
            assert_eq!(content_type(name), media_type, "{shown}");
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

    #[test]
    fn each_extension_stands_in_the_table_once_in_lower_case() {
        assert!(OWN.is_sorted_by(|(one, _), (other, _)| one < other));
        for (extension, media) in OWN {
            assert_eq!(extension, extension.to_ascii_lowercase());
            let is_text = media.starts_with("text/");
            assert_eq!(media.ends_with("; charset=utf-8"), is_text, "{extension}");
        }
    }
}
