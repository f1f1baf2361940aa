//! `weir serve`: reads the settings from flags and the file, then starts the server. Used
//! by `main`.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use tracing::Level;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;
use weir_server::{Build, Config, ConfigError, Program, ServeError, Settings, config, messages};

use crate::failure::Failure;
use crate::message_lines::MessageLines;

/// This program.
const BUILD: Build = Build { version: env!("CARGO_PKG_VERSION"), commit: env!("WEIR_COMMIT") };

/// Flags override the file; each of the `settings` has a key of the same name, but `DIR` is `root`.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Check the configuration, the addresses and the names of backends, and end
    #[arg(long)]
    check: bool,

    /// Take over from the server that answers at the control socket, without a connection refused
    #[arg(long, conflicts_with = "check")]
    take_over: bool,

    #[command(flatten)]
    settings: Settings,
}

impl Arguments {
    /// The configuration, of flags and file as they are now.
    fn read(&self) -> Result<Config, ConfigError> {
        let file = self.config.as_deref().map(config::read).transpose()?;
        Config::from_settings(self.settings.clone().over(file.unwrap_or_default()))
    }
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let config = arguments.read()?;
    messages::tell_of_panics();
    messages::write_as(config.logs.messages);
    let set_log_level = begin_messages(config.logs.log.0);
    let mut warnings = config.warnings();
    if arguments.check {
        warnings.extend(weir_server::check(&config)?);
    }
    for warning in warnings {
        messages::tell(Level::WARN, warning);
    }
    if arguments.check {
        messages::tell(Level::INFO, "the configuration is valid");
        return Ok(());
    }
    let take_over = arguments.take_over;
    let read = Arc::new(move || arguments.read());
    let set_log_level = Box::new(set_log_level);
    let program = Program { build: BUILD, read, set_log_level, take_over };
    Ok(weir_server::serve(config, &program)?)
}

/// Writes messages of this level and more severe ones to standard error. What is returned sets another
/// level.
fn begin_messages(level: LevelFilter) -> impl Fn(LevelFilter) {
    let (filter, handle) = reload::Layer::new(level);
    let lines = fmt::layer()
        .with_writer(|| messages::Writer)
        .with_ansi(std::io::stderr().is_terminal())
        .event_format(MessageLines::new())
        // A message that cannot be written would be written about, which ends the program.
        .log_internal_errors(false);
    tracing_subscriber::registry().with(filter).with(lines).init();
    // The subscriber lives as long as the program, so there is always a filter to set.
    move |level| drop(handle.reload(level))
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
