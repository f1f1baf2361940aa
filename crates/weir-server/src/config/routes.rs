//! Routes of the configuration: which requests go to which backends, and how. It opens nothing.
