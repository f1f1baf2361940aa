//! The status codes that weir sends on its own behalf, with their phrases and ready-made texts. Used
//! by everything that answers a request; the statuses of backends are passed on as numbers.

/// Defines [`Status`] and the constant texts of each code from one table.
macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:literal $reason:literal;)*) => {
        /// A response status (RFC 9110, section 15; 429, 431: RFC 6585; 508: RFC 5842).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Status {
            $($(#[$doc])* $name,)*
        }

        impl Status {
            /// Every status, in the order of the codes.
            pub const ALL: &'static [Status] = &[$(Status::$name),*];

            /// The three-digit code.
            pub fn code(self) -> u16 {
                match self { $(Status::$name => $code,)* }
            }

            /// The reason phrase.
            pub fn reason(self) -> &'static str {
                match self { $(Status::$name => $reason,)* }
            }

            /// The status line of a response, with its CRLF (RFC 9112, section 4).
            pub(crate) fn line(self) -> &'static str {
                match self { $(Status::$name => concat!("HTTP/1.1 ", $code, " ", $reason, "\r\n"),)* }
            }

            /// The body of a response that is only a status: `404 Not Found` and a newline.
            pub fn page(self) -> &'static str {
                match self { $(Status::$name => concat!($code, " ", $reason, "\n"),)* }
            }
        }
    };
}

statuses! {
    /// The representation follows.
    Ok = 200 "OK";
    /// One part of the representation follows.
    PartialContent = 206 "Partial Content";
    /// The resource lives at the URI in `Location`.
    MovedPermanently = 301 "Moved Permanently";
    /// The resource is at the URI in `Location` for now.
    Found = 302 "Found";
    /// The client's copy is current.
    NotModified = 304 "Not Modified";
    /// The resource is at the URI in `Location` for now; the method stays.
    TemporaryRedirect = 307 "Temporary Redirect";
    /// The resource lives at the URI in `Location`; the method stays.
    PermanentRedirect = 308 "Permanent Redirect";
    /// The message is malformed.
    BadRequest = 400 "Bad Request";
    /// The resource exists, but is not served.
    Forbidden = 403 "Forbidden";
    /// No such resource.
    NotFound = 404 "Not Found";
    /// Neither GET nor HEAD.
    MethodNotAllowed = 405 "Method Not Allowed";
    /// The request did not arrive in time.
    RequestTimeout = 408 "Request Timeout";
    /// The request has to say how long its body is.
    LengthRequired = 411 "Length Required";
    /// The body is longer than the limit.
    ContentTooLarge = 413 "Content Too Large";
    /// The request line is longer than the limit.
    UriTooLong = 414 "URI Too Long";
    /// No byte of the requested range exists.
    RangeNotSatisfiable = 416 "Range Not Satisfiable";
    /// `Expect` asks for something unknown.
    ExpectationFailed = 417 "Expectation Failed";
    /// The server does not answer for that host.
    MisdirectedRequest = 421 "Misdirected Request";
    /// The client asks too often.
    TooManyRequests = 429 "Too Many Requests";
    /// The head is longer, or has more fields, than the limit.
    RequestHeaderFieldsTooLarge = 431 "Request Header Fields Too Large";
    /// The server failed to do what it should.
    InternalServerError = 500 "Internal Server Error";
    /// The request needs something the server does not have.
    NotImplemented = 501 "Not Implemented";
    /// The backend gave no valid response.
    BadGateway = 502 "Bad Gateway";
    /// The server is overloaded or stopping.
    ServiceUnavailable = 503 "Service Unavailable";
    /// The backend gave no response in time.
    GatewayTimeout = 504 "Gateway Timeout";
    /// The request is not HTTP/1.0 or HTTP/1.1.
    HttpVersionNotSupported = 505 "HTTP Version Not Supported";
    /// The request came back to a proxy that had passed it on.
    LoopDetected = 508 "Loop Detected";
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn texts_agree_with_code_and_reason() {
        for status in Status::ALL {
            let line = format!("HTTP/1.1 {} {}\r\n", status.code(), status.reason());
            assert_eq!(status.line(), line);
            assert_eq!(status.page(), &line[9..].replace('\r', ""));
        }
        assert_eq!(Status::NotFound.line(), "HTTP/1.1 404 Not Found\r\n");
        assert!(Status::ALL.is_sorted_by_key(|status| status.code()));
    }
}
