//! The priority that SWIFT gives a response by its size and its client's round trip, as a function
//! without state. Used by the rule, and open to whoever has other queues to put responses in.

use std::time::Duration;

use crate::sizes::RecentSizes;

/// The lowest priority; 0 is the highest (Rawat 2003, section 3.1).
const LOWEST: u8 = 15;

/// Weights of the size, in hundredths, by size; the rest of a hundred is the round trip's (Rawat 2003,
/// section 3.2.1). Each counts for sizes up to its number of bytes.
const SIZE_WEIGHTS: [(u64, u32); 3] = [(20_000, 80), (499_999, 60), (u64::MAX, 25)];

/// The lowest and the highest cutoff of round trips (Rawat 2003, section 3.2.2).
const ROUND_TRIPS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(350));

/// Which size of a response counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwiftBasis {
    /// What is left to send: "a running count of the bytes sent is saved" (section 3.2.3).
    Remaining,
    /// What it had on its arrival: its priority never changes.
    Initial,
}

/// How the weighted sum of two classes becomes a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwiftRounding {
    /// To the nearest, half up.
    Nearest,
    /// To the higher priority.
    Down,
    /// To the lower priority.
    Up,
}

/// What the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwiftChoices {
    /// Which size counts.
    pub basis: SwiftBasis,
    /// How the weighted sum is rounded.
    pub rounding: SwiftRounding,
    /// Cutoffs of sizes, and of round trips: 14 make the classes 1 to 15, and 15 make 0 to 15.
    /// From 1 to 15.
    pub cuts: u8,
    /// The highest priority that a response gets: 1 if 0 is for SYN-ACKs alone.
    pub highest: u8,
}

impl SwiftChoices {
    /// As weir reads the paper: by what is left, to the nearest, and never the priority of SYN-ACKs
    /// (section 3.1; step 1 of section 3.2.3 starts a request in priority 0).
    pub const PAPER: SwiftChoices = SwiftChoices {
        basis: SwiftBasis::Remaining,
        rounding: SwiftRounding::Nearest,
        cuts: LOWEST - 1,
        highest: 1,
    };
}

/// Between which sizes the cutoffs of sizes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeCutoffs {
    /// The lowest, in bytes: half of the responses are smaller.
    pub lowest: u64,
    /// The highest, in bytes: one response in 50 is larger.
    pub highest: u64,
}

impl SizeCutoffs {
    /// Those of the World Cup trace, which the paper replays: half of the sizes are below 1 KB, and
    /// the law that `weir-lab` fits to the trace has 2 % above this.
    pub const WORLD_CUP: SizeCutoffs = SizeCutoffs { lowest: 1_000, highest: 36_600 };

    /// Those of recent responses; `None` if there was none.
    pub fn of(recent: &RecentSizes) -> Option<SizeCutoffs> {
        let (lowest, highest) = (recent.below_by_count(0.5)?, recent.below_by_count(0.98)?);
        Some(SizeCutoffs { lowest, highest })
    }
}

/// The priorities by size and round trip.
#[derive(Clone, Debug)]
pub struct SwiftLevels {
    choices: SwiftChoices,
    /// Where classes of sizes end, in bytes.
    sizes: Vec<u64>,
    /// Where classes of round trips end.
    round_trips: Vec<Duration>,
}

impl SwiftLevels {
    /// Bytes that are sent before the priority is found anew (Rawat 2003, section 3.2.3, step 5;
    /// `IOBUFSIZE` of the paper's Apache).
    pub const STEP: u64 = 8192;

    /// The cutoffs of sizes are learned anew after so many responses: the paper learned them once, from
    /// the trace.
    pub const RELEARN: u64 = 1_000;

    /// As weir reads the paper, with its cutoffs of round trips and these of sizes.
    pub fn new(sizes: SizeCutoffs) -> SwiftLevels {
        SwiftLevels::with(SwiftChoices::PAPER, sizes)
    }

    /// With other choices.
    pub fn with(choices: SwiftChoices, sizes: SizeCutoffs) -> SwiftLevels {
        let choices = SwiftChoices { cuts: choices.cuts.clamp(1, LOWEST), ..choices };
        let steps = (0..choices.cuts).map(|cut| f64::from(cut) / f64::from(choices.cuts - 1).max(1.0));
        let (first, last) = (sizes.lowest.max(1) as f64, sizes.highest.max(sizes.lowest).max(1) as f64);
        let (near, far) = ROUND_TRIPS;
        SwiftLevels {
            choices,
            sizes: steps.clone().map(|step| (first * (last / first).powf(step)).round() as u64).collect(),
            round_trips: steps.map(|step| near + (far - near).mul_f64(step)).collect(),
        }
    }

    /// The choices that it was made with.
    pub fn choices(&self) -> SwiftChoices {
        self.choices
    }

    /// The priority of a response of `size` bytes of which `sent` are sent: by what was left after the
    /// last whole [`STEP`](Self::STEP), or by its size if that is what counts.
    pub fn level_after(&self, size: u64, sent: u64, round_trip: Duration) -> u8 {
        let counts = match self.choices.basis {
            SwiftBasis::Remaining => sent / Self::STEP * Self::STEP,
            SwiftBasis::Initial => 0,
        };
        self.level(size.saturating_sub(counts), round_trip)
    }

    /// The priority of a response of `size` bytes, or with so many left: 0 to 15, the lowest number
    /// first. A round trip of zero is not known and counts as near.
    pub fn level(&self, size: u64, round_trip: Duration) -> u8 {
        let larger_than = self.sizes.partition_point(|cutoff| *cutoff < size) as u32;
        let at_least = self.round_trips.partition_point(|cutoff| *cutoff <= round_trip) as u32;
        let highest = u32::from(LOWEST - self.choices.cuts);
        let by_size = highest + larger_than;
        // Farther is better (section 3.2.2).
        let by_round_trip = u32::from(LOWEST) - at_least;
        let found = SIZE_WEIGHTS.iter().find(|(most, _)| size <= *most);
        let weight = found.map_or(0, |(_, weight)| *weight);
        let sum = weight * by_size + (100 - weight) * by_round_trip;
        let rounded = match self.choices.rounding {
            SwiftRounding::Nearest => (sum + 50) / 100,
            SwiftRounding::Down => sum / 100,
            SwiftRounding::Up => sum.div_ceil(100),
        };
        (rounded as u8).clamp(self.choices.highest.min(LOWEST), LOWEST)
    }
}

/// The band of a priority where there are only `bands`, at least 1, as in a kernel's queues: priorities
/// 1 to 15 in as equal parts as there are, 0 with 1.
pub fn swift_band(level: u8, bands: u8) -> u8 {
    let place = u32::from(level.min(LOWEST).saturating_sub(1));
    (place * u32::from(bands) / u32::from(LOWEST)) as u8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn millis(millis: f64) -> Duration {
        Duration::from_secs_f64(millis / 1e3)
    }

    fn levels() -> SwiftLevels {
        SwiftLevels::new(SizeCutoffs::WORLD_CUP)
    }

    /// Section 3.2.2 names these places as seen from Chicago.
    #[test]
    fn urbana_is_less_than_berkeley_and_berkeley_than_the_united_kingdom() {
        let [urbana, berkeley, kingdom] = [5.6, 50.0, 115.0].map(millis);
        for (size, expected) in [
            // Classes 15, 13 and 10 by round trip; 1 by size: 3.8, 3.4 and 2.8.
            (500, [4, 3, 3]),
            // 10 by size: 11, 10.6 and 10.
            (10_000, [11, 11, 10]),
            // 15 by size, weighed by 0.6 and 0.4: 15, 14.2 and 13.
            (100_000, [15, 14, 13]),
            // Weighed by 0.25 and 0.75: 15, 13.5 and 11.25.
            (800_000, [15, 14, 11]),
        ] {
            let found = [urbana, berkeley, kingdom].map(|trip| levels().level(size, trip));
            assert_eq!(found, expected, "{size} bytes");
        }
    }

    #[test]
    fn cutoffs_are_logarithmic_in_size_and_equal_in_round_trip() {
        let levels = levels();
        assert_eq!((levels.sizes.len(), levels.round_trips.len()), (14, 14));
        assert_eq!((levels.sizes[0], levels.sizes[13]), (1_000, 36_600));
        assert_eq!((levels.round_trips[0], levels.round_trips[13]), (millis(10.0), millis(350.0)));
        for pair in levels.sizes.windows(2) {
            let ratio = pair[1] as f64 / pair[0] as f64;
            assert!((ratio - 36.6_f64.powf(1.0 / 13.0)).abs() < 0.001, "{ratio}");
        }
        for pair in levels.round_trips.windows(2) {
            let off = (pair[1] - pair[0]).abs_diff(millis(340.0 / 13.0));
            assert!(off < millis(0.001), "{off:?}");
        }
    }

    /// With less to send a far response first gains and then, where the round trip counts for less,
    /// loses: the weights of the paper are not monotone.
    #[test]
    fn a_far_response_loses_as_its_weights_change() {
        let far = millis(400.0);
        let found = [500_000, 499_999, 20_001, 20_000].map(|left| levels().level(left, far));
        assert_eq!(found, [5, 9, 8, 10]);
    }

    #[test]
    fn each_choice_makes_a_difference() {
        let with = |choices| SwiftLevels::with(choices, SizeCutoffs::WORLD_CUP);
        let paper = SwiftChoices::PAPER;
        let (size, trip) = (500, millis(50.0));
        // 0.8 × 1 and 0.2 × 13.
        let near = |rounding| with(SwiftChoices { rounding, ..paper }).level(size, trip);
        let roundings = [SwiftRounding::Down, SwiftRounding::Nearest, SwiftRounding::Up];
        assert_eq!(roundings.map(near), [3, 3, 4]);
        let zero = with(SwiftChoices { cuts: 15, highest: 0, ..paper });
        assert_eq!(zero.level(size, millis(400.0)), 0);
        let cuts = with(SwiftChoices { cuts: 15, ..paper });
        assert_eq!(cuts.level(size, millis(400.0)), 1);
    }

    #[test]
    fn levels_are_merged_into_equal_parts() {
        let merged = |bands| (0..=15).map(|level| swift_band(level, bands)).collect::<Vec<_>>();
        assert_eq!(merged(8), [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7]);
        assert_eq!(merged(7), [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    }

    fn weight_class(size: u64) -> usize {
        SIZE_WEIGHTS.iter().take_while(|(most, _)| size > *most).count()
    }

    proptest! {
        #[test]
        fn levels_follow_size_and_round_trip(
            size in prop_oneof![0..100_000_u64, 0..2_000_000_u64, any::<u64>()],
            more in 0..100_000_u64,
            (trip, longer) in (0..500_u64, 0..500_u64),
            (lowest, above) in (0..10_000_u64, 0..100_000_u64),
        ) {
            let levels = SwiftLevels::new(SizeCutoffs { lowest, highest: lowest + above });
            let level = |size, trip| levels.level(size, Duration::from_millis(trip));
            prop_assert!((1..=15).contains(&level(size, trip)));
            prop_assert!(level(size, trip + longer) <= level(size, trip));
            let larger = size.saturating_add(more);
            if weight_class(size) == weight_class(larger) {
                prop_assert!(level(larger, trip) >= level(size, trip));
            }
        }
    }
}
