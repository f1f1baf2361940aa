//! One direction of the link by itself; and the link and its command between real namespaces, which
//! needs root.

mod command;
mod line;
mod link;
mod namespaces;
