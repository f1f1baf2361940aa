//! The PROXY protocol: who the client is, as told by a balancer in front. It reads bytes only.
