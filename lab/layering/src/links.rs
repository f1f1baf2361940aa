//! Relative links of Markdown files that lead nowhere; `tests/house.rs` refuses them.

use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Parser, Tag};

use crate::error::Error;

/// A link to a file that doesn't exist.
#[derive(Debug, PartialEq, Eq)]
pub struct BrokenLink {
    /// The file that has the link.
    pub file: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// Where it leads, as it is written.
    pub target: String,
}

/// The broken links in `file`, a path below `root`. Links with a scheme and links inside the page are not looked at.
///
/// # Errors
///
/// If the file can't be read.
pub fn broken_links(root: &Path, file: &Path) -> Result<Vec<BrokenLink>, Error> {
    let text = std::fs::read_to_string(root.join(file))
        .map_err(|error| Error::Unreadable(file.to_owned(), error))?;
    let folder = root.join(file.parent().unwrap_or(Path::new("")));
    let is_there = |path: &str| match path.strip_prefix('/') {
        Some(from_root) => root.join(from_root).exists(),
        None => folder.join(path).exists(),
    };
    let broken = links(&text)
        .into_iter()
        .filter(|(_, target)| path(target).is_some_and(|path| !is_there(path)));
    Ok(broken.map(|(line, target)| BrokenLink { file: file.to_owned(), line, target }).collect())
}

/// Line and target of each link and image.
fn links(text: &str) -> Vec<(usize, String)> {
    let line = |offset: usize| text[..offset].matches('\n').count() + 1;
    Parser::new(text)
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some((line(range.start), dest_url.into_string()))
            }
            _ => None,
        })
        .collect()
}

/// The file that a link leads to, without the place in it.
fn path(target: &str) -> Option<&str> {
    let path = target.split(['#', '?']).next()?;
    let has_scheme = path.split('/').next().is_some_and(|first| first.contains(':'));
    (!path.is_empty() && !has_scheme).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_images_are_found_and_code_is_not() {
        let text =
            "[a](b.md#c)\n\n```\n[no](link)\n```\n![d](e.svg) `[no](link)` [f][g]\n\n[g]: h.md\n";
        let expected =
            [(1, "b.md#c"), (6, "e.svg"), (6, "h.md")].map(|(line, to)| (line, to.to_owned()));
        assert_eq!(links(text), expected);
    }

    #[test]
    fn only_relative_links_have_a_path() {
        assert_eq!(path("a/b.md#c"), Some("a/b.md"));
        for none in ["#c", "https://example.org/a.md", "mailto:a@example.org"] {
            assert_eq!(path(none), None, "{none}");
        }
    }

    #[test]
    fn a_link_to_nowhere_is_told_with_its_line() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(broken_links(root, Path::new("no/such.md")).is_err());
    }
}
