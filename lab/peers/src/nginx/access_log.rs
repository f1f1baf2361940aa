//! nginx's access log: in its own combined format, or as objects of JSON with the fields that weir's have.

use std::path::PathBuf;

/// An access log in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLog {
    /// Where it is; an absolute path.
    pub file: PathBuf,
    /// How a line is written.
    pub format: LogFormat,
    /// Lines are written 64 KB at a time, and once a second; otherwise each by itself.
    pub buffered: bool,
}

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// nginx's format `combined`.
    Combined,
    /// An object of JSON with the names that weir's `json` has, in the same order.
    Json,
}

/// The fields of an object, and what nginx has for each: nothing for the time at weir's gates.
const FIELDS: [(&str, &str); 20] = [
    ("time", "\"$time_iso8601\""),
    ("client", "\"$remote_addr\""),
    ("user", "\"$remote_user\""),
    ("method", "\"$request_method\""),
    ("path", "\"$uri\""),
    ("query", "\"$args\""),
    ("protocol", "\"$server_protocol\""),
    ("host", "\"$host\""),
    ("route", "\"$server_name\""),
    ("backend", "\"$upstream_addr\""),
    ("status", "$status"),
    ("bytes", "$body_bytes_sent"),
    ("referer", "\"$http_referer\""),
    ("user_agent", "\"$http_user_agent\""),
    ("first_byte", "\"$upstream_header_time\""),
    ("total", "$request_time"),
    ("wait_uplink", "null"),
    ("wait_disk", "null"),
    ("wait_backend", "null"),
    ("ended", "\"$request_completion\""),
];

/// Lines of the block `http`.
pub(super) fn lines(log: Option<&AccessLog>) -> String {
    let Some(AccessLog { file, format, buffered }) = log else {
        return "    access_log off;\n".into();
    };
    let file = file.display();
    let buffer = if *buffered { " buffer=64k flush=1s" } else { "" };
    match format {
        LogFormat::Combined => format!("    access_log {file} combined{buffer};\n"),
        LogFormat::Json => {
            let fields = FIELDS.map(|(name, value)| format!("\"{name}\":{value}")).join(",");
            format!(
                "    log_format json escape=json '{{{fields}}}';\n    access_log {file} json{buffer};\n"
            )
        }
    }
}
