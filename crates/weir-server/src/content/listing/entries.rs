//! Reads the names of a directory and looks at each: which of them are shown, in which order. Done by
//! helpers of the disk, a part at a time, for [`super::Listing`].

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::vec;

use rustix::fs::{Dir, DirEntry, FileType};
use rustix::io::Errno;

use super::page::{Entry, ListFormat, Page};
use crate::content::open;
use crate::content::root::Directory;
use crate::content::rules::Rules;

/// Bytes of names, and of what keeping each costs, that are sorted. Of a larger directory the rest comes
/// as the file system has it.
const SORTED: usize = 512 * 1024;

/// Bytes that keeping a name costs beside its own.
const OVERHEAD: usize = 56;

/// A part ends once it has so many bytes, or took so much effort, whether or not anything came of that: reading
/// an entry is one unit, looking at what it stands for [`LOOK`].
const PART: usize = 64 * 1024;
const EFFORT: usize = 4096;
const LOOK: usize = 8;

/// The list of one directory, as far as it was read.
pub(in crate::content) struct List {
    root: Arc<Directory>,
    rules: Arc<Rules>,
    /// The directory, below the root.
    directory: Vec<u8>,
    page: Page,
    reading: Reading,
}

enum Reading {
    NotYet,
    /// The first names, and the bytes that they cost: more of them are to be sorted.
    First(Dir, Vec<Name>, usize),
    /// All names, or the first of many, in order.
    Names(vec::IntoIter<Name>, Option<Dir>),
}

/// What comes next in a directory.
enum Next {
    Name(Name),
    /// Something that nobody is to see.
    Hidden,
    End,
}

/// A name, and whether it is that of a directory, as far as its directory tells.
struct Name {
    name: Box<[u8]>,
    is_directory: bool,
}

/// Names in order, and where the rest is to be read.
type FirstNames = (Vec<Name>, Option<Dir>);

impl List {
    /// Of `directory` below `root`, which pages call `shown`; both are segments joined by `/`.
    pub(in crate::content) fn new(
        root: Arc<Directory>,
        rules: Arc<Rules>,
        directory: &[u8],
        shown: &[u8],
        format: ListFormat,
    ) -> List {
        let page = Page::new(format, shown, directory.is_empty());
        List { root, rules, directory: directory.to_vec(), page, reading: Reading::NotYet }
    }

    /// The next bytes, and whether these are the last. Takes as long as the disk does.
    pub(super) fn next_part(&mut self) -> Result<(Arc<[u8]>, bool), Errno> {
        let mut out = Vec::with_capacity(PART);
        let mut effort = 0;
        if !matches!(self.reading, Reading::Names(..)) {
            let Some((names, rest)) = self.first_names(&mut effort)? else {
                return Ok((out.into(), false));
            };
            self.page.begin(&mut out, rest.is_none());
            self.reading = Reading::Names(names.into_iter(), rest);
        }
        while effort < EFFORT && out.len() < PART {
            let name = match self.next_name(&mut effort)? {
                Next::Name(name) => name,
                Next::Hidden => continue,
                Next::End => {
                    self.page.end(&mut out);
                    // A slow client may hold the list for long: what it was made of need not wait for that.
                    self.reading = Reading::Names(Vec::new().into_iter(), None);
                    return Ok((out.into(), true));
                }
            };
            effort += LOOK;
            if let Some(entry) = self.look_at(&name) {
                self.page.entry(&mut out, &entry);
            }
        }
        Ok((out.into(), false))
    }

    /// All names in order; or the first of them, and where the rest is to be read. `None`: there are more to be
    /// read before.
    fn first_names(&mut self, effort: &mut usize) -> Result<Option<FirstNames>, Errno> {
        let reading = mem::replace(&mut self.reading, Reading::NotYet);
        let (mut dir, mut names, mut bytes) = match reading {
            Reading::First(dir, names, bytes) => (dir, names, bytes),
            _ => (Dir::new(open::to_list(&self.root, &self.directory)?)?, Vec::new(), 0),
        };
        while bytes < SORTED {
            if *effort >= EFFORT {
                self.reading = Reading::First(dir, names, bytes);
                return Ok(None);
            }
            let Some(entry) = dir.next() else {
                sort(&mut names);
                return Ok(Some((names, None)));
            };
            if let Some(name) = self.shown(&entry?, effort) {
                bytes += name.name.len() + OVERHEAD;
                names.push(name);
            }
        }
        sort(&mut names);
        Ok(Some((names, Some(dir))))
    }

    fn next_name(&mut self, effort: &mut usize) -> Result<Next, Errno> {
        let Reading::Names(names, rest) = &mut self.reading else { return Ok(Next::End) };
        if let Some(name) = names.next() {
            return Ok(Next::Name(name));
        }
        let Some(entry) = rest.as_mut().and_then(Iterator::next) else { return Ok(Next::End) };
        Ok(self.shown(&entry?, effort).map_or(Next::Hidden, Next::Name))
    }

    /// The name of an entry, unless nobody is to see it.
    fn shown(&self, entry: &DirEntry, effort: &mut usize) -> Option<Name> {
        *effort += 1;
        let name = entry.file_name().to_bytes();
        if name.starts_with(b".") {
            return None;
        }
        let is_directory = match entry.file_type() {
            FileType::Directory => true,
            FileType::Symlink | FileType::Unknown => {
                *effort += LOOK;
                self.identify(name)?.0 == FileType::Directory
            }
            FileType::RegularFile => false,
            _ => return None,
        };
        let is_kept_back = !is_directory && self.rules.keeps_back(name);
        (!is_kept_back).then(|| Name { name: name.into(), is_directory })
    }

    /// What is shown of a name; `None`: it is gone by now, or could not be served.
    fn look_at(&self, name: &Name) -> Option<Entry> {
        let (kind, length, modified) = self.identify(&name.name)?;
        let is_directory = match kind {
            FileType::Directory => true,
            FileType::RegularFile => false,
            _ => return None,
        };
        Some(Entry { name: name.name.clone(), is_directory, length, modified })
    }

    /// The kind of what a name stands for, its length, and when it was modified. What lies outside of the
    /// root stands for nothing.
    fn identify(&self, name: &[u8]) -> Option<(FileType, u64, i64)> {
        let slash: &[u8] = if self.directory.is_empty() { b"" } else { b"/" };
        let path = [&self.directory[..], slash, name].concat();
        let (identity, _) = open::identify_on_disk(&self.root, &path).ok()?;
        Some((identity.kind(), identity.length, identity.modified.0))
    }
}

/// Directories first, then by name, where capital letters are as small ones.
fn sort(names: &mut [Name]) {
    names.sort_by_cached_key(|name| {
        (!name.is_directory, name.name.to_ascii_lowercase(), name.name.clone())
    });
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List").field("directory", &self.directory).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, parse};
    use crate::content::root::Root;
    use std::fs;
    use std::path::Path;

    fn list(root: &Path, directory: &str, keys: &str) -> List {
        let config = Config::from_settings(parse(keys).unwrap()).unwrap();
        let rules = Arc::new(Rules::new(&config.files));
        let name = directory.as_bytes();
        let root = Root::open(root).unwrap();
        List::new(root.directory(), rules, name, name, ListFormat::Json)
    }

    fn all(list: &mut List) -> (String, usize) {
        let (mut text, mut parts) = (Vec::new(), 0);
        loop {
            let (bytes, is_last) = list.next_part().unwrap();
            assert!(bytes.len() < PART + 4096, "{} bytes", bytes.len());
            text.extend_from_slice(&bytes);
            parts += 1;
            if is_last {
                return (String::from_utf8(text).unwrap(), parts);
            }
        }
    }

    fn names(text: &str) -> Vec<String> {
        let entries: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
        entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn directories_come_first_and_what_is_not_served_is_not_shown() {
        let outer = tempfile::tempdir().unwrap();
        let site = outer.path().join("site");
        fs::create_dir_all(site.join("sub/Inner")).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        for name in ["b.txt", "A.txt", "c.php", "d.txt~", ".hidden"] {
            fs::write(site.join("sub").join(name), name).unwrap();
        }
        for (target, link) in
            [("A.txt", "link"), ("Inner", "to-inner"), ("../../secret", "out"), ("x", "gone")]
        {
            std::os::unix::fs::symlink(target, site.join("sub").join(link)).unwrap();
        }
        let (text, parts) = all(&mut list(&site, "sub", ""));
        assert_eq!(names(&text), ["Inner", "to-inner", "A.txt", "b.txt", "link"]);
        assert_eq!(parts, 1);
        let (text, _) = all(&mut list(&site, "sub", "serve_sources = true"));
        assert_eq!(names(&text).len(), 7);
        assert!(list(&site, "none", "").next_part().is_err());
        assert!(list(&site, "../", "").next_part().is_err());
        assert_eq!(names(&all(&mut list(&site, "", "")).0), ["sub"]);
    }

    #[test]
    fn a_large_directory_comes_in_parts_with_each_name_once() {
        const FILES: usize = 12_000;
        let site = tempfile::tempdir().unwrap();
        let first = site.path().join(format!("{:0>60}", 0));
        fs::write(&first, "x").unwrap();
        // A link costs less than a file.
        (1..FILES)
            .try_for_each(|n| fs::hard_link(&first, site.path().join(format!("{n:0>60}"))))
            .unwrap();
        let (text, parts) = all(&mut list(site.path(), "", ""));
        let mut found = names(&text);
        assert!(parts >= FILES * LOOK / EFFORT, "{parts}");
        found.sort();
        found.dedup();
        assert_eq!(found.len(), FILES);
    }

    /// Each part is one job of a helper, whatever it finds.
    #[test]
    fn names_that_are_not_shown_make_no_part_long() {
        const HIDDEN: usize = 2 * EFFORT;
        const LINKS: usize = 2 * EFFORT / LOOK;
        let site = tempfile::tempdir().unwrap();
        let at = |name: String| site.path().join(name);
        fs::write(at("shown".to_owned()), "x").unwrap();
        for number in 0..HIDDEN {
            fs::hard_link(at("shown".to_owned()), at(format!(".{number}"))).unwrap();
        }
        let (_, parts) = all(&mut list(site.path(), "", ""));
        assert!(parts > HIDDEN / EFFORT, "{parts}");
        // Each link has to be looked at, to find that it leads nowhere.
        for number in 0..LINKS {
            std::os::unix::fs::symlink("nowhere", at(number.to_string())).unwrap();
        }
        let (text, parts) = all(&mut list(site.path(), "", ""));
        assert_eq!(names(&text), ["shown"]);
        assert!(parts > HIDDEN / EFFORT + LINKS * LOOK / EFFORT, "{parts}");
    }
}
