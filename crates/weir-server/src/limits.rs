//! How many descriptors the process may have. It opens none.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit as far as the process itself may: one connection takes one descriptor.
pub(crate) fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!("the limit of open descriptors stays at {:?}: {error}", limit.current);
    }
}

/// Descriptors the process may have.
pub(crate) fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}
