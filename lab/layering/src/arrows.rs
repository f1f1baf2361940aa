//! Arrows: which file of a crate uses which names of which other file.
//!
//! `tests/house.rs` checks them against the layers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::modules::Tree;
use crate::resolve::{Resolver, Target};

/// Everything one crate uses, file by file.
#[derive(Debug, Default)]
pub struct Arrows {
    /// Between files of the crate.
    pub files: Vec<Arrow>,
    /// Names in code (`weir_sched`) of other crates of the workspace, with one place where each is used.
    pub crates: BTreeMap<String, Place>,
}

/// A line of a file.
pub type Place = (PathBuf, usize);

/// One file uses another.
#[derive(Debug, Clone)]
pub struct Arrow {
    /// The file that uses.
    pub from: PathBuf,
    /// The file that defines what is used.
    pub to: PathBuf,
    /// The module at the top of the crate that `from` belongs to; `None` for the root.
    pub from_room: Option<String>,
    /// The module at the top of the crate that `to` belongs to; `None` for the root.
    pub to_room: Option<String>,
    /// What is used, each with the first line that uses it.
    pub names: BTreeMap<String, usize>,
}

/// Finds all arrows of a crate. `crates` are the names in code of the workspace's crates.
///
/// A name counts for the file that defines it, through whatever re-exports it came. `mod` is no
/// arrow, nor is the re-export of a name from below (`pub use child::Name`), if the file itself
/// doesn't use it: both say where things are.
pub fn arrows(tree: &Tree, crates: &[String]) -> Arrows {
    let resolver = Resolver::new(tree, crates);
    let mut found = Collector { tree, all: Arrows::default(), files: BTreeMap::new() };
    for (at, module) in tree.modules.iter().enumerate() {
        for import in &module.imports {
            let Some(target) = resolver.target(at, &import.path) else { continue };
            let below = match target {
                Target::Item(to) | Target::Module(to) => is_below(tree, to, at),
                Target::Crate(_) => false,
            };
            if !(import.exported && below) {
                found.add(at, target, &import.path, import.line);
            }
        }
        for mention in &module.mentions {
            if let Some(target) = resolver.target(at, &mention.path) {
                found.add(at, target, &mention.path, mention.line);
            }
        }
    }
    found.all.files = found.files.into_values().collect();
    found.all
}

fn is_below(tree: &Tree, module: usize, above: usize) -> bool {
    let mut at = Some(module);
    while let Some(here) = at {
        if here == above {
            return true;
        }
        at = tree.modules[here].parent;
    }
    false
}

struct Collector<'a> {
    tree: &'a Tree,
    all: Arrows,
    files: BTreeMap<(PathBuf, PathBuf), Arrow>,
}

impl Collector<'_> {
    fn add(&mut self, at: usize, target: Target, path: &[String], line: usize) {
        let from = &self.tree.modules[at];
        let to = match target {
            Target::Item(to) => &self.tree.modules[to],
            // The name of a module is only the way to what is used.
            Target::Module(_) => return,
            Target::Crate(name) => {
                self.all.crates.entry(name).or_insert_with(|| (from.file.clone(), line));
                return;
            }
        };
        if from.file == to.file {
            return;
        }
        let arrow =
            self.files.entry((from.file.clone(), to.file.clone())).or_insert_with(|| Arrow {
                from: from.file.clone(),
                to: to.file.clone(),
                from_room: from.path.first().cloned(),
                to_room: to.path.first().cloned(),
                names: BTreeMap::new(),
            });
        let first = arrow.names.entry(short(path)).or_insert(line);
        *first = line.min(*first);
    }
}

/// The last part of a path that a reader would search for: `Gate::new` of `crate::gate::Gate::new`.
fn short(path: &[String]) -> String {
    let is_type = |name: &str| name.starts_with(char::is_uppercase);
    let from = path.iter().position(|name| is_type(name)).unwrap_or(path.len().saturating_sub(1));
    path[from.min(path.len().saturating_sub(1))].clone()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let own = |(path, text): &(&str, &str)| (PathBuf::from(path), (*text).to_owned());
        let tree = Tree::read(Path::new("lib.rs"), &files.iter().map(own).collect()).unwrap();
        let plain = |arrow: &Arrow| {
            let names: Vec<_> =
                arrow.names.iter().map(|(name, line)| format!("{name}:{line}")).collect();
            format!("{} -> {} {}", arrow.from.display(), arrow.to.display(), names.join(" "))
        };
        arrows(&tree, &[]).files.iter().map(plain).collect()
    }

    #[test]
    fn a_name_from_a_parents_re_export_is_an_arrow_to_the_definer() {
        let found = of(&[
            ("lib.rs", "mod a;\nmod b;\npub use b::B;"),
            ("a.rs", "use super::B;\nfn f(_: B) {}"),
            ("b.rs", "pub struct B;"),
        ]);
        assert_eq!(found, ["a.rs -> b.rs B:1"]);
    }

    #[test]
    fn a_re_export_counts_once_the_file_uses_the_name() {
        let found =
            of(&[("lib.rs", "mod b;\npub use b::B;\nfn f(_: B) {}"), ("b.rs", "pub struct B;")]);
        assert_eq!(found, ["lib.rs -> b.rs B:3"]);
    }

    #[test]
    fn a_re_export_from_elsewhere_counts() {
        let found = of(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub(crate) use crate::b::B;"),
            ("b.rs", "pub struct B;"),
        ]);
        assert_eq!(found, ["a.rs -> b.rs B:1"]);
    }

    #[test]
    fn what_is_used_through_a_modules_name_counts_and_the_modules_name_does_not() {
        let found = of(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b;\nfn f() { b::c::g(); b::D::new() }"),
            ("b.rs", "pub mod c; pub struct D;"),
            ("b/c.rs", "pub fn g() {}"),
        ]);
        assert_eq!(found, ["a.rs -> b/c.rs g:2", "a.rs -> b.rs D:2"]);
    }

    #[test]
    fn macros_glob_imports_and_functions_own_imports_are_read() {
        let found = of(&[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            (
                "a.rs",
                "use crate::b::*;\nfn f() { use crate::c::C; assert!(one == B, \"{}\", crate::d::E); }",
            ),
            ("b.rs", "pub const B: u8 = 1;"),
            ("c.rs", "pub struct C;"),
            ("d.rs", "pub const E: u8 = 1;"),
        ]);
        assert_eq!(found, ["a.rs -> b.rs B:2", "a.rs -> c.rs C:2", "a.rs -> d.rs E:2"]);
    }

    #[test]
    fn a_name_is_where_a_reader_would_search_for_it() {
        let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(short(&path("crate::gate::Gate::new")), "Gate");
        assert_eq!(short(&path("crate::gate::open")), "open");
    }
}
