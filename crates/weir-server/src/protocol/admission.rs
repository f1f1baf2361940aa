//! Whether a request is let in: who asks, by the word of trusted proxies, and whether networks, limits and
//! passwords let that client go where it wants. Used by every protocol between the head of a request and
//! its exchange, if there is something to ask.

use std::net::SocketAddr;

use http::StatusCode;
use weir_http::message::{Fields, Request};
use weir_sched::Time;

use super::serving::Serving;
use crate::access::Refusal;
use crate::answer::Answer;
use crate::client::{Asker, Behind, Requester};
use crate::identity::PeerAddress;
use crate::service::{Destination, Guarded};

/// A request whose client was looked at.
pub(super) struct Admitted {
    /// Who has sent it, if that is more than the other end of the connection.
    pub(super) asker: Option<Box<Asker>>,
    /// Where it goes: never [`Destination::Guarded`].
    pub(super) to: Destination,
}

/// Whether there is anything to ask.
pub(super) fn is_needed(serving: &Serving, to: &Destination) -> bool {
    serving.access.is_some() || matches!(to, Destination::Guarded(_))
}

/// Whether the fields of a request are needed that comes from `peer`.
pub(super) fn wants_fields(serving: &Serving, peer: PeerAddress) -> bool {
    serving.access.as_ref().is_some_and(|access| access.trusts(peer))
}

/// Looks at the client of a request that came at `begun`; `None`: it has left meanwhile, which was counted
/// and logged.
pub(super) async fn admit(
    serving: &Serving,
    requester: &impl Requester,
    request: &Request<'_>,
    fields: &Fields<'_>,
    begun: Time,
    to: Destination,
) -> Option<Admitted> {
    let peer = requester.peer();
    let mut asker = behind(serving, peer, fields);
    let client = Asker::address(asker.as_deref(), peer);
    // Whoever asks for it: otherwise there will be no certificate.
    if matches!(to, Destination::Challenge(_)) {
        return Some(Admitted { asker, to });
    }
    let address = client.ip();
    let of_server = serving.access.as_ref().map(|access| access.admit(address, begun));
    if let Some(Err(refusal)) = of_server {
        return Some(Admitted { asker, to: to.refused(refusal) });
    }
    let Destination::Guarded(guarded) = to else { return Some(Admitted { asker, to }) };
    let Guarded { guard, mut to } = *guarded;
    if let Err(refusal) = guard.admit(address, begun) {
        return Some(Admitted { asker, to: to.refused(refusal) });
    }
    // It comes without a password, and asks for nothing that one protects.
    let is_preflight = || serving.service.is_preflight(&to, request, fields);
    if let Some(passwords) = guard.passwords()
        && !is_preflight()
    {
        let details = requester.details();
        let waiting = serving.journal.waiting(client, None, request, begun, details);
        let checked = tokio::select! {
            biased;
            checked = passwords.user(fields, address) => Some(checked),
            // One that sends nothing more may wait for its answer: whether it is probed is for the route
            // to say, later.
            () = requester.reset() => None,
        };
        waiting.over(checked.is_some());
        match checked? {
            Ok(user) => asker.get_or_insert_default().user = Some(user),
            Err(refusal) => to = to.refused(refusal),
        }
    }
    Some(Admitted { asker, to })
}

/// The client for whom a trusted proxy asks; `None`: the peer is none.
fn behind(serving: &Serving, peer: PeerAddress, fields: &Fields<'_>) -> Option<Box<Asker>> {
    let origin = serving.access.as_ref()?.origin(peer, fields)?;
    // A proxy that names nobody asks itself.
    let address = match origin.address == peer.ip().to_canonical() {
        true => peer,
        false => PeerAddress::Ip(SocketAddr::new(origin.address, 0)),
    };
    let behind = Some(Behind::new(address, origin));
    Some(Box::new(Asker { behind, user: None }))
}

/// What a client is told that is not let in.
pub(super) fn answer(refusal: &Refusal) -> Answer {
    match refusal {
        Refusal::Forbidden => Answer::error(StatusCode::FORBIDDEN),
        Refusal::TooMany(after) => Answer::too_many(*after),
        Refusal::Unauthorized(challenge) => Answer::unauthorized(challenge),
        Refusal::Busy => Answer::error(StatusCode::SERVICE_UNAVAILABLE),
    }
}
