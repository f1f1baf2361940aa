//! `weir reload`: has the server that runs read its configuration anew, and says what came of it. Used by
//! `main`.

use std::path::{Path, PathBuf};

use tracing::Level;
use weir_server::{Config, ConfigError, config, messages};

use crate::failure::Failure;

/// Where a packaged server has its control socket.
const USUAL: &str = "/run/weir/control";

/// How the server is found.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Control socket of the server [default: as the configuration file says, or /run/weir/control]
    #[arg(long, value_name = "FILE")]
    control: Option<PathBuf>,

    /// Configuration file that names the control socket; the server reads the one that it was started with
    #[arg(long, value_name = "FILE", conflicts_with = "control")]
    config: Option<PathBuf>,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { control, config } = arguments;
    let control = match control {
        Some(control) => control,
        // A file that cannot be used ends the command as one that the server refuses does.
        None => configured(config.as_deref()).map_err(|wrong| Failure {
            message: format!("nothing was changed: {wrong}"),
            code: 1,
        })?,
    };
    let said = weir_server::reload(&control)?;
    messages::tell(Level::INFO, said);
    Ok(())
}

/// The control socket that the file names, or the environment, or else the usual one.
fn configured(file: Option<&Path>) -> Result<PathBuf, ConfigError> {
    let settings = file.map(config::read).transpose()?.unwrap_or_default();
    let config = Config::from_settings(settings)?;
    Ok(config.control_path().unwrap_or_else(|| USUAL.into()))
}
