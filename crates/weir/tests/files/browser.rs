//! Shows that the pages that weir makes itself are read on a phone and on a desktop, in a real browser:
//! nothing is wider than the screen, and what people look for is there.

use std::fs;
use std::path::Path;

use crate::support::{Refusing, Server, chromium, route};

/// Widths of a phone and of a desktop, in pixels of CSS.
const SCREENS: [usize; 2] = [390, 1280];

/// Puts in place of each frame how wide its page is and what it says.
const MEASURE: &str = r#"
addEventListener("load", () => {
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument;
    const width = page.documentElement.scrollWidth;
    const shown = document.createElement("pre");
    shown.textContent = `${frame.getAttribute("src")} ${frame.width} ${width}\n${page.body.innerText}`;
    frame.replaceWith(shown);
  }
});
"#;

/// A page as a browser shows it.
#[derive(Debug)]
struct Shown {
    path: String,
    screen: usize,
    /// What it needs of the screen.
    width: usize,
    text: String,
}

impl Shown {
    /// What [`MEASURE`] says, and what follows it.
    fn read(said: &str) -> Option<Shown> {
        let (said, _) = said.split_once("</pre>")?;
        let (head, text) = said.split_once('\n')?;
        let mut words = head.split(' ');
        Some(Shown {
            path: words.next()?.to_owned(),
            screen: words.next()?.parse().ok()?,
            width: words.next()?.parse().ok()?,
            text: text.to_owned(),
        })
    }
}

/// So high that no page needs a scroll bar, which would take from the width. A window has a least width, a
/// frame has none.
fn frame(path: &str, screen: usize) -> String {
    format!("<iframe src=\"{path}\" width=\"{screen}\" height=\"5000\"></iframe>\n")
}

/// What Chromium makes of these pages of `server`, which serves `site`, on each of the screens.
fn shown(site: &Path, server: &Server, paths: &[&str]) -> Vec<Shown> {
    let frames = paths.iter().flat_map(|path| SCREENS.map(|screen| frame(path, screen)));
    let frames: String = frames.collect();
    let page =
        format!("<!doctype html>\n<title>frames</title>\n{frames}<script>{MEASURE}</script>\n");
    fs::write(site.join("frames.html"), page).expect("a file");
    let profile = tempfile::tempdir().expect("a directory");
    let url = format!("http://{}/frames.html", server.address());
    let page = chromium(profile.path(), "--dump-dom", &url);
    let found: Vec<Shown> = page.split("<pre>").skip(1).filter_map(Shown::read).collect();
    assert_eq!(found.len(), paths.len() * SCREENS.len(), "{page}");
    found
}

#[test]
fn pages_fit_a_phone_and_a_desktop_and_say_what_people_look_for() {
    let site = tempfile::tempdir().unwrap();
    // Nothing in them tells where they could be broken.
    let (file, directory) = ("n".repeat(200), "d".repeat(200));
    let listed = site.path().join("listed");
    fs::create_dir_all(listed.join(&directory)).unwrap();
    fs::write(listed.join(&file), "").unwrap();
    fs::write(listed.join("a name.txt"), vec![0; 1500]).unwrap();
    // Frames show what the same server has.
    let builtin = Server::builtin(&[]).get("/");
    fs::write(site.path().join("builtin.html"), &builtin.body).unwrap();
    let refusing = Refusing::new();
    let app = route("/app", &[&refusing.url()]);
    let server =
        Server::configured(&format!("root = {:?}\nlisting = true\n{app}", site.path()), &[]);

    let inner = format!("/listed/{directory}/");
    let (link, lead) = (format!("{directory}/"), "A web server that stays fast");
    let command = "weir serve ./public --uplink 300mbit";
    let pages: [(&str, &[&str]); 5] = [
        ("/builtin.html", &[lead, command, "1gb.bin", "1,000,000,000"]),
        ("/listed/", &["/listed/", "../", &file, &link, "a name.txt", "1.5 kB"]),
        (&inner, &[&inner, "../", "There is nothing here."]),
        ("/missing", &["404 Not Found"]),
        ("/app", &["502 Bad Gateway"]),
    ];
    for page in shown(site.path(), &server, &pages.map(|(path, _)| path)) {
        assert!(page.width <= page.screen, "{page:#?}");
        let (_, texts) = pages.iter().find(|(path, _)| *path == page.path).unwrap();
        for text in *texts {
            assert!(page.text.contains(text), "{text} is not in {page:#?}");
        }
    }
    // Without this a phone shows a page as wide as a desktop has it, and small.
    for (path, _) in &pages[..3] {
        let page = server.get(path).text();
        assert!(page.contains("name=\"viewport\" content=\"width=device-width"), "{page}");
    }
}
