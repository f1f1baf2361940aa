//! The command line of `weir-wan`, parsed into the link's options.

use std::net::IpAddr;

use clap::Parser;
use ipnet::IpNet;
use weir_units::{BitRate, Share, TimeSpan};
use weir_wan::{Class, Direction, End, Loss, Options};

/// An emulated link between two network namespaces.
///
/// Makes a TUN device in each, delays, loses and queues what passes until it is interrupted
/// (Ctrl-C), and prints what it did. Down is from left (the server) to right (the clients). Needs
/// root.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    /// Left end (server): namespace, name for the device, and addresses with commas between them
    #[arg(long, value_name = "NAMESPACE:DEVICE:ADDRESS/PREFIX,…")]
    left: EndText,
    /// Right end (clients)
    #[arg(long, value_name = "NAMESPACE:DEVICE:ADDRESS/PREFIX,…")]
    right: EndText,
    /// Bytes of the largest IP packet
    #[arg(long, default_value_t = 1500)]
    mtu: u32,
    /// One-way delay of the clients of a network; the first that matches counts
    #[arg(long, value_name = "NETWORK/PREFIX=TIME", value_parser = class)]
    delay: Vec<Class>,
    /// Share of the packets lost each way, such as 5%
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    loss: Share,
    /// Loss from right to left, if it is another
    #[arg(long, value_name = "SHARE")]
    loss_up: Option<Share>,
    /// Mean packets lost in a row, of all packets (Gilbert); without it losses are independent
    #[arg(long)]
    burst: Option<f64>,
    /// Rate each way, Ethernet's headers counted: a number and bit, kbit, mbit or gbit
    #[arg(long)]
    rate: Option<BitRate>,
    /// Rate from right to left, if it is another
    #[arg(long, value_name = "RATE")]
    rate_up: Option<BitRate>,
    /// Packets that may wait for the rate each way
    #[arg(long, default_value_t = 1000)]
    queue: usize,
    /// Packets that may wait from right to left, if it is another number
    #[arg(long)]
    queue_up: Option<usize>,
    /// Equal seeds lose the same packets of equal sequences
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Arguments {
    /// Left and right end.
    pub(crate) fn ends(&self) -> (End, End) {
        let end = |EndText(end): &EndText| End { mtu: self.mtu, ..end.clone() };
        (end(&self.left), end(&self.right))
    }

    /// What the link does.
    pub(crate) fn options(&self) -> Options {
        let loss = |share: Share| match (share.fraction(), self.burst) {
            (0.0, _) => Loss::None,
            (probability, Some(length)) => Loss::Bursts { probability, length },
            (probability, None) => Loss::Random(probability),
        };
        let rate = |rate: Option<BitRate>| rate.map(BitRate::bits);
        let down = Direction { loss: loss(self.loss), rate: rate(self.rate), queue: self.queue };
        let up = Direction {
            loss: loss(self.loss_up.unwrap_or(self.loss)),
            rate: rate(self.rate_up.or(self.rate)),
            queue: self.queue_up.unwrap_or(self.queue),
        };
        Options { down, up, classes: self.delay.clone(), seed: self.seed }
    }
}

/// An end without its MTU.
#[derive(Clone, Debug)]
struct EndText(End);

impl std::str::FromStr for EndText {
    type Err = String;

    fn from_str(text: &str) -> Result<EndText, String> {
        // Addresses of IPv6 have colons of their own.
        let words: Vec<&str> = text.splitn(3, ':').collect();
        let &[namespace, device, addresses] = words.as_slice() else {
            return Err(
                "give NAMESPACE:DEVICE:ADDRESS/PREFIX, such as lab-s:wan:10.77.0.1/24".into()
            );
        };
        Ok(EndText(End {
            namespace: namespace.into(),
            device: device.into(),
            addresses: addresses.split(',').map(Into::into).collect(),
            mtu: 0,
        }))
    }
}

fn class(text: &str) -> Result<Class, String> {
    let (network, delay) =
        text.split_once('=').ok_or("give NETWORK/PREFIX=TIME, such as 10.0.2.0/24=50ms")?;
    let TimeSpan(delay) = delay.parse()?;
    let (network, prefix): (IpAddr, u8) = match network.parse::<IpNet>() {
        Ok(net) => (net.addr(), net.prefix_len()),
        Err(_) => return Err(format!("{network:?} is not a network; write such as 10.0.2.0/24")),
    };
    Ok(Class { network, prefix, delay })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        let ends = "weir-wan --left s:wan:10.77.0.1/24 --right c:w:10.77.0.2/24,fd00::1/64";
        Arguments::try_parse_from(format!("{ends} {line}").split_whitespace())
    }

    #[test]
    fn a_whole_line() {
        let line = "--delay 10.0.2.0/24=50ms --delay fd00::/8=1s --loss 5% --burst 3 \
                    --rate 10mbit --queue 100 --loss-up 0% --rate-up 1.5gbit --seed 9 --mtu 576";
        let arguments = parse(line).unwrap();
        let (left, right) = arguments.ends();
        assert_eq!((left.namespace.as_str(), left.device.as_str(), left.mtu), ("s", "wan", 576));
        assert_eq!(right.addresses, ["10.77.0.2/24", "fd00::1/64"]);
        let Options { down, up, classes, seed } = arguments.options();
        let loss = Loss::Bursts { probability: 0.05, length: 3.0 };
        assert_eq!(down, Direction { loss, rate: Some(10_000_000), queue: 100 });
        assert_eq!(up, Direction { loss: Loss::None, rate: Some(1_500_000_000), queue: 100 });
        assert_eq!(classes[0].delay, Duration::from_millis(50));
        assert_eq!((classes[1].prefix, classes[1].delay), (8, Duration::from_secs(1)));
        assert_eq!(seed, 9);
    }

    #[test]
    fn nothing_but_the_ends() {
        let options = parse("").unwrap().options();
        assert_eq!(options.down, Direction { loss: Loss::None, rate: None, queue: 1000 });
        assert_eq!(options.down, options.up);
    }

    #[test]
    fn wrong_lines_are_refused() {
        for line in [
            "--delay 10.0.2.0/24",
            "--delay 10.0.2.0=50ms",
            "--delay 10.0.2.0/24=near",
            "--loss 101%",
            "--loss -1%",
            "--loss nan",
            "--rate 10",
            "--rate 0bit",
            "--rate 10mb",
            "--rate ∞bit",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert!(
            Arguments::try_parse_from(["weir-wan", "--left", "a:b", "--right", "a:b"]).is_err()
        );
    }
}
