//! A request that the proxy is to answer, and its outcome. The client's connection makes the one and
//! reads the other; [`mod@super::respond`] stands between.

use std::borrow::Cow;
use std::rc::Rc;

use http::HeaderMap;
use weir_http::forward::{MountNames, tell_prefix};
use weir_http::message::{Fields, Request};

use super::backend::Backend;
use super::request_body::{IncomingBody, IncompleteBody, Pipe};
use super::route::Route;
use super::tunnel::Upstream;
use crate::answer::Answer;
use crate::body::{Account, Charge};
use crate::client::Requester;
use crate::config::Forwarded;

/// A request for backends.
pub(crate) struct ProxyRequest<'a, R> {
    pub(crate) client: &'a R,
    pub(crate) route: &'a Route,
    pub(crate) request: &'a Request<'a>,
    /// All its fields.
    pub(crate) fields: &'a Fields<'a>,
}

impl<R: Requester> ProxyRequest<'_, R> {
    /// The account that is charged for buffered bodies.
    pub(super) fn account(&self) -> &Account {
        self.client.account(&self.route.shared.space)
    }

    /// Tells the backend of the paths that were taken off its request, here and by proxies in front.
    pub(super) fn tell_prefix(&self, fields: &mut HeaderMap) {
        let shared = &self.route.shared;
        if matches!(shared.config.forwarded, Forwarded::XForwarded | Forwarded::Both) {
            let outer = self.said("x-forwarded-prefix", self.client.prefix());
            let (mount, edits) = (shared.mount.as_ref(), self.route.request_edits());
            tell_prefix(fields, outer.as_deref(), mount, edits);
        }
    }

    /// Puts the path that was taken off here before the paths in the answer of `backend`.
    pub(super) fn restore_prefix(&self, fields: &mut HeaderMap, backend: &Backend) {
        let Some(mount) = &self.route.shared.mount else { return };
        let told = self.said("x-forwarded-host", self.client.host());
        let outer = self.said("x-forwarded-prefix", self.client.prefix());
        let names = MountNames {
            client: self.request.host,
            told: told.as_deref(),
            backend: self.route.host(backend).and_then(|host| host.to_str().ok()),
            outer: outer.as_deref(),
        };
        mount.restore(fields, &names);
    }

    /// What the backend is told in the field of this name, `by_proxy` by a trusted proxy: where everybody
    /// is believed, it is what stands there.
    fn said<'a>(&'a self, name: &str, by_proxy: Option<&'a str>) -> Option<Cow<'a, str>> {
        match self.route.shared.config.trust_forwarded {
            true => self.fields.list(name).map(Cow::Owned),
            false => by_proxy.map(Cow::Borrowed),
        }
    }
}

/// What became of a request.
pub(crate) struct ProxyOutcome {
    pub(crate) answer: Answer,
    /// After a switch of protocols: the direction from the client to the backend.
    pub(crate) upstream: Option<Upstream>,
    /// The backend responded before the whole request had arrived: the rest of it.
    pub(crate) unread: Option<UnreadBody>,
    /// The memory that the body takes, until it has been sent. It is not part of the answer, which would
    /// be larger for every file, too.
    pub(crate) charge: Option<Charge>,
}

impl ProxyOutcome {
    /// An answer, and nothing else.
    pub(crate) fn answer(answer: Answer) -> ProxyOutcome {
        ProxyOutcome { answer, upstream: None, unread: None, charge: None }
    }
}

/// The rest of a request body that its backend may still read. Dropping it tells the backend that no
/// more follows.
#[derive(Debug)]
pub(crate) struct UnreadBody(Rc<Pipe>);

impl UnreadBody {
    pub(super) fn new(pipe: &Rc<Pipe>) -> UnreadBody {
        UnreadBody(pipe.clone())
    }

    /// Passes the rest on as it arrives.
    pub(crate) async fn pass_on(&self, body: &mut impl IncomingBody) {
        // An error in it ends the call, and with it the response.
        let _ = body.read(&self.0, false).await;
    }
}

impl Drop for UnreadBody {
    fn drop(&mut self) {
        self.0.abort(IncompleteBody { client_left: false });
    }
}
