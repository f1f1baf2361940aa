//! The gate of one backend: calls that wait for it, how many may be under way, which goes next. It
//! knows nothing of HTTP, connections or clocks.
