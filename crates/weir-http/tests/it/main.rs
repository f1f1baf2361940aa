//! What holds for all inputs (properties), and worked cases that need more than one module.

mod chunked;
mod conditions;
mod forward;
mod path;
mod proxy_protocol;
mod range;
mod request;
mod response;
