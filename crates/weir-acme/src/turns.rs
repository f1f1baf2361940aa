//! The ways to prove a name, tried one after the other. Made by the manager, asked by the keeper.

use crate::settings::ChallengeKind;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    first: ChallengeKind,
    others: Vec<ChallengeKind>,
}

impl Turns {
    /// Those allowed; `None`: there is none.
    pub(crate) fn new(allowed: &[ChallengeKind]) -> Option<Turns> {
        let (first, others) = allowed.split_first()?;
        Some(Turns { first: *first, others: others.to_vec() })
    }

    /// How a name is proved after so many failures in a row.
    pub(crate) fn kind(&self, failures: u32) -> ChallengeKind {
        let turn = failures as usize % (self.others.len() + 1);
        let other = turn.checked_sub(1).and_then(|turn| self.others.get(turn));
        other.copied().unwrap_or(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failure_the_next_way_to_prove_the_name_is_tried() {
        let both = [ChallengeKind::Http01, ChallengeKind::TlsAlpn01];
        let turns = Turns::new(&both).unwrap();
        assert_eq!([0, 1, 2, 3].map(|failures| turns.kind(failures)), [both, both].concat()[..]);
        assert_eq!(Turns::new(&both[1..]).unwrap().kind(7), ChallengeKind::TlsAlpn01);
        assert!(Turns::new(&[]).is_none());
    }
}
