//! HAProxy, which passes requests on.

use std::net::SocketAddrV4;
use std::time::Duration;

use crate::certificate::Certificate;
use crate::error::Result;
use crate::options::Options;
use crate::program::Program;

/// A limit of connections to the backend. Requests beyond it wait; those whose clients have left are
/// dropped from the queue and from the backend alike (`abortonclose`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Connections at once.
    pub connections: u32,
    /// The longest that a request waits; 503 after it.
    pub longest_wait: Duration,
}

/// The program with its configuration written.
///
/// # Errors
///
/// When HAProxy is not installed, or the configuration cannot be written.
pub fn program(
    options: &Options<'_>,
    backend: SocketAddrV4,
    limit: Option<Limit>,
) -> Result<Program> {
    let program = Program::installed("haproxy", "-v")?;
    let file = options.write("haproxy.cfg", &configuration(options, backend, limit))?;
    Ok(program.arg("-db").arg("-f").arg(file))
}

/// The configuration. Time limits are those of Debian's own; HAProxy has none by default, and warns of
/// that.
pub fn configuration(options: &Options<'_>, backend: SocketAddrV4, limit: Option<Limit>) -> String {
    let Options { listen, backlog, connections, .. } = options;
    let (global, bind) = options.tls.map_or_else(Default::default, tls_words);
    let (queue, most) = match limit {
        None => (String::new(), String::new()),
        Some(Limit { connections, longest_wait }) => (
            format!(
                "    option abortonclose\n    timeout queue {}ms\n",
                longest_wait.as_millis().max(1)
            ),
            format!(" maxconn {connections}"),
        ),
    };
    format!(
        "# Made by the lab.
global
    maxconn {connections}
    nbthread 1
{global}defaults
    mode http
    timeout connect 5000
    timeout client 50000
    timeout server 50000
frontend clients
    bind {listen} backlog {backlog}{bind}
    maxconn {connections}
    default_backend application
backend application
{queue}    server one {backend}{most}
"
    )
}

/// The global lines of TLS, and the words that `bind` has more.
fn tls_words(certificate: &Certificate) -> (&'static str, String) {
    let global = "    ssl-default-bind-options ssl-min-ver TLSv1.3
    ssl-default-bind-ciphersuites TLS_AES_128_GCM_SHA256
    ssl-default-bind-curves X25519
";
    (global, format!(" ssl crt {} alpn http/1.1", certificate.chain.display()))
}
