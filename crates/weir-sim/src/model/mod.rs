//! Closed forms: means and slowdowns of one server, useful throughput, on/off overload.
