//! Names of network devices, read from the command line by every command of `weir uplink`. They become
//! words of `tc`, a string of `nft` and the name of a file, so only harmless ones are taken.

use std::fmt;
use std::str::FromStr;

use weir_units::Invalid;

/// Bytes of the longest name that the kernel gives (IFNAMSIZ without its zero).
const LONGEST: usize = 15;

/// The name of a network device: letters, digits, `-`, `_` and `.`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device(String);

impl FromStr for Device {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Device, Invalid> {
        let harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_name = (1..=LONGEST).contains(&text.len())
            && text.bytes().all(harmless)
            && !text.starts_with('-')
            && !text.bytes().all(|byte| byte == b'.');
        if is_name {
            return Ok(Device(text.to_owned()));
        }
        Err(Invalid::new(
            text,
            "the name of a network device: at most 15 letters, digits, -, _ and .",
            "eth0, or another that `ip link` lists",
        ))
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Device {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_names_are_taken() {
        for name in ["eth0", "wlp3s0", "eth0.100", "br-lan", "0123456789abcde"] {
            assert_eq!(name.parse::<Device>().expect(name).to_string(), name);
        }
        let wrong = ["", ".", "..", "-eth0", "a/b", "eth*", "a b", "\"", "0123456789abcdef", "é"];
        for name in wrong {
            assert!(name.parse::<Device>().is_err(), "{name:?}");
        }
    }
}
