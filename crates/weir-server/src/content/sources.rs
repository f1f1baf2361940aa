//! Names that show what was not meant to be read: sources of scripts that other servers execute, and
//! backups that editors and people leave beside them. Used by the rules of a site, which keeps them back
//! unless `serve_sources` says otherwise.
//!
//! `.sh` is not among them: installers are meant to be downloaded.

/// Extensions of scripts and templates that a server executes.
const SCRIPTS: [&str; 27] = [
    "ashx", "asp", "aspx", "cfm", "cgi", "erb", "fcgi", "inc", "jsp", "jspx", "phar", "php",
    "php3", "php4", "php5", "php7", "php8", "phps", "phtml", "pl", "pm", "py", "pyc", "pyo", "rb",
    "rhtml", "twig",
];

/// Extensions of backups, of files that an editor has open, and of what a merge or a package has left.
const BACKUPS: [&str; 13] = [
    "bak",
    "backup",
    "dpkg-dist",
    "dpkg-old",
    "old",
    "orig",
    "rej",
    "rpmnew",
    "rpmsave",
    "save",
    "swo",
    "swp",
    "tmp",
];

/// Whether a file of this name, which may stand in a directory, is one of them.
pub(super) fn is_source_or_backup(name: &[u8]) -> bool {
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    // Those of Emacs: `name~`, and `#name#` while it is being edited.
    if last.ends_with(b"~") || last.starts_with(b"#") && last.ends_with(b"#") {
        return true;
    }
    let Some(dot) = last.iter().rposition(|byte| *byte == b'.') else { return false };
    let extension = last.get(dot + 1..).unwrap_or_default();
    let is_it = |known: &&'static str| known.as_bytes().eq_ignore_ascii_case(extension);
    SCRIPTS.iter().any(is_it) || BACKUPS.iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_and_backups_by_their_names() {
        for name in [
            "index.php",
            "a/b.PHP5",
            "app.py",
            "cgi-bin/x.cgi",
            "lib.rb",
            "index.html~",
            "config.js.bak",
            ".index.html.swp",
            "#notes#",
            "page.html.orig",
            "nginx.conf.dpkg-old",
        ] {
            assert!(is_source_or_backup(name.as_bytes()), "{name}");
        }
        for name in [
            "",
            "index.html",
            "app.py/index.html",
            "install.sh",
            "php",
            "a.phpx",
            "python.tar.gz",
            "a~b",
            "#anchor",
            "README",
            "a.",
        ] {
            assert!(!is_source_or_backup(name.as_bytes()), "{name}");
        }
    }
}
