//! Which of several backends a request goes to. It knows nothing of connections.
