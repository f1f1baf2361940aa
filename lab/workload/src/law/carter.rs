//! The file sizes of Carter & Cherkasova 1999, "Detecting timed-out client requests for avoiding
//! livelock and improving web server performance" (HPL-98-164 R.1), Figure 21.

use super::Discrete;

/// Probabilities of the nine sizes of each class, as printed (rounded to four digits).
const FIGURE_21: [(f64, [f64; 9]); 4] = [
    (100.0, [0.0102, 0.0167, 0.0276, 0.0455, 0.1500, 0.0455, 0.0276, 0.0167, 0.0102]),
    (1000.0, [0.0145, 0.0239, 0.0394, 0.0650, 0.2143, 0.0650, 0.0394, 0.0239, 0.0145]),
    (10_000.0, [0.0041, 0.0067, 0.0110, 0.0182, 0.0600, 0.0182, 0.0110, 0.0067, 0.0041]),
    (100_000.0, [0.0003, 0.0005, 0.0008, 0.0013, 0.0043, 0.0013, 0.0008, 0.0005, 0.0003]),
];

/// Carter's Figure 21: four classes like SPECweb96's, nine sizes in each, bell-shaped.
pub fn carter() -> Discrete {
    let sizes = FIGURE_21.iter().flat_map(|(unit, shares)| {
        (1..=9).zip(shares).map(move |(file, share)| (f64::from(file) * unit, *share))
    });
    Discrete::new("carter", sizes).expect("the table has weights above 0 only")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Law;

    #[test]
    fn mean_and_deviation_are_those_of_appendix_a_2() {
        let law = carter();
        let mean = law.mean();
        assert!((mean / 14_675.0 - 1.0).abs() < 0.01, "mean {mean}");
        let square = law.mean_of(&|size| (size as f64 - mean).powi(2));
        assert!((square.sqrt() / 54_351.0 - 1.0).abs() < 0.02, "deviation {}", square.sqrt());
        assert_eq!(law.sizes().map(|sizes| sizes.len()), Some(36));
        for (class, share) in (2..).zip([0.35, 0.5, 0.14, 0.01]) {
            let within = |size: u64| (10_u64.pow(class)..10_u64.pow(class + 1)).contains(&size);
            let found = law.mean_of(&|size| f64::from(within(size)));
            assert!((found - share).abs() < 0.001, "class from 10^{class}: {found}");
        }
    }
}
