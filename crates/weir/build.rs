//! The commit that `weir --version` names, so that what a server did can be traced to its source.
//! Sources without their history (an archive) give `unknown`; changes that are not committed are said.

use std::process::Command;

fn main() {
    // Whatever of the sources changes may make a commit's build another one.
    println!("cargo:rerun-if-changed=..");
    println!("cargo:rerun-if-changed=../../Cargo.lock");
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    println!("cargo:rustc-env=WEIR_COMMIT={}", commit().unwrap_or_else(|| "unknown".to_owned()));
}

fn commit() -> Option<String> {
    // An archive may lie inside somebody else's repository.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = git(&["rev-parse", "--short=10", "HEAD"])?;
    let sources = ["status", "--porcelain", "--", "..", "../../Cargo.lock"];
    let changed = git(&sources).is_none_or(|changes| !changes.is_empty());
    Some(if changed { commit + " with changes" } else { commit })
}

/// What git answers; nothing without git or a repository.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
