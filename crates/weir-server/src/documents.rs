//! Documents that are made of the code. Used by the tests of what makes them.

use std::path::Path;

/// Fails where `docs/name` is not `text`; with `UPDATE_DOCS` set it is written instead.
pub(crate) fn assert_current(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let in_git = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = in_git.lines().zip(text.lines()).find(|(old, new)| old != new);
    assert!(
        in_git == text,
        "docs/{name} is not what the code says ({differs:?}); write it anew with\n\
         UPDATE_DOCS=1 cargo test -p weir-server --lib reference"
    );
}
