//! The table of the keys about compression, beside that of the server's other keys. Used by everything that
//! reads those; `content` and the proxy go by it.

use weir_units::{Count, Size};

use super::media_type::MediaPattern;
use super::table::settings;

settings! {
    /// Flags and keys about compression, as far as they were given.
    #[derive(clap::Args)]
    pub(super) struct CompressionKeys;

    /// What the configuration says about compression, with the defaults filled in.
    pub struct CompressionConfig {}

    "Compression" {
        /// Send `x.css.zst`, `x.css.br` or `x.css.gz` in place of `x.css` to clients that accept it
        ///
        /// For the types of `compress_types`. Of several the one is sent that the client likes best, and
        /// of those the smallest. One that is more than two seconds older than its file, or no smaller, is
        /// not sent, nor is one that was written less than two seconds ago.
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        precompressed: bool = false,
        needs "a directory to serve",
        example true;

        /// Compress files of 1 KB to 1 MB for clients that accept it
        ///
        /// For the types of `compress_types`, by threads of its own; results are kept. While there is too
        /// much to do, files are sent as they are, which `weir_compression_given_up_total` counts. Answers
        /// of backends are compressed where the route says `compress = true`.
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        compress: bool = false,
        needs "a directory to serve",
        example true;

        /// Media types that are compressed; may be given several times
        ///
        /// `text/*` is all text, `*+xml` all that is written in XML. The list replaces the usual one.
        #[arg(long)]
        compress_types: Vec<MediaPattern> = MediaPattern::usual(),
        needs "compression switched on",
        example ["text/*", "application/json"];

        /// Memory for files that were compressed
        ///
        /// Those that lose their places while they are being sent may take as much again until that has
        /// ended, or 8 MB if that is more.
        #[arg(long)]
        compress_cache: Size = Size(32_000_000),
        needs "compress",
        example "128MB";

        /// Threads that compress
        ///
        /// They run at a lower priority than the workers, and bound the processor time that compression
        /// takes.
        #[arg(long)]
        compress_threads: Count<1, 64> = Count::clamped(1),
        needs "compression switched on",
        example 2;
    }
}

impl CompressionKeys {
    /// Whether files are compressed, or sent as they were compressed before.
    pub(super) fn is_on(&self) -> bool {
        self.compress == Some(true) || self.precompressed == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, parse};

    fn config(text: &str) -> Config {
        Config::from_settings(parse(text).unwrap()).unwrap()
    }

    #[test]
    fn every_key_is_read_and_nothing_is_compressed_unless_somebody_says_so() {
        let usual = config("").compression;
        assert!(!usual.precompressed && !usual.compress && usual.compress_types.len() > 10);
        assert_eq!((usual.compress_cache, usual.compress_threads), (32_000_000, 1));
        let given = config(
            "root = \".\"\nprecompressed = true\ncompress = true\ncompress-types = \"text/html\"\n\
             compress_cache = \"1mb\"\ncompress_threads = 3",
        );
        assert!(given.without_effect.is_empty(), "{:?}", given.without_effect);
        let given = given.compression;
        assert!(given.precompressed && given.compress && given.compress_types.len() == 1);
        assert_eq!((given.compress_cache, given.compress_threads), (1_000_000, 3));
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        for (text, start) in [
            ("\ncompress = \"yes\"", "2: invalid type: string \"yes\""),
            ("compress_types = [\"text/*\", \"html\"]", "1: \"html\" is not a media type; write"),
            ("compress_threads = 0", "1: \"0\" is not a whole number from 1 to 64"),
            ("compress_cache = \"1xb\"", "1: \"1xb\" is not a size"),
            ("compres = true", "1: unknown key `compres`; did you mean `compress`?"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{text}: {error}");
        }
    }

    #[test]
    fn a_key_in_vain_is_told() {
        let route = "[[route]]\npath = \"/\"\nbackends = \"http://a\"\ncompress = true";
        for (text, told) in [
            ("compress = true", "`compress` has no effect: no directory is served"),
            (
                "root = \".\"\nprecompressed = true\ncompress_cache = 1",
                "`compress_cache` has no effect: there is no `compress`",
            ),
            (
                "compress_threads = 2",
                "`compress_threads` has no effect: nothing says `compress = true` or \
                 `precompressed = true`",
            ),
        ] {
            assert_eq!(config(text).without_effect, [told]);
        }
        let own = config("compress = true\n[[route]]\npath = \"/a\"\nroot = \".\"");
        assert!(own.without_effect.is_empty(), "{:?}", own.without_effect);
        let routed = config(&format!("compress_threads = 2\ncompress_types = \"text/*\"\n{route}"));
        assert!(routed.without_effect.is_empty(), "{:?}", routed.without_effect);
    }
}
