//! Worked cases of requests and responses on their way.

mod request;
