//! A backend behind the server's own gate, with clients that lose patience, in virtual time. It
//! knows no network.
