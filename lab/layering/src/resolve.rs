//! Finds what a path means: the module that defines the name, through any number of re-exports.
//!
//! [`arrows`](crate::arrows) asks for every import and every mention.

use std::cell::RefCell;
use std::collections::HashSet;

use crate::modules::Tree;

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A module of the same crate.
    Module(usize),
    /// A name that this module of the same crate defines.
    Item(usize),
    /// Something of another crate of the workspace, by the crate's name in code.
    Crate(String),
}

/// Re-exports that lead in a circle end here.
const MOST_STEPS: usize = 32;

pub(crate) struct Resolver<'a> {
    tree: &'a Tree,
    /// Names in code (`weir_sched`) of the crates of the workspace.
    crates: &'a [String],
    /// Names that were looked for behind the glob imports of a module for the path in hand, as item
    /// or module: globs that import each other would be followed without end.
    behind_globs: RefCell<HashSet<(usize, String, Kind)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Item,
    Module,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(tree: &'a Tree, crates: &'a [String]) -> Self {
        Self { tree, crates, behind_globs: RefCell::default() }
    }

    /// What `path`, written in module `at`, means; `None` for names of foreign crates, the prelude and local variables.
    pub(crate) fn target(&self, at: usize, path: &[String]) -> Option<Target> {
        self.behind_globs.borrow_mut().clear();
        self.follow(at, path, MOST_STEPS)
    }

    fn follow(&self, at: usize, path: &[String], steps: usize) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.below(0, rest, steps),
            "self" => self.below(at, rest, steps),
            "super" => self.below_parent(at, rest, steps),
            "Self" => None,
            name => match self.find(at, name, rest, steps) {
                // A name alone is a local variable that happens to be called like a crate.
                None if !rest.is_empty() && self.crates.contains(first) => {
                    Some(Target::Crate(first.clone()))
                }
                found => found,
            },
        }
    }

    fn below_parent(&self, at: usize, rest: &[String], steps: usize) -> Option<Target> {
        let parent = self.tree.modules[at].parent?;
        match rest.split_first() {
            Some((next, rest)) if next == "super" => self.below_parent(parent, rest, steps),
            _ => self.below(parent, rest, steps),
        }
    }

    /// What `rest` means inside module `at`. A name that isn't found there is taken to be made by a macro there.
    fn below(&self, at: usize, rest: &[String], steps: usize) -> Option<Target> {
        let Some((name, rest)) = rest.split_first() else { return Some(Target::Module(at)) };
        self.find(at, name, rest, steps).or(Some(Target::Item(at)))
    }

    /// What `name` and the `rest` of a path behind it mean in module `at`.
    ///
    /// A module and an item may have the same name: before `::` stands the module, at the end the item.
    fn find(&self, at: usize, name: &str, rest: &[String], steps: usize) -> Option<Target> {
        if rest.is_empty() {
            self.item(at, name, steps)
                .or_else(|| self.module(at, name, steps).map(Target::Module))
                .or_else(|| self.foreign(at, name, steps))
        } else if let Some(module) = self.module(at, name, steps) {
            self.below(module, rest, steps)
        } else {
            self.item(at, name, steps).or_else(|| self.foreign(at, name, steps))
        }
    }

    /// The item `name` in the scope of module `at`.
    fn item(&self, at: usize, name: &str, steps: usize) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let module = &self.tree.modules[at];
        if module.defined.contains(name) {
            return Some(Target::Item(at));
        }
        if let Some(path) = module.imported.get(name) {
            let found = self.imported(at, name, path, steps);
            return found.filter(|found| matches!(found, Target::Item(_)));
        }
        if !self.is_first_look(at, name, Kind::Item) {
            return None;
        }
        module.globs.iter().find_map(|glob| match self.imported(at, "*", glob, steps)? {
            Target::Module(other) if other != at => self.item(other, name, steps),
            _ => None,
        })
    }

    /// The module `name` in the scope of module `at`.
    fn module(&self, at: usize, name: &str, steps: usize) -> Option<usize> {
        let steps = steps.checked_sub(1)?;
        let module = &self.tree.modules[at];
        if let Some(child) = module.children.get(name) {
            return Some(*child);
        }
        let is_module = |target| match target {
            Target::Module(module) => Some(module),
            _ => None,
        };
        if let Some(path) = module.imported.get(name) {
            let (last, before) = path.split_last()?;
            let holder = match before {
                [] if matches!(last.as_str(), "crate" | "self" | "super") => {
                    return self.follow(at, path, steps).and_then(is_module);
                }
                [] if last == name => return None,
                [] => at,
                before => self.follow(at, before, steps).and_then(is_module)?,
            };
            return match last.as_str() {
                "super" => self.tree.modules[holder].parent,
                last => self.module(holder, last, steps),
            };
        }
        if !self.is_first_look(at, name, Kind::Module) {
            return None;
        }
        module.globs.iter().find_map(|glob| match self.imported(at, "*", glob, steps)? {
            Target::Module(other) if other != at => self.module(other, name, steps),
            _ => None,
        })
    }

    fn is_first_look(&self, at: usize, name: &str, kind: Kind) -> bool {
        self.behind_globs.borrow_mut().insert((at, name.to_owned(), kind))
    }

    /// The crate of the workspace that `name` comes from, if module `at` imports it from one.
    fn foreign(&self, at: usize, name: &str, steps: usize) -> Option<Target> {
        let path = self.tree.modules[at].imported.get(name)?;
        self.imported(at, name, path, steps).filter(|found| matches!(found, Target::Crate(_)))
    }

    /// What an import of `path` as `name` into module `at` brings.
    fn imported(&self, at: usize, name: &str, path: &[String], steps: usize) -> Option<Target> {
        // `use weir_sched;` must not be looked up as an import of itself.
        if path.len() == 1 && path[0] == name {
            return self.crates.contains(&path[0]).then(|| Target::Crate(path[0].clone()));
        }
        self.follow(at, path, steps)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    fn target(files: &[(&str, &str)], at: &str, path: &str) -> Option<String> {
        let own = |(path, text): &(&str, &str)| (PathBuf::from(path), (*text).to_owned());
        let tree = Tree::read(Path::new("src/lib.rs"), &files.iter().map(own).collect()).unwrap();
        let at = tree.modules.iter().position(|module| module.path.join("::") == at).unwrap();
        let path: Vec<_> = path.split("::").map(str::to_owned).collect();
        let name = |module: usize| tree.modules[module].path.join("::");
        match Resolver::new(&tree, &["other".to_owned()]).target(at, &path)? {
            Target::Module(module) => Some(format!("module {}", name(module))),
            Target::Item(module) => Some(format!("item of {}", name(module))),
            Target::Crate(name) => Some(format!("crate {name}")),
        }
    }

    const CHAIN: &[(&str, &str)] = &[
        ("src/lib.rs", "mod a; mod c; pub use a::B; use other::thing; macro_made!(Z);"),
        ("src/a.rs", "mod b; pub use b::B; pub(crate) use self::b::deep as shallow;"),
        ("src/a/b.rs", "pub struct B; pub mod deep { pub fn f() {} } use super::super::c::*;"),
        (
            "src/c.rs",
            "pub struct D; mod D {} pub use crate::c as itself; pub use self::E::*; enum E { F }",
        ),
    ];

    #[test]
    fn re_exports_lead_to_the_file_that_defines() {
        for path in ["B", "a::B", "crate::B", "crate::a::B::new", "self::a::b::B"] {
            assert_eq!(target(CHAIN, "", path).as_deref(), Some("item of a::b"), "{path}");
        }
    }

    #[test]
    fn modules_are_re_exported_too() {
        assert_eq!(target(CHAIN, "c", "crate::a::shallow").as_deref(), Some("module a::b::deep"));
        assert_eq!(
            target(CHAIN, "c", "crate::a::shallow::f").as_deref(),
            Some("item of a::b::deep")
        );
        assert_eq!(target(CHAIN, "a", "crate::c::itself::D").as_deref(), Some("item of c"));
    }

    #[test]
    fn globs_and_super_are_followed() {
        assert_eq!(target(CHAIN, "a::b", "D").as_deref(), Some("item of c"));
        assert_eq!(
            target(CHAIN, "a::b::deep", "super::super::super::c::D").as_deref(),
            Some("item of c")
        );
        assert_eq!(target(CHAIN, "a::b", "nothing"), None);
    }

    #[test]
    fn globs_that_import_each_other_end() {
        let files = [(
            "src/lib.rs",
            "pub use a::*; pub use b::*; mod a { pub use super::*; pub use super::b::*; } mod b { pub use super::*; pub use super::a::*; pub struct B; }",
        )];
        assert_eq!(target(&files, "a", "B").as_deref(), Some("item of b"));
        assert_eq!(target(&files, "a", "x::y"), None);
    }

    #[test]
    fn other_crates_are_known_by_name_and_through_imports() {
        assert_eq!(target(CHAIN, "c", "other::x::Y").as_deref(), Some("crate other"));
        assert_eq!(target(CHAIN, "a", "crate::thing").as_deref(), Some("crate other"));
        assert_eq!(target(CHAIN, "a", "std::fmt::Display"), None);
        assert_eq!(target(CHAIN, "a", "other"), None);
    }

    #[test]
    fn a_name_that_a_macro_makes_belongs_to_its_module() {
        assert_eq!(target(CHAIN, "a", "crate::Z").as_deref(), Some("item of "));
        assert_eq!(target(CHAIN, "a", "Z"), None);
    }
}
