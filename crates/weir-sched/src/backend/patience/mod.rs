//! How long the clients of one route wait before they leave: whose departures count, and for whom.
//! The gate asks here whether a call has waited too long.
//!
//! Patience is learned from clients and held against others, who are refused or served last. So no
//! client may make much of it alone: a departure counts when [`OTHERS`] others have counted since
//! the same client's last. Who leaves within a moment has stopped loading a page, or never wanted
//! an answer, and says nothing of patience.
//!
//! Behind a balancer, or one address for many, nearly all are one client and hardly any would count.
//! So what the client says that leaves most is kept beside, and is held against that client alone.

mod survival;

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Time;
use survival::Survival;

pub(super) use survival::PatienceEstimate;

/// Departures at lesser ages say nothing.
const MOMENT: Duration = Duration::from_millis(100);
/// A client counts again when so many others have: what is known is an eighth its own at most.
const OTHERS: usize = 7;
/// Another client is taken to leave most after so many departures of others in a row at the latest.
const MOST_VOTES: u32 = 64;

/// The client that leaves most, found by majority vote (Boyer & Moore 1991).
#[derive(Clone, Debug)]
struct MostFrequent {
    client: u64,
    votes: u32,
    survival: Survival,
}

/// The patience of one route's clients.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    all: Survival,
    /// The clients that counted last.
    counted: VecDeque<u64>,
    most_frequent: Option<MostFrequent>,
}

impl Patience {
    pub(super) fn new() -> Patience {
        Patience { all: Survival::new(), counted: VecDeque::new(), most_frequent: None }
    }

    /// A client left at `now`, at this age.
    pub(super) fn left(&mut self, now: Time, client: u64, age: Duration) {
        if age < MOMENT {
            return;
        }
        self.vote(now, client, age);
        if self.counted.contains(&client) {
            return;
        }
        if self.counted.len() == OTHERS {
            self.counted.pop_front();
        }
        self.counted.push_back(client);
        self.all.left(now, age);
    }

    /// A client was answered at this age and would have waited longer.
    pub(super) fn answered(&mut self, client: u64, age: Duration) {
        self.all.answered(age);
        if let Some(most_frequent) = self.most_frequent.as_mut().filter(|it| it.client == client) {
            most_frequent.survival.answered(age);
        }
    }

    /// What this client is taken to endure.
    pub(super) fn endurance(&self, client: u64) -> PatienceEstimate {
        let own = self.most_frequent.as_ref().filter(|it| it.client == client);
        let own = own.map(|it| it.survival.endurance()).filter(|own| own.median.is_some());
        own.unwrap_or(self.all.endurance())
    }

    /// What is known of all, or if that is nothing, of the client that leaves most.
    pub(super) fn of_most(&self) -> PatienceEstimate {
        let all = self.all.endurance();
        match (&self.most_frequent, all.median) {
            (Some(most_frequent), None) => most_frequent.survival.endurance(),
            _ => all,
        }
    }

    /// A departure of this client, whether or not it counts for the others.
    fn vote(&mut self, now: Time, client: u64, age: Duration) {
        let new = || MostFrequent { client, votes: 0, survival: Survival::new() };
        let most_frequent = self.most_frequent.get_or_insert_with(new);
        if most_frequent.client != client {
            most_frequent.votes = most_frequent.votes.saturating_sub(1);
            if most_frequent.votes > 0 {
                return;
            }
            *most_frequent = new();
        }
        most_frequent.votes = (most_frequent.votes + 1).min(MOST_VOTES);
        most_frequent.survival.left(now, age);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const ATTACKER: u64 = 1 << 40;

    fn median(patience: &Patience, client: u64) -> Option<u64> {
        patience.endurance(client).median.map(|median| median.as_millis() as u64)
    }

    #[test]
    fn one_client_that_leaves_again_and_again_is_one() {
        let mut patience = Patience::new();
        for _ in 0..1000 {
            patience.left(Time::ZERO, ATTACKER, 300 * MS);
        }
        assert_eq!(median(&patience, 1), None, "the others may wait");
        assert_eq!(median(&patience, ATTACKER), Some(300), "it does not wait longer itself");
        assert_eq!(patience.of_most().median, Some(300 * MS));
    }

    #[test]
    fn among_others_one_client_is_an_eighth_at_most() {
        let mut patience = Patience::new();
        for client in 0..1000 {
            for _ in 0..20 {
                patience.left(Time::ZERO, ATTACKER, 300 * MS);
            }
            patience.left(Time::ZERO, client, 5000 * MS);
        }
        assert_eq!(median(&patience, 1), Some(5000));
        let none = Patience::new();
        let seven = (0..7).fold(none, |mut patience, client| {
            (0..9).for_each(|_| patience.left(Time::ZERO, client, 300 * MS));
            patience
        });
        assert_eq!(median(&seven, 100), None, "seven clients are too few");
    }

    #[test]
    fn who_leaves_at_once_says_nothing() {
        let mut patience = Patience::new();
        (0..100).for_each(|client| patience.left(Time::ZERO, client, 99 * MS));
        (0..100).for_each(|_| patience.left(Time::ZERO, ATTACKER, 99 * MS));
        assert_eq!((median(&patience, 1), median(&patience, ATTACKER)), (None, None));
        (0..9).for_each(|client| patience.left(Time::ZERO, client, 100 * MS));
        assert_eq!(median(&patience, 1), Some(100));
    }

    #[test]
    fn who_leaves_most_now_is_followed() {
        let mut patience = Patience::new();
        (0..1000).for_each(|_| patience.left(Time::ZERO, 1, 300 * MS));
        (0..100).for_each(|_| patience.left(Time::ZERO, 2, 4000 * MS));
        assert_eq!((median(&patience, 1), median(&patience, 2)), (None, Some(4000)));
        (0..100).for_each(|_| patience.answered(2, 9000 * MS));
        assert_eq!(median(&patience, 2), None, "most of its calls are answered");
    }
}
