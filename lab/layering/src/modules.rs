//! The tree of modules of one crate, as the compiler would find them from its root file.
//!
//! [`resolve`](crate::resolve) looks names up in it; [`arrows`](crate::arrows) makes arrows of what they mean.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::{Attribute, Expr, ExprLit, Item, ItemMacro, ItemMod, Lit, Macro, Meta};

use crate::error::Error;
use crate::mentions::{Mention, Mentions, attributes, is_for_tests};
use crate::tokens;
use crate::uses::{self, Import};

/// The modules of one crate; modules that are compiled for tests only are left out.
#[derive(Debug)]
pub struct Tree {
    /// The root first; a module's parent stands before it.
    pub(crate) modules: Vec<Module>,
}

/// One module, in a file of its own or inside braces.
#[derive(Debug)]
pub struct Module {
    /// The file it stands in, below the root of the workspace.
    pub file: PathBuf,
    /// Its name from the crate's root: `["proxy", "pool"]`; empty for the root.
    pub path: Vec<String>,
    pub(crate) parent: Option<usize>,
    pub(crate) children: BTreeMap<String, usize>,
    /// Names of items that are defined here.
    pub(crate) defined: BTreeSet<String>,
    /// What is imported under a name, in functions too.
    pub(crate) imported: BTreeMap<String, Vec<String>>,
    /// Modules of which all names are imported.
    pub(crate) globs: Vec<Vec<String>>,
    /// The declarations that `imported` and `globs` come from.
    pub(crate) imports: Vec<Import>,
    pub(crate) mentions: Vec<Mention>,
}

impl Tree {
    /// Reads the tree below `root` from `sources`: the text of every Rust file, by path.
    ///
    /// # Errors
    ///
    /// If a file is not valid Rust, or a module that is not for tests has no file.
    pub fn read(root: &Path, sources: &BTreeMap<PathBuf, String>) -> Result<Self, Error> {
        let mut tree = Self { modules: Vec::new() };
        let folder = root.parent().unwrap_or(Path::new("")).to_owned();
        tree.read_file(root, Vec::new(), None, &folder, sources)?;
        Ok(tree)
    }

    /// All modules, the root first.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Adds the module whose text is `file`; those below it are looked for in `folder`.
    fn read_file(
        &mut self,
        file: &Path,
        path: Vec<String>,
        parent: Option<usize>,
        folder: &Path,
        sources: &BTreeMap<PathBuf, String>,
    ) -> Result<usize, Error> {
        let text = sources.get(file).ok_or_else(|| {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            Error::Unreadable(file.to_owned(), missing)
        })?;
        let parsed = syn::parse_file(text).map_err(|error| {
            let start = error.span().start();
            let place = format!("line {}, column {}: {error}", start.line, start.column + 1);
            Error::Syntax(file.to_owned(), place)
        })?;
        let module = self.add(file, path, parent);
        let beside = file.parent().unwrap_or(Path::new(""));
        self.read_items(module, &parsed.items, folder, beside, sources)?;
        Ok(module)
    }

    fn add(&mut self, file: &Path, path: Vec<String>, parent: Option<usize>) -> usize {
        self.modules.push(Module {
            file: file.to_owned(),
            path,
            parent,
            children: BTreeMap::new(),
            defined: BTreeSet::new(),
            imported: BTreeMap::new(),
            globs: Vec::new(),
            imports: Vec::new(),
            mentions: Vec::new(),
        });
        self.modules.len() - 1
    }

    fn read_items(
        &mut self,
        at: usize,
        items: &[Item],
        folder: &Path,
        beside: &Path,
        sources: &BTreeMap<PathBuf, String>,
    ) -> Result<(), Error> {
        let mut mentions = Mentions::default();
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                Item::Mod(item) => {
                    mentions.add_attributes(&item.attrs);
                    let child = self.read_child(at, item, folder, beside, sources)?;
                    self.modules[at].children.insert(item.ident.to_string(), child);
                }
                Item::Use(item) => {
                    for import in uses::imports(item) {
                        self.modules[at].import(import);
                    }
                }
                _ => {
                    self.modules[at].defined.extend(name(item));
                    mentions.add(item);
                }
            }
            if let Item::Macro(ItemMacro { ident: None, mac, .. }) = item {
                self.read_declared_by_macro(at, mac, folder, sources)?;
            }
        }
        for import in mentions.imports {
            self.modules[at].import(import);
        }
        self.modules[at].mentions.extend(mentions.paths);
        Ok(())
    }

    /// A macro may declare modules: every name in it that has a file in `folder` is taken for one.
    fn read_declared_by_macro(
        &mut self,
        at: usize,
        invoked: &Macro,
        folder: &Path,
        sources: &BTreeMap<PathBuf, String>,
    ) -> Result<(), Error> {
        let mut names = BTreeSet::new();
        tokens::paths(invoked.tokens.clone(), &mut |path, _| names.extend(path.into_iter().next()));
        for name in names {
            let below = folder.join(&name);
            let tried = [folder.join(format!("{name}.rs")), below.join("mod.rs")];
            let file = tried.iter().find(|file| sources.contains_key(*file));
            let Some(file) = file.filter(|_| !self.modules[at].children.contains_key(&name)) else {
                continue;
            };
            let mut path = self.modules[at].path.clone();
            path.push(name.clone());
            let child = self.read_file(file, path, Some(at), &below, sources)?;
            self.modules[at].children.insert(name, child);
        }
        Ok(())
    }

    /// Reads `mod name { .. }` or `mod name;`, whose file stands in `folder`, or where `#[path]` says.
    fn read_child(
        &mut self,
        at: usize,
        item: &ItemMod,
        folder: &Path,
        beside: &Path,
        sources: &BTreeMap<PathBuf, String>,
    ) -> Result<usize, Error> {
        let name = item.ident.to_string();
        let mut path = self.modules[at].path.clone();
        path.push(name.clone());
        let below = folder.join(&name);
        if let Some((_, items)) = &item.content {
            let file = self.modules[at].file.clone();
            let child = self.add(&file, path, Some(at));
            self.read_items(child, items, &below, &below, sources)?;
            return Ok(child);
        }
        let tried = match path_attribute(&item.attrs) {
            Some(given) => vec![normal(&beside.join(given))],
            None => vec![folder.join(format!("{name}.rs")), below.join("mod.rs")],
        };
        let Some(file) = tried.iter().find(|file| sources.contains_key(*file)) else {
            return Err(Error::NoModule(self.modules[at].file.clone(), name, tried));
        };
        // A file that `#[path]` names has its modules beside it, as `mod.rs` has.
        let below = match path_attribute(&item.attrs) {
            Some(_) => file.parent().unwrap_or(Path::new("")).to_owned(),
            None => below,
        };
        self.read_file(file, path, Some(at), &below, sources)
    }
}

impl Module {
    fn import(&mut self, import: Import) {
        match &import.name {
            Some(name) => {
                self.imported.entry(name.clone()).or_insert_with(|| import.path.clone());
            }
            None => self.globs.push(import.path.clone()),
        }
        self.imports.push(import);
    }
}

/// The name that an item defines in its module.
fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

/// The path without `..` and `.`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                normal.pop();
            }
            std::path::Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Result<Tree, Error> {
        let own = |(path, text): &(&str, &str)| (PathBuf::from(path), (*text).to_owned());
        Tree::read(Path::new("src/lib.rs"), &files.iter().map(own).collect())
    }

    fn files(tree: &Tree) -> Vec<(String, String)> {
        let plain = |m: &Module| (m.path.join("::"), m.file.display().to_string());
        tree.modules().iter().map(plain).collect()
    }

    #[test]
    fn modules_are_found_in_all_four_places() {
        let tree = read(&[
            ("src/lib.rs", "mod a; mod b; mod c { mod d; } #[path = \"other/e.rs\"] mod f;"),
            ("src/a.rs", "mod g;"),
            ("src/a/g.rs", ""),
            ("src/b/mod.rs", "mod h;"),
            ("src/b/h.rs", ""),
            ("src/c/d.rs", ""),
            ("src/other/e.rs", "mod i;"),
            ("src/other/i.rs", ""),
        ]);
        let expected = [
            ("", "src/lib.rs"),
            ("a", "src/a.rs"),
            ("a::g", "src/a/g.rs"),
            ("b", "src/b/mod.rs"),
            ("b::h", "src/b/h.rs"),
            ("c", "src/lib.rs"),
            ("c::d", "src/c/d.rs"),
            ("f", "src/other/e.rs"),
            ("f::i", "src/other/i.rs"),
        ];
        let expected = expected.map(|(path, file)| (path.to_owned(), file.to_owned()));
        assert_eq!(files(&tree.unwrap()), expected);
    }

    #[test]
    fn modules_for_tests_are_not_even_looked_for() {
        let tree =
            read(&[("src/lib.rs", "#[cfg(test)] mod tests; #[cfg(test)] mod more { use x; }")]);
        assert_eq!(tree.unwrap().modules().len(), 1);
    }

    #[test]
    fn macros_declare_modules() {
        let tree = read(&[("src/lib.rs", "list! { a, b }"), ("src/a.rs", "")]).unwrap();
        assert_eq!(files(&tree)[1..], [("a".to_owned(), "src/a.rs".to_owned())]);
    }

    #[test]
    fn a_module_without_a_file_is_an_error_that_says_where_it_was_looked_for() {
        let error = read(&[("src/lib.rs", "mod a;")]).unwrap_err().to_string();
        assert!(error.contains("src/a.rs") && error.contains("src/a/mod.rs"), "{error}");
    }

    #[test]
    fn a_syntax_error_has_file_line_and_column() {
        let error = read(&[("src/lib.rs", "fn a() {}\nstruct;")]).unwrap_err().to_string();
        assert!(error.contains("src/lib.rs") && error.contains("line 2"), "{error}");
    }
}
