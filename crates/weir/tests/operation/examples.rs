//! The files in `examples/` work as they stand.

use std::fs;
use std::path::PathBuf;

use crate::support::{output_of, tool, weir};

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[test]
fn every_configuration_is_valid() {
    // Certificates that are obtained are kept where not everybody may write.
    let kept = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for entry in fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let mut command = weir();
            command.args(["serve", "--check", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
            if fs::read_to_string(&path).unwrap().contains("\ntls = ") {
                command.args(["--listen-clear", "127.0.0.1:0"]);
                command.arg("--tls-directory").arg(kept.path());
            }
            command.arg("--config").arg(&path);
            let said = output_of(command);
            assert!(said.ends_with("weir: the configuration is valid\n"), "{path:?}: {said}");
            assert!(!said.contains("has no effect"), "{path:?}: {said}");
            checked += 1;
        }
    }
    assert!(checked >= 5, "{checked}");
}

/// The lines of a configuration without comments.
fn keys(text: &str) -> Vec<&str> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).collect()
}

/// The guide names a directory where the example has the one beside it.
#[test]
fn the_guide_from_caddy_has_the_configuration_of_two_sites() {
    let guide = fs::read_to_string(examples().join("../docs/guide/from-caddy.md")).unwrap();
    let (_, from) = guide.split_once("\n```toml\n").expect("a configuration");
    let (text, _) = from.split_once("```").expect("its end");
    let text = text.replace("\"/srv/www\"", "\"public\"");
    let example = fs::read_to_string(examples().join("two-sites.toml")).unwrap();
    assert_eq!(keys(&text), keys(&example));
}

#[test]
fn a_page_beside_ten_downloads_is_timed() {
    let mut command = tool("sh", "dash");
    command.arg(examples().join("ten-downloads.sh")).arg("protective").arg(weir().get_program());
    let said = output_of(command);
    let seconds = said.trim().strip_suffix(" s").and_then(|text| text.parse::<f64>().ok());
    assert!(seconds.is_some_and(|seconds| seconds > 0.0), "{said}");
}
