//! Properties of path resolution.

use proptest::prelude::*;
use weir_http::message::path::{PathError, resolve};

/// Paths made of the pieces that matter.
fn path() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "/",
        "/",
        "/",
        ".",
        "..",
        "../",
        "./",
        "%",
        "a",
        "b",
        "%2e",
        "%2E",
        "%2f",
        "%5c",
        "%00",
        "%25",
        "%ff",
        "%C3",
        ".well-known",
        "/.well-known/",
        " ",
        "\\",
    ]);
    let piece =
        prop_oneof![8 => known.prop_map(String::from), 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

/// A segment that names something: not empty, no NUL, no slash, no dot at its start.
fn segment() -> impl Strategy<Value = Vec<u8>> {
    let byte = any::<u8>().prop_filter("not in a name", |byte| ![0, b'/'].contains(byte));
    prop::collection::vec(byte, 1..6).prop_filter("hidden", |name| name[0] != b'.')
}

fn encode(name: &[u8]) -> String {
    name.iter().map(|byte| format!("%{byte:02x}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_segment_is_a_visible_name(path in path()) {
        let Ok(site) = resolve(&path) else { return Ok(()) };
        let bytes = site.as_bytes();
        prop_assert!(!bytes.contains(&0));
        if bytes.is_empty() {
            prop_assert!(site.wants_directory());
            return Ok(());
        }
        for (i, name) in bytes.split(|&byte| byte == b'/').enumerate() {
            prop_assert!(!name.is_empty());
            prop_assert!(name[0] != b'.' || (i == 0 && name == b".well-known"), "{:?}", path);
        }
    }

    #[test]
    fn names_survive_encoding_and_noise(
        names in prop::collection::vec((segment(), prop::sample::select(vec!["", "/", "./", "x/../", "x/y/../%2E%2e/"])), 0..6),
        slash: bool,
    ) {
        let mut path = String::from("/");
        for (i, (name, noise)) in names.iter().enumerate() {
            path += if i > 0 { "/" } else { "" };
            path += noise;
            path += &encode(name);
        }
        path += if slash { "/" } else { "" };
        let expected: Vec<&[u8]> = names.iter().map(|(name, _)| name.as_slice()).collect();
        let site = resolve(&path);
        prop_assert_eq!(site.as_ref().map(|site| site.as_bytes().to_vec()), Ok(expected.join(&b'/')));
        prop_assert_eq!(site.map(|site| site.wants_directory()), Ok(slash || names.is_empty()));
    }

    #[test]
    fn the_location_of_a_directory_resolves_to_it(path in path()) {
        let Ok(site) = resolve(&path) else { return Ok(()) };
        let location = site.directory_location(None);
        prop_assert!(location.starts_with('/') && !location.starts_with("//"));
        let again = resolve(&location);
        prop_assert_eq!(again.as_ref().map(|again| again.as_bytes()), Ok(site.as_bytes()));
        prop_assert_eq!(again.as_ref().map(|again| again.wants_directory()), Ok(true));
    }

    #[test]
    fn more_steps_up_than_down_lead_above_the_root(down in 0..5_usize, up in 1..5_usize) {
        let path = format!("/{}{}", "a/".repeat(down), "../".repeat(down + up));
        prop_assert_eq!(resolve(&path), Err(PathError::AboveRoot));
    }
}
