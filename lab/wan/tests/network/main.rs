//! The link and its command between real namespaces. Needs root.

mod command;
mod link;
mod namespaces;
