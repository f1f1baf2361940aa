//! A request that the proxy is to answer, and its outcome. The client's connection makes the one and
//! reads the other; [`mod@super::respond`] stands between.

use std::rc::Rc;

use weir_http::message::Request;

use super::client_body::ClientBody;
use super::request_body::{IncompleteBody, Pipe};
use super::route::Route;
use super::tunnel::Upstream;
use crate::body::{Account, Charge};
use crate::client::Client;
use crate::identity::PeerAddress;
use crate::response::{Response, ResponseTemplate};

/// A request for backends.
pub(crate) struct ProxyRequest<'a> {
    pub(crate) client: &'a Client,
    pub(crate) route: &'a Route,
    /// The head as the client sent it, for its fields.
    pub(crate) head: &'a [u8],
    pub(crate) request: &'a Request<'a>,
    /// How weir frames the response, provided that the request is read to its end.
    pub(crate) framing: ResponseTemplate,
    /// The client's address: the peer, or whom the PROXY header named.
    pub(crate) source: PeerAddress,
}

impl ProxyRequest<'_> {
    /// The account that is charged for buffered bodies.
    pub(super) fn account(&self) -> &Account {
        self.client.account(&self.route.shared.space)
    }

    /// How weir frames the response. The connection closes after it if the body was not read to its
    /// end: the rest could not be told from the next request.
    pub(super) fn framing_after(&self, pipe: Option<&Rc<Pipe>>) -> ResponseTemplate {
        match pipe.is_none_or(|pipe| pipe.has_ended()) {
            true => self.framing,
            false => self.framing.then_closing(),
        }
    }
}

/// What became of a request.
pub(crate) struct ProxyOutcome {
    pub(crate) response: Response,
    /// After a switch of protocols: the direction from the client to the backend.
    pub(crate) upstream: Option<Upstream>,
    /// The backend responded before the whole request had arrived: the rest of it.
    pub(crate) unread: Option<UnreadBody>,
    /// The memory that the body takes, until it has been sent. It is not part of the response, which
    /// would be larger for every file, too.
    pub(crate) charge: Option<Charge>,
}

impl ProxyOutcome {
    /// A response, and nothing else.
    pub(super) fn response(response: Response) -> ProxyOutcome {
        ProxyOutcome { response, upstream: None, unread: None, charge: None }
    }
}

/// The rest of a request body that its backend may still read. Dropping it tells the backend that no
/// more follows.
pub(crate) struct UnreadBody(Rc<Pipe>);

impl UnreadBody {
    pub(super) fn new(pipe: &Rc<Pipe>) -> UnreadBody {
        UnreadBody(pipe.clone())
    }

    /// Passes the rest on as it arrives.
    pub(crate) async fn pass_on(&self, body: &mut ClientBody<'_>) {
        // An error in it ends the call, and with it the response.
        let _ = body.read(&self.0, false).await;
    }
}

impl Drop for UnreadBody {
    fn drop(&mut self) {
        self.0.abort(IncompleteBody { client_left: false });
    }
}
