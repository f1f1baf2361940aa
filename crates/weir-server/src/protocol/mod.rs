//! One connection from its first byte to its last. [`run`] learns who the client is, has a handshake
//! with it on a port with TLS, and hands the
//! connection to the driver of its protocol, which reads requests and frames responses; between them,
//! [`admission`], [`exchange`] and [`deliver`] are the same for all. The accept loop starts it for every
//! connection.

mod admission;
mod context;
mod deliver;
mod exchange;
mod h1;
mod handshake;
mod journal;
mod open;
mod origin;
mod ready_text;
mod serving;
mod surplus;

use std::rc::Rc;

pub(crate) use self::context::Context;
pub(crate) use self::open::OpenConnections;
pub(crate) use self::serving::Serving;
use crate::client::Client;
use crate::client::input::Input;
use crate::config::PortKind;
use crate::identity::PeerAddress;
use crate::transport::{Socket, Transport};

/// Serves `socket`, which was accepted on a port of that kind, until either side ends it.
pub(crate) async fn run(context: Rc<Context>, socket: Socket, port: PortKind, peer: PeerAddress) {
    context.metrics.connections.inc();
    let serving = context.serving.get();
    let server = serving.tls.as_ref().filter(|_| port == PortKind::Tls).cloned();
    let transport = match server {
        Some(_) => Transport::for_tls(socket),
        None => Transport::from(socket),
    };
    let mut client = Client::new(transport, peer, context.open.deadlines());
    client.port = port;
    let mut input = Input::new(context.buffers.clone());
    let Serving { proxy_headers: headers, times, .. } = &*serving;
    let source = match headers.are_off() {
        true => Some(peer),
        false => Box::pin(origin::read(headers, times, &client, &mut input)).await,
    };
    // Its place among the connections of its client, if those are limited, for as long as it is open.
    let place = match (&serving.access, source) {
        (Some(access), Some(source)) => access.enter(source),
        _ => Ok(None),
    };
    drop(serving);
    if let Some(source) = source {
        client.peer = source;
        let is_ready = match &server {
            _ if place.is_err() => {
                Box::pin(surplus::refuse(&context, &client, &mut input)).await;
                false
            }
            // Boxed: what is needed for a handshake is not needed any more afterwards.
            Some(server) => {
                Box::pin(handshake::secure(&context, server, &client, peer, &mut input)).await
            }
            None => true,
        };
        if is_ready {
            let link = context.uplink.as_ref();
            let lane = link.and_then(|link| link.open_lane(&client.socket, peer, source));
            h1::serve(&context, &client, &mut input, lane).await;
        }
    }
    drop(place);
    context.metrics.connections.dec();
}
