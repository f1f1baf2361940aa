//! weir's figures over a peer's, paired by round: the ratios in the tables.

use weir_stats::confidence::{MedianInterval, median_interval};

use crate::table::median;

/// Figures of each system, by round.
pub(crate) type ByRound = Vec<(String, Vec<f64>)>;

/// A ratio and what weir is compared with.
#[derive(Clone, Debug)]
pub(crate) struct Ratio {
    pub(crate) peer: String,
    pub(crate) found: MedianInterval,
}

/// The figures of one of several systems that are weir, as weir's, and those of the peers.
pub(crate) fn of_one(figures: &ByRound, own: &str) -> ByRound {
    let of_weir = |name: &str| name == "weir" || name.starts_with("weir-");
    let called = |name: &String| if name == own { "weir".to_owned() } else { name.clone() };
    let kept = figures.iter().filter(|(name, _)| name == own || !of_weir(name));
    kept.map(|(name, all)| (called(name), all.clone())).collect()
}

/// weir ÷ the peer of the lowest median, each round by itself. (The lowest of each round would be a
/// minimum over noise, and no server that exists.)
///
/// # Errors
///
/// Why there is none, in words.
pub(crate) fn to_lowest(figures: &ByRound) -> Result<Ratio, &'static str> {
    let peers = figures.iter().filter(|(name, _)| name != "weir");
    let lowest = peers.min_by(|a, b| median(&a.1).total_cmp(&median(&b.1)));
    let peer = lowest.ok_or("it needs weir and a peer")?.0.clone();
    to_peer(figures, &peer)
}

/// weir ÷ a certain peer.
///
/// # Errors
///
/// Why there is none, in words.
pub(crate) fn to_peer(figures: &ByRound, peer: &str) -> Result<Ratio, &'static str> {
    let of = |name: &str| figures.iter().find(|(known, _)| known == name).map(|(_, all)| all);
    let (Some(own), Some(other)) = (of("weir"), of(peer)) else {
        return Err("it needs weir and a peer");
    };
    let ratios: Vec<f64> = own.iter().zip(other).map(|(own, other)| own / other).collect();
    let found = median_interval(&ratios).ok_or("a round has no figure")?;
    Ok(Ratio { peer: peer.to_owned(), found })
}

impl Ratio {
    /// As a sentence.
    pub(crate) fn words(&self) -> String {
        let MedianInterval { median, low, high, coverage, count } = &self.found;
        format!(
            "weir ÷ {}: **{median:.3}**, {low:.3} to {high:.3} ({:.0} % interval of the median, {count} rounds)",
            self.peer,
            coverage * 100.0,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weir_is_compared_with_the_best_peer_round_by_round() {
        let costs: ByRound = vec![
            ("weir".into(), vec![8.0, 9.0, 12.0]),
            ("slow".into(), vec![20.0, 1.0, 20.0]),
            ("fast".into(), vec![10.0, 9.0, 10.0]),
        ];
        let text = to_lowest(&costs).expect("both are there").words();
        assert!(text.starts_with("weir ÷ fast: **1.000**, 0.800 to 1.200 (75 %"), "{text}");
        let ratio = to_peer(&costs, "slow").expect("both are there");
        assert_eq!((ratio.peer.as_str(), ratio.found.median), ("slow", 0.6));
        assert!(to_lowest(&costs[..1].to_vec()).is_err() && to_peer(&costs, "none").is_err());
    }

    #[test]
    fn weir_is_not_compared_with_itself() {
        let costs: ByRound = vec![
            ("weir".into(), vec![1.0]),
            ("weir-siblings".into(), vec![3.0]),
            ("nginx-6".into(), vec![6.0]),
        ];
        for (own, ratio) in [("weir", 1.0 / 6.0), ("weir-siblings", 0.5)] {
            let found = to_lowest(&of_one(&costs, own)).expect("both are there");
            assert_eq!((found.peer.as_str(), found.found.median), ("nginx-6", ratio), "{own}");
        }
    }
}
