//! How the server's messages are written: each as a line of text, or as an object of JSON by weir-server. It
//! is looked up for each, since a new configuration may change it. Used by [`crate::serve`].

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;
use weir_server::messages;

/// See the module.
#[derive(Debug)]
pub(crate) struct MessageLines {
    text: Format,
}

impl MessageLines {
    pub(crate) fn new() -> MessageLines {
        MessageLines { text: Format::default().with_target(false) }
    }
}

impl<S, N> FormatEvent<S, N> for MessageLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if !messages::are_json() {
            return self.text.format_event(context, writer, event);
        }
        let mut values = Values::default();
        event.record(&mut values);
        let level = *event.metadata().level();
        writer.write_str(&messages::json(level, &values.message, &values.others))
    }
}

/// The values of a message.
#[derive(Default)]
struct Values {
    message: String,
    others: Vec<(&'static str, String)>,
}

impl Visit for Values {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            name => self.others.push((name, value.to_owned())),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
