//! `weir-lab documents`, which packages are made with: a page for each command, and completions.

use super::programs::weir_lab;

#[test]
fn each_command_has_a_page_and_those_inside_have_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = weir_lab();
    let output = command.arg("documents").arg(directory.path()).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let is_there = |name: &str| directory.path().join(name).is_file();
    for name in ["weir-lab", "weir-lab-run", "weir-lab-load", "weir-lab-trace-stats"] {
        assert!(is_there(&format!("man1/{name}.1")), "{name} has no page");
    }
    // Only the experiments and the packages call these.
    for name in ["weir-lab-application", "weir-lab-documents"] {
        assert!(!is_there(&format!("man1/{name}.1")), "{name} has a page");
    }
    for name in ["weir-lab", "weir-lab.fish", "_weir-lab"] {
        assert!(is_there(&format!("completions/{name}")), "{name} is missing");
    }
}
