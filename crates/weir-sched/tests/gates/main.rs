//! The gates and what stands beside them through their public calls: step by step, with random calls
//! against naive models of the rules, in front of simulated links, disks and backends, and against
//! recorded decisions.

mod backend;
mod disk;
mod recorded;
mod uplink;
