//! Runs of the generator against a server that a test scripts.

mod demand;
mod descriptors;
mod outcomes;
mod reuse;
mod scripted;
