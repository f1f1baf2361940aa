//! The guide `docs/guide/from-nginx.md`, cut into its headings and their blocks of code.

const GUIDE: &str = include_str!("../../../../../docs/guide/from-nginx.md");

/// What stands below each heading, with the heading.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    GUIDE.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'))
}

/// The first block of code in `language` in a section.
fn code(section: &str, language: &str) -> Option<String> {
    let (_, block) = section.split_once(&format!("\n```{language}\n"))?;
    block.split_once("```").map(|(block, _)| block.to_owned())
}

/// The headings that have blocks of nginx.
pub(super) fn headings() -> Vec<&'static str> {
    let is_tried = |(_, section): &(&str, &str)| code(section, "nginx").is_some();
    sections().filter(is_tried).map(|(heading, _)| heading).collect()
}

/// The block of code in `language` below a heading, which has one.
pub(super) fn block(heading: &str, language: &str) -> String {
    let section = sections().find(|(other, _)| *other == heading);
    let block = section.and_then(|(_, section)| code(section, language));
    block.unwrap_or_else(|| unreachable!("the guide has no {language} below \"{heading}\""))
}
