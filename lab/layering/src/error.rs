//! What can be wrong with a workspace so that its arrows can't be read; returned by all readers of this crate.

use std::fmt;
use std::path::PathBuf;

/// Why a workspace can't be read.
#[derive(Debug)]
pub enum Error {
    /// The file can't be read.
    Unreadable(PathBuf, std::io::Error),
    /// The file isn't valid Rust; the text says where.
    Syntax(PathBuf, String),
    /// The file isn't a valid Cargo manifest; the text says why.
    Manifest(PathBuf, String),
    /// The file declares a module whose file isn't there: the module's name, and where it was looked for.
    NoModule(PathBuf, String, Vec<PathBuf>),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(file, error) => write!(f, "{}: {error}", file.display()),
            Self::Syntax(file, error) => write!(f, "{}: not valid Rust: {error}", file.display()),
            Self::Manifest(file, error) => {
                write!(f, "{}: not a valid manifest: {error}", file.display())
            }
            Self::NoModule(file, name, tried) => {
                write!(f, "{}: module `{name}` has no file; looked for", file.display())?;
                for path in tried {
                    write!(f, " {}", path.display())?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for Error {}
