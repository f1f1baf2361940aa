//! Shows that `weir-lab trace` reads, converts, makes, scales and lays out traces, and says what is
//! wrong with one.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::programs::weir_lab;
use crate::support::{Server, end_of};

/// `weir-lab trace` with `arguments`, in `directory`; it must end by itself.
fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = weir_lab();
    command.current_dir(directory).arg("trace").args(arguments);
    end_of(command)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The same, which must succeed; gives what it said on stdout and stderr.
fn works(directory: &Path, arguments: &[&str]) -> (String, String) {
    let output = run(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    (String::from_utf8(output.stdout.clone()).expect("text"), stderr(&output))
}

/// Fails unless `weir-lab trace` ends with `code` and says all of `parts`.
fn assert_refused(directory: &Path, arguments: &[&str], code: i32, parts: &[&str]) {
    let output = run(directory, arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    for part in parts {
        assert!(said.contains(part), "{arguments:?}: {part:?} is not in {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

const LOG: &str = r#"10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a.html HTTP/1.0" 200 1000
::1 - - [10/Oct/2000:13:55:36 +0000] "GET /img/b%20c.gif?x HTTP/1.1" 200 3000
10.0.0.1 - - [10/Oct/2000:13:55:38 +0000] "POST /form HTTP/1.0" 200 5
10.0.0.1 - - [10/Oct/2000:13:55:39 +0000] "GET /gone HTTP/1.0" 404 9
10.0.0.2 - - [10/Oct/2000:13:55:46 +0000] "GET /img/ HTTP/1.0" 200 2000
"#;

#[test]
fn stats_are_for_people_and_for_scripts() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("access.log"), LOG).unwrap();
    let (text, said) =
        works(here, &["stats", "access.log", "--uplink", "1mbit", "--spread", "none"]);
    for part in
        ["clf", "requests          3\n", "largest size      3000 B", "span              10.000 s"]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(said.contains("2 of 5 records left out: 1 not GET, 1 status 404"), "{said}");
    let arguments = ["stats", "access.log", "--json", "--uplink", "1mbit", "--spread", "none"];
    let (json, _) = works(here, &arguments);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["requests"], &json["clients"]), (&3.into(), &3.into()));
    let wire = 6000 + 3 * (200 + 206) + (1 + 3 + 2) * 66;
    assert_eq!(json["wire_bytes"], wire);
    let load = json["offered_load"].as_f64().expect("a load");
    assert!((load - f64::from(wire) * 8.0 / 1e7).abs() < 1e-9, "{load}");
}

#[test]
fn a_made_trace_has_its_load_and_follows_from_its_seed() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let make = |seed: &str, out: &str| {
        let arguments = ["make", "--law", "worldcup", "--shape", "w1", "--uplink", "10mbit"];
        works(
            here,
            &[&arguments[..], &["--seed", seed, "--duration", "150s", "--out", out]].concat(),
        )
    };
    let (_, said) = make("1", "one.csv");
    assert!(said.contains("requests, mean load 0."), "{said}");
    make("1", "again.csv.gz");
    make("2", "two.csv");
    let read = |name: &str| fs::read(here.join(name)).unwrap();
    assert_ne!(read("one.csv"), read("two.csv"));
    assert!(read("again.csv.gz").starts_with(&[0x1f, 0x8b]), "compressed by its name");
    works(here, &["convert", "again.csv.gz", "--to", "csv", "--out", "again.csv"]);
    assert_eq!(read("one.csv"), read("again.csv"));
    let (json, _) = works(here, &["stats", "one.csv", "--json", "--uplink", "10mbit"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let load = json["offered_load"].as_f64().expect("a load");
    assert!((0.5..0.9).contains(&load), "{load}");
}

#[test]
fn conversion_to_world_cup_98_and_back_keeps_seconds_clients_and_sizes() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("access.log"), LOG).unwrap();
    works(here, &["convert", "access.log", "--to", "wc98", "--out", "log.wc98.zst"]);
    let arguments =
        ["convert", "log.wc98.zst", "--spread", "none", "--to", "csv", "--out", "back.csv"];
    works(here, &arguments);
    let csv = fs::read_to_string(here.join("back.csv")).unwrap();
    let expected = "time,client,path,size,class\n0,0,/0,1000,0\n0,1,/1,3000,0\n10,2,/2,2000,0\n";
    assert_eq!(csv, expected);
}

#[test]
fn a_scaled_trace_offers_the_load_of_the_shape() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let rows: String = (0..2000).map(|i| format!("{i},1,/{},1000\n", i % 10)).collect();
    fs::write(here.join("own.csv"), format!("time,client,path,size\n{rows}")).unwrap();
    let scale = ["scale", "own.csv", "--shape", "10s@0.8,10s@0.2", "--uplink", "100kbit"];
    let arguments =
        [&scale[..], &["--duration", "40s", "--load-is", "file", "--out", "s.csv"]].concat();
    let (_, said) = works(here, &arguments);
    for part in ["250 of 2000", "20.0 s to 30.0 s: 100 requests, load 0.800 (asked 0.8)"] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    let csv = fs::read_to_string(here.join("s.csv")).unwrap();
    let at: Vec<f64> =
        csv.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    let within = |from, to| at.iter().filter(|&&at| at >= from && at < to).count();
    assert_eq!([within(0.0, 10.0), within(10.0, 20.0), within(20.0, 30.0)], [100, 25, 100]);
    let arguments =
        [&scale[..], &["--duration", "600s", "--load-is", "file", "--out", "s.csv"]].concat();
    let (_, said) = works(here, &arguments);
    assert!(said.contains("the trace ended at 3") && said.contains("--repeat"), "{said}");
    let (_, said) = works(here, &[&arguments[..], &["--repeat"]].concat());
    assert!(!said.contains("the trace ended"), "{said}");
}

#[test]
fn a_document_root_answers_what_the_trace_asks() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let more = concat!(
        r#"::1 - - [10/Oct/2000:13:55:46 +0000] "GET /a.html/x HTTP/1.0" 200 1"#,
        "\n",
        r#"::1 - - [10/Oct/2000:13:55:46 +0000] "GET /../etc HTTP/1.0" 200 1"#,
        "\n",
        r#"::1 - - [10/Oct/2000:13:55:47 +0000] "GET /img/b%20c.gif?y HTTP/1.0" 200 70"#,
        "\n",
    );
    fs::write(here.join("access.log"), format!("{LOG}{more}")).unwrap();
    let (_, said) = works(here, &["files", "access.log", "--out", "root"]);
    for part in [
        "root: 3 files, 5001 bytes",
        "1 files have the largest of several sizes",
        "1 paths of 1 requests are files and directories too, and were left out (first: /a.html)",
        "1 paths of 1 requests cannot be files, and were left out (first: /../etc)",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    let server = Server::of(&here.join("root"), &[]);
    for (path, length) in [("/img/b%20c.gif?x", 3000), ("/img/", 2000), ("/a.html/x", 1)] {
        let response = server.get(path);
        assert_eq!((response.status, response.body.len()), (200, length), "{path}");
    }
    assert_refused(here, &["files", "access.log", "--out", "root"], 1, &["there already"]);
    works(here, &["files", "access.log", "--sparse", "--out", "thin"]);
    let thin = fs::metadata(here.join("thin/img/b c.gif")).unwrap();
    assert_eq!(thin.len(), 3000);
    assert_eq!(std::os::unix::fs::MetadataExt::blocks(&thin), 0);
}

#[test]
fn a_bad_trace_is_refused_with_its_line_or_skipped_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let lines: Vec<&str> = LOG.lines().collect();
    let swapped = [lines[0], lines[4], lines[1], "nonsense", lines[4]].join("\n");
    fs::write(here.join("access.log"), &swapped).unwrap();
    let parts = ["weir-lab: access.log: line 3: the time is 10 s before", "--reorder 10m"];
    assert_refused(here, &["stats", "access.log"], 1, &parts);
    let convert = ["convert", "access.log", "--to", "csv", "--out", "out.csv"];
    assert_refused(here, &convert, 1, &parts);
    assert_eq!(fs::read_dir(here).unwrap().count(), 1, "nothing half written stays");
    let (_, said) = works(here, &["stats", "access.log", "--skip-bad"]);
    let all = "2 bad records skipped: 1 unreadable field, 1 out of order (first: line 3:";
    assert!(said.contains(all), "{said}");
    let (_, said) = works(here, &["stats", "access.log", "--skip-bad", "--reorder", "10s"]);
    assert!(said.contains("1 bad records skipped: 1 unreadable field"), "{said}");

    let many: String =
        (0..20_000).map(|i| format!("{i},{i},/{},{}\n", i * 7919 % 10_007, i * i)).collect();
    fs::write(here.join("many.csv"), format!("time,client,path,size\n{many}")).unwrap();
    works(here, &["convert", "many.csv", "--to", "csv", "--out", "many.csv.gz"]);
    let whole = fs::read(here.join("many.csv.gz")).unwrap();
    fs::write(here.join("cut.gz"), &whole[..whole.len() / 2]).unwrap();
    assert_refused(here, &["stats", "cut.gz"], 1, &["cut.gz: line ", "truncated", "--skip-bad"]);
    let (text, said) = works(here, &["stats", "cut.gz", "--skip-bad"]);
    assert!(said.contains("1 truncated file (first: line "), "{said}");
    assert!(!text.contains("requests          20000\n"), "{text}");
    let mut bent = whole;
    let middle = bent.len() / 2;
    bent[middle..middle + 20].fill(0xff);
    fs::write(here.join("bent.gz"), bent).unwrap();
    assert_refused(here, &["stats", "bent.gz"], 1, &["bent.gz: line "]);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("access.log"), LOG).unwrap();
    fs::write(here.join("text"), "neither this\nnor that\n").unwrap();
    fs::write(here.join("none.csv"), "time,client,path,size\n").unwrap();
    let make = |law: &'static str, shape: &'static str, uplink: &'static str| {
        [
            "make",
            "--law",
            law,
            "--shape",
            shape,
            "--uplink",
            uplink,
            "--duration",
            "9s",
            "--out",
            "x",
        ]
    };
    for (arguments, code, parts) in [
        (&["stats", "absent"][..], 1, &["absent: cannot read: No such file"][..]),
        (&["stats", "text"], 1, &["fits no format", "clf, wc98, csv"]),
        (&["stats", "none.csv"], 1, &["no request to replay"]),
        (&["stats", "access.log", "--format", "wc97"], 2, &["not a format", "wc98"]),
        (&["stats", "access.log", "--uplink", "off"], 2, &["not a rate of a link"]),
        (&["stats", "access.log", "--reorder", "soon"], 2, &["not a time"]),
        (&make("worldcap", "w1", "1mbit"), 2, &["worldcap", "worldcup"]),
        (&make("worldcup", "w0", "1mbit"), 2, &["W1 to W9"]),
        (&make("worldcup", "w1", "fast"), 2, &["not a rate"]),
        (
            &["convert", "access.log", "--to", "csv", "--out", "no/where"],
            1,
            &["cannot write no/where"],
        ),
    ] {
        assert_refused(here, arguments, code, parts);
    }
    assert_eq!(fs::read_dir(here).unwrap().count(), 3);
}

#[test]
fn what_is_no_file_is_written_where_it_is_and_links_stay_links() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("access.log"), LOG).unwrap();
    fs::write(here.join("file.csv"), "old").unwrap();
    symlink("file.csv", here.join("link.csv")).unwrap();
    works(here, &["convert", "access.log", "--to", "csv", "--out", "link.csv"]);
    assert!(fs::symlink_metadata(here.join("link.csv")).unwrap().is_symlink());
    let csv = fs::read_to_string(here.join("file.csv")).unwrap();
    assert!(csv.starts_with("time,client,path"), "{csv}");
    // A pipe stands for /dev/null, which a test that fails must not replace.
    let pipe = here.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe)
    });
    works(here, &["convert", "access.log", "--to", "csv", "--out", "pipe"]);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(reader.join().expect("read").unwrap(), csv);
    assert_eq!(fs::read_dir(here).unwrap().count(), 4, "nothing half written stays");
}
