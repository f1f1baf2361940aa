//! What answers requests: files, backends by the routes of the configuration, the admin address.
//! [`Service`] says which of them a request is for. Used by every protocol.

pub(crate) mod admin;
mod destination;
mod files;
mod methods;
pub(crate) mod proxy;
mod to_tls;

use weir_acme::Challenges;
use weir_http::message::{Fields, Request, is_get_or_head};
use weir_sched::Time;

use self::admin::Admin;
pub(crate) use self::destination::Destination;
use self::proxy::Proxy;
use crate::answer::Answer;
use crate::content::{Content, Site};

/// What the requests of one worker, or of the admin address, are answered from.
#[derive(Debug)]
pub(crate) struct Service {
    own: Own,
    /// Pages that go before everything else, if this server obtains certificates.
    challenges: Option<Challenges>,
    /// Routes, if there are any; then they say what is a request for files.
    proxy: Option<Proxy>,
    /// The port to which requests in clear text are redirected, if it is not the usual one.
    tls_port: Option<u16>,
}

/// What is answered here, without a backend.
#[derive(Debug)]
enum Own {
    Content(Content),
    Admin(Admin),
}

impl Service {
    /// The service of a worker.
    pub(crate) fn new(content: Content, proxy: Option<Proxy>) -> Service {
        Service { own: Own::Content(content), challenges: None, proxy, tls_port: None }
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
        match &self.own {
            Own::Content(content) => content.notices_departures(),
            Own::Admin(_) => true,
        }
    }

    /// The files of the site, if it has any.
    pub(crate) fn site(&self) -> Option<&Site> {
        match &self.own {
            Own::Content(content) => content.site(),
            Own::Admin(_) => None,
        }
    }

    pub(crate) fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Where a request goes; without routes all are answered here.
    pub(crate) fn destination(&self, request: &Request<'_>) -> Destination {
        if let Some(page) = self.challenge(request) {
            return Destination::Challenge(page);
        }
        match (&self.proxy, &self.own) {
            (Some(proxy), _) => proxy.destination(request),
            (None, Own::Content(_)) => Destination::Files,
            (None, Own::Admin(_)) => Destination::Admin,
        }
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

    /// The answer to a request that is answered here, if it is in memory; otherwise
    /// [`Service::respond`] makes one.
    pub(crate) fn respond_from_memory(&self, request: &Request<'_>) -> Option<Answer> {
        match &self.own {
            Own::Content(content) => files::respond_from_memory(content, request),
            Own::Admin(_) => None,
        }
    }

    /// The answer to a request that is answered here and came at `begun`.
    pub(crate) async fn respond(
        &self,
        request: &Request<'_>,
        fields: &Fields<'_>,
        begun: Time,
    ) -> Answer {
        match &self.own {
            Own::Content(content) => files::respond(content, request, begun).await,
            Own::Admin(admin) => admin.respond(request, fields).await,
        }
    }
}
