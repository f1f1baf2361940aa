//! Which packets of a direction are lost: one seeded decision for each, in the order in which the
//! line gets them.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::{Error, Loss};

/// The decisions of one direction. The n-th depends on the seed, the stream and n alone.
#[derive(Clone, Debug)]
pub struct Losses {
    random: Xoshiro256PlusPlus,
    law: Law,
}

#[derive(Clone, Copy, Debug)]
enum Law {
    None,
    Random(f64),
    /// Gilbert's chain with a bad state in which every packet is lost (Gilbert 1960, Capacity of a
    /// burst-noise channel, section II, with h = 0): it is entered with probability `enter`, left
    /// with probability `leave`.
    Gilbert {
        enter: f64,
        leave: f64,
        bad: bool,
    },
}

impl Losses {
    /// Decisions by this law. Streams of the same seed are independent of each other.
    ///
    /// # Errors
    ///
    /// A probability outside 0 to 1, a burst shorter than one packet, and bursts too short for their
    /// share of the packets are refused.
    pub fn new(loss: Loss, seed: u64, stream: u64) -> Result<Losses, Error> {
        // SplitMix64's constant keeps the streams of neighbouring seeds apart.
        let mixed = seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(mixed);
        let law = match loss {
            Loss::None => Law::None,
            Loss::Random(probability) => Law::Random(share(probability)?),
            Loss::Bursts { probability, length } => {
                let (enter, leave) = gilbert(share(probability)?, length)?;
                Law::Gilbert { enter, leave, bad: random.random_bool(probability) }
            }
        };
        Ok(Losses { random, law })
    }

    /// Whether the next packet is lost.
    pub fn next_is_lost(&mut self) -> bool {
        match &mut self.law {
            Law::None => false,
            Law::Random(probability) => self.random.random_bool(*probability),
            Law::Gilbert { enter, leave, bad } => {
                let lost = *bad;
                *bad ^= self.random.random_bool(if lost { *leave } else { *enter });
                lost
            }
        }
    }
}

fn share(probability: f64) -> Result<f64, Error> {
    if (0.0..=1.0).contains(&probability) {
        return Ok(probability);
    }
    Err(Error::new(format!("the loss is {probability}: give a probability from 0 to 1")))
}

/// The probabilities of entering and leaving the bad state, from its share and its mean length.
fn gilbert(share: f64, length: f64) -> Result<(f64, f64), Error> {
    if !(length.is_finite() && length >= 1.0) {
        return Err(Error::new(format!(
            "the mean burst of losses is {length} packets: give at least 1"
        )));
    }
    if share == 1.0 {
        return Ok((1.0, 0.0));
    }
    let enter = share / (1.0 - share) / length;
    if enter > 1.0 {
        let least = share / (1.0 - share);
        return Err(Error::new(format!(
            "a loss of {share} cannot come in bursts of {length} packets: \
             make the bursts at least {least:.3} packets long, or lose less"
        )));
    }
    Ok((enter, 1.0 / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decisions(loss: Loss, seed: u64, stream: u64, count: usize) -> Vec<bool> {
        let mut losses = Losses::new(loss, seed, stream).unwrap();
        (0..count).map(|_| losses.next_is_lost()).collect()
    }

    #[test]
    fn seeds_and_streams_decide() {
        let loss = Loss::Random(0.5);
        assert_eq!(decisions(loss, 1, 0, 200), decisions(loss, 1, 0, 200));
        assert_ne!(decisions(loss, 1, 0, 200), decisions(loss, 1, 1, 200));
        assert_ne!(decisions(loss, 1, 0, 200), decisions(loss, 2, 0, 200));
    }

    #[test]
    fn none_and_all() {
        assert!(decisions(Loss::None, 1, 0, 1000).iter().all(|&lost| !lost));
        assert!(decisions(Loss::Random(0.0), 1, 0, 1000).iter().all(|&lost| !lost));
        assert!(decisions(Loss::Random(1.0), 1, 0, 1000).iter().all(|&lost| lost));
        let bursts = |probability| Loss::Bursts { probability, length: 2.0 };
        assert!(decisions(bursts(0.0), 1, 0, 1000).iter().all(|&lost| !lost));
        assert!(decisions(bursts(1.0), 1, 0, 1000).iter().all(|&lost| lost));
    }

    #[test]
    fn bursts_have_their_share_and_their_length() {
        let count = 1_000_000;
        let all = decisions(Loss::Bursts { probability: 0.05, length: 3.0 }, 7, 0, count);
        let lost = all.iter().filter(|&&lost| lost).count() as f64;
        let bursts = all.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // The chain's standard deviation is about 0.0005 of the packets, 0.02 of a packet in length.
        assert!((lost / count as f64 - 0.05).abs() < 0.003, "{lost} of {count} lost");
        assert!((lost / bursts - 3.0).abs() < 0.1, "{lost} in {bursts} bursts");
    }

    #[test]
    fn impossible_laws_are_refused() {
        for loss in [
            Loss::Random(-0.1),
            Loss::Random(f64::NAN),
            Loss::Random(1.5),
            Loss::Bursts { probability: 0.1, length: 0.5 },
            Loss::Bursts { probability: 0.1, length: f64::INFINITY },
            Loss::Bursts { probability: 0.9, length: 2.0 },
        ] {
            assert!(Losses::new(loss, 1, 0).is_err(), "{loss:?}");
        }
    }
}
