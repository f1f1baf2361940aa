//! Arbitrary text as `weir.toml`: it is read, or an error names a line that is there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_server::{Config, config};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match config::parse(text) {
        Ok(settings) => {
            if let Ok(config) = Config::from_settings(settings) {
                assert!(config.workers >= 1 && !config.listen.is_empty());
                assert!(config.uplink.rate().is_none_or(|rate| rate.bits() >= 8_000));
            }
        }
        Err(error) => {
            let message = error.to_string();
            let line = message.split(':').next().and_then(|line| line.parse::<usize>().ok());
            let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
            assert!(line.is_some_and(|line| (1..=lines).contains(&line)), "{message}");
        }
    }
});
