//! Orders that the ACME server makes certificates of, each with the certificate's key: in the storage, so
//! that a restart goes on with them, or in memory while they cannot be written there. Used by orders.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::host_name::HostName;
use crate::storage::Storage;

/// An order whose name is proved.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct KeptOrder {
    /// Where the server is asked for it.
    pub(super) url: String,
    /// The private key of its certificate, in PEM.
    pub(super) key: String,
    /// When it was placed, in seconds from 1970.
    placed: u64,
}

impl KeptOrder {
    pub(super) fn new(url: String, key: String, placed: SystemTime) -> KeptOrder {
        KeptOrder { url, key, placed: seconds(placed) }
    }

    /// How old it is. If the clock was set back, how far: then it ends some time, too.
    pub(super) fn age(&self, now: SystemTime) -> Duration {
        Duration::from_secs(seconds(now).abs_diff(self.placed))
    }
}

impl fmt::Debug for KeptOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        let KeptOrder { url, placed, .. } = self;
        f.debug_struct("KeptOrder")
            .field("url", url)
            .field("placed", placed)
            .finish_non_exhaustive()
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// See the module.
#[derive(Debug)]
pub(super) struct KeptOrders {
    storage: Storage,
    /// Goes before what the storage has: orders that could not be written, and `None` where a file could
    /// not be removed.
    unsaved: Mutex<HashMap<HostName, Option<KeptOrder>>>,
}

impl KeptOrders {
    pub(super) fn new(storage: Storage) -> KeptOrders {
        KeptOrders { storage, unsaved: Mutex::default() }
    }

    /// The order for `name` that is under way, if there is one. What could not be written is tried again.
    pub(super) fn read(&self, name: &HostName) -> Option<KeptOrder> {
        let unsaved = self.unsaved().get(name).cloned();
        if let Some(order) = unsaved {
            if order.as_ref().is_some_and(|order| self.save(name, order).is_ok()) {
                self.unsaved().remove(name);
            }
            return order;
        }
        let found = self.storage.order(name).map_err(|error| error.to_string());
        let order = found.and_then(|text| {
            let order = text.map(|text| serde_json::from_str::<KeptOrder>(&text)).transpose();
            order.map_err(|error| format!("its file makes no sense ({error})"))
        });
        order.unwrap_or_else(|error| {
            tracing::warn!(
                "the order for {name} cannot be gone on with, a new one is placed: {error}"
            );
            None
        })
    }

    /// Keeps the order for `name`. What cannot be written is warned of.
    pub(super) fn write(&self, name: &HostName, order: &KeptOrder) {
        match self.save(name, order) {
            Ok(()) => {
                self.unsaved().remove(name);
            }
            Err(error) => {
                tracing::warn!(
                    "the order for {name} is gone on with, but a restart loses it: {error}"
                );
                self.unsaved().insert(name.clone(), Some(order.clone()));
            }
        }
    }

    /// There is nothing to go on with for `name`.
    pub(super) fn forget(&self, name: &HostName) {
        match self.storage.forget_order(name) {
            Ok(()) => {
                self.unsaved().remove(name);
            }
            Err(error) => {
                tracing::warn!("the order for {name} is over, but a restart looks for it: {error}");
                self.unsaved().insert(name.clone(), None);
            }
        }
    }

    fn save(&self, name: &HostName, order: &KeptOrder) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(order)
            .map_err(|error| Failure::unjudged(format!("the order cannot be written: {error}")))?;
        Ok(self.storage.save_order(name, &text)?)
    }

    fn unsaved(&self) -> MutexGuard<'_, HashMap<HostName, Option<KeptOrder>>> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::storage::tests::Small;

    const HOUR: Duration = Duration::from_secs(3600);

    fn storage(home: &std::path::Path) -> Storage {
        Storage::open(home, &"https://acme.example/directory".parse().unwrap()).unwrap()
    }

    fn order(number: u64) -> KeptOrder {
        let placed = UNIX_EPOCH + HOUR * 100;
        KeptOrder::new(format!("https://acme.example/order/{number}"), "secret".to_owned(), placed)
    }

    #[test]
    fn an_order_and_its_key_come_back_after_a_restart() {
        let home = TempDir::new().unwrap();
        let name: HostName = "a.example".parse().unwrap();
        let kept = KeptOrders::new(storage(home.path()));
        assert_eq!(kept.read(&name), None);
        kept.write(&name, &order(1));
        assert!(!format!("{:?}", kept.read(&name)).contains("secret"));
        let after = KeptOrders::new(storage(home.path()));
        assert_eq!(after.read(&name), Some(order(1)));
        assert_eq!(after.read(&"b.example".parse().unwrap()), None);
        after.forget(&name);
        assert_eq!(kept.read(&name), None);
    }

    #[test]
    fn an_order_ages_whatever_the_clock_does() {
        let placed = UNIX_EPOCH + HOUR * 100;
        assert_eq!(order(1).age(placed), Duration::ZERO);
        assert_eq!(order(1).age(placed + 5 * HOUR), 5 * HOUR);
        assert_eq!(order(1).age(UNIX_EPOCH), 100 * HOUR);
        assert_eq!(order(1).age(UNIX_EPOCH - HOUR), 100 * HOUR);
    }

    #[test]
    fn an_order_outlasts_a_full_disk() {
        let small = Small::new("64k");
        let name: HostName = "a.example".parse().unwrap();
        let storage = storage(small.path());
        let filler = small.fill();
        let kept = KeptOrders::new(storage.clone());
        kept.write(&name, &order(1));
        assert_eq!(kept.read(&name), Some(order(1)));
        assert_eq!(storage.order(&name).unwrap(), None);
        assert!(!format!("{kept:?}").contains("secret"));
        // There is room again.
        fs::remove_file(&filler).unwrap();
        assert_eq!(kept.read(&name), Some(order(1)));
        assert_eq!(KeptOrders::new(storage).read(&name), Some(order(1)));
        // It is over, also if it is in memory alone.
        small.fill();
        kept.write(&name, &order(2));
        kept.forget(&name);
        assert_eq!(kept.read(&name), None);
    }

    #[test]
    fn what_makes_no_sense_or_cannot_be_removed_is_no_order() {
        let home = TempDir::new().unwrap();
        let name: HostName = "a.example".parse().unwrap();
        let kept = KeptOrders::new(storage(home.path()));
        for text in ["", "{}", "[1]", r#"{"url": "x", "key": "x", "placed": -1}"#] {
            storage(home.path()).save_order(&name, text).unwrap();
            assert_eq!(kept.read(&name), None, "{text}");
        }
        // In place of the file there is a directory, which nobody can remove as one.
        let path = home.path().join("acme.example_directory/a.example.order");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        kept.forget(&name);
        fs::remove_dir(&path).unwrap();
        storage(home.path()).save_order(&name, &serde_json::to_string(&order(1)).unwrap()).unwrap();
        assert_eq!(kept.read(&name), None, "that one is over");
        kept.write(&name, &order(2));
        assert_eq!(kept.read(&name), Some(order(2)));
    }
}
