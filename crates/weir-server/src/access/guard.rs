//! What stands before one route: networks, limits, passwords. Built with the routes; `protocol` asks it for
//! each request of a route that has one.

use std::net::IpAddr;
use std::sync::Arc;

use weir_sched::Time;

use super::networks::Rules;
use super::passwords::{BasicAuth, PasswordFile, Shelf};
use super::refusal::Refusal;
use super::requests::RequestLimit;
use crate::config::{RouteAccess, RouteConfig};
use crate::error::ServeError;

/// See the module.
#[derive(Debug)]
pub(crate) struct Guard {
    rules: Option<Rules>,
    requests: Option<RequestLimit>,
    passwords: Option<BasicAuth>,
}

/// The guards of all routes, in their order.
#[derive(Debug, Default)]
pub(crate) struct Guards {
    each: Vec<Option<Arc<Guard>>>,
    files: Vec<Arc<PasswordFile>>,
}

impl Guards {
    /// # Errors
    ///
    /// A file of passwords cannot be used.
    pub(crate) fn open(routes: &[RouteConfig]) -> Result<Guards, ServeError> {
        let mut shelf = Shelf::default();
        let guard = |route: &RouteConfig| Guard::open(&route.access, &mut shelf);
        let each: Result<Vec<_>, ServeError> = routes.iter().map(guard).collect();
        Ok(Guards { each: each?, files: shelf.into_files() })
    }

    /// That of the route of this number; `None`: nothing stands before it.
    pub(crate) fn of(&self, route: usize) -> Option<&Arc<Guard>> {
        self.each.get(route)?.as_ref()
    }

    /// The files of passwords, to be looked after.
    pub(crate) fn files(&self) -> &[Arc<PasswordFile>] {
        &self.files
    }
}

impl Guard {
    fn open(access: &RouteAccess, shelf: &mut Shelf) -> Result<Option<Arc<Guard>>, ServeError> {
        let width = access.client_width;
        let rules = Rules::new(&access.allow, &access.deny);
        let limit = |rate| RequestLimit::new(rate, access.limit_burst, width);
        let requests = access.limit_requests.map(limit);
        let realm = &access.basic_auth_realm;
        let file = access.basic_auth.as_deref();
        let passwords = file.map(|file| shelf.open(file, realm, width)).transpose()?;
        let is_open = rules.is_none() && requests.is_none() && passwords.is_none();
        Ok((!is_open).then(|| Arc::new(Guard { rules, requests, passwords })))
    }

    /// A request of the client at `address` comes, whoever its user is.
    ///
    /// # Errors
    ///
    /// Its network may not use the route, or it comes too often.
    pub(crate) fn admit(&self, address: IpAddr, now: Time) -> Result<(), Refusal> {
        self.rules.iter().try_for_each(|rules| rules.admit(address))?;
        self.requests.iter().try_for_each(|requests| requests.admit(address, now))
    }

    /// What finds the user of a request, if the route asks for one.
    pub(crate) fn passwords(&self) -> Option<&BasicAuth> {
        self.passwords.as_ref()
    }
}
