//! Reads the source of a Cargo workspace and tells which file uses names of which other file.
//!
//! Its only user is the test `tests/house.rs`, which holds the layers of this repository: no arrow
//! runs up, no files form a circle, no link leads nowhere, no file is too long to read.

mod arrows;
mod circles;
mod error;
mod floors;
mod links;
mod mentions;
mod modules;
mod resolve;
mod tokens;
mod uses;
mod workspace;

pub use arrows::{Arrow, Arrows, Place, arrows};
pub use circles::{circles, closing, describe};
pub use error::Error;
pub use floors::Floors;
pub use links::{BrokenLink, broken_links};
pub use modules::{Module, Tree};
pub use workspace::{Package, Workspace, text_files};
