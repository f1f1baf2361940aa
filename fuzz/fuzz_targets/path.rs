//! Arbitrary text as the path of a request.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_http::message::path::resolve;

fuzz_target!(|data: &[u8]| {
    let Ok(path) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(site) = resolve(path) else { return };
    let bytes = site.as_bytes();
    assert!(!bytes.contains(&0));
    assert!(bytes.len() <= path.len());
    if !bytes.is_empty() {
        for (i, name) in bytes.split(|&byte| byte == b'/').enumerate() {
            assert!(!name.is_empty());
            assert!(name[0] != b'.' || (i == 0 && name == b".well-known"));
        }
    }
    // Encoded again, it resolves to itself and stays on this host.
    let location = site.directory_location(None);
    assert!(location.starts_with('/') && !location.starts_with("//"));
    let again = resolve(&location).expect("an encoded path is valid");
    assert_eq!(again.as_bytes(), bytes);
    assert!(again.wants_directory());
});
