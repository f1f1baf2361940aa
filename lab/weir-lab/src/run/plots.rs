//! The plots of a report as files of SVG, and the way to them from the Markdown that shows them.
//! `weir-lab report --plots` writes them.

use std::fs;
use std::path::Path;

use url::Url;
use weir_experiments::report::{Report, plot_files};

use crate::failure::{Failure, failed};
use crate::output_file::cannot_write;

/// Writes them into the directory, which need not be there yet, and tells what a link in the document
/// has before a file's name.
pub(super) fn write_plots(
    report: &Report,
    directory: &Path,
    document: &Path,
) -> Result<String, Failure> {
    fs::create_dir_all(directory).map_err(|error| cannot_write(directory, &error))?;
    let way = way(document, directory)?;
    for file in plot_files(report) {
        let path = directory.join(file.name);
        fs::write(&path, file.svg).map_err(|error| cannot_write(&path, &error))?;
    }
    Ok(way)
}

/// The relative path from a document to a directory that exists, as a link has it: empty, or with a
/// slash at its end.
fn way(document: &Path, directory: &Path) -> Result<String, Failure> {
    let beside = match document.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let way = address(beside)?.make_relative(&address(directory)?).ok_or_else(|| {
        failed(format!("no link leads from {} to {}", document.display(), directory.display()))
    })?;
    // Markdown's links end at a parenthesis, and a colon would end a scheme.
    Ok(way.replace('(', "%28").replace(')', "%29").replace(':', "%3A"))
}

fn address(directory: &Path) -> Result<Url, Failure> {
    let whole = directory.canonicalize().map_err(|error| cannot_write(directory, &error))?;
    Url::from_directory_path(&whole)
        .map_err(|()| failed(format!("{} cannot be in a link", whole.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_plots_is_relative_to_the_document() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        for name in ["docs/plots", "docs/my plots (2)", "other/svg"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let document = at("docs/report.md");
        for (directory, expected) in [
            ("docs", ""),
            ("docs/plots", "plots/"),
            ("other/../docs/plots", "plots/"),
            ("docs/my plots (2)", "my%20plots%20%282%29/"),
            ("other/svg", "../other/svg/"),
            ("", "../"),
        ] {
            assert_eq!(way(&document, &at(directory)).unwrap(), expected, "{directory}");
        }
        assert!(way(&at("nowhere/report.md"), &at("docs")).is_err());
    }
}
