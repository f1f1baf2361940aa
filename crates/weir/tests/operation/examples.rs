//! The files in `examples/` work as they stand.

use std::fs;
use std::path::PathBuf;

use crate::support::{output_of, tool, weir};

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[test]
fn every_configuration_is_valid() {
    let mut checked = 0;
    for entry in fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let mut command = weir();
            command.args(["serve", "--check", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
            command.arg("--config").arg(&path);
            let said = output_of(command);
            assert!(said.ends_with("weir: the configuration is valid\n"), "{path:?}: {said}");
            checked += 1;
        }
    }
    assert!(checked >= 4, "{checked}");
}

#[test]
fn a_page_beside_ten_downloads_is_timed() {
    let mut command = tool("sh", "dash");
    command.arg(examples().join("ten-downloads.sh")).arg("protective").arg(weir().get_program());
    let said = output_of(command);
    let seconds = said.trim().strip_suffix(" s").and_then(|text| text.parse::<f64>().ok());
    assert!(seconds.is_some_and(|seconds| seconds > 0.0), "{said}");
}
