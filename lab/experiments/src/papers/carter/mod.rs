//! Carter 1999 (Carter & Cherkasova): a server whose clients give up, simulated at constant load and
//! over days, and in closed form; proxies in front of an application, and an uplink, whose clients
//! do, measured.

pub(super) mod days;
pub(super) mod load;
pub(super) mod model;
pub(super) mod proxy;
mod simulated;
pub(super) mod uplink;
