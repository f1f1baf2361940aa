//! Shows who gets the files of a route: by network, and by user and password, which are read anew when
//! their file changes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::support::passwords::{HASH, RIGHT, STRANGER, WRONG};
use crate::support::{Client, Server, as_nobody, end_of, eventually, tool, weir};

/// A directory with a site, of which `private` is not for all.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let site = directory.path().join("site");
    fs::create_dir_all(site.join("private")).expect("a directory");
    fs::write(site.join("index.html"), "for all").expect("a file");
    fs::write(site.join("private/page"), "for some").expect("a file");
    directory
}

/// Serves the site, with these keys for the route of `/private`.
fn configuration(directory: &Path, keys: &str) -> String {
    let site = directory.join("site");
    format!(
        "root = {site:?}\n[[route]]\npath = \"/\"\nfiles = true\n\
         [[route]]\npath = \"/private\"\nfiles = true\n{keys}"
    )
}

#[test]
fn who_has_sent_everything_is_told_nothing_before_the_password_is_checked() {
    let directory = directory();
    let users = directory.path().join("users");
    // It takes tenths of a second, in which the end of what the client sends is seen.
    fs::write(&users, format!("me:{}\n", HASH.replace("$05$", "$12$"))).unwrap();
    let text = configuration(directory.path(), &format!("basic_auth = {users:?}\n"));
    let server = Server::configured(&text, &[]);
    let mut client = server.connect();
    client.ask_with("/private/page", RIGHT);
    client.half_close();
    let answer = client.rest();
    assert!(answer.starts_with(b"HTTP/1.1 401 "), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn who_knows_a_password_gets_the_files_of_its_route() {
    let directory = directory();
    let (users, log) = (directory.path().join("users"), directory.path().join("access.log"));
    fs::write(&users, format!("me:{HASH}\n")).unwrap();
    let keys = format!("basic_auth = {users:?}\nbasic_auth_realm = \"Staff only\"\n");
    let text = configuration(directory.path(), &keys);
    let server = Server::configured(&text, &["--access-log", log.to_str().unwrap()]);
    let mut client = server.connect();
    assert_eq!(client.get("/").text(), "for all");
    let twice = [RIGHT, RIGHT].concat();
    for fields in ["", WRONG, STRANGER, "Authorization: Bearer bWU6VSpV\r\n", &twice] {
        // Whatever it is called, and whether it is there or not.
        for path in [
            "/private/page",
            "/private/missing",
            "/private",
            "/x/../private/page",
            "/%70rivate/page",
        ] {
            let refused = client.get_with(path, fields);
            assert_eq!(refused.status, 401, "{path} {fields}");
            let challenge = "Basic realm=\"Staff only\", charset=\"UTF-8\"";
            assert_eq!(refused.field("WWW-Authenticate"), Some(challenge));
            assert!(!refused.text().contains("for some"));
        }
    }
    for _ in 0..2 {
        assert_eq!(client.get_with("/private/page", RIGHT).text(), "for some");
    }
    assert_eq!(client.get_with("/private/missing", RIGHT).status, 404);
    client.send(format!("POST /private/page HTTP/1.1\r\nHost: weir\r\n{RIGHT}\r\n"));
    assert_eq!(client.response().status, 405);
    let lines = || fs::read_to_string(&log).unwrap_or_default();
    eventually("every response has a line", || lines().lines().count() == 30);
    let lines = lines();
    for line in lines.lines() {
        let is_user = line.starts_with("127.0.0.1 - me [");
        let is_answered = ["\" 200 8 ", "\" 404 ", "\" 405 "].iter().any(|it| line.contains(it));
        assert_eq!(is_user, is_answered, "{line}");
    }
}

/// Browsers send no password with a request that asks whether a script may send one.
#[test]
fn a_preflight_request_is_answered_without_a_password() {
    let directory = directory();
    let users = directory.path().join("users");
    fs::write(&users, format!("me:{HASH}\n")).unwrap();
    let keys = format!("basic_auth = {users:?}\ncors = \"https://app.example\"\n");
    let server = Server::configured(&configuration(directory.path(), &keys), &[]);
    let mut client = server.connect();
    let origin = "Origin: https://app.example\r\n";
    let method = "Access-Control-Request-Method: GET\r\n";
    let preflight = format!("{origin}{method}Access-Control-Request-Headers: authorization\r\n");
    let mut ask = |method: &str, fields: &str| {
        client.send(format!("{method} /private/page HTTP/1.1\r\nHost: weir\r\n{fields}\r\n"));
        client.response()
    };
    for _ in 0..2 {
        let told = ask("OPTIONS", &preflight);
        assert_eq!((told.status, told.field("WWW-Authenticate")), (204, None));
        assert_eq!(told.field("Access-Control-Allow-Origin"), Some("https://app.example"));
        assert_eq!(told.field("Access-Control-Allow-Headers"), Some("authorization"));
        // Everything else needs the password.
        for (name, fields) in
            [("GET", preflight.as_str()), ("OPTIONS", ""), ("OPTIONS", origin), ("OPTIONS", method)]
        {
            assert_eq!(ask(name, fields).status, 401, "{name} {fields}");
        }
    }
    assert_eq!(ask("GET", &format!("{origin}{RIGHT}")).text(), "for some");
}

#[test]
fn who_is_not_let_in_gets_the_fields_of_the_site_too() {
    let directory = directory();
    let users = directory.path().join("users");
    fs::write(&users, format!("me:{HASH}\n")).unwrap();
    let password = format!("basic_auth = {users:?}");
    for (access, status) in [
        (password.as_str(), 401),
        ("deny = \"127.0.0.0/8\"", 403),
        ("limit_requests = \"1/h\"\nlimit_burst = 1", 429),
    ] {
        let fields =
            "cors = \"https://app.example\"\nheaders = { set = { X-Frame-Options = \"DENY\" } }";
        let text = configuration(directory.path(), &format!("{access}\n{fields}\n"));
        let server = Server::configured(&text, &[]);
        let mut client = server.connect();
        let mut ask = || client.get_with("/private/page", "Origin: https://app.example\r\n");
        // The first request may be one that a limit lets through.
        let (_, refused) = (ask(), ask());
        assert_eq!((refused.status, refused.field("X-Frame-Options")), (status, Some("DENY")));
        let origin = refused.field("Access-Control-Allow-Origin");
        assert_eq!(origin, Some("https://app.example"), "{}", refused.head);
        assert_eq!(refused.field("WWW-Authenticate").is_some(), status == 401);
        // Those of another site have nothing of it.
        assert_eq!(client.get("/").field("X-Frame-Options"), None);
    }
}

#[test]
fn passwords_are_read_anew_when_their_file_changes_and_stay_if_it_cannot_be_used() {
    let directory = directory();
    let users = directory.path().join("users");
    fs::write(&users, format!("me:{HASH}\n")).unwrap();
    let keys = format!("basic_auth = {users:?}\n");
    let server = Server::configured(&configuration(directory.path(), &keys), &[]);
    let status = |fields: &str| server.connect().get_with("/private/page", fields).status;
    let is_told = |what: &str| {
        eventually(what, || {
            server.log().iter().any(|line| line.contains("ERROR") && line.contains(what))
        });
    };
    assert_eq!((status(RIGHT), status(STRANGER)), (200, 401));
    fs::write(&users, format!("you:{HASH}\n")).unwrap();
    eventually("the stranger is a user", || status(STRANGER) == 200);
    assert_eq!(status(RIGHT), 401, "it was right before");
    fs::remove_file(&users).unwrap();
    is_told("users and passwords stay as they were: cannot read the passwords of `basic_auth` in");
    assert_eq!(status(STRANGER), 200);
    fs::write(&users, "you:secret\n").unwrap();
    is_told("users:1: the password of you is not a hash of bcrypt");
    assert_eq!(status(STRANGER), 200);
    fs::write(&users, format!("me:{HASH}\n")).unwrap();
    eventually("the first user is back", || status(RIGHT) == 200);
    assert_eq!(status(STRANGER), 401);
}

#[test]
fn a_file_of_passwords_that_cannot_be_used_is_refused_at_the_start_and_by_a_check() {
    let directory = directory();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    mode(directory.path(), 0o755);
    let (users, file) = (directory.path().join("users"), directory.path().join("weir.toml"));
    // Relative to the file.
    fs::write(&file, configuration(directory.path(), "basic_auth = \"users\"\n")).unwrap();
    let refused = |is_nobody: bool, parts: &[&str]| {
        for check in [&["--check"][..], &[]] {
            let mut command = if is_nobody { as_nobody() } else { weir() };
            command.args(["serve", "--listen", "127.0.0.1:0", "--access-log", "off"]).args(check);
            command.arg("--config").arg(&file);
            let output = end_of(command);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{check:?}: {said}");
            assert!(parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
        }
    };
    let name = users.to_str().unwrap();
    refused(false, &["cannot read the passwords of `basic_auth` in", name, "No such file"]);
    for (text, parts) in [
        ("me:$apr1$x$y\n", ["users:1: the password of me is MD5, as Apache has it", "htpasswd -B"]),
        ("\nme\n", ["users:2: write a user, a colon and a hash", "htpasswd -B"]),
        ("# nobody\n", ["users:1: it has no users", "htpasswd -B"]),
    ] {
        fs::write(&users, text).unwrap();
        refused(false, &parts);
    }
    fs::write(&users, format!("me:{HASH}\n")).unwrap();
    mode(&users, 0o600);
    // This needs root, to be somebody else.
    refused(true, &["cannot read the passwords of `basic_auth` in", name, "denied"]);
}

#[test]
fn what_htpasswd_writes_is_understood_or_named() {
    let directory = directory();
    let users = directory.path().join("users");
    let write = |flags: &str, user: &str| {
        let mut htpasswd = tool("htpasswd", "apache2-utils");
        htpasswd.arg(flags).arg(&users).args([user, "U*U"]);
        let output = end_of(htpasswd);
        assert!(output.status.success(), "{output:?}");
    };
    write("-cbB", "me");
    write("-bB", "you");
    let keys = format!("basic_auth = {users:?}\n");
    let text = configuration(directory.path(), &keys);
    let server = Server::configured(&text, &[]);
    let status = |fields: &str| server.connect().get_with("/private/page", fields).status;
    assert_eq!([RIGHT, STRANGER, WRONG].map(status), [200, 200, 401]);
    let file = directory.path().join("weir.toml");
    fs::write(&file, text).unwrap();
    for (flags, kind) in [("-cbm", "MD5, as Apache has it"), ("-cbs", "SHA-1 without a salt")] {
        write(flags, "me");
        let mut check = weir();
        check.args(["serve", "--check", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
        let said = String::from_utf8_lossy(&end_of(check).stderr).into_owned();
        assert!(said.contains(&format!("users:1: the password of me is {kind}")), "{said}");
    }
}

#[test]
fn networks_are_let_in_or_not() {
    let directory = directory();
    let keys = "allow = \"127.0.0.0/29\"\ndeny = [\"127.0.0.2\"]\n";
    let text = format!("deny = \"127.0.0.9\"\n{}", configuration(directory.path(), keys));
    let server = Server::configured(&text, &[]);
    for (last, all, private) in
        [(1, 200, 200), (2, 200, 403), (7, 200, 200), (8, 200, 403), (9, 403, 403)]
    {
        let mut client = Client::connect_from([127, 0, 0, last].into(), server.address());
        assert_eq!(client.get("/").status, all, "{last}");
        let answer = client.get("/private/page");
        assert_eq!(answer.status, private, "{last}");
        assert_eq!(answer.text() == "for some", private == 200);
        // Who is let in nowhere finds out nothing.
        let missing = if private == 200 { 404 } else { 403 };
        assert_eq!(client.get("/private/missing").status, missing, "{last}");
    }
}
