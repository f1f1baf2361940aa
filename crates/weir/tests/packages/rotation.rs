//! logrotate with the rules of the package, while a server writes its log.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use crate::dist;
use crate::support::{DEADLINE, Server, eventually, output_of, tool, weir};

/// The rules of the package for the logs in `logs`, of the user who runs the tests.
fn rules(directory: &Path, logs: &Path) -> PathBuf {
    let text = fs::read_to_string(dist().join("debian/weir/files/etc/logrotate.d/weir")).unwrap();
    let mut rules = text;
    for (theirs, ours) in [
        ("/var/log/weir/", format!("{}/", logs.display())),
        ("    su weir weir\n", String::new()),
        ("create 0640 weir weir", "create 0640".to_owned()),
    ] {
        assert!(rules.contains(theirs), "{theirs:?} is not in {rules}");
        rules = rules.replace(theirs, &ours);
    }
    let file = directory.join("rules");
    fs::write(&file, rules).unwrap();
    file
}

/// A directory with a `systemctl` that sends the signal of the rules to the process in `pid_file`.
fn systemctl(directory: &Path, pid_file: &Path) -> PathBuf {
    let programs = directory.join("bin");
    fs::create_dir(&programs).unwrap();
    let text = format!(
        "#!/bin/sh\n[ \"$*\" = 'kill --signal=USR1 weir.service' ] && kill -USR1 \"$(cat '{}')\"\n",
        pid_file.display()
    );
    let program = programs.join("systemctl");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    programs
}

#[test]
fn no_line_is_lost_while_logs_are_rotated() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let logs = here.join("log");
    fs::create_dir(&logs).unwrap();
    let log = logs.join("access.log");
    let pid_file = here.join("pid");
    let (rules, programs) = (rules(here, &logs), systemctl(here, &pid_file));
    let mut command = tool("sh", "dash");
    command.args(["-c", "echo $$ > \"$0\"; exec \"$@\""]).arg(&pid_file);
    command.arg(weir().get_program()).arg("serve");
    let server = Server::launch(command, &["--access-log", log.to_str().unwrap()]);
    let rotate = || {
        let mut command = tool("logrotate", "logrotate");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", programs.display()));
        command.arg("--force").arg("--state").arg(here.join("state")).arg(&rules);
        output_of(command);
    };
    let done = AtomicBool::new(false);
    let asked = thread::scope(|scope| {
        let client = scope.spawn(|| {
            let (mut client, mut asked, start) = (server.connect(), 0_u64, Instant::now());
            while !done.load(Ordering::Relaxed) && start.elapsed() < DEADLINE {
                assert_eq!(client.get("/files/1kb.bin").status, 200);
                asked += 1;
            }
            asked
        });
        for _ in 0..4 {
            // The server has the new file, therefore.
            eventually("a line", || fs::metadata(&log).is_ok_and(|log| log.len() > 0));
            rotate();
        }
        eventually("a line", || fs::metadata(&log).is_ok_and(|log| log.len() > 0));
        done.store(true, Ordering::Relaxed);
        client.join().expect("every request is answered")
    });
    assert_eq!(server.metrics().sum("weir_access_log_lines_lost_total"), 0.0);
    assert_eq!(server.stop().code(), Some(0));
    for name in ["access.log", "access.log.1", "access.log.2.gz", "access.log.4.gz"] {
        assert!(logs.join(name).is_file(), "there is no {name}");
    }
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o640);
    let mut count = tool("sh", "dash");
    count.args(["-c", "zcat -f \"$0\"/access.log* | wc -l"]).arg(&logs);
    assert_eq!(output_of(count).trim().parse::<u64>(), Ok(asked));
}
