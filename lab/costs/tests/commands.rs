//! Commands that start servers, from beginning to end with as little load as may be: that every system is
//! measured and every table made. What the figures are decides nothing. They need root, two cores, nginx, and
//! the `weir` beside the program.

use std::path::Path;
use std::process::{Command, Output};

/// What a command line comes to; results go to a directory that is gone afterwards.
fn costs(arguments: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_weir-costs"));
    let weir = program.with_file_name("weir");
    assert!(weir.is_file(), "{} is missing: cargo build -p weir", weir.display());
    let out = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace()).arg("--out").arg(out.path());
    command.output().expect("the binary runs")
}

/// What a command line that works prints; it has all these words.
fn prints(arguments: &str, words: &[&str]) {
    let output = costs(arguments);
    let (said, told) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments}: {told}");
    for word in words {
        assert!(said.contains(word), "{arguments}: no `{word}` in\n{said}\n{told}");
    }
}

#[test]
fn compression_measures_results_and_first_texts() {
    prints(
        "compression --rounds 1 --seconds 0.2 --size 20KB --files 20 --codings gzip,br \
         --systems weir,weir-siblings,nginx-1,nginx-siblings",
        &[
            "### gzip of 20000 bytes",
            "| weir-siblings | ",
            "| nginx-1 | ",
            "### br of 20000 bytes",
            "### gzip of 20 texts of 20000 bytes",
            "CPU per request in gzip from the cache of results, ÷ the best peer",
            "longest hot request, added by first texts in br",
        ],
    );
}

#[test]
fn logs_have_a_line_for_each_answer() {
    prints(
        "logs --rounds 1 --seconds 0.2",
        &[
            "### No access log",
            "### Access log in the Combined format",
            "### Access log in JSON",
            "| nginx-sendfile-buffered | ",
            "| Access log in JSON: most lines that were lost in a round | 0.000 lines |",
        ],
    );
}

#[test]
fn slow_clients_are_beside_normal_ones() {
    prints(
        "slow-clients --rounds 1 --seconds 0.3 --rate 200 --heads 20 --uploads 10 --readers 10",
        &[
            "### Normal clients beside 20 slow heads\n",
            "### Normal clients beside 10 slow uploads\n",
            "### Normal clients beside 20 slow heads, 10 slow uploads and 10 slow readers\n",
            "| nginx-sendfile | 200 | ",
            "p99 of normal requests beside 10 slow readers",
        ],
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (arguments, words) in [
        ("logs --systems weir,h2o", "h2o is not measured by `weir-costs logs`"),
        ("slow-clients --seconds 0", "is not a number above 0"),
        ("compression --systems lighttpd", "choose from weir, weir-siblings"),
        ("compression --size 10", "give 2000 to 1000000 bytes"),
    ] {
        let refused = costs(arguments);
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && told.contains(words), "{arguments}: {told}");
    }
}
