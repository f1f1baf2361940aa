//! HTTP messages as pure functions over bytes and numbers: heads and bodies in, decisions and heads
//! out. What was read, what a file looks like and what time it is come in as arguments.
//!
//! `weir-server` answers and passes on requests with it, `weir-load` reads chunked responses, and
//! the fuzz targets run the same code.
//!
//! - [`message`]: what a message means, in any version of HTTP.
//! - [`h1`]: how HTTP/1.x writes heads and bodies.
//! - [`forward`]: what a reverse proxy changes of a message on its way.
//! - [`proxy_protocol`]: who the client is, as a load balancer in front says before the first request.

pub mod forward;
pub mod h1;
pub mod message;
pub mod proxy_protocol;
