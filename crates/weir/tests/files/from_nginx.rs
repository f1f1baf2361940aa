//! Shows that what the guide "From nginx" has for each snippet does what nginx does with it: both run the
//! very blocks of the guide, and are asked the same. What differs by design is said and shown, too.

mod both;
mod guide;
mod of_access;
mod of_applications;
mod of_files;
mod of_operation;

/// The tests, in which each heading of the guide must come.
const TESTS: [&str; 4] = [
    include_str!("from_nginx/of_access.rs"),
    include_str!("from_nginx/of_applications.rs"),
    include_str!("from_nginx/of_files.rs"),
    include_str!("from_nginx/of_operation.rs"),
];

#[test]
fn every_snippet_of_the_guide_is_tried() {
    let (tests, headings) = (TESTS.concat(), guide::headings());
    assert!(headings.len() >= 20, "{headings:?}");
    for heading in headings {
        assert!(tests.contains(&format!("Stand::of(\"{heading}\")")), "{heading} is not tried");
        assert!(!guide::block(heading, "toml").is_empty(), "{heading}");
    }
}
