//! Every path that the code of one item mentions: types, expressions, patterns, attributes, macros.
//!
//! [`modules`](crate::modules) asks for each item of a module; [`resolve`](crate::resolve) finds what they mean.

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, ItemUse, Lit, Meta, Path, Token, VisRestricted};

use crate::tokens;
use crate::uses::{self, Import};

/// A path somewhere in the code.
#[derive(Debug, Clone)]
pub(crate) struct Mention {
    pub(crate) path: Vec<String>,
    /// Counted from 1.
    pub(crate) line: usize,
}

/// What the code of some items mentions, code that is compiled for tests only left out.
#[derive(Debug, Default)]
pub(crate) struct Mentions {
    pub(crate) paths: Vec<Mention>,
    /// `use` declarations inside functions.
    pub(crate) imports: Vec<Import>,
}

impl Mentions {
    /// Adds what `item` mentions.
    pub(crate) fn add(&mut self, item: &Item) {
        visit::visit_item(self, item);
    }

    /// Adds what the attributes mention: `#[arg(value_parser = values::rate)]`.
    pub(crate) fn add_attributes(&mut self, attributes: &[Attribute]) {
        for attribute in attributes {
            self.visit_attribute(attribute);
        }
    }

    fn scan(&mut self, tokens: proc_macro2::TokenStream) {
        tokens::paths(tokens, &mut |path, line| self.paths.push(Mention { path, line }));
    }

    /// `#[serde(deserialize_with = "values::rate")]` names a function in a string.
    fn scan_strings(&mut self, tokens: proc_macro2::TokenStream) {
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Group(group) => self.scan_strings(group.stream()),
                proc_macro2::TokenTree::Literal(literal) => {
                    let line = literal.span().start().line;
                    let Lit::Str(text) = Lit::new(literal) else { continue };
                    if let Ok(path) = text.parse_with(Path::parse_mod_style) {
                        self.paths.push(Mention { path: segments(&path), line });
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Mentions {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            _ => return visit::visit_impl_item(self, item),
        };
        if !is_for_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !is_for_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.imports.extend(uses::imports(item));
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if let Some(first) = path.segments.first() {
            let line = first.ident.span().start().line;
            self.paths.push(Mention { path: segments(path), line });
        }
        visit::visit_path(self, path);
    }

    /// `pub(in a::b)` says who may look, not what is used.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("doc") || attribute.path().is_ident("cfg") {
            return;
        }
        if let Meta::List(list) = &attribute.meta {
            self.scan(list.tokens.clone());
            self.scan_strings(list.tokens.clone());
        }
    }

    fn visit_macro(&mut self, invoked: &'ast syn::Macro) {
        self.visit_path(&invoked.path);
        self.scan(invoked.tokens.clone());
    }
}

fn segments(path: &Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// Whether `#[cfg(test)]` or `#[cfg(all(test, ...))]` keeps an item out of the program.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<Meta>().is_ok_and(|meta| needs_test(&meta))
    })
}

fn needs_test(meta: &Meta) -> bool {
    match meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|all| all.iter().any(needs_test)),
        _ => false,
    }
}

/// The attributes of an item, of whatever kind.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut mentions = Mentions::default();
        for item in &syn::parse_file(text).unwrap().items {
            mentions.visit_item(item);
        }
        mentions.paths.into_iter().map(|mention| mention.path.join("::")).collect()
    }

    #[test]
    fn types_expressions_patterns_and_macros_are_read() {
        let text = "fn f(a: b::C) -> Option<d::E> { match a { g::H => vec![i::J], _ => k::l() } }";
        let found = of(text);
        for path in ["b::C", "d::E", "g::H", "i::J", "k::l"] {
            assert!(found.iter().any(|one| one == path), "{path} in {found:?}");
        }
    }

    #[test]
    fn attributes_name_functions_bare_and_in_strings() {
        let text = "struct A { #[arg(value_parser = b::rate)] #[serde(with = \"c::span\")] d: u8 }";
        let found = of(text);
        assert!(found.iter().any(|one| one == "b::rate"), "{found:?}");
        assert!(found.iter().any(|one| one == "c::span"), "{found:?}");
    }

    #[test]
    fn what_is_for_tests_is_left_out() {
        assert!(of("#[cfg(test)] fn f() { a::b() }").is_empty());
        assert!(of("#[cfg(all(test, unix))] const A: b::C = d::E;").is_empty());
        assert!(!of("#[cfg(any(test, feature = \"x\"))] const A: b::C = d::E;").is_empty());
        assert!(!of("#[cfg(not(test))] const A: b::C = d::E;").is_empty());
    }
}
