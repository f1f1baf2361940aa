//! Who asks through proxies, by examples and by the rule; what clients write decides nothing.

use super::*;
use proptest::prelude::*;

/// Trusted are 10.0.0.0/8 and 2001:db8::/16.
fn is_trusted(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[0] == 10,
        IpAddr::V6(address) => address.segments()[0] == 0x2001,
    }
}

fn fields<'b>(lines: &[(&'b str, &'b str)]) -> Fields<'b> {
    lines.iter().map(|(name, value)| (*name, value.as_bytes())).collect()
}

fn told(field: HopField, peer: &str, lines: &[(&str, &str)]) -> (String, Option<&'static str>) {
    let found = origin(&fields(lines), field, peer.parse().unwrap(), is_trusted);
    (found.address.to_string(), found.scheme)
}

#[test]
fn the_walk_ends_at_the_first_that_is_not_trusted_or_at_the_last_good_hop() {
    let client = |lines: &[&str]| {
        let lines: Vec<_> = lines.iter().map(|line| ("X-Forwarded-For", *line)).collect();
        told(HopField::XForwardedFor, "10.0.0.1", &lines).0
    };
    for (lines, address) in [
        (&[][..], "10.0.0.1"),
        (&["192.0.2.1"], "192.0.2.1"),
        (&["6.6.6.6, 192.0.2.1"], "192.0.2.1"),
        (&["6.6.6.6", "192.0.2.1, 10.0.0.2", "10.0.0.3"], "192.0.2.1"),
        (&["10.0.0.9,10.0.0.8"], "10.0.0.9"),
        (&["192.0.2.1:1234"], "192.0.2.1"),
        (&["192.0.2.1:_hidden"], "192.0.2.1"),
        (&["[fd00::1]:80"], "fd00::1"),
        (&["fd00::1"], "fd00::1"),
        (&["[fd00::1], 2001:db8::7"], "fd00::1"),
        (&["::ffff:192.0.2.1"], "192.0.2.1"),
        (&["6.6.6.6, ,, 192.0.2.1 , "], "192.0.2.1"),
        // Nonsense, and what is no address, end the walk.
        (&["6.6.6.6, unknown, 10.0.0.2"], "10.0.0.2"),
        (&["6.6.6.6, _gateway"], "10.0.0.1"),
        (&["6.6.6.6, 192.0.2.256"], "10.0.0.1"),
        (&["192.0.2.1:port"], "10.0.0.1"),
        (&["192.0.2.1:123456"], "10.0.0.1"),
        (&["[fd00::1]x"], "10.0.0.1"),
        (&["[192.0.2.1]"], "10.0.0.1"),
        (&["fd00::1]:80"], "10.0.0.1"),
        (&["\"192.0.2.1\""], "10.0.0.1"),
    ] {
        assert_eq!(client(lines), address, "{lines:?}");
    }
}

#[test]
fn a_peer_that_is_not_trusted_is_the_client() {
    let lies = [("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Proto", "https")];
    let told = told(HopField::XForwardedFor, "::ffff:192.0.2.9", &lies);
    assert_eq!(told, ("192.0.2.9".to_owned(), None));
}

#[test]
fn forwarded_is_read_as_in_rfc_7239() {
    let client = |line: &str| told(HopField::Forwarded, "10.0.0.1", &[("Forwarded", line)]);
    for (line, address, scheme) in [
        ("for=192.0.2.43;proto=https;by=10.0.0.1", "192.0.2.43", Some("https")),
        ("For=\"[fd00::17]:4711\"", "fd00::17", None),
        ("for=6.6.6.6, FOR=192.0.2.60; proto=HTTP;host=\"a,b;c\"", "192.0.2.60", Some("http")),
        ("for=192.0.2.1,for=10.0.0.2;proto=https", "192.0.2.1", Some("https")),
        ("for=\"192\\.0.2.1\"", "192.0.2.1", None),
        ("for=\"_a\\\"b\", for=10.0.0.2", "10.0.0.2", None),
        ("for=6.6.6.6, for=unknown", "10.0.0.1", None),
        ("for=6.6.6.6, proto=https", "10.0.0.1", Some("https")),
        ("for=6.6.6.6;for=192.0.2.1", "10.0.0.1", None),
        ("for=6.6.6.6, 192.0.2.1", "10.0.0.1", None),
        ("for=\"192.0.2.1", "10.0.0.1", None),
        ("for = 192.0.2.1", "10.0.0.1", None),
        ("for=192.0.2.1;proto=ftp", "192.0.2.1", None),
    ] {
        assert_eq!(client(line), (address.to_owned(), scheme), "{line}");
    }
    // The other field is somebody else's.
    let both = [("X-Forwarded-For", "6.6.6.6"), ("Forwarded", "for=192.0.2.1")];
    assert_eq!(told(HopField::Forwarded, "10.0.0.1", &both).0, "192.0.2.1");
    let scheme = [("X-Forwarded-Proto", "http, https"), ("X-Forwarded-For", "192.0.2.1")];
    assert_eq!(told(HopField::XForwardedFor, "10.0.0.1", &scheme).1, Some("https"));
}

#[test]
fn the_scheme_is_that_of_the_element_where_the_walk_ends() {
    for (line, scheme) in [
        ("for=192.0.2.1;proto=https, for=10.0.0.2;proto=http", Some("https")),
        ("for=192.0.2.1;proto=http, for=10.0.0.2;proto=https", Some("http")),
        ("for=6.6.6.6;proto=https, for=192.0.2.1;proto=http, for=10.0.0.2", Some("http")),
        ("for=6.6.6.6;proto=https, for=192.0.2.1", None),
        ("for=unknown;proto=https, for=10.0.0.2;proto=http", Some("https")),
        // It names none: the next one does.
        ("for=192.0.2.1;proto=ftp, for=10.0.0.2;proto=https", Some("https")),
        ("for=192.0.2.1, for=10.0.0.2, for=10.0.0.3;proto=https", Some("https")),
    ] {
        let lines = [("Forwarded", line)];
        assert_eq!(told(HopField::Forwarded, "10.0.0.1", &lines).1, scheme, "{line}");
    }
    for (hops, schemes, scheme) in [
        ("192.0.2.1, 10.0.0.2", "https, http", Some("https")),
        ("192.0.2.1, 10.0.0.2", "http, https", Some("http")),
        ("6.6.6.6, 192.0.2.1, 10.0.0.2", "http, https, http", Some("https")),
        ("6.6.6.6, unknown, 10.0.0.2", "http, https, http", Some("https")),
        ("192.0.2.1, 10.0.0.2", "ftp, https", Some("https")),
        // One proxy sets the field, or nobody knows whose elements they are.
        ("192.0.2.1, 10.0.0.2", "https", Some("https")),
        ("", "https", Some("https")),
        ("192.0.2.1", "http, https", Some("https")),
        ("6.6.6.6, 192.0.2.1, 10.0.0.2", "https, http", Some("http")),
        ("192.0.2.1", "https, ftp", None),
        ("192.0.2.1", "", None),
    ] {
        let lines = [("X-Forwarded-For", hops), ("X-Forwarded-Proto", schemes)];
        let scheme_told = told(HopField::XForwardedFor, "10.0.0.1", &lines).1;
        assert_eq!(scheme_told, scheme, "{hops}; {schemes}");
    }
}

#[test]
fn the_host_and_the_path_before_are_what_the_proxies_say() {
    const HOST: &str = "X-Forwarded-Host";
    const PREFIX: &str = "X-Forwarded-Prefix";
    let hops = ("X-Forwarded-For", "6.6.6.6, 192.0.2.1, 10.0.0.2");
    let of = |field, peer: [u8; 4], lines: &[(&str, &str)]| {
        let lines = [&[hops][..], lines].concat();
        let found = origin(&fields(&lines), field, peer.into(), is_trusted);
        (found.host.unwrap_or_default(), found.prefix.unwrap_or_default())
    };
    let pair = |host: &str, prefix: &str| (host.to_owned(), prefix.to_owned());
    for (lines, host, prefix) in [
        (&[(HOST, "a.example:81"), (PREFIX, "/outer")][..], "a.example:81", "/outer"),
        (&[(HOST, "evil, a.example, inner")], "a.example", ""),
        (&[(HOST, "evil"), (HOST, "inner")], "inner", ""),
        // As many as there are hops, of which the first is not believed, or only the last one.
        (&[(PREFIX, "/evil, /a/"), (PREFIX, "/b")], "", "/a/b"),
        (&[(PREFIX, "evil, /a, /")], "", "/a"),
        (&[(PREFIX, "/evil, /outer")], "", "/outer"),
        (&[(PREFIX, "evil"), (PREFIX, "/outer")], "", "/outer"),
        // No hosts and paths.
        (&[(HOST, "a b"), (PREFIX, "//evil.example")], "", ""),
        (&[(HOST, ""), (PREFIX, "outer")], "", ""),
        (&[(PREFIX, "/a, b")], "", ""),
        (&[(PREFIX, "/\\evil.example")], "", ""),
        (&[(PREFIX, "/a?b")], "", ""),
        (&[(PREFIX, "/")], "", ""),
    ] {
        let told = of(HopField::XForwardedFor, [10, 0, 0, 1], lines);
        assert_eq!(told, pair(host, prefix), "{lines:?}");
        // The other field is somebody else's, and so are these of one who is not trusted.
        assert_eq!(of(HopField::Forwarded, [10, 0, 0, 1], lines), pair("", ""));
        assert_eq!(of(HopField::XForwardedFor, [192, 0, 2, 9], lines), pair("", ""));
    }
    for (line, host) in [
        ("for=6.6.6.6;host=evil, for=192.0.2.1;host=\"a.example:81\"", "a.example:81"),
        ("for=192.0.2.1;host=a.example, for=10.0.0.2;host=inner", "a.example"),
        ("for=192.0.2.1;host=\"\", for=10.0.0.2;host=inner", "inner"),
        ("for=6.6.6.6;host=evil, for=192.0.2.1", ""),
    ] {
        let told = of(HopField::Forwarded, [10, 0, 0, 1], &[("Forwarded", line)]);
        assert_eq!(told, pair(host, ""), "{line}");
    }
}

/// An address as a proxy writes it into `Forwarded`.
fn element(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => format!("for={address}"),
        IpAddr::V6(address) => format!("for=\"[{address}]:80\""),
    }
}

fn trusted() -> impl Strategy<Value = IpAddr> {
    "10\\.0\\.0\\.[1-9]|2001::[1-9]".prop_map(|text| text.parse().unwrap())
}

fn other() -> impl Strategy<Value = IpAddr> {
    "192\\.0\\.2\\.[1-9]|fd00::[1-9]".prop_map(|text| text.parse().unwrap())
}

fn hop() -> impl Strategy<Value = IpAddr> {
    prop_oneof![trusted(), other()]
}

fn scheme() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["http", "https"])
}

proptest! {
    /// Whatever a client sends, a proxy that adds its address at the end decides who it is.
    #[test]
    fn what_the_client_wrote_decides_nothing(
        lies in prop::collection::vec("([ -~]|for=|\"|\\\\|,|;|10\\.0\\.0\\.2){0,20}", 0..4),
        (client, same_line) in (hop(), any::<bool>()),
    ) {
        prop_assume!(!is_trusted(client));
        for (field, name, added) in [
            (HopField::XForwardedFor, "x-forwarded-for", client.to_string()),
            (HopField::Forwarded, "forwarded", element(client)),
        ] {
            let mut lines = lies.clone();
            match lines.pop() {
                Some(last) if same_line => lines.push(format!("{last}, {added}")),
                last => lines.extend(last.into_iter().chain([added])),
            }
            let lines: Vec<_> = lines.iter().map(|line| (name, line.as_str())).collect();
            let found = origin(&fields(&lines), field, [10, 0, 0, 1].into(), is_trusted);
            prop_assert_eq!(found.address, client, "{:?}", lines);
        }
    }

    /// Where each proxy adds how it was asked, the one that the client has asked is believed.
    #[test]
    fn the_scheme_is_the_one_by_which_the_client_has_asked(
        lies in prop::collection::vec((hop(), scheme()), 0..4),
        (client, asked) in (other(), scheme()),
        proxies in prop::collection::vec((trusted(), scheme()), 0..4),
    ) {
        let chain: Vec<_> = lies.into_iter().chain([(client, asked)]).chain(proxies).collect();
        let list = |write: fn(&(IpAddr, &'static str)) -> String| {
            chain.iter().map(write).collect::<Vec<_>>().join(", ")
        };
        let hops = list(|(hop, _)| hop.to_string());
        let schemes = list(|(_, scheme)| (*scheme).to_owned());
        let standard = list(|(hop, scheme)| format!("{};proto={scheme}", element(*hop)));
        let lines = [
            ("x-forwarded-for", hops.as_str()),
            ("x-forwarded-proto", schemes.as_str()),
            ("forwarded", standard.as_str()),
        ];
        for field in [HopField::XForwardedFor, HopField::Forwarded] {
            let found = origin(&fields(&lines), field, [10, 0, 0, 1].into(), is_trusted);
            prop_assert_eq!((found.address, found.scheme), (client, Some(asked)));
        }
    }

    #[test]
    fn the_rule_as_it_is_written_down(
        hops in prop::collection::vec(hop(), 0..6), peer in hop(),
    ) {
        let expected = match is_trusted(peer) {
            false => peer,
            true => {
                let untrusted = hops.iter().rev().find(|hop| !is_trusted(**hop));
                *untrusted.or(hops.first()).unwrap_or(&peer)
            }
        };
        let list = |write: fn(IpAddr) -> String| {
            hops.iter().map(|hop| write(*hop)).collect::<Vec<_>>().join(", ")
        };
        let (plain, standard) = (list(|hop| hop.to_string()), list(element));
        let both = [("x-forwarded-for", plain.as_str()), ("forwarded", standard.as_str())];
        let lines = fields(&both);
        for field in [HopField::XForwardedFor, HopField::Forwarded] {
            prop_assert_eq!(origin(&lines, field, peer, is_trusted).address, expected);
        }
    }

    #[test]
    fn nothing_panics(line in "([ -~]|for=|\"|\\\\|,|;|\\[|\\]|:){0,40}") {
        for field in [HopField::XForwardedFor, HopField::Forwarded] {
            let names = ["for", "proto", "host", "prefix"];
            let names = names.map(|name| format!("x-forwarded-{name}"));
            let all = names.iter().map(String::as_str).chain(["forwarded"]);
            let lines: Vec<_> = all.map(|name| (name, line.as_str())).collect();
            let _ = origin(&fields(&lines), field, [10, 0, 0, 1].into(), is_trusted);
        }
    }
}
