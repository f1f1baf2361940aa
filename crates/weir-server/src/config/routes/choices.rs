//! Settings of routes that are one of a few words. It does not know what they bring about.

use std::fmt;
use std::str::FromStr;

/// An enum with a name for each value, by which it is read and printed.
macro_rules! choice {
    (
        $(#[$about:meta])* $kind:ident, $what:literal:
        $($(#[$doc:meta])* $value:ident = $name:literal),+ $(,)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $kind { $($(#[$doc])* $value),+ }

        impl $kind {
            /// Every value, in the order of the documentation.
            pub const ALL: &'static [$kind] = &[$($kind::$value),+];

            /// The name in the configuration.
            pub fn name(self) -> &'static str {
                match self { $($kind::$value => $name),+ }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $kind {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = $kind::ALL.iter().copied().find(|value| value.name() == text);
                found.ok_or_else(|| {
                    let names: Vec<&str> = $kind::ALL.iter().map(|value| value.name()).collect();
                    format!("\"{text}\" is not {}; write {}", $what, names.join(", "))
                })
            }
        }
    };
}

choice! {
    /// By what it is noticed that a client has left (Carter & Cherkasova 1999, section 2, compares
    /// the first three).
    How, "a way to notice dead requests":
    /// The kernel's event, which costs nothing until it comes.
    #[default]
    Event = "event",
    /// Looking at the next byte of the connection; blind while there are unread ones.
    Peek = "peek",
    /// Asking for the state of the connection.
    TcpInfo = "tcp-info",
    /// It is not.
    Off = "off",
}

choice! {
    /// When departed clients are looked for.
    When, "a time to look for dead requests":
    /// All the time.
    #[default]
    Always = "always",
    /// Only while requests wait at the backend's gate; the paper looks while more than 95 % of the
    /// capacity is in use.
    Overload = "overload",
}

choice! {
    /// What a client that closed its side of the connection is taken for.
    HalfClose, "what a half-closed client is taken for":
    /// Gone.
    #[default]
    Gone = "gone",
    /// Waiting for its answer.
    Alive = "alive",
    /// It is asked by an interim response, which one that has gone answers with a reset.
    Probe = "probe",
}

choice! {
    /// The fields by which a backend is told who the client is.
    Forwarded, "a way to tell of the client":
    /// `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`.
    #[default]
    XForwarded = "x-forwarded",
    /// `Forwarded` (RFC 7239).
    Standard = "standard",
    /// All of them.
    Both = "both",
    /// None.
    Off = "off",
}

choice! {
    /// What happens to a body that is larger than the memory kept for it.
    Overflow, "what happens to large bodies":
    /// The rest goes to a temporary file.
    #[default]
    Spill = "spill",
    /// The rest of a request goes to the backend as it comes; with an answer the backend waits.
    PushBack = "push-back",
}
