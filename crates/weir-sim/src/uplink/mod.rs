//! The uplink gate in virtual time: rate, grants, round trips, slow clients.
