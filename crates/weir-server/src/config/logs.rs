//! The table of the keys about logs: where requests are logged and how, and which messages the server
//! writes. Used by everything that reads keys; the logs go by the values.

use weir_units::choice;

use super::table::settings;
use super::value::choice_value;
use super::values::{AccessLog, LogLevel};

choice! {
    /// How a line of the access log is written.
    pub enum LogFormat, "a format of the access log", default Weir {
        /// The Combined format, then the response time in seconds, then `-`, or `cut` for a response that did not end
        Weir = "weir",
        /// The Combined format as nginx writes it.
        Combined = "combined",
        /// The Common format as Apache writes it, without referer and user agent.
        Common = "common",
        /// An object of JSON, also with host, route, backend, times, waiting at each gate and why it ended.
        Json = "json",
    }
}

choice_value!(LogFormat);

choice! {
    /// How the server's own messages are written.
    pub enum MessageFormat, "a format of messages", default Text {
        /// A line for people.
        Text = "text",
        /// An object of JSON with time, level and message.
        Json = "json",
    }
}

choice_value!(MessageFormat);

settings! {
    /// Flags and keys about logs, as far as they were given.
    #[derive(clap::Args)]
    pub(super) struct LogKeys;

    /// What the configuration says about logs, with the defaults filled in.
    pub struct LogConfig {}

    "Logs" {
        /// Where to log requests
        ///
        /// A file is opened anew at SIGHUP and SIGUSR1, as for logrotate. `journal` is systemd's, which
        /// gets a field for each value; `journal:/run/systemd/journal.NAME/socket` is that of a namespace.
        /// Nobody waits for a log: what it does not take is counted in `weir_access_log_lines_lost_total`.
        #[arg(long)]
        access_log: AccessLog = AccessLog::Stderr,
        example "/var/log/weir.log";

        /// How a request is logged
        ///
        /// Dates are in UTC.
        #[arg(long)]
        log_format: LogFormat = LogFormat::default(),
        example "json";

        /// The least severe messages of the server to write to standard error
        #[arg(long)]
        log: LogLevel = LogLevel(tracing::level_filters::LevelFilter::INFO),
        example "warn";

        /// How the server's messages are written
        ///
        /// What is said before the configuration has been read is text.
        #[arg(long)]
        messages: MessageFormat = MessageFormat::default(),
        example "json";
    }
}
