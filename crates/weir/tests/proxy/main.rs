//! Applications behind weir: what is passed on, what backends and clients do wrong, and the gate of a
//! backend. Each test runs the real program.

#[path = "../support/mod.rs"]
mod support;

#[path = "../coding/mod.rs"]
mod coding;

mod apps;
mod bodies;
mod compression;
mod faults;
mod gate;
mod hanging;
mod invalid_answers;
mod leaving;
mod memory;
mod names;
mod passing;
mod prefixes;
mod protocol;
mod recovery;
mod retries;
mod routes;
mod slow_clients;
mod smuggling;
mod spill;
mod trusted_proxies;
mod unbuffered;
mod upgrade;
mod weights;
