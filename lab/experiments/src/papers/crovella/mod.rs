//! Crovella 1999 (Crovella, Frangioso & Harchol-Balter, Connection scheduling in web servers): an
//! uplink with SURGE's users, measured, and slowdown in closed form.

pub(super) mod load;
pub(super) mod slowdown;
