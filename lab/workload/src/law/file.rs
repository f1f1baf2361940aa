//! Measured sizes from a file, for the laws `file:...` on the command line: lines of sizes, or
//! CacheLib's cachebench JSON; either gzip, zstd or plain.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::{Discrete, Law};
use crate::invalid::Invalid;
use crate::read::{Input, Lines, SizeBuckets};

/// The law of the sizes in a file, shown as `text`. A file whose first character is `{` is
/// cachebench JSON (see [`SizeBuckets`]). Any other has a size, or a size and its weight, on each line; empty lines and those beginning with `#`
/// do not count.
///
/// # Errors
///
/// A file that cannot be read (path and reason) or understood (path, line and what is expected).
pub(super) fn read(text: &str, path: &Path) -> Result<Arc<dyn Law>, Invalid> {
    let place = path.display();
    let failed = |error: &dyn std::fmt::Display| Invalid(format!("cannot read {place}: {error}"));
    let file = File::open(path).map_err(|e| failed(&e))?;
    let input = Input::new(file).map_err(|e| failed(&e))?;
    if input.look.first() == Some(&b'{') {
        let SizeBuckets { buckets } = SizeBuckets::read(input.bytes).map_err(|e| failed(&e))?;
        let weighted = buckets.into_iter().map(|(size, weight)| (size as f64, weight));
        return Ok(Arc::new(Discrete::new(text, weighted)?));
    }
    let mut weighted = Vec::new();
    let mut lines = Lines::new(input);
    loop {
        let more = lines.advance();
        let number = lines.number();
        if !more.map_err(|e| failed(&format!("line {number}: {e}")))? {
            break;
        }
        let line = String::from_utf8_lossy(lines.line());
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        weighted.push(weighted_size(line).ok_or_else(|| {
            let shown: String = line.chars().take(40).collect();
            Invalid(format!("{place}, line {number}: `{shown}`; write SIZE or SIZE WEIGHT"))
        })?);
    }
    Ok(Arc::new(Discrete::new(text, weighted)?))
}

/// The size and weight of a line.
fn weighted_size(line: &str) -> Option<(f64, f64)> {
    let mut words = line.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let size = words.next()?.parse().ok()?;
    let weight = words.next().map_or(Some(1.0), |word| word.parse().ok())?;
    words.next().is_none().then_some((size, weight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn law(content: &[u8]) -> Result<Arc<dyn Law>, Invalid> {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(content).expect("written");
        read("sizes", file.path())
    }

    #[test]
    fn lines_of_sizes_are_a_law() {
        let law = law(b"# bytes\n10\n\n20 3\n").expect("a law");
        assert_eq!((law.size(0.2), law.size(0.3)), (10, 20));
        assert_eq!(law.to_string(), "sizes");
    }

    #[test]
    fn cachebench_files_are_a_law_gzipped_too() {
        let json = br#"{"valSizeRange": [127, 159], "valSizeRangeProbability": [1, 3], "x": 0}"#;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(json).expect("packed");
        for content in [json.to_vec(), gzip.finish().expect("packed")] {
            let law = law(&content).expect("a law");
            assert_eq!((law.size(0.2), law.size(0.3)), (127, 159));
        }
    }

    #[test]
    fn errors_name_the_line() {
        let wrong = |content: &[u8]| law(content).expect_err("wrong").0;
        assert!(wrong(b"10\nten\n").contains("line 2: `ten`"), "{}", wrong(b"10\nten\n"));
        assert!(wrong(b"10 1 1\n").contains("line 1"));
        let long = [&b"10\n"[..], &b"1".repeat(100_000)].concat();
        assert!(wrong(&long).contains("line 2: the line is longer"), "{}", wrong(&long));
        assert!(wrong(b"0\n").contains("a size is 0"));
        assert!(wrong(b"").contains("add up to 0"));
        assert!(wrong(b"{\"valSizeRange\": 3}").contains("line 1"));
        assert!(wrong(&[0x1f, 0x8b, 8, 0, 0]).contains("cannot read"));
        assert!(read("x", Path::new("/nowhere/at/all")).is_err_and(|e| e.0.contains("/nowhere")));
    }
}
