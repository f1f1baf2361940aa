//! The program that runs the server: which one it is, and what it does for the server. Made by `weir serve`.

use std::fmt;
use std::sync::Arc;

use tracing::level_filters::LevelFilter;

use crate::config::{Config, ConfigError};
use crate::metrics::Build;

/// See the module.
pub struct Program {
    /// Its version and its commit.
    pub build: Build,
    /// Reads the configuration anew, from where it was read at the start, on whatever thread.
    pub read: Arc<dyn Fn() -> Result<Config, ConfigError> + Send + Sync>,
    /// From now on the least severe messages that are written are these.
    pub set_log_level: Box<dyn Fn(LevelFilter)>,
    /// Whether the server takes over from the one that answers at its control socket.
    pub take_over: bool,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Program");
        shown.field("build", &self.build).field("take_over", &self.take_over);
        shown.finish_non_exhaustive()
    }
}
