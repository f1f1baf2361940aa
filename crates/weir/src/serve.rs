//! `weir serve`: settings from flags and the file, then the server. It knows neither's meaning.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use weir_server::{Config, ConfigError, ServeError, Settings, config};

use crate::Failure;

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
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
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
        say(format_args!("warning: {warning}"));
    }
    if arguments.check {
        say(format_args!("the configuration is valid"));
        return Ok(());
    }
    Ok(weir_server::serve(&config)?)
}

/// Says something on standard error, if that takes anything: a full disk is no reason not to serve.
fn say(what: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "weir: {what}");
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
