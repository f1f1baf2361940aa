//! Finds paths (`a::b::C`) in tokens that nobody has parsed: the inside of macros and attributes.
//!
//! [`mentions`](crate::mentions) uses it, since a name that only a macro uses is an arrow, too.

use proc_macro2::{TokenStream, TokenTree};

/// Calls `found` with the segments and the line of each path in `tokens`, groups included.
///
/// Names after a dot (fields, methods), lifetimes and what follows `$` are no paths. `$crate::x` is `crate::x`.
pub(crate) fn paths(tokens: TokenStream, found: &mut impl FnMut(Vec<String>, usize)) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => paths(group.stream(), found),
            TokenTree::Ident(first) => {
                let line = first.span().start().line;
                let before = at;
                let mut segments = vec![first.to_string()];
                while let Some(next) = after_colons(&tokens, at + 1) {
                    segments.push(next);
                    at += 3;
                }
                if begins_path(&tokens, before, &segments[0]) {
                    found(segments, line);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The identifier after `::` at `at`.
fn after_colons(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at..at + 3)? {
        [colon, other, TokenTree::Ident(name)] if is(colon, ':') && is(other, ':') => {
            Some(name.to_string())
        }
        _ => None,
    }
}

fn begins_path(tokens: &[TokenTree], at: usize, first: &str) -> bool {
    let before = |back: usize| at.checked_sub(back).map(|at| &tokens[at]);
    let preceded = |back: usize, mark: char| before(back).is_some_and(|token| is(token, mark));
    if preceded(1, '$') {
        return first == "crate";
    }
    let of_a_value = preceded(1, '.') && !preceded(2, '.');
    let continues = preceded(1, ':') && preceded(2, ':');
    !(of_a_value || continues || preceded(1, '\''))
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        paths(text.parse().unwrap(), &mut |path, _| all.push(path.join("::")));
        all
    }

    #[test]
    fn paths_inside_groups_are_found() {
        assert_eq!(of("x, [crate::a::B; 2], { super::c() }"), ["x", "crate::a::B", "super::c"]);
    }

    #[test]
    fn fields_methods_lifetimes_and_placeholders_are_no_paths() {
        assert_eq!(of("one.two.three::<Four>()"), ["one", "Four"]);
        assert_eq!(of("&'a T, $kind::New, $crate::a::B, 0..LAST"), ["T", "crate::a::B", "LAST"]);
    }
}
