//! The `Accept` field: how much a client wants a media type (RFC 9110, section 12.5.1). Used by the file
//! handler of `weir-server` for pages that stand for others, and for lists of directories.

/// How much a client wants a type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// In thousandths: 1000 is most, 0 not at all.
    pub quality: u16,
    /// How exactly it was named: the type itself, or a range of types that it is in.
    pub named: Named,
}

/// How exactly a type was named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// Not at all.
    #[default]
    Not,
    /// By `*/*`.
    AsAnything,
    /// By such as `text/*`.
    AsKind,
    /// Itself.
    Exactly,
}

/// How much the client that sent this list wants `media`, such as `text/html`. The most exact member
/// counts; parameters but `q` do not. Members that are malformed are ignored.
pub fn wanted(accept: &str, media: &str) -> Wanted {
    let kind = media.split('/').next().unwrap_or_default();
    let mut found = Wanted::default();
    for member in accept.split(',') {
        let mut parts = member.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default();
        let named = match range.split_once('/') {
            Some(("*", "*")) => Named::AsAnything,
            Some((of, "*")) if of.eq_ignore_ascii_case(kind) => Named::AsKind,
            _ if range.eq_ignore_ascii_case(media) => Named::Exactly,
            _ => continue,
        };
        let Some(quality) = quality(parts) else { continue };
        if named > found.named {
            found = Wanted { quality, named };
        }
    }
    found
}

/// The weight among the parameters of a member; 1000 if there is none, `None` if it is malformed.
fn quality<'a>(mut parameters: impl Iterator<Item = &'a str>) -> Option<u16> {
    let weight = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then_some(value.trim())
    });
    weight.map_or(Some(1000), thousandths)
}

/// A weight (section 12.4.2): `0` or `1`, with up to three decimal places.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = decimals.len() <= 3 && decimals.bytes().all(|byte| byte.is_ascii_digit());
    let whole = match whole {
        "0" => 0,
        "1" => 1000,
        _ => return None,
    };
    let decimals: u16 = format!("{decimals:0<3}").parse().ok().filter(|_| is_number)?;
    Some(whole + decimals).filter(|sum| *sum <= 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_most_exact_member_counts() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
        for (accept, media, quality, named) in [
            (browser, "text/html", 1000, Named::Exactly),
            (browser, "application/xml", 900, Named::Exactly),
            (browser, "application/json", 800, Named::AsAnything),
            ("*/*", "text/html", 1000, Named::AsAnything),
            ("text/*;q=0.5, */*", "text/html", 500, Named::AsKind),
            ("*/*;q=0.1, TEXT/HTML ; Q=0.25", "text/html", 250, Named::Exactly),
            ("text/html;level=1;q=0.7", "text/html", 700, Named::Exactly),
            ("text/html;q=0", "text/html", 0, Named::Exactly),
            ("application/json", "text/html", 0, Named::Not),
            ("", "text/html", 0, Named::Not),
        ] {
            assert_eq!(wanted(accept, media), Wanted { quality, named }, "{accept} for {media}");
        }
    }

    #[test]
    fn malformed_members_are_ignored() {
        for weight in ["2", "1.001", "0.1234", "-1", "0,5", "x", "", "1.", ".5", "0.5 0.5"] {
            let text = format!("text/html;q={weight}, text/*;q=0.3");
            let found = wanted(&text, "text/html");
            // `1.` is a weight by the grammar, which lets the digits be missing.
            let quality = if weight == "1." { 1000 } else { 300 };
            let quality = if weight == "0,5" { 0 } else { quality };
            assert_eq!(found.quality, quality, "{weight}");
        }
        assert_eq!(wanted("text, /, text/html/x, */html", "text/html"), Wanted::default());
    }

    proptest! {
        #[test]
        fn nothing_panics_and_no_weight_is_above_the_most(
            accept in "([a-z*/;=., 0-9q]|text/html|text/\\*|\\*/\\*|;q=){0,40}",
        ) {
            prop_assert!(wanted(&accept, "text/html").quality <= 1000);
        }
    }
}
