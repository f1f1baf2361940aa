//! The tables of keys of a `[[route]]`. A key that is added here is read from the file, has a field in
//! [`ProxyConfig`] and stands in docs/configuration.md; [`super::build`] says what is invalid
//! together.

use std::path::PathBuf;

use weir_sched::balance::Balance;
use weir_sched::health::PassiveConfig;
use weir_sched::{BackendConfig, BackendOrder, CallLimit};
use weir_units::{Count, Size};

use super::address::BackendAddress;
use super::certificate_name::CertificateName;
use super::choices::{DetectWhen, DisconnectDetection, Forwarded, HalfClosed, Overflow};
use super::edits::Edits;
use super::health::HealthKeys;
use super::host::{HostHeader, HostPattern};
use super::path::{RoutePath, SentPath};
use super::redirect::{Status, Target};
use super::weights::Weights;
use crate::config::table::settings;
use crate::config::tls::FilePath;
use crate::config::values::Timeout;

settings! {
    /// The keys that say which requests a route is for, and those of routes without backends.
    pub(super) struct RouteKeys;

    /// The same with the defaults filled in.
    pub(super) struct Matching {}

    "Routes" {
        /// The host that clients ask for; `*.example.org` is every name below `example.org`
        ///
        /// The host decides before the path: the routes for exactly the request's host are asked first. Only
        /// if none of their paths fits, those of wildcards are asked, the longest wildcard first, and only
        /// then those without a host. In each of these groups the longest path wins. So a route without a
        /// host gets no request, and asks for no password, where a route of the request's host fits, even
        /// one for `/`.
        host: HostPattern,
        else "every host",
        example "www.example.org";

        /// The path of the route, which is for everything below it, too; required
        ///
        /// Written decoded. It matches whole segments, however the client writes them: decoded,
        /// without dot segments and doubled slashes. Paths that backends read differently are
        /// refused: with a backslash, with `..;`, or such that they take another route with their
        /// parameters (`/admin;a`) than without.
        path: RoutePath,
        example "/app";

        /// Whose requests go first where routes share a backend: the least number goes first
        priority: Count<0, 255> = Count::clamped(100),
        example 10;

        /// Answer with the files of the server's `root`
        ///
        /// A route of files may have the keys of "Names and pages" and of "Types and fields of files",
        /// and `strip_prefix`.
        files: bool = false,
        example true;

        /// Answer with the files of this directory
        ///
        /// With `strip_prefix` the path of the route is taken off before a file is looked for.
        root: PathBuf,
        else "the server's `root`, if `files` is true",
        example "/srv/docs";

        /// Where to redirect to: a path of this host, or a URL
        ///
        /// `{rest}` at its end is what follows the path of the route, with the query.
        redirect: Target,
        else "no redirect",
        example "https://www.example.org/{rest}";

        /// Status of the redirect: 301, 302, 307 or 308
        status: Status = Status::default(),
        needs "redirect",
        example 302;
    }
}

settings! {
    /// The keys of a route to backends.
    pub(super) struct ProxyKeys;

    /// How requests are answered by backends.
    pub struct ProxyConfig {}

    "Backends" {
        /// Where the route's backends listen: `http://host:port`, `https://host:port` or `unix:/path`,
        /// one or several
        ///
        /// Backends are asked over HTTP/1.1, with `https` over TLS. A path of a socket is relative to
        /// the directory of the file.
        backends: Vec<BackendAddress> = Vec::new(),
        else "none",
        example ["http://10.0.0.1:9000", "http://10.0.0.2:9000"];

        /// Which backend a request goes to
        ///
        /// But for `hash` and `hash-path`, backends that could begin at once come before those where
        /// the request would wait.
        balance: Balance = Balance::default(),
        example "least-requests";

        /// How much of the requests each backend gets, in proportion, in the order of `backends`
        ///
        /// With `least-requests` and `two-choices` that is the number of requests under way at a time, with
        /// `hash` and `hash-path` the number of clients or paths.
        weights: Weights,
        else "the same for all",
        example [3, 1];

        /// How often a request is sent again when a backend could not be asked
        ///
        /// Only one that the backend has surely not begun with, or one without a body and with an
        /// idempotent method (GET, PUT, DELETE and others) whose kept connection was closed as it came
        /// (RFC 9110, section 9.2.2).
        retries: Count<0, 10> = Count::clamped(1),
        example 0;
    }

    "TLS to backends" {
        /// PEM file with the certificates of the authorities that sign those of the backends
        ///
        /// A certificate that a backend made for itself can stand there, too, unless it is that of an
        /// authority.
        backend_ca: FilePath,
        else "the authorities of the system, or what `$SSL_CERT_FILE` and `$SSL_CERT_DIR` name",
        example "internal-ca.pem";

        /// The name that the certificates of the backends must be for
        ///
        /// It is asked for by SNI, too, unless it is an address.
        backend_name: CertificateName,
        else "the host of the backend's address",
        example "app.internal";

        /// PEM file with the certificate that weir shows to backends that ask for one, and those that
        /// sign it
        backend_certificate: FilePath,
        else "none",
        example "weir.pem";

        /// PEM file with the private key of `backend_certificate`
        ///
        /// It must not be encrypted.
        backend_key: FilePath,
        else "in the file of `backend_certificate`",
        needs "backend_certificate",
        example "weir.key";
    }

    "Waiting for a backend" {
        /// Most calls that each backend of this route works on at once
        ///
        /// Routes that name the same backend share one queue for it: the first of them sets `backend_limit`,
        /// `backend_order`, `max_queue` and `queue_timeout` for all. Other values in later routes are
        /// ignored, with a warning at the start.
        backend_limit: CallLimit = CallLimit::Auto,
        else "`backend_limit` above the routes",
        example 4;

        /// Which waiting call goes to a backend next
        backend_order: BackendOrder = BackendOrder::Adaptive,
        else "`backend_order` above the routes",
        example "edf";

        /// Longest time a request waits for a backend while it is not known how long the route's
        /// clients wait; then it is answered with 503
        queue_timeout: Timeout = Timeout(BackendConfig::default().queue_timeout),
        example "3s";

        /// Most requests that wait for a backend; of more, those that would be served last are
        /// answered with 503
        max_queue: Count<1, 10_000_000> =
            Count::clamped(BackendConfig::default().max_queue as u32),
        example 1000;
    }

    "Clients that leave" {
        /// How it is noticed that a client has left
        ///
        /// A request whose client has left is not sent to the backend.
        disconnect_detection: DisconnectDetection = DisconnectDetection::default(),
        example "tcp-info";

        /// When clients that have left are looked for
        detect_when: DetectWhen = DetectWhen::default(),
        example "overload";

        /// What a client that has closed its side of the connection is taken for
        ///
        /// All but `gone` need `disconnect_detection = "event"`.
        half_closed: HalfClosed = HalfClosed::default(),
        example "probe";

        /// Whether backends stop working on a call when its connection is closed
        ///
        /// When a client has left, weir then closes its side of the connection to the backend, and
        /// counts the call as ended when the backend closes its own. Otherwise the call counts until
        /// the backend has answered.
        cancels_on_disconnect: bool = false,
        example true;
    }

    "Time with a backend" {
        /// Longest time to connect to a backend, with the handshake of TLS
        connect_timeout: Timeout = Timeout::seconds(5),
        example "1s";

        /// Longest time from when the backend has taken the request to the first byte of its answer
        first_byte_timeout: Timeout = Timeout::seconds(60),
        example "10s";

        /// Longest time between bytes of an answer, or of a body that the backend takes
        ///
        /// Waiting for the client is not counted.
        idle_timeout: Timeout = Timeout::seconds(60),
        example "10s";

        /// Longest time for a call as a whole
        ///
        /// Waiting for the client is not counted.
        total_timeout: Timeout,
        else "no limit",
        example "5m";

        /// How long an idle connection to a backend is kept
        keep_alive: Timeout = Timeout::seconds(30),
        example "6s";
    }

    "Health of backends" {
        /// After this many consecutive failed calls, eject the backend for `fail_timeout`; 0: never
        ///
        /// After that time calls of different clients try it, one after the other. Of routes that name the
        /// same backend, the first sets `max_fails` and `fail_timeout` for all. Other values in later routes
        /// are ignored, with a warning at the start.
        max_fails: Count<0, 1000> = Count::clamped(PassiveConfig::default().max_fails),
        example 5;

        /// The time within which `max_fails` calls must fail, and for which the backend is ejected at first
        fail_timeout: Timeout = Timeout(PassiveConfig::default().fail_timeout),
        example "30s";

        /// Checks of the backends: a table of its own
        ///
        /// Of routes that name the same backend, the first says how it is checked, or that it is not. Another
        /// table in a later route is ignored, with a warning at the start.
        health: HealthKeys,
        else "no checks",
        example { path = "/healthz" };
    }

    "Paths and header fields" {
        /// Take the path of the route off the path of the request
        ///
        /// The backend is told of it as `X-Forwarded-Prefix`, unless `forwarded` says `standard` or `off`.
        /// It is put before the paths in `Location`, `Content-Location` and cookies of the answer, but
        /// where it stands already.
        strip_prefix: bool = false,
        example true;

        /// What to put in place of the path of the route
        rewrite: SentPath<false>,
        else "the path stays",
        example "/v2";

        /// The Host field that the backend sees
        host_header: HostHeader = HostHeader::Client,
        example "app.internal:8080";

        /// The fields that tell the backend who the client is
        forwarded: Forwarded = Forwarded::default(),
        example "standard";

        /// Keep what everybody who connects says in the fields of `forwarded`, and add to it
        ///
        /// Otherwise it is replaced. `trusted_proxies` believes only those that are named there.
        trust_forwarded: bool = false,
        example true;

        /// Changes to the fields of requests
        ///
        /// In trailers, fields that are set or removed are left out.
        request_headers: Edits = Edits::default(),
        else "none",
        example { set = { "X-Site" = "www" }, remove = ["Cookie"] };

        /// Changes to the fields of answers
        ///
        /// In trailers and interim answers, fields that are set or removed are left out.
        response_headers: Edits = Edits::default(),
        else "none",
        example { remove = ["Server"] };
    }

    "Bodies" {
        /// Bytes of a body that are kept in memory
        ///
        /// Of a request before its backend is asked, of an answer for a slow client.
        buffer: Size = Size(1_000_000),
        example "64KiB";

        /// Keep what a backend answers while its client is slow
        ///
        /// Otherwise the backend waits for the client, as it should for streams of events; `buffer` and
        /// `overflow` are for requests then. Either way what has come goes on at once.
        buffering: bool = true,
        example false;

        /// What happens to a body that is larger than `buffer`
        overflow: Overflow = Overflow::default(),
        example "push-back";

        /// Bytes of a body that a temporary file takes beyond `buffer`
        ///
        /// After that, the rest of a request goes on as it comes; of an answer the backend waits.
        max_spill: Size = Size(100_000_000),
        example "1GB";

        /// Bytes of the largest body of a request; a larger one is answered with 413
        max_body: Size,
        else "no limit",
        example "10MB";

        /// Compress answers for clients that accept it
        ///
        /// Those of the types in `compress_types`, from 1 KB on, unless the backend has compressed them,
        /// sends a part or forbids it (`Cache-Control: no-transform`).
        compress: bool = false,
        example true;
    }
}

impl ProxyConfig {
    /// A proxy for `backends` with the defaults.
    pub fn to(backends: Vec<BackendAddress>) -> ProxyConfig {
        ProxyKeys { backends: Some(backends), ..ProxyKeys::default() }.resolve()
    }

    /// The gate of each backend.
    pub fn gate(&self) -> BackendConfig {
        BackendConfig {
            limit: self.backend_limit,
            order: self.backend_order,
            max_queue: self.max_queue as usize,
            queue_timeout: self.queue_timeout,
        }
    }

    /// When failed calls eject a backend.
    pub fn passive(&self) -> PassiveConfig {
        PassiveConfig { max_fails: self.max_fails, fail_timeout: self.fail_timeout }
    }

    /// How it is noticed that a client has left.
    pub fn detection(&self) -> Detection {
        Detection { by: self.disconnect_detection, when: self.detect_when }
    }

    /// What stands in place of the path of the route in the path of a request; `None`: the path
    /// stays as it is.
    pub fn prefix_becomes(&self) -> Option<&str> {
        if self.strip_prefix { Some("/") } else { self.rewrite.as_deref() }
    }
}

/// How it is noticed that a client has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detection {
    /// By what.
    pub by: DisconnectDetection,
    /// When it is looked for.
    pub when: DetectWhen,
}
