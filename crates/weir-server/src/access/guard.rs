//! What stands before one route: networks, limits, passwords. Built with the routes; `protocol` asks it for
//! each request of a route that has one.

use std::collections::HashMap;
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
    requests: Option<Arc<RequestLimit>>,
    passwords: Option<BasicAuth>,
}

/// The guards of all routes, in their order.
#[derive(Debug, Default)]
pub(crate) struct Guards {
    each: Vec<Option<Arc<Guard>>>,
    /// The limits that routes have, by their names: the next configuration may have them, too.
    limits: HashMap<String, Arc<RequestLimit>>,
    shelf: Shelf,
}

impl Guards {
    /// Files are read anew. What those `before` have learned of passwords is still known, and limits that are
    /// the same for the same route go on with what they have counted.
    ///
    /// # Errors
    ///
    /// A file of passwords cannot be used.
    pub(crate) fn open(
        routes: &[RouteConfig],
        before: Option<&Guards>,
    ) -> Result<Guards, ServeError> {
        let shelf = before.map(|before| before.shelf.emptied()).unwrap_or_default();
        let mut guards = Guards { shelf, ..Guards::default() };
        for route in routes {
            let name = route.name();
            let limit = before.and_then(|before| before.limits.get(&name));
            let guard = Guard::open(&route.access, limit, &mut guards.shelf)?;
            if let Some(limit) = guard.as_ref().and_then(|guard| guard.requests.clone()) {
                guards.limits.insert(name, limit);
            }
            guards.each.push(guard);
        }
        Ok(guards)
    }

    /// That of the route of this number; `None`: nothing stands before it.
    pub(crate) fn of(&self, route: usize) -> Option<&Arc<Guard>> {
        self.each.get(route)?.as_ref()
    }

    /// The files of passwords, to be looked after.
    pub(crate) fn files(&self) -> Vec<Arc<PasswordFile>> {
        self.shelf.files()
    }
}

impl Guard {
    /// `before`: the limit that the route had.
    fn open(
        access: &RouteAccess,
        before: Option<&Arc<RequestLimit>>,
        shelf: &mut Shelf,
    ) -> Result<Option<Arc<Guard>>, ServeError> {
        let width = access.client_width;
        let rules = Rules::new(&access.allow, &access.deny);
        let limit = |rate| RequestLimit::open(before, rate, access.limit_burst, width);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, parse};

    /// The guards of these routes, each a host (or none), a path and more keys.
    fn guards(routes: &[[&str; 3]], before: Option<&Guards>) -> Guards {
        let route = |[host, path, keys]: &[&str; 3]| {
            let host = if host.is_empty() { String::new() } else { format!("host = \"{host}\"\n") };
            format!("[[route]]\n{host}path = \"{path}\"\nredirect = \"https://a/\"\n{keys}\n")
        };
        let text: String = routes.iter().map(route).collect();
        let config = Config::from_settings(parse(&text).unwrap()).unwrap();
        Guards::open(&config.routes, before).unwrap()
    }

    /// Which of the routes let somebody in who has asked each of them once before.
    fn admitted(guards: &Guards) -> Vec<bool> {
        let admit = |guard: &Arc<Guard>| guard.admit([192, 0, 2, 1].into(), Time::ZERO).is_ok();
        guards.each.iter().map(|guard| guard.as_ref().is_none_or(admit)).collect()
    }

    #[test]
    fn a_route_counts_on_by_its_own_limit_wherever_it_stands() {
        let limit = "limit_requests = \"1/h\"";
        let before = guards(&[["", "/a", limit], ["", "/b", limit], ["h", "/a", limit]], None);
        assert_eq!(admitted(&before), [true, true, true]);
        let denied = format!("{limit}\ndeny = \"10.0.0.0/8\"");
        let twice = format!("{limit}\nlimit_burst = 2");
        let after = [
            ["", "/new", ""],
            ["", "/c", limit],
            ["h", "/a", &denied],
            ["", "/b", &twice],
            ["i", "/a", limit],
            ["", "/a", limit],
        ];
        let after = guards(&after, Some(&before));
        assert_eq!(admitted(&after), [true, true, false, true, true, false]);
        // And so on.
        assert_eq!(admitted(&guards(&[["", "/c", limit]], Some(&after))), [false]);
    }
}
