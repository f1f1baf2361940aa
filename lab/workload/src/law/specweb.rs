//! The static mixes of SPECweb96 and SPECweb99: four classes of nine sizes each. Arrivals choose
//! the directories.

use super::Discrete;

/// Shares of the classes: under 1 KB, 1 to 9 KB, 10 to 90 KB, 100 to 900 KB.
const CLASSES: [f64; 4] = [0.35, 0.50, 0.14, 0.01];

/// SPECweb96: nine files per class in steps of a tenth of the class, 0.1 KB to 0.9 KB in class 0
/// (KB of 1024 bytes). SPEC describes popularity within a class as a Poisson distribution about
/// the middle file; here its weights are those of a Poisson law of mean 5 at 1 to 9, scaled to 1.
pub fn specweb96() -> Discrete {
    let mut weights = [0.0; 9];
    let mut weight = (-5.0_f64).exp();
    for (file, slot) in (1..).zip(&mut weights) {
        weight *= 5.0 / f64::from(file);
        *slot = weight;
    }
    mix("specweb96", 102.4, weights)
}

/// SPECweb99: nine files per class of 102 bytes × 1 to 9 × a power of ten; the k-th most popular
/// has a share of 1/k (Zipf), in the order 4, 3, 5, 2, 6, 1, 7, 8, 0 (files counted from 0), which
/// gives the published 3.9, 5.9, 8.8, 17.7, 35.3, 11.8, 7.1, 5.0 and 4.4 %.
pub fn specweb99() -> Discrete {
    let mut weights = [0.0; 9];
    for (rank, file) in (1..).zip([4, 3, 5, 2, 6, 1, 7, 8, 0_usize]) {
        weights[file] = 1.0 / f64::from(rank);
    }
    mix("specweb99", 102.0, weights)
}

fn mix(text: &str, unit: f64, weights: [f64; 9]) -> Discrete {
    let total: f64 = weights.iter().sum();
    let sizes = (0..).zip(CLASSES).flat_map(move |(class, share)| {
        let unit = unit * 10_f64.powi(class);
        (1..=9)
            .zip(weights)
            .map(move |(file, weight)| (f64::from(file) * unit, share * weight / total))
    });
    Discrete::new(text, sizes).expect("the weights are above 0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Law;

    #[test]
    fn classes_have_their_shares_and_sizes() {
        for law in [specweb96(), specweb99()] {
            let sizes = law.sizes().expect("36 sizes");
            assert_eq!(sizes.len(), 36, "{law}");
            assert_eq!(sizes[0], 102, "{law}");
            for (class, share) in CLASSES.iter().enumerate() {
                let least = 100 * 10_u64.pow(class as u32);
                let found = law.mean_of(&|size| f64::from((least..10 * least).contains(&size)));
                assert!((found - share).abs() < 1e-9, "{law}: class {class} {found}");
            }
            // "An average dynamic response size of roughly 14 KB" (Ruan & Pai, section 2.3).
            assert!((13_000.0..16_000.0).contains(&law.mean()), "{law}: {}", law.mean());
        }
    }

    #[test]
    fn popularity_within_a_class_is_as_published() {
        let law = specweb99();
        let published = [3.9, 5.9, 8.8, 17.7, 35.3, 11.8, 7.1, 5.0, 4.4];
        for (file, percent) in (1..).zip(published) {
            let share = law.mean_of(&|size| f64::from(size == 1020 * file)) / 0.5;
            assert!((share * 100.0 - percent).abs() < 0.06, "file {file}: {share}");
        }
    }
}
