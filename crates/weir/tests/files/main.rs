//! Files, as clients see them: HTTP, conditions, faults of disks and of the tree, and many clients at
//! once. Each test runs the real program.

#[path = "../support/mod.rs"]
mod support;

#[path = "../coding/mod.rs"]
mod coding;

mod access;
mod access_times;
mod answered;
mod browser;
mod changes;
mod clients;
mod compression;
mod conditional;
mod descriptors;
mod disk;
mod errors;
mod fallbacks;
mod faults;
mod fields;
mod filesystems;
mod from_nginx;
mod grown;
mod hanging_root;
mod hostile_names;
mod http;
mod httplint;
mod ledger;
mod listing;
mod methods;
mod preconditions;
mod ranges;
mod remounted;
mod roots;
mod scan;
mod slow_disk;
mod study;
mod unread_bodies;
mod while_waiting;
