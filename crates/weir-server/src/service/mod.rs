//! What answers requests: files, backends by the routes of the configuration, the admin address.
//! [`Service`] says which of them a request is for. Used by connections.

pub(crate) mod admin;
mod files;
pub(crate) mod proxy;

use weir_http::message::Request;

use self::admin::Admin;
use self::proxy::{Destination, Proxy};
use crate::content::{Content, Site};
use crate::response::{Response, ResponseTemplate};

/// What the requests of one worker, or of the admin address, are answered from.
#[derive(Debug)]
pub(crate) struct Service {
    own: Own,
    /// Routes, if there are any; then they say what is a request for files.
    proxy: Option<Proxy>,
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
        Service { own: Own::Content(content), proxy }
    }

    /// The service of the admin address.
    pub(crate) fn admin(admin: Admin) -> Service {
        Service { own: Own::Admin(admin), proxy: None }
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
        self.proxy.as_ref().map_or(Destination::Service, |proxy| proxy.destination(request))
    }

    /// The response to a request that is answered here. `head`: of the request, as it came.
    pub(crate) async fn respond(
        &self,
        request: &Request<'_>,
        head: &[u8],
        template: ResponseTemplate,
    ) -> Response {
        match &self.own {
            Own::Content(content) => files::respond(content, request, template).await,
            Own::Admin(admin) => admin.respond(request, head, template).await,
        }
    }
}
