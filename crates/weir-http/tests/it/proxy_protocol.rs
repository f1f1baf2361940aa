//! Properties of the PROXY protocol: what is longer never contradicts what is shorter, and what a
//! balancer says is understood.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use proptest::prelude::*;
use weir_http::proxy_protocol::{MAX_HEADER, Parsed, parse};

fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "PROXY ",
        "TCP4 ",
        "TCP6 ",
        "UNKNOWN",
        "1.2.3.4 ",
        "::1 ",
        "80 ",
        "80",
        "\r\n",
        "\r",
        "\n",
        " ",
        "\r\n\r\n\0\r\nQUIT\n",
        "\x21\x11\0\x0c",
        "\x20\0\0\0",
        "\0\0\0\0\0\0\0\0\0\0\0\0",
        "a",
    ]);
    let pieces =
        prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![4 => pieces, 1 => prop::collection::vec(any::<u8>(), 0..60)]
}

fn addresses() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let v4 = any::<([u8; 4], u16, [u8; 4], u16)>()
        .prop_map(|(a, p, b, q)| (SocketAddr::from((a, p)), SocketAddr::from((b, q))));
    let v6 = any::<([u16; 8], u16, [u16; 8], u16)>()
        .prop_map(|(a, p, b, q)| (SocketAddr::from((a, p)), SocketAddr::from((b, q))));
    prop_oneof![v4, v6]
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn results_never_contradict_those_of_a_prefix(bytes in nearly()) {
        let mut before = Ok(Parsed::Partial);
        for end in 0..=bytes.len() {
            let now = parse(&bytes[..end]);
            if before != Ok(Parsed::Partial) {
                prop_assert_eq!(now.map_err(|_| ()), before.map_err(|_| ()));
            }
            match now {
                Ok(Parsed::Partial) => prop_assert!(end < MAX_HEADER),
                Ok(Parsed::Complete { length, .. }) => prop_assert!(length <= end && length <= MAX_HEADER),
                Err(_) => {}
            }
            before = now;
        }
    }

    #[test]
    fn what_a_balancer_says_is_understood(
        (source, destination) in addresses(),
        values in prop::collection::vec(any::<u8>(), 0..40),
        rest in prop::collection::vec(any::<u8>(), 0..10),
    ) {
        let family = if source.is_ipv4() { (0x11, "TCP4") } else { (0x21, "TCP6") };
        let expected = SocketAddr::new(source.ip().to_canonical(), source.port());
        let line = format!(
            "PROXY {} {} {} {} {}\r\n",
            family.1, source.ip(), destination.ip(), source.port(), destination.port()
        );
        let body = [
            octets(source.ip()), octets(destination.ip()), source.port().to_be_bytes().to_vec(),
            destination.port().to_be_bytes().to_vec(), values,
        ].concat();
        let length = u16::try_from(body.len()).unwrap().to_be_bytes();
        let binary = [b"\r\n\r\n\0\r\nQUIT\n".as_slice(), &[0x21, family.0], &length, &body].concat();
        for header in [line.into_bytes(), binary] {
            let whole = Parsed::Complete { source: Some(expected), length: header.len() };
            prop_assert_eq!(parse(&[header.as_slice(), &rest].concat()), Ok(whole));
            for end in 0..header.len() {
                prop_assert_eq!(parse(&header[..end]), Ok(Parsed::Partial));
            }
        }
    }
}

#[test]
fn a_request_is_no_header() {
    assert!(parse(b"GET / HTTP/1.1\r\n").is_err());
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    assert_ne!(
        parse(b"PROXY UNKNOWN\r\n"),
        Ok(Parsed::Complete { source: Some(local), length: 15 })
    );
}
