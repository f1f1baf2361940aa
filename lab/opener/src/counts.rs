//! What the opener has done since it started. Counted by the opener and its connections, printed by
//! `weir-lab opener`.

use std::fmt;

/// Numbers of events since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Questions that were asked.
    pub questions: u64,
    /// Files answered at once: the descriptor was kept and its first bytes were in memory.
    pub hits: u64,
    /// Files that a helper found, opened and warmed.
    pub opened: u64,
    /// Kept files whose first bytes had left memory: a helper warmed them again.
    pub warmed_again: u64,
    /// Questions that joined one for the same name which waited already.
    pub merged: u64,
    /// Questions about directories.
    pub directories: u64,
    /// Questions about names that stand for nothing.
    pub nothing: u64,
    /// Questions that the server was left to answer itself: names outside the roots, special files, errors.
    pub not_told: u64,
    /// Of these, questions that the gate of the disk refused, because the disk hangs.
    pub refused: u64,
    /// Kept descriptors that were closed to make room for others.
    pub evicted: u64,
    /// Connections that were accepted.
    pub connections: u64,
    /// Connections that were turned away: of another user, of another version, or too many.
    pub turned_away: u64,
    /// Connections that were cut: of peers that sent what is no message, or did not take their answers.
    pub cut: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            ("questions", self.questions),
            ("hits", self.hits),
            ("opened", self.opened),
            ("warmed again", self.warmed_again),
            ("merged", self.merged),
            ("directories", self.directories),
            ("nothing", self.nothing),
            ("not told", self.not_told),
            ("refused", self.refused),
            ("evicted", self.evicted),
            ("connections", self.connections),
            ("turned away", self.turned_away),
            ("cut", self.cut),
        ];
        for (at, (name, count)) in counts.into_iter().enumerate() {
            let before = if at == 0 { "" } else { ", " };
            write!(f, "{before}{name} {count}")?;
        }
        Ok(())
    }
}
