//! One `use` declaration as a list of single imports; [`modules`](crate::modules) reads them all.

use syn::spanned::Spanned;
use syn::{ItemUse, UseTree, Visibility};

/// One name, or all names, that a `use` declaration brings into a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Import {
    /// What is imported; for a glob, the module whose names are.
    pub(crate) path: Vec<String>,
    /// What it is called here; `None` for a glob. `_` for a trait imported without a name.
    pub(crate) name: Option<String>,
    /// Whether it is a re-export: `pub use`, `pub(crate) use` and the like.
    pub(crate) exported: bool,
    /// Counted from 1.
    pub(crate) line: usize,
}

/// All imports of one declaration.
pub(crate) fn imports(item: &ItemUse) -> Vec<Import> {
    let exported = !matches!(item.vis, Visibility::Inherited);
    let mut all = Vec::new();
    walk(&item.tree, Vec::new(), exported, &mut all);
    all
}

fn walk(tree: &UseTree, mut prefix: Vec<String>, exported: bool, all: &mut Vec<Import>) {
    let line = tree.span().start().line;
    let mut push = |path, name| all.push(Import { path, name, exported, line });
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            walk(&path.tree, prefix, exported, all);
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            if name != "self" {
                prefix.push(name);
            }
            let called = prefix.last().cloned();
            push(prefix, called);
        }
        UseTree::Rename(rename) => {
            if rename.ident != "self" {
                prefix.push(rename.ident.to_string());
            }
            push(prefix, Some(rename.rename.to_string()));
        }
        UseTree::Glob(_) => push(prefix, None),
        UseTree::Group(group) => {
            for tree in &group.items {
                walk(tree, prefix.clone(), exported, all);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, Option<String>, bool)> {
        let item: ItemUse = syn::parse_str(text).unwrap();
        let plain = |i: Import| (i.path.join("::"), i.name, i.exported);
        imports(&item).into_iter().map(plain).collect()
    }

    #[test]
    fn a_group_is_as_many_imports() {
        let expected = [
            ("crate::a".to_owned(), Some("a".to_owned()), false),
            ("crate::a::B".to_owned(), Some("C".to_owned()), false),
            ("crate::a::d".to_owned(), None, false),
        ];
        assert_eq!(of("use crate::a::{self, B as C, d::*};"), expected);
    }

    #[test]
    fn any_visibility_makes_a_re_export() {
        assert_eq!(of("pub(crate) use a::B;"), [("a::B".to_owned(), Some("B".to_owned()), true)]);
    }
}
