//! Values of the uplink's keys: who keeps its queue, and how the kernel's bands are used. Read by the
//! table of the server's keys; the uplink is built from them.

use std::fmt;
use std::str::FromStr;

use weir_sched::BitRate;
use weir_units::Size;

use super::value::value;

/// Who keeps the uplink's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UplinkMode {
    /// Everything is sent as fast as the kernel takes it.
    #[default]
    Off,
    /// weir, which sends at this rate.
    Paced(BitRate),
    /// The kernel, in bands that weir chooses.
    Kernel,
}

impl UplinkMode {
    /// The rate that weir keeps to.
    pub fn rate(self) -> Option<BitRate> {
        match self {
            UplinkMode::Paced(rate) => Some(rate),
            UplinkMode::Off | UplinkMode::Kernel => None,
        }
    }
}

/// The least rate in bit/s that a single segment a second fits into.
const LEAST_RATE: u64 = 8_000;

impl FromStr for UplinkMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "off" => return Ok(UplinkMode::Off),
            "kernel" => return Ok(UplinkMode::Kernel),
            _ => {}
        }
        let rate: BitRate = text.parse().map_err(|wrong| format!("{wrong}, or kernel, or off"))?;
        if rate.bits() < LEAST_RATE {
            return Err(format!(
                "a rate of \"{text}\" cannot be paced; write 8kbit or more, or kernel, or off"
            ));
        }
        Ok(UplinkMode::Paced(rate))
    }
}

impl fmt::Display for UplinkMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UplinkMode::Off => f.write_str("off"),
            UplinkMode::Paced(rate) => rate.fmt(f),
            UplinkMode::Kernel => f.write_str("kernel"),
        }
    }
}

value! {
    UplinkMode, "RATE", |mode| -> UplinkMode { mode }
    fn words() -> Vec<(&'static str, &'static str)> {
        vec![
            ("a rate", "weir keeps the queue and sends at this rate"),
            ("kernel", "the kernel keeps it, in the bands that `weir uplink install` made"),
            ("off", ""),
        ]
    }
}

/// Where the kernel's bands of responses end, in bytes of remaining size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandCutoffs {
    /// Learned from the sizes of recent responses.
    Learned,
    /// Always these: a response with less left than the first is in the first band, and so on.
    Fixed([u64; 4]),
}

impl BandCutoffs {
    /// The five classes of Schroeder & Harchol-Balter 2003, section 2.2.
    pub const PAPER: [u64; 4] = [1_000, 2_000, 5_000, 50_000];
}

impl FromStr for BandCutoffs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "learned" => return Ok(BandCutoffs::Learned),
            "paper" => return Ok(BandCutoffs::Fixed(BandCutoffs::PAPER)),
            _ => {}
        }
        let sizes: Option<Vec<u64>> =
            text.split(',').map(|size| size.parse().ok().map(|Size(bytes)| bytes)).collect();
        let cutoffs = sizes.and_then(|sizes| <[u64; 4]>::try_from(sizes).ok());
        let ascend = |cutoffs: &[u64; 4]| cutoffs[0] > 0 && cutoffs.is_sorted_by(|a, b| a < b);
        cutoffs.filter(ascend).map(BandCutoffs::Fixed).ok_or_else(|| {
            format!(
                "\"{text}\" does not say where bands end; write learned, paper or four ascending \
                 sizes such as 1KB,2KB,5KB,50KB"
            )
        })
    }
}

impl fmt::Display for BandCutoffs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BandCutoffs::Learned => f.write_str("learned"),
            BandCutoffs::Fixed(BandCutoffs::PAPER) => f.write_str("paper"),
            BandCutoffs::Fixed([a, b, c, d]) => write!(f, "{a},{b},{c},{d}"),
        }
    }
}

value! {
    BandCutoffs, "SIZES", |cutoffs| -> BandCutoffs { cutoffs }
    fn words() -> Vec<(&'static str, &'static str)> {
        vec![
            ("learned", "weir chooses these sizes by recent responses, so that all bands carry \
                         about the same number of bytes; but at most half of the responses begin in \
                         the first band, and at least the largest hundredth in the last. A worker's \
                         first 1000 responses go by `paper`"),
            ("paper", "1, 2, 5 and 50 KB (Schroeder & Harchol-Balter 2003)"),
            ("four sizes", "with commas between them"),
        ]
    }
}

/// How many bytes of large responses may be queued in this host at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelCap {
    /// Any number: bands alone.
    Off,
    /// As few as keep the link busy.
    Auto,
    /// So many.
    Bytes(u64),
}

impl FromStr for KernelCap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "off" => return Ok(KernelCap::Off),
            "auto" => return Ok(KernelCap::Auto),
            _ => {}
        }
        match text.parse() {
            Ok(Size(bytes)) if bytes > 0 => Ok(KernelCap::Bytes(bytes)),
            Ok(_) => {
                Err("with a cap of 0 nothing could be sent; write off, auto or a size".to_owned())
            }
            Err(wrong) => Err(format!("{wrong}; or write off or auto")),
        }
    }
}

impl fmt::Display for KernelCap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelCap::Off => f.write_str("off"),
            KernelCap::Auto => f.write_str("auto"),
            KernelCap::Bytes(bytes) => Size(*bytes).fmt(f),
        }
    }
}

value! {
    KernelCap, "SIZE", |cap| -> KernelCap { cap }
    fn words() -> Vec<(&'static str, &'static str)> {
        vec![
            ("auto", "as little as keeps the link busy"),
            ("off", "no cap: responses of the last band share what is left fairly"),
            ("a size", ""),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_links_are_named() {
        let bits = |text: &str| text.parse::<UplinkMode>().map(|u| u.rate().map(BitRate::bits));
        assert_eq!(bits("300mbit"), Ok(Some(300_000_000)));
        assert_eq!(bits("1.5gbit"), Ok(Some(1_500_000_000)));
        assert_eq!(bits("10 Mbit/s"), Ok(Some(10_000_000)));
        assert_eq!("off".parse(), Ok(UplinkMode::Off));
        assert_eq!("kernel".parse(), Ok(UplinkMode::Kernel));
        for (wrong, message) in [
            ("0mbit", "\"0mbit\" is not a rate of a link from 1bit to 10tbit; write such as"),
            ("7kbit", "a rate of \"7kbit\" cannot be paced; write 8kbit or more, or kernel"),
            ("10mbps", "\"10mbps\" is not a rate: bps stands for"),
            ("", "\"\" is not a rate of a link; write bits per second"),
        ] {
            let error = bits(wrong).unwrap_err();
            assert!(error.starts_with(message) && error.ends_with(", or off"), "{error}");
        }
    }

    #[test]
    fn cutoffs_are_four_ascending_sizes() {
        assert_eq!("paper".parse(), Ok(BandCutoffs::Fixed([1_000, 2_000, 5_000, 50_000])));
        assert_eq!("1000,2kb,5KB,50kb".parse(), Ok(BandCutoffs::Fixed(BandCutoffs::PAPER)));
        for cutoffs in ["learned", "paper", "10,200,3000,40000"] {
            assert_eq!(cutoffs.parse().map(|c: BandCutoffs| c.to_string()), Ok(cutoffs.to_owned()));
        }
        for wrong in ["", "1kb,2kb,5kb", "1kb,2kb,2kb,5kb", "0,1,2,3", "5kb,2kb,1kb,1b", "a,b,c,d"]
        {
            let error = wrong.parse::<BandCutoffs>().unwrap_err();
            assert!(error.contains("write learned, paper or four ascending sizes"), "{error}");
        }
    }

    #[test]
    fn a_cap_is_a_size_or_a_word() {
        assert_eq!("64kb".parse(), Ok(KernelCap::Bytes(64_000)));
        assert_eq!("auto".parse(), Ok(KernelCap::Auto));
        assert_eq!("off".parse(), Ok(KernelCap::Off));
        for wrong in ["0", "some"] {
            let error = wrong.parse::<KernelCap>().unwrap_err();
            assert!(error.contains("off") && error.contains("auto"), "{error}");
        }
    }
}
