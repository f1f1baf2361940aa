//! How many connections each client may have: the key `limit_connections`. Used by [`super::Access`] for
//! each connection; all workers share the counts.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::ClientWidth;

/// See the module.
#[derive(Debug)]
pub(super) struct ConnectionLimit {
    most: u32,
    width: ClientWidth,
    /// Only of clients that have any.
    counts: Mutex<HashMap<IpAddr, u32>>,
}

/// The client has as many connections as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Surplus;

/// One of a client's connections; it counts until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    limit: Arc<ConnectionLimit>,
    client: IpAddr,
}

impl ConnectionLimit {
    /// `before`: the limit of the configuration before, which goes on if it is the same: the connections that
    /// it has counted are there still.
    pub(super) fn open(
        before: Option<&Arc<ConnectionLimit>>,
        most: u32,
        width: ClientWidth,
    ) -> Arc<ConnectionLimit> {
        let same = before.filter(|before| (before.most, before.width) == (most, width));
        same.cloned()
            .unwrap_or_else(|| Arc::new(ConnectionLimit { most, width, counts: Mutex::default() }))
    }

    /// A connection of the client at `address` is opened.
    ///
    /// # Errors
    ///
    /// It may not have another.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Place, Surplus> {
        let client = self.width.network(address);
        let mut counts = self.counts();
        let count = counts.entry(client).or_insert(0);
        // One that is refused has some: no entry is left with none.
        if *count >= self.most {
            return Err(Surplus);
        }
        *count += 1;
        drop(counts);
        Ok(Place { limit: self.clone(), client })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<IpAddr, u32>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.limit.counts();
        if let Some(count) = counts.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_so_many_and_is_forgotten_with_the_last() {
        let limit = ConnectionLimit::open(None, 2, ClientWidth { ipv4: 24, ipv6: 64 });
        let enter = |address: &str| limit.enter(address.parse().unwrap());
        let (one, two) = (enter("192.0.2.1").unwrap(), enter("192.0.2.2").unwrap());
        assert_eq!(enter("192.0.2.3").err(), Some(Surplus));
        let other = enter("192.0.3.1").unwrap();
        assert_eq!(limit.counts().len(), 2);
        drop(one);
        let three = enter("192.0.2.3").unwrap();
        drop((two, three, other));
        assert!(limit.counts().is_empty());
    }

    #[test]
    fn connections_still_count_if_the_limit_is_the_same() {
        let width = ClientWidth::default();
        let limit = ConnectionLimit::open(None, 1, width);
        let address = [192, 0, 2, 1].into();
        let held = limit.enter(address).unwrap();
        let after = |most, width| ConnectionLimit::open(Some(&limit), most, width);
        assert_eq!(after(1, width).enter(address).err(), Some(Surplus));
        assert!(after(2, width).enter(address).is_ok());
        assert!(after(1, ClientWidth { ipv4: 24, ..width }).enter(address).is_ok());
        drop(held);
        assert!(after(1, width).enter(address).is_ok());
    }
}
