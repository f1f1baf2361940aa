//! A single request to the server of a cell before its users come: whether it answers, and how long its
//! heads are.

use std::net::SocketAddr;

use weir_load::{Body, Demand, Live, Plan, Tls};
use weir_peers::namespace::within;
use weir_peers::probe::{accepts, get};
use weir_peers::{Error, Result};
use weir_stats::Outcome;
use weir_workload::Request;

use super::network::Network;

/// Whether the server accepts a connection.
pub(crate) fn answers(network: &Network) -> Result<bool> {
    let address = SocketAddr::V4(network.address);
    within(network.client.name(), || Ok(accepts(address)))
}

/// Bytes of the head that the system sends with the document of `size` bytes at `path`.
pub(crate) fn probe_head(
    network: &Network,
    path: &str,
    size: u64,
    tls: Option<&Tls>,
) -> Result<u64> {
    let address = SocketAddr::V4(network.address);
    within(network.client.name(), || match tls {
        None => clear(address, path, size),
        Some(tls) => secure(address, path, size, tls),
    })
}

fn clear(address: SocketAddr, path: &str, size: u64) -> Result<u64> {
    let answer = get(address, path)?;
    let head = (answer.len() as u64).saturating_sub(size);
    let begins = answer.starts_with(b"HTTP/1.1 200");
    if !begins || answer.get(..head as usize).is_none_or(|h| !h.ends_with(b"\r\n\r\n")) {
        let start = String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned();
        return Err(Error(format!(
            "the server does not serve the documents: {path} of {size} bytes was answered: {start}"
        )));
    }
    Ok(head)
}

fn secure(address: SocketAddr, path: &str, size: u64, tls: &Tls) -> Result<u64> {
    let plan = Plan {
        server: address,
        host: address.to_string(),
        headers: String::new(),
        tls: Some(tls.clone()),
        sources: Vec::new(),
        requests_per_connection: 1,
        abort_after: Some(20.0),
        retries: 0,
        drain: 20.0,
        duration: None,
        slow_readers: None,
        body: Body::Any,
        spin: false,
    };
    let request = Request { at: 0.0, client: 0, class: 0, path: path.into(), size: Some(size) };
    let demand = Demand::Open(Box::new(std::iter::once(request)));
    let mut outcome = None;
    let report = weir_load::run(&plan, demand, &Live::default(), &mut |record| {
        outcome = Some(record.outcome);
    });
    let report = report.map_err(|e| Error(e.to_string()))?;
    if outcome == Some(Outcome::Ok) {
        return Ok(report.head_bytes);
    }
    let ended = outcome.map_or("no answer", Outcome::name);
    let handshake = report.handshakes.and_then(|handshakes| handshakes.failure);
    let why = handshake.unwrap_or_else(|| format!("{:?}", report.statuses));
    Err(Error(format!(
        "the server does not serve the documents: https://{address}{path} of {size} bytes ended with \
         {ended}: {why}"
    )))
}
