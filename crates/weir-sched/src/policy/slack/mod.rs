//! The slack order: how much service of others each job can afford before it misses its fair
//! finish. Used by `protective`.
//!
//! Let `v` be what each job would still need under processor sharing and `r` what it still needs
//! here. Job `k` can meet its fair finish exactly while
//! `slack(k) = Σ min(v_i, v_k) over all virtual jobs − Σ r_i over those with v_i ≤ v_k`
//! is not negative; what was granted and is not in `v` yet counts as spent. Serving job `j` costs
//! slack only to jobs before it in order of `v`; that order never changes, and an arrival only
//! raises slack. So each job keeps a stale lower bound that is
//! made exact when it looks tight. Jobs stand in rows of a few dozen with sums over each row, so
//! that a decision scans a column of sums and one row instead of all jobs: O(√n), and a few
//! nanoseconds a row.

mod entry;

use super::FairState;
use crate::virtual_fair::{Level, whole_bytes};
use entry::{NOBODY, Rank};

pub(super) use entry::Entry;

/// A row is split when it grows past this; half of it stays. A column of many rows costs more to
/// run down than a long row, so rows may be longer then.
fn row_limit(rows: usize) -> usize {
    (rows / 4).clamp(32, 64)
}

/// Where a job stands: row and place in it. Good until the next insertion or removal.
pub(super) type Place = (usize, usize);

const NOBODY_TESTED: i64 = i64::MAX;

/// All jobs in order of their virtual finish, with their slack.
///
/// The sums of the rows stand in columns, because every decision runs down some of them.
#[derive(Debug, Default)]
pub(super) struct SlackOrder {
    rows: Vec<Vec<Entry>>,
    /// To be taken from every bound in the row.
    spent: Vec<i64>,
    /// The least bound of the row, `spent` taken from it.
    least: Vec<i64>,
    sharing: Vec<u64>,
    finish_sum: Vec<u128>,
    owed: Vec<u64>,
    best: Vec<Rank>,
}

impl SlackOrder {
    /// Adds a job; its slack is computed exactly.
    pub(super) fn insert(&mut self, entry: Entry, fair: FairState) {
        if self.rows.is_empty() {
            self.insert_row(0, Vec::new(), 0);
        }
        let mut row = self.row_for(entry.place());
        // One that comes back needs more than the virtual server will give it.
        let share = whole_bytes(entry.finish.above(fair.level) as i128);
        let lag = entry.remaining.saturating_sub(share.unsigned_abs());
        self.spend_in_rows(row, self.rows.len(), lag);
        let at = self.rows[row].partition_point(|other| other.place() < entry.place());
        self.rows[row].insert(at, entry);
        let length = self.rows[row].len();
        if length > row_limit(self.rows.len()) {
            let upper = self.rows[row].split_off(length / 2);
            self.insert_row(row + 1, upper, self.spent[row]);
            self.sum_up(row);
            row = self.row_for(entry.place());
        } else {
            self.sum_up(row);
        }
        self.refresh(row, fair);
    }

    /// Removes a job that nobody's slack depends on.
    pub(super) fn take(&mut self, finish: Level, id: u32) -> Option<Entry> {
        let (row, at) = self.find(finish, id)?;
        let entry = self.rows[row].remove(at);
        if self.rows[row].is_empty() {
            self.remove_row(row);
        } else {
            self.sum_up(row);
        }
        Some(entry)
    }

    /// The virtual server, at `level`, stops sharing with a job. Those before it could have waited
    /// for its share while they had theirs, and those after it while it had what it does not need.
    pub(super) fn pause(&mut self, finish: Level, id: u32, level: Level) {
        let Some((row, at)) = self.find(finish, id) else { return };
        self.lose_a_share((row, at), level);
        let entry = &mut self.rows[row][at];
        let left = whole_bytes(finish.above(level) as i128).unsigned_abs();
        entry.sharing = false;
        entry.frozen = Some(left);
        let needed = if entry.protected { entry.remaining } else { 0 };
        self.spend_after((row, at), left.saturating_sub(needed) + 1);
    }

    /// Those before a job no longer share with it, or not for as long as they thought.
    pub(super) fn shorten(&mut self, finish: Level, id: u32, level: Level) {
        if let Some(place) = self.find(finish, id) {
            self.lose_a_share(place, level);
        }
    }

    fn lose_a_share(&mut self, (row, at): Place, level: Level) {
        let share = |entry: &Entry| whole_bytes(entry.finish.above(level) as i128) + 1;
        for before in 0..row {
            let most = self.rows[before].last().map_or(0, share);
            self.spend_in_rows(before, before + 1, most.unsigned_abs());
        }
        for entry in &mut self.rows[row][..at] {
            entry.bound = entry.bound.saturating_sub(share(entry));
        }
    }

    fn spend_after(&mut self, (row, at): Place, bytes: u64) {
        self.spend_in_rows(row + 1, self.rows.len(), bytes);
        for entry in &mut self.rows[row][at..] {
            entry.bound = entry.bound.saturating_sub_unsigned(bytes);
        }
        self.sum_up(row);
    }

    /// Changes a job without moving it; the slack of others must not fall by it. (Bytes that come
    /// back restore what their grant changed for the job and those after it.)
    pub(super) fn change(&mut self, finish: Level, id: u32, change: impl FnOnce(&mut Entry)) {
        if let Some((row, at)) = self.find(finish, id) {
            change(&mut self.rows[row][at]);
            self.sum_up(row);
        }
    }

    /// The job's client takes data: it is ranked by `key`.
    pub(super) fn ready(&mut self, finish: Level, id: u32, key: impl FnOnce(&Entry) -> u64) {
        let Some((row, at)) = self.find(finish, id) else { return };
        let entry = &mut self.rows[row][at];
        entry.ready = true;
        entry.key = key(entry);
        self.best[row] = self.best[row].min(entry.rank().unwrap_or(NOBODY));
        if entry.tested() {
            self.least[row] = self.least[row].min(entry.bound.saturating_sub(self.spent[row]));
        }
    }

    /// The job's client takes no data.
    pub(super) fn blocked(&mut self, finish: Level, id: u32) {
        let Some((row, at)) = self.find(finish, id) else { return };
        let entry = &mut self.rows[row][at];
        let was = entry.rank();
        // Its bound may stay the row's least: that is too low at most.
        entry.ready = false;
        self.rank_changed(row, was, None);
    }

    /// The order among those who may go gives the job another key.
    pub(super) fn rerank(&mut self, finish: Level, id: u32, key: impl FnOnce(&Entry) -> u64) {
        let Some((row, at)) = self.find(finish, id) else { return };
        let entry = &mut self.rows[row][at];
        let was = entry.rank();
        entry.key = key(entry);
        let is = entry.rank();
        self.rank_changed(row, was, is);
    }

    /// A job of the row has another rank. Only if the best falls back is the row gone through.
    fn rank_changed(&mut self, row: usize, was: Option<Rank>, is: Option<Rank>) {
        let (best, is) = (self.best[row], is.unwrap_or(NOBODY));
        self.best[row] = if was == Some(best) && is > best {
            self.rows[row].iter().filter_map(Entry::rank).min().unwrap_or(NOBODY)
        } else {
            best.min(is)
        };
    }

    /// `bytes` of the job were granted: those before it in the order have that much less slack.
    /// `served` gives it the margin and the key of what remains.
    pub(super) fn spend(
        &mut self,
        finish: Level,
        id: u32,
        bytes: u64,
        served: impl FnOnce(&mut Entry),
    ) {
        let Some((row, at)) = self.find(finish, id) else { return };
        self.spend_in_rows(0, row, bytes);
        let (before, from_own) = self.rows[row].split_at_mut(at);
        let mut least = NOBODY_TESTED;
        for entry in before {
            entry.bound -= bytes as i64;
            if entry.tested() {
                least = least.min(entry.bound);
            }
        }
        let own = &mut from_own[0];
        let (owed, margin, was) = (own.owed(), own.margin, own.rank());
        own.remaining = own.remaining.saturating_sub(bytes);
        served(own);
        own.bound = own.bound.saturating_add_unsigned(margin).saturating_sub_unsigned(own.margin);
        if own.tested() {
            least = least.min(own.bound);
        }
        if own.frozen.is_some() {
            return self.spend_after((row, at), bytes);
        }
        self.owed[row] -= owed - own.owed();
        let is = own.rank();
        self.rank_changed(row, was, is);
        if least != NOBODY_TESTED {
            self.least[row] = self.least[row].min(least.saturating_sub(self.spent[row]));
        }
    }

    /// The first job, in order of virtual finish, whose slack is less than `grant` bytes.
    pub(super) fn first_tight(&mut self, fair: FairState, grant: u64) -> Option<Place> {
        let grant = i64::try_from(grant).unwrap_or(i64::MAX);
        let mut from = 0;
        while let Some(step) = self.least[from..].iter().position(|least| *least < grant) {
            let row = from + step;
            self.refresh(row, fair);
            if self.least[row] < grant {
                let tight = |entry: &Entry| entry.tested() && entry.bound < grant;
                return self.rows[row].iter().position(tight).map(|at| (row, at));
            }
            from = row + 1;
        }
        None
    }

    pub(super) fn at(&self, (row, at): Place) -> &Entry {
        &self.rows[row][at]
    }

    /// What the job still needs here.
    pub(super) fn remaining(&self, finish: Level, id: u32) -> Option<u64> {
        self.find(finish, id).map(|place| self.at(place).remaining)
    }

    /// The ready job with the least key among all, or among those up to `last`.
    pub(super) fn best(&self, last: Option<Place>) -> Option<Rank> {
        let (row, at) = last.map_or((self.rows.len(), None), |(row, at)| (row, Some(at)));
        let part = at.map_or(&[][..], |at| &self.rows[row][..=at]);
        let ranks = part.iter().filter_map(Entry::rank);
        let best = self.best[..row].iter().copied().chain(ranks).min()?;
        (best != NOBODY).then_some(best)
    }

    /// Makes the bounds of one row exact.
    fn refresh(&mut self, row: usize, fair: FairState) {
        let level = fair.level;
        let finish_sum: u128 = self.finish_sum[..row].iter().sum();
        let sharing_before: u64 = self.sharing[..row].iter().sum();
        let mut sharing_after: u64 = self.sharing[row..].iter().sum();
        let mut owed = self.owed[..row].iter().sum::<u64>() + fair.behind;
        let mut least = NOBODY_TESTED;
        // What those up to the entry still need; who shares finishes above the level.
        let mut need = (finish_sum - u128::from(sharing_before) * level.raw()) as i128;
        for entry in &mut self.rows[row] {
            let own_need = entry.finish.above(level) as i128;
            if entry.sharing {
                need += own_need;
                sharing_after -= 1;
            }
            owed += entry.owed();
            // Of the blocked too: they come back.
            if entry.protected {
                let fair_need = need + i128::from(sharing_after) * own_need;
                entry.bound = whole_bytes(fair_need)
                    .saturating_sub_unsigned(owed + entry.margin)
                    .saturating_add_unsigned(entry.given());
                if entry.tested() {
                    least = least.min(entry.bound);
                }
            }
        }
        self.spent[row] = 0;
        self.least[row] = least;
    }

    fn sum_up(&mut self, row: usize) {
        let (mut sharing, mut finish_sum, mut owed) = (0, 0, 0);
        let (mut least, mut best) = (NOBODY_TESTED, NOBODY);
        for entry in &self.rows[row] {
            if entry.sharing {
                sharing += 1;
                finish_sum += entry.finish.raw();
            }
            owed += entry.owed();
            if entry.tested() {
                least = least.min(entry.bound);
            }
            if let Some(rank) = entry.rank() {
                best = best.min(rank);
            }
        }
        self.sharing[row] = sharing;
        self.finish_sum[row] = finish_sum;
        self.owed[row] = owed;
        self.best[row] = best;
        self.least[row] = match least {
            NOBODY_TESTED => NOBODY_TESTED,
            least => least.saturating_sub(self.spent[row]),
        };
    }

    fn spend_in_rows(&mut self, from: usize, to: usize, bytes: u64) {
        for spent in &mut self.spent[from..to] {
            *spent += bytes as i64;
        }
        for least in &mut self.least[from..to] {
            let less = least.saturating_sub(bytes as i64);
            *least = if *least == NOBODY_TESTED { NOBODY_TESTED } else { less };
        }
    }

    fn insert_row(&mut self, row: usize, entries: Vec<Entry>, spent: i64) {
        self.rows.insert(row, entries);
        self.spent.insert(row, spent);
        self.least.insert(row, NOBODY_TESTED);
        self.sharing.insert(row, 0);
        self.finish_sum.insert(row, 0);
        self.owed.insert(row, 0);
        self.best.insert(row, NOBODY);
        self.sum_up(row);
    }

    fn remove_row(&mut self, row: usize) {
        self.rows.remove(row);
        self.spent.remove(row);
        self.least.remove(row);
        self.sharing.remove(row);
        self.finish_sum.remove(row);
        self.owed.remove(row);
        self.best.remove(row);
    }

    fn row_for(&self, place: (Level, u32)) -> usize {
        let starts_by = |row: &Vec<Entry>| row.first().is_some_and(|e| e.place() <= place);
        self.rows.partition_point(starts_by).saturating_sub(1)
    }

    fn find(&self, finish: Level, id: u32) -> Option<Place> {
        let place = (finish, id);
        let row = self.row_for(place);
        let entries = self.rows.get(row)?;
        let at = entries.partition_point(|entry| entry.place() < place);
        (entries.get(at)?.place() == place).then_some((row, at))
    }
}
