//! Content codings, and which of them a client accepts: `Accept-Encoding` (RFC 9110, sections 8.4.1 and
//! 12.5.3). Used by the file handler and the proxy of `weir-server` to choose what they send.

use std::cmp::Reverse;

use super::fields::members;

/// A content coding that weir sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coding {
    /// Zstandard (RFC 8878).
    Zstd,
    /// Brotli (RFC 7932).
    Brotli,
    /// GZIP (RFC 1952).
    Gzip,
}

impl Coding {
    /// How many there are.
    pub const COUNT: usize = 3;

    /// All of them; the first is preferred where nothing else tells them apart.
    pub const ALL: [Coding; Coding::COUNT] = [Coding::Zstd, Coding::Brotli, Coding::Gzip];

    /// What `Content-Encoding` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Coding::Zstd => "zstd",
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }

    /// What the name of a file in this coding ends in, behind a dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Coding::Zstd => "zst",
            Coding::Brotli => "br",
            Coding::Gzip => "gz",
        }
    }

    /// Its place in [`Coding::ALL`].
    pub const fn place(self) -> usize {
        self as usize
    }

    /// `x-gzip` is another name of `gzip` (RFC 9110, section 8.4.1.3).
    fn is_called(self, name: &[u8]) -> bool {
        name.eq_ignore_ascii_case(self.name().as_bytes())
            || self == Coding::Gzip && name.eq_ignore_ascii_case(b"x-gzip")
    }
}

/// A weight in thousandths, 0 to 1000; 0: not acceptable (RFC 9110, section 12.4.2).
type Weight = u16;

/// The weight of what is listed without one.
const WHOLE: Weight = 1000;

/// Bytes of the longest value that is looked at; browsers send about 30. What asks for more gets the
/// content without a coding, at no cost.
const LONGEST: usize = 512;

/// What a client thinks of each coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedCodings {
    /// In the order of [`Coding::ALL`].
    weights: [Weight; Coding::COUNT],
    /// Of the content without a coding, if the client names it; otherwise that is liked least.
    identity: Weight,
}

impl AcceptedCodings {
    /// A client that takes no coding.
    pub const NONE: AcceptedCodings = AcceptedCodings { weights: [0; Coding::COUNT], identity: 0 };

    /// Reads the value of `Accept-Encoding`.
    ///
    /// Members that make no sense and codings that weir does not have are passed over; of a coding that
    /// is listed twice the greater weight counts. Nobody is refused: a client that excludes the content
    /// without a coding gets it nevertheless where there is no other.
    pub fn parse(value: &str) -> AcceptedCodings {
        if value.len() > LONGEST {
            return AcceptedCodings::NONE;
        }
        let mut named = [None; Coding::COUNT];
        let (mut identity, mut others) = (None, None);
        for (name, weight) in members(value.as_bytes()).filter_map(coding_and_weight) {
            let known = || Coding::ALL.into_iter().find(|coding| coding.is_called(name));
            let noted: &mut Option<Weight> = if name == b"*" {
                &mut others
            } else if name.eq_ignore_ascii_case(b"identity") {
                &mut identity
            } else if let Some(coding) = known() {
                &mut named[coding.place()]
            } else {
                continue;
            };
            *noted = (*noted).max(Some(weight));
        }
        // `*` stands for those that are not named.
        let weights = named.map(|weight| weight.or(others).unwrap_or(0));
        AcceptedCodings { weights, identity: identity.unwrap_or(0) }
    }

    /// Whether the client takes no coding.
    pub fn is_none(&self) -> bool {
        self.weights == AcceptedCodings::NONE.weights
    }

    /// The coding to send of those on offer, each with its cost, such as a length: that of the greatest
    /// weight, and among equals that of the least cost. `None`: the content without a coding.
    pub fn best(&self, offers: impl IntoIterator<Item = (Coding, u64)>) -> Option<Coding> {
        let weight = |coding: Coding| self.weights[coding.place()];
        let is_liked = |coding: Coding| weight(coding) > 0 && weight(coding) >= self.identity;
        let liked = offers.into_iter().filter(|(coding, _)| is_liked(*coding));
        let best = liked.max_by_key(|(coding, cost)| (weight(*coding), Reverse(*cost)));
        best.map(|(coding, _)| coding)
    }
}

/// One member of the list: `codings [ weight ]`.
fn coding_and_weight(member: &[u8]) -> Option<(&[u8], Weight)> {
    let mut parts = member.splitn(2, |&byte| byte == b';').map(<[u8]>::trim_ascii);
    let name = parts.next()?;
    match parts.next() {
        None => Some((name, WHOLE)),
        Some(parameter) => Some((name, weight(parameter)?)),
    }
}

/// `q=` and a number from 0 to 1 with at most three decimals (RFC 9110, section 12.4.2).
fn weight(parameter: &[u8]) -> Option<Weight> {
    let [b'q' | b'Q', b'=', value @ ..] = parameter else { return None };
    let (whole, decimals): (u8, &[u8]) = match value {
        [whole] => (*whole, &[]),
        [whole, b'.', decimals @ ..] if decimals.len() <= 3 => (*whole, decimals),
        _ => return None,
    };
    let decimal = |place: usize| match decimals.get(place).copied() {
        None => Some(0),
        Some(digit) if digit.is_ascii_digit() => Some(Weight::from(digit - b'0')),
        Some(_) => None,
    };
    let thousandths = 100 * decimal(0)? + 10 * decimal(1)? + decimal(2)?;
    match (whole, thousandths) {
        (b'0', thousandths) => Some(thousandths),
        (b'1', 0) => Some(WHOLE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Coding::{Brotli, Gzip, Zstd};
    use super::*;

    /// What is sent to a client with this field, if all codings cost the same but for their order.
    fn chosen(value: &str) -> Option<Coding> {
        let offers = Coding::ALL.map(|coding| (coding, coding.place() as u64));
        AcceptedCodings::parse(value).best(offers)
    }

    #[test]
    fn the_greatest_weight_wins_and_then_the_order() {
        for (value, expected) in [
            ("gzip, deflate, br, zstd", Some(Zstd)),
            ("gzip, deflate, br", Some(Brotli)),
            ("GZip", Some(Gzip)),
            ("x-gzip", Some(Gzip)),
            ("br;q=0.5, gzip;q=0.8", Some(Gzip)),
            ("br; q=0.999 , gzip ; Q=1.000", Some(Gzip)),
            ("br;q=0.5, br;q=0.9, gzip;q=0.8", Some(Brotli)),
            ("*", Some(Zstd)),
            ("*;q=0.1, gzip", Some(Gzip)),
            ("zstd;q=0, *", Some(Brotli)),
            ("gzip;q=0, *;q=0", None),
            ("identity", None),
            ("identity, gzip", Some(Gzip)),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0.5, gzip;q=0.5", Some(Gzip)),
            ("identity;q=0", None),
            ("identity;q=0, gzip;q=0.001", Some(Gzip)),
            ("deflate, compress", None),
            ("", None),
            (",, ,gzip,", Some(Gzip)),
        ] {
            assert_eq!(chosen(value), expected, "{value:?}");
        }
    }

    #[test]
    fn among_equals_the_smallest_wins() {
        let accepted = AcceptedCodings::parse("gzip, br, zstd;q=0.9");
        assert_eq!(accepted.best([(Gzip, 10), (Brotli, 11), (Zstd, 1)]), Some(Gzip));
        assert_eq!(accepted.best([(Gzip, 10), (Brotli, 9)]), Some(Brotli));
        assert_eq!(accepted.best([(Zstd, 100)]), Some(Zstd));
        assert_eq!(accepted.best([]), None);
    }

    #[test]
    fn nonsense_is_passed_over() {
        for value in [
            "gzip;q=2",
            "gzip;q=1.001",
            "gzip;q=0.0001",
            "gzip;q=.5",
            "gzip;q=",
            "gzip;q=0,5",
            "gzip;level=3",
            "gzip;q=0.5;a=b",
            "gzip q=1",
            "\"gzip\"",
            ";q=1",
        ] {
            assert_eq!(chosen(value), None, "{value:?}");
            assert_eq!(chosen(&format!("{value}, br")), Some(Brotli), "{value:?}");
        }
        assert!(AcceptedCodings::parse(&"gzip, ".repeat(200)).is_none());
        assert!(!AcceptedCodings::parse(&"gzip, ".repeat(20)).is_none());
    }

    #[test]
    fn names_and_places_belong_together() {
        for (place, coding) in Coding::ALL.into_iter().enumerate() {
            assert_eq!(coding.place(), place);
            assert_eq!(chosen(coding.name()), Some(coding));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(value in "(gzip|br|\\*|q|=|;|,|[01]|\\.| |.){0,30}") {
            let accepted = AcceptedCodings::parse(&value);
            if accepted.is_none() {
                prop_assert_eq!(accepted.best([(Gzip, 0), (Brotli, 0), (Zstd, 0)]), None);
            }
        }

        #[test]
        fn weights_are_read_as_they_are_written(
            thousandths in prop::collection::vec(0_u16..=1000, 3),
            identity in prop::option::of(0_u16..=1000),
            costs in prop::collection::vec(0_u64..3, 3),
        ) {
            let text = |name: &str, weight: u16| match weight {
                1000 => format!("{name};q=1.0"),
                weight => format!("{name} ;q=0.{weight:03}"),
            };
            let mut list: Vec<String> = Coding::ALL
                .into_iter()
                .map(|coding| text(coding.name(), thousandths[coding.place()]))
                .collect();
            list.extend(identity.map(|weight| text("identity", weight)));
            let accepted = AcceptedCodings::parse(&list.join(" , "));
            let offers = Coding::ALL.map(|coding| (coding, costs[coding.place()]));
            let rank = |coding: Coding| {
                (thousandths[coding.place()], Reverse(costs[coding.place()]))
            };
            let best = accepted.best(offers).map(rank);
            let liked = |coding: &Coding| {
                let weight = thousandths[coding.place()];
                weight > 0 && weight >= identity.unwrap_or(0)
            };
            let expected = Coding::ALL.into_iter().filter(liked).map(rank).max();
            prop_assert_eq!(best, expected);
        }
    }
}
