//! `weir serve`: reads the settings from flags and the file, then starts the server. Used
//! by `main`.

use std::io::IsTerminal;
use std::path::PathBuf;

use weir_server::{Config, ConfigError, ServeError, Settings, config, messages};

use crate::failure::Failure;

/// Flags override the file; every flag has a key of the same name.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Check the configuration, the addresses and the names of backends, and end
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    settings: Settings,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let file = arguments.config.as_deref().map(config::read).transpose()?;
    let settings = arguments.settings.over(file.unwrap_or_default());
    let config = Config::from_settings(settings)?;
    messages::tell_of_panics();
    tracing_subscriber::fmt()
        .with_writer(|| messages::Writer)
        .with_ansi(std::io::stderr().is_terminal())
        .with_max_level(config.log.0)
        .with_target(false)
        // A message that cannot be written would be written about, which ends the program.
        .log_internal_errors(false)
        .init();
    let mut warnings = config.warnings();
    if arguments.check {
        warnings.extend(weir_server::check(&config)?);
    }
    for warning in warnings {
        messages::say(format_args!("weir: warning: {warning}"));
    }
    if arguments.check {
        messages::say("weir: the configuration is valid");
        return Ok(());
    }
    Ok(weir_server::serve(&config)?)
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        Failure { message: error.to_string(), code: 2 }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Failure {
        Failure { message: error.to_string(), code: 1 }
    }
}
