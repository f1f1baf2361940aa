//! One server in virtual time under each policy of `weir-sched`.
