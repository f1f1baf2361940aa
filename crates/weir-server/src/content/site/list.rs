//! Begins the list of what a directory holds: its first part is there when the answer is, so that what
//! goes wrong is still told by a status. Used by `service` for directories without an index.

use std::net::IpAddr;
use std::rc::Rc;

use http::StatusCode;
use weir_http::message::path::SitePath;
use weir_sched::Time;

use super::Site;
use crate::body::{Coming, Kind};
use crate::content::file::FetchError;
use crate::content::listing::{EACH, List, ListFormat, Listing, Place};

impl Site {
    /// The list of the directory `path`, which pages call `shown`, the whole path of the request, for
    /// `client`.
    ///
    /// # Errors
    ///
    /// The status of the answer, if the directory cannot be read now, or the client has as many lists as it
    /// may have.
    pub(crate) async fn list(
        &self,
        path: &SitePath<'_>,
        shown: &SitePath<'_>,
        format: ListFormat,
        since: Time,
        client: IpAddr,
    ) -> Result<Rc<dyn Coming>, StatusCode> {
        let site = &self.0;
        let account = site.lists.account(client);
        if !account.has_room(Kind::Memory) {
            return Err(StatusCode::SERVICE_UNAVAILABLE);
        }
        let charge = account.charge(Kind::Memory, EACH);
        let (name, directory) = (path.as_bytes(), site.root.directory());
        // It may be a mount, which is not to keep others from their lists and files if it hangs.
        let at = match name {
            b"" => site.places.at(&directory, name),
            _ => site.places.at(&directory, &[name, b"/"].concat()),
        };
        let list = List::new(directory, site.rules.clone(), name, shown.as_bytes(), format);
        let at = Place { disks: site.disks.clone(), disk: at.disk, place: at.place };
        let listing = Listing::begin(list, at, charge, since).await;
        let listing = listing.map_err(|error| match error {
            FetchError::Failed(error) => site.failed(name, error),
            FetchError::Disk(_) => StatusCode::SERVICE_UNAVAILABLE,
        })?;
        Ok(Rc::new(listing))
    }
}
