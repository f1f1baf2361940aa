//! What answers requests: files, backends by the routes of the configuration, the admin address.
//! [`Service`] says which of them a request is for. Used by every protocol.

pub(crate) mod admin;
mod cors;
mod destination;
mod files;
mod methods;
pub(crate) mod proxy;
mod site_options;
mod sites;
mod to_tls;

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use http::{Method, StatusCode};
use weir_acme::Challenges;
use weir_http::message::{Fields, Request, is_get_or_head};
use weir_sched::Time;

use self::admin::Admin;
pub(crate) use self::destination::{Destination, Guarded};
use self::proxy::Proxy;
pub(crate) use self::site_options::SiteOptions;
pub(crate) use self::sites::Files;
use crate::answer::Answer;
use crate::client::Wait;
use crate::content::Site;

/// What the requests of one worker, or of the admin address, are answered from.
#[derive(Debug)]
pub(crate) struct Service {
    own: Own,
    /// Pages that go before everything else, if this server obtains certificates.
    challenges: Option<Challenges>,
    /// Routes, if there are any; then they say what is a request for files.
    proxy: Option<Proxy>,
    /// The port to which requests in clear text are redirected; `None`: the usual one.
    tls_port: Option<u16>,
}

/// What is answered here, without a backend.
#[derive(Debug)]
enum Own {
    /// That of the server, then those of routes.
    Sites(Rc<[Files]>),
    Admin(Admin),
}

impl Service {
    /// The service of a worker with one site, which has no options.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn new(content: crate::content::Content, proxy: Option<Proxy>) -> Service {
        Service::of_sites([Files::plain(content)].into(), proxy)
    }

    /// The service of a worker: the site of the server, and those of routes in their order.
    pub(crate) fn of_sites(sites: Rc<[Files]>, proxy: Option<Proxy>) -> Service {
        Service { own: Own::Sites(sites), challenges: None, proxy, tls_port: None }
    }

    /// The service of the admin address.
    pub(crate) fn admin(admin: Admin) -> Service {
        Service { own: Own::Admin(admin), challenges: None, proxy: None, tls_port: None }
    }

    /// The same, which redirects to this port; `None`: to the usual one.
    pub(crate) fn redirecting_to(self, tls_port: Option<u16>) -> Service {
        Service { tls_port, ..self }
    }

    /// The same, which answers these challenges.
    pub(crate) fn answering(self, challenges: Option<Challenges>) -> Service {
        Service { challenges, ..self }
    }

    /// Whether requests that are answered here are given up when their clients have left.
    pub(crate) fn notices_departures(&self) -> bool {
        let mut sites = self.own_sites().iter();
        sites.all(|site| site.content().notices_departures())
    }

    /// The sites, for a service that follows on this one; none of the admin address.
    pub(crate) fn files(&self) -> Rc<[Files]> {
        match &self.own {
            Own::Sites(sites) => sites.clone(),
            Own::Admin(_) => Rc::default(),
        }
    }

    /// The directories that are served.
    pub(crate) fn sites(&self) -> impl Iterator<Item = &Site> {
        self.own_sites().iter().filter_map(|site| site.content().site())
    }

    pub(crate) fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    fn own_sites(&self) -> &[Files] {
        match &self.own {
            Own::Sites(sites) => sites,
            Own::Admin(_) => &[],
        }
    }

    /// Where a request goes; without routes all are answered here.
    ///
    /// CONNECT asks for a tunnel, which nothing here is, and names no path by which it could take a route
    /// (RFC 9110, section 9.3.6).
    pub(crate) fn destination(&self, request: &Request<'_>) -> Destination {
        if request.method == Method::CONNECT {
            return Destination::Nowhere(StatusCode::NOT_IMPLEMENTED);
        }
        if let Some(page) = self.challenge(request) {
            return Destination::Challenge(page);
        }
        match (&self.proxy, &self.own) {
            (Some(proxy), _) => proxy.destination(request),
            (None, Own::Sites(_)) => Destination::Files(0),
            (None, Own::Admin(_)) => Destination::Admin,
        }
    }

    /// What logs call the route that a request takes, if there are routes and it takes one.
    pub(crate) fn route_name(&self, request: &Request<'_>) -> Option<Arc<str>> {
        self.proxy.as_ref()?.route_name(request)
    }

    fn challenge(&self, request: &Request<'_>) -> Option<String> {
        let challenges = self.challenges.as_ref()?;
        is_get_or_head(&request.method).then(|| challenges.page(request.path)).flatten()
    }

    /// Where a request goes that came in clear text and should have TLS.
    pub(crate) fn destination_with_tls(&self, request: &Request<'_>) -> Destination {
        match to_tls::needs_none(request) {
            true => self.destination(request),
            false => to_tls::destination(request, self.tls_port),
        }
    }

    /// Whether what answers there wants more fields than those that a [`Request`] names.
    pub(crate) fn wants_fields(&self, to: &Destination) -> bool {
        match to {
            Destination::Files(site) => {
                self.own_sites().get(*site).is_some_and(Files::wants_fields)
            }
            Destination::Backends(_) | Destination::Admin => true,
            Destination::Guarded(guarded) => {
                guarded.guard.passwords().is_some() || self.wants_fields(&guarded.to)
            }
            _ => false,
        }
    }

    /// Whether a request for `to` asks what scripts of other origins may do, and is answered here. Browsers
    /// send no password with it.
    pub(crate) fn is_preflight(
        &self,
        to: &Destination,
        request: &Request<'_>,
        fields: &Fields<'_>,
    ) -> bool {
        let Destination::Files(site) = to else { return false };
        self.own_sites().get(*site).is_some_and(|site| site.is_preflight(request, fields))
    }

    /// The answer to a request for the files of `site`, if it is in memory; otherwise
    /// [`Service::respond`] makes one.
    pub(crate) fn respond_from_memory(
        &self,
        site: usize,
        request: &Request<'_>,
        fields: &Fields<'_>,
    ) -> Option<Answer> {
        self.own_sites().get(site)?.respond_from_memory(request, fields)
    }

    /// The answer to a request that is answered here and came at `begun` from `client`; `site`: whose files
    /// it is for, `wait`: the wait for a disk meanwhile.
    pub(crate) async fn respond(
        &self,
        site: usize,
        request: &Request<'_>,
        fields: &Fields<'_>,
        begun: Time,
        client: IpAddr,
        wait: Option<&Wait<'_>>,
    ) -> Answer {
        match &self.own {
            Own::Sites(sites) => match sites.get(site) {
                Some(site) => site.respond(request, fields, begun, client, wait).await,
                None => Answer::error(StatusCode::NOT_FOUND),
            },
            Own::Admin(admin) => admin.respond(request, fields).await,
        }
    }

    /// The answer to a client that is not let in, with what all answers of `site` have.
    pub(crate) fn finish(&self, site: usize, answer: Answer, fields: &Fields<'_>) -> Answer {
        match self.own_sites().get(site) {
            Some(site) => site.finish(answer, fields),
            None => answer,
        }
    }

    /// Whether `site` may have a page for an error that was not told by its files.
    pub(crate) fn has_error_page(&self, site: usize, answer: &Answer) -> bool {
        self.own_sites().get(site).is_some_and(|site| site.has_error_page(answer))
    }

    /// Such an answer with the page.
    pub(crate) async fn with_error_page(
        &self,
        site: usize,
        answer: Answer,
        is_head: bool,
        begun: Time,
    ) -> Answer {
        match self.own_sites().get(site) {
            Some(site) => site.with_error_page(answer, is_head, begun).await,
            None => answer,
        }
    }
}
