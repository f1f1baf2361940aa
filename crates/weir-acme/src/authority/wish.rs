//! What is ordered. Made by the keeper, carried out by an order.

use crate::host_name::HostName;
use crate::settings::ChallengeKind;
use crate::storage::Pem;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    pub(crate) name: &'a HostName,
    /// How the name is proved.
    pub(crate) kind: ChallengeKind,
    /// The certificate that the new one stands in for, if the server is to know (RFC 9773 section 5).
    pub(crate) replaces: Option<&'a Pem>,
}
