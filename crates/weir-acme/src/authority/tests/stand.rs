//! Orders at a server of a test.

use std::path::Path;
use std::time::SystemTime;

use weir_tls::CertificateStore;

use super::fake::Fake;
use crate::answers::{Answers, Challenges};
use crate::authority::{Authority, Outcome, Wish};
use crate::failure::Failure;
use crate::settings::{ChallengeKind, Settings};
use crate::storage::Storage;

/// See the module.
pub(crate) struct Stand {
    pub(crate) settings: Settings,
    pub(crate) storage: Storage,
    pub(crate) authority: Authority,
}

impl Stand {
    /// What is kept is kept in `home`.
    pub(crate) fn new(fake: &Fake, home: &Path) -> Stand {
        let settings = Settings {
            names: vec!["a.example".parse().unwrap()],
            directory_url: fake.url("/directory").parse().unwrap(),
            email: None,
            storage: home.to_owned(),
            roots: Some(fake.roots()),
            external_account: None,
            challenges: vec![ChallengeKind::Http01],
        };
        let storage = Storage::open(&settings.storage, &settings.directory_url).unwrap();
        let authority = Authority::new(&settings, &storage).unwrap();
        Stand { settings, storage, authority }
    }

    /// What comes of an order, or of going on with one, at `now`.
    pub(crate) fn order(&self, now: SystemTime) -> Result<Outcome, Failure> {
        let (challenges, store) = (Challenges::default(), CertificateStore::new());
        let answers = Answers::new(challenges, store, self.storage.clone());
        let name = &self.settings.names[0];
        let wish = Wish { name, kind: ChallengeKind::Http01, replaces: None };
        block_on(self.authority.obtain(wish, &answers, now))
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
