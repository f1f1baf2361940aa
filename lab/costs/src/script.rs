//! Text that is compressed: scripts as a shop's build makes them, with a list of products. gzip makes about
//! a quarter of one. The same seed has the same script, for all servers and all runs.

use std::fmt::Write as _;

const WORDS: [&str; 64] = [
    "amber", "anchor", "apple", "autumn", "basket", "beacon", "bottle", "branch", "bridge",
    "bright", "candle", "canvas", "cedar", "chalk", "cherry", "cloud", "copper", "cotton",
    "crystal", "desert", "distant", "eagle", "ember", "fabric", "feather", "forest", "garden",
    "gentle", "glass", "golden", "granite", "harbour", "hazel", "hollow", "island", "ivory",
    "jasmine", "kettle", "ladder", "lantern", "lemon", "linen", "maple", "marble", "meadow",
    "mirror", "morning", "narrow", "olive", "orange", "pebble", "pepper", "quiet", "ribbon",
    "river", "saddle", "silver", "simple", "stone", "summer", "timber", "velvet", "willow",
    "winter",
];
const CITIES: [&str; 8] =
    ["Bergen", "Bremen", "Genoa", "Ghent", "Leeds", "Lisbon", "Porto", "Vienna"];

/// A script of so many bytes, all ASCII; its last line ends where the length says.
pub(crate) fn script(seed: u64, length: usize) -> String {
    let mut random = Random(seed);
    let mut text = String::with_capacity(length + 200);
    text.push_str("export const products = [\n");
    while text.len() < length {
        let number = random.below(100_000);
        let title = [0; 8].map(|_| WORDS[random.below(WORDS.len())]).join(" ");
        let (whole, cents) = (random.below(100), random.below(100));
        let city = CITIES[random.below(CITIES.len())];
        let available = random.below(4) > 0;
        let article = random.below(1 << 40);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{{\"product\":\"{number:05}\",\"article\":\"{article:010x}\",\"title\":\"{title}\",\"price\":{whole}.{cents:02},\
             \"currency\":\"EUR\",\"warehouse\":\"{city}\",\"available\":{available}}},"
        );
    }
    text.truncate(length);
    text
}

/// SplitMix64 (Steele, Lea & Flood, Fast splittable pseudorandom number generators, 2014).
struct Random(u64);

impl Random {
    /// A number below `most`.
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % most as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_script_has_its_length_and_every_seed_another() {
        let one = script(1, 100_000);
        assert!(one.len() == 100_000 && one.is_ascii());
        assert!(one == script(1, 100_000) && one != script(2, 100_000));
        assert!(script(1, 5000) == one[..5000]);
    }

    #[test]
    fn gzip_makes_about_a_quarter_of_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("text.js");
        fs::write(&file, script(0, 100_000)).expect("room");
        let gzip = Command::new("gzip").args(["-6", "-n", "-c"]).arg(&file).output();
        let length = gzip.expect("gzip is there").stdout.len();
        assert!((16_000..34_000).contains(&length), "{length}");
    }
}
