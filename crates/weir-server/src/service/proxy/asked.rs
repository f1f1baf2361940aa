//! A request on its way to backends, and what it comes to. Made by the client's connection.

use std::net::SocketAddr;
use std::rc::Rc;

use weir_http::message::Request;

use super::incoming::ClientBody;
use super::outgoing::{Cut, Pipe};
use super::route::Route;
use super::tunnel::Upstream;
use crate::body::{Account, Charge};
use crate::client::Client;
use crate::response::{Response, ResponseTemplate};

/// A request on its way.
pub(crate) struct Asked<'a> {
    pub(crate) client: &'a Client,
    pub(crate) route: &'a Route,
    /// The head as it came.
    pub(crate) head: &'a [u8],
    pub(crate) request: &'a Request<'a>,
    /// How a response is framed, if the request can be read to its end.
    pub(crate) framing: ResponseTemplate,
    /// Who asks.
    pub(crate) source: SocketAddr,
}

impl Asked<'_> {
    /// What waits on the way is charged to this account.
    pub(super) fn account(&self) -> &Account {
        self.client.account(&self.route.shared.space)
    }

    /// How the response is framed: what is left of a body that was not read to its end cannot be
    /// told from the next request.
    pub(super) fn framing_after(&self, pipe: Option<&Rc<Pipe>>) -> ResponseTemplate {
        match pipe.is_none_or(|pipe| pipe.has_ended()) {
            true => self.framing,
            false => self.framing.then_closing(),
        }
    }
}

/// What it came to.
pub(crate) struct Passed {
    pub(crate) response: Response,
    /// The protocol was switched: the way from the client to the backend.
    pub(crate) upstream: Option<Upstream>,
    /// The backend has answered before the request had come whole.
    pub(crate) unread: Option<Unread>,
    /// What the body takes of the memory for bodies, until it has been sent. Not in the response: it
    /// goes from hand to hand for each file, too.
    pub(crate) charge: Option<Charge>,
}

impl Passed {
    /// A response, and nothing else.
    pub(super) fn plain(response: Response) -> Passed {
        Passed { response, upstream: None, unread: None, charge: None }
    }
}

/// The rest of a request that its backend may still want. When it is dropped, the backend hears that
/// no more comes.
pub(crate) struct Unread(Rc<Pipe>);

impl Unread {
    pub(super) fn new(pipe: &Rc<Pipe>) -> Unread {
        Unread(pipe.clone())
    }

    /// Passes on what comes of it.
    pub(crate) async fn pass_on(&self, body: &mut ClientBody<'_>) {
        // What is wrong with it ends the call, and so the answer, too.
        let _ = body.read(&self.0, false).await;
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.0.cut(Cut { left: false });
    }
}
