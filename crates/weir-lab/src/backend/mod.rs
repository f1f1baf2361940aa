//! Proxies in front of an application that does one thing at a time, asked for more than it can do,
//! by clients who leave. It knows nothing of links.
