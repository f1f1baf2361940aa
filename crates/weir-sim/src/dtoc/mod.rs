//! Carter 1999: a server whose clients give up, and what is lost on requests that nobody waits for.
