//! Exact servers in virtual time: what a policy would reach on a link without packets, kernels or
//! clients. It does not know sockets.

pub mod ideal;
