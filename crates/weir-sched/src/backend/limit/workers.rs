//! How many calls a backend serves at once, as far as the order of its answers tells. Used by the
//! decisions on the limit, which never goes below it.
//!
//! A backend that takes calls in the order of their starts cannot answer a call while one before it
//! waits there. So when one is answered that r calls were started before, r + 1 were served at once.
//! Where service times differ the newest of those that are served is the first to be answered about
//! once in as many answers. Where all take equally long nothing is seen, and one that shares its time
//! looks as if it served all that are inside.

/// Answers after which half of what was seen is forgotten, at least; also so many times the most.
const MEMORY: u32 = 512;

/// Answers by how many were started before them and not yet answered; they fade.
#[derive(Debug, Default)]
pub(super) struct Workers {
    answers: Vec<u32>,
    all: u32,
}

impl Workers {
    /// A call was answered before so many that were started earlier.
    pub(super) fn answer(&mut self, older: usize) {
        if self.answers.len() <= older {
            self.answers.resize(older + 1, 0);
        }
        self.answers[older] += 1;
        self.all += 1;
        if self.all >= MEMORY.max(16 * self.answers.len() as u32) {
            self.answers.iter_mut().for_each(|answers| *answers /= 2);
            self.all = self.answers.iter().sum();
            while self.answers.last() == Some(&0) {
                self.answers.pop();
            }
        }
    }

    /// Calls that are served at once, at least; 1 if nothing is known.
    pub(super) fn at_least(&self) -> u32 {
        let mut beyond = 0;
        for (older, answers) in self.answers.iter().enumerate().rev() {
            beyond += answers;
            let served = older as u32 + 1;
            // What comes in another order than it was sent now and then says nothing.
            if beyond >= 2 && u64::from(beyond) * 4 * u64::from(served) >= u64::from(self.all) {
                return served;
            }
        }
        1
    }
}
