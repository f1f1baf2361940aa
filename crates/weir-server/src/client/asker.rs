//! Who has sent one request, where that is more than the other end of its connection: a client behind a
//! trusted proxy, or a user who has shown a password. Made by `protocol` for requests that need it; whoever
//! names, counts or accounts for the client of a request asks it first.

use std::cell::OnceCell;
use std::sync::Arc;

use weir_http::message::hops::Origin;

use crate::body::{Account, Space};
use crate::identity::PeerAddress;

/// See the module. Most requests have none.
#[derive(Debug, Default)]
pub(crate) struct Asker {
    /// For whom a trusted proxy asks.
    pub(crate) behind: Option<Behind>,
    /// Who has shown the password of a route.
    pub(crate) user: Option<Box<str>>,
}

/// A client behind a trusted proxy.
#[derive(Debug)]
pub(crate) struct Behind {
    /// Without its port, which nobody tells.
    pub(crate) address: PeerAddress,
    /// What the proxy tells of it.
    pub(crate) told: Origin,
    /// What its bodies to and from backends are charged to.
    account: OnceCell<Account>,
}

impl Behind {
    pub(crate) fn new(address: PeerAddress, told: Origin) -> Behind {
        Behind { address, told, account: OnceCell::new() }
    }

    /// Its account in `space`.
    pub(crate) fn account(&self, space: &Arc<Space>) -> &Account {
        self.account.get_or_init(|| space.account(self.address.ip()))
    }
}

impl Asker {
    /// The address of the client that asks on a connection from `peer`.
    pub(crate) fn address(asker: Option<&Asker>, peer: PeerAddress) -> PeerAddress {
        asker.and_then(|asker| asker.behind.as_ref()).map_or(peer, |behind| behind.address)
    }

    /// The user, if one is known.
    pub(crate) fn user(asker: Option<&Asker>) -> Option<&str> {
        asker?.user.as_deref()
    }
}
