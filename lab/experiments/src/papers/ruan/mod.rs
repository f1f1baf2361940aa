//! Ruan & Pai 2006: requests that are in memory wait for those that are not, because servers block in
//! calls on files. Servers of a set of files on a slow disk, measured; the set itself, computed.

pub(super) mod bursts;
mod conditions;
mod deciles;
pub(super) mod factorial;
mod found;
pub(super) mod generations;
pub(super) mod hot;
pub(super) mod load;
mod profile;
pub(super) mod set;
pub(super) mod sets;
pub(super) mod steps;
