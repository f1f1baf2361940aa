//! How much of a trace is held in memory at once: bounds that the readers keep and errors name.

/// Bytes of the longest line that is read. Servers accept heads of 8 to 64 KB.
pub const LONGEST_LINE: usize = 64 * 1024;

/// The most requests that are held at once, in one second or in the window of reordering.
pub const MOST_HELD: usize = 1_000_000;
