use super::*;

#[test]
fn a_client_is_an_ipv4_address_or_an_ipv6_network() {
    let of = |peer: &str| client(peer.parse().expect("an address"));
    assert_eq!(of("192.0.2.1:1"), of("192.0.2.1:2"));
    assert_eq!(of("192.0.2.1:1"), of("[::ffff:192.0.2.1]:1"));
    assert_ne!(of("192.0.2.1:1"), of("192.0.2.2:1"));
    assert_eq!(of("[2001:db8::1]:1"), of("[2001:db8::2:3:4:5]:1"));
    assert_ne!(of("[2001:db8::1]:1"), of("[2001:db8:0:1::1]:1"));
}
