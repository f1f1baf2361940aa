//! Values of routes that are one of a few words. Used by the table of routes' keys, and by the proxy,
//! which acts on them.

use weir_units::choice;

use crate::config::value::choice_value;

choice! {
    /// By what it is noticed that a client has left (Carter & Cherkasova 1999, section 2, compares
    /// the first three).
    pub enum DisconnectDetection, "a way to detect that a client has left", default Event {
        /// The kernel's event, which costs nothing until it comes.
        Event = "event",
        /// Looking at the next byte of the connection; blind while there are unread ones. Under TLS like
        /// `tcp-info`.
        Peek = "peek",
        /// Asking for the state of the connection.
        TcpInfo = "tcp-info",
        /// It is not noticed.
        Off = "off",
    }
}

choice! {
    /// When clients that have left are looked for.
    pub enum DetectWhen, "a time to look for clients that have left", default Always {
        /// All the time.
        Always = "always",
        // Carter & Cherkasova look while more than 95 % of the capacity is in use.
        /// Only while requests wait for the backend.
        Overload = "overload",
    }
}

choice! {
    /// What a client that closed its side of the connection is taken for.
    pub enum HalfClosed, "what a half-closed client is taken for", default Gone {
        /// Gone.
        Gone = "gone",
        /// Waiting for its answer.
        Alive = "alive",
        /// weir sends it an interim response (102): if the client has gone, its system answers with a
        /// reset, and otherwise the client is taken to wait for its answer. Clients of HTTP/1.0, which has
        /// no interim responses, are taken to wait until their connection is reset.
        Probe = "probe",
    }
}

choice! {
    /// The fields by which a backend is told who the client is.
    pub enum Forwarded, "a way to tell of the client", default XForwarded {
        /// `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`.
        XForwarded = "x-forwarded",
        /// `Forwarded` (RFC 7239).
        Standard = "standard",
        /// All of them.
        Both = "both",
        /// None.
        Off = "off",
    }
}

choice! {
    /// What happens to a body that is larger than the memory kept for it.
    pub enum Overflow, "what happens to large bodies", default Spill {
        /// The rest goes to a temporary file.
        Spill = "spill",
        /// The rest of a request goes to the backend as it comes; with an answer the backend waits.
        PushBack = "push-back",
    }
}

choice_value!(DisconnectDetection);
choice_value!(DetectWhen);
choice_value!(HalfClosed);
choice_value!(Forwarded);
choice_value!(Overflow);
