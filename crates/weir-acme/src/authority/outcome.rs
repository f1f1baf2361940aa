//! What came of an order that did not fail. Made by an order, told to the keeper.

use std::time::Duration;

use crate::storage::Pem;

/// See the module.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The key and the chain.
    Issued(Pem),
    /// The ACME server is still making the certificate. The order and its key are kept, and the next call
    /// goes on with them; it is to come after this time.
    Processing(Duration),
}
