//! The table of the server's keys: flags of `weir serve` and keys of `weir.toml`. A key that is added
//! here is read from flags and from the file, has a field in [`Config`], and stands in the help and in
//! docs/configuration.md.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use weir_sched::policy::{self, ProtectiveOrder};
use weir_sched::{BackendOrder, CallLimit, PolicyKind, WireOverhead};
use weir_tls::{ClientCertificates, Preset};
use weir_units::Size;

use super::access::AccessConfig;
use super::acme::AcmeConfig;
use super::address::ListenAddress;
use super::compression::CompressionConfig;
use super::files::{DiskWork, FileDepartures};
use super::logs::LogConfig;
use super::operation::OperationConfig;
use super::proxy_protocol::ProxyProtocol;
use super::routes::{ProxyFlag, RouteConfig};
use super::site::FilesConfig;
use super::table::settings;
use super::tls::{CertificateSource, FilePath, Hsts, TlsPort};
use super::uplink::{BandCutoffs, KernelCap, UplinkMode};
use super::values::{Overhead, Pace, Prefix, SwiftRoundTrip, Timeout, Workers};

settings! {
    /// Flags of `weir serve` and keys of `weir.toml`, as far as they were given.
    #[derive(clap::Args)]
    pub(super) struct ServerKeys;

    /// Everything the server needs to know, with the defaults filled in.
    pub struct Config {
        /// Which requests are answered how, flags first, then in the order of the file. Empty: all of them
        /// from the root, or from the built-in site. Otherwise what no route matches gets 404; if there is a
        /// root, the last route is the root for everything, unless one for `/` on every host was given.
        pub routes: Vec<RouteConfig>,
        /// How certificates are obtained for `tls = "auto"`.
        pub acme: AcmeConfig,
        /// Who may ask, and how often.
        pub access: AccessConfig,
        /// How the files of `root` are served.
        pub files: FilesConfig,
        /// What is compressed, and how much that may take.
        pub compression: CompressionConfig,
        /// What is logged, where and how.
        pub logs: LogConfig,
        /// How the server is reached while it runs, and what its readiness depends on.
        pub operation: OperationConfig,
        /// Keys that were given to no effect, and why.
        pub(super) without_effect: Vec<String>,
    }

    "Listening" {
        /// Address to listen on, such as 0.0.0.0:80 or unix:/run/weir.sock; may be given several times
        ///
        /// Names other than `localhost` are not looked up, since what they stand for may change. The file of
        /// a Unix socket lets every user connect who can reach it (mode 0666): its directory, which must
        /// exist, says who can. A socket that nobody answers on is replaced. A name that begins with @, such
        /// as unix:@weir, has no file, and everybody may connect. Limits and networks take a client of a
        /// Unix socket for 127.0.0.1; the access log says `unix:`, and backends are told no address.
        #[arg(long)]
        listen: Vec<ListenAddress> =
            vec![ListenAddress::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)))],
        example ["0.0.0.0:80", "[::]:80"];

        /// Listen, on the admin address too, where another server of the same user listens
        ///
        /// So a successor takes over when its predecessor is told to stop. Both must be started
        /// with it. A Unix socket cannot be shared so.
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        reuse_port: bool = false,
        example true;

        /// Worker threads
        #[arg(long)]
        workers: Workers => |given| if given.is_paced() { Workers(1) } else { Workers::cores() },
        else "1 with a rate as uplink, otherwise one per core",
        example 4;

        /// Whether every connection begins with a PROXY header, and the networks of the load
        /// balancers that may open one
        ///
        /// The header, of version 1 or 2, says who the client is. With networks, connections from elsewhere
        /// are refused: the first is logged with the reason, the rest are counted. `true` admits load
        /// balancers anywhere. On a Unix socket its file's permissions say who may connect, not the networks.
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        proxy_protocol: ProxyProtocol = ProxyProtocol::Off,
        example ["10.0.0.0/8"];
    }

    "TLS" {
        /// Certificate with its chain in PEM: `listen` speaks TLS then; may be given several times
        ///
        /// The server's own certificate stands first, then the one that signed it. A client gets the one
        /// for the name that it asks for; the first is for those who ask for none, or for another. Of
        /// several for one name it gets one that it can verify. A changed file takes effect within two
        /// seconds, and so it does at SIGHUP; one that cannot be used is named, and the one before stays.
        #[arg(long)]
        tls: Vec<CertificateSource> = Vec::new(),
        else "none: HTTP in clear text",
        example ["example.org.pem"];

        /// Private key of each certificate in PEM, in the same order
        #[arg(long)]
        tls_key: Vec<FilePath> = Vec::new(),
        else "the file of the certificate",
        needs "tls",
        example ["example.org.key"];

        /// Address in clear text whose requests are redirected to TLS; may be given several times
        ///
        /// With 308, to the same host and path, at the port of `listen` or `public_tls_port`. What begins
        /// with `/.well-known/acme-challenge/` is served in clear text, so that certificates can be obtained.
        #[arg(long)]
        listen_clear: Vec<ListenAddress> = Vec::new(),
        else "none",
        needs "tls",
        example ["0.0.0.0:80", "[::]:80"];

        /// Port of TLS to redirect clients to, if another one is published than that of `listen`
        #[arg(long)]
        public_tls_port: TlsPort,
        else "the port of the first address of `listen`",
        needs "listen_clear",
        example 443;

        /// How long browsers are to ask this host with TLS only (HSTS)
        ///
        /// Browsers keep to it: try a short time first, and 0 to take it back.
        #[arg(long)]
        hsts: Hsts,
        else "they are not told",
        needs "tls",
        example "365d";

        /// Versions and ciphers of TLS
        #[arg(long)]
        tls_preset: Preset = Preset::default(),
        needs "tls",
        example "modern";

        /// Authorities in PEM whose certificates clients show
        ///
        /// Backends are told the subject as `X-Client-Certificate-Subject`. A changed file takes effect
        /// as one of `tls` does.
        #[arg(long)]
        tls_client_ca: FilePath,
        else "clients are not asked for certificates",
        needs "tls",
        example "clients.pem";

        /// Whether clients must show a certificate
        #[arg(long)]
        tls_client_certificate: ClientCertificates = ClientCertificates::default(),
        needs "tls_client_ca",
        example "optional";
    }

    "Files" {
        /// Directory to serve
        ///
        /// With routes it is served where no route matches, and where a route says `files = true`.
        #[arg(id = "root", help_heading = None::<&str>)]
        root: PathBuf,
        else "a small built-in site",
        example "public";

        /// Memory for small files that are asked for often
        ///
        /// Changed files are noticed within a second.
        #[arg(long)]
        cache: Size = Size(64_000_000),
        example "256MB";

        /// Longest time that an operation on the disk may take for a request; then it is answered with 503
        ///
        /// Each operation has this time for itself: to find and open a file, to read its beginning, and to
        /// read each part after that. So a request may wait longer that needs several, such as one that is
        /// looked for at several places (`index`, `try_files`). A response that has begun breaks off. What
        /// is in memory is served all the while.
        #[arg(long)]
        disk_timeout: Timeout = Timeout::seconds(10),
        example "5s";

        /// Who opens and reads what is not in memory; for study
        #[arg(long)]
        disk_work: DiskWork = DiskWork::default(),
        example "blocks";

        /// What happens to a request for a file when its client leaves; for study
        #[arg(long)]
        file_departures: FileDepartures = FileDepartures::default(),
        example "unnoticed";
    }

    "Uplink" {
        /// Rate of the uplink, such as 300mbit; `kernel`: in the kernel's bands; `off`: send as fast as
        /// the kernel takes it
        ///
        /// Say a little less than the rate of your line if you are not sure of it: only a queue in
        /// weir, or one of weir's in the kernel, can be put in order.
        #[arg(long)]
        uplink: UplinkMode = UplinkMode::Off,
        example "300mbit";

        /// Which response is sent next
        ///
        /// In the kernel's bands there are `bands` and `swift` alone.
        #[arg(long)]
        policy: PolicyKind => |given| if given.is_in_kernel() {
            policy::BANDS
        } else {
            PolicyKind::default()
        },
        else "protective; with `uplink = \"kernel\"`, bands",
        needs "uplink",
        example "srpt";

        /// With policy `protective`: which response is sent next among those that make no other late
        #[arg(long)]
        protective_order: ProtectiveOrder = ProtectiveOrder::default(),
        needs "uplink",
        example "burst";

        /// Where the round trip to a client comes from, for policies that look at it; for study
        ///
        /// With `request`, a client chooses its own priority. It is there to repeat experiments.
        #[arg(long)]
        swift_round_trip: SwiftRoundTrip = SwiftRoundTrip::default(),
        needs "uplink",
        example "request";

        /// Share of the uplink's rate to send at, from 0.5 to 1
        ///
        /// The rest is for what is not counted (ARP, other programs), so that the queue is in weir
        /// and not in the network; less would not shorten that queue any more.
        #[arg(long)]
        uplink_pace: Pace = Pace(0.99),
        needs "a rate as uplink",
        example 0.98;

        /// What a packet costs on the uplink beside its payload
        #[arg(long)]
        uplink_overhead: Overhead = Overhead(WireOverhead::ETHERNET),
        needs "a rate as uplink",
        example "pppoe";

        /// Network of clients that are not behind this uplink; may be given several times
        #[arg(long)]
        uplink_exempt: Vec<Prefix> = Vec::new(),
        else "none",
        needs "uplink",
        example ["192.168.0.0/16"];

        /// Instead of pacing, keep at most so much in all unacknowledged in the kernel; for study
        #[arg(long)]
        uplink_in_kernel: Size,
        else "off",
        needs "a rate as uplink",
        example "64KB";

        /// Device of the uplink, such as eth0
        ///
        /// Its queue must be the one that `weir uplink install` made. weir looks at it once a second;
        /// without it responses are sent as fast as the kernel takes them.
        #[arg(long)]
        uplink_device: String,
        else "every device with weir's bands",
        needs "kernel as uplink",
        example "eth0";

        /// Below which remaining sizes responses are in the first, second, third and fourth of five bands
        #[arg(long)]
        uplink_bands: BandCutoffs = BandCutoffs::Learned,
        needs "kernel as uplink",
        example "paper";

        /// Most bytes of responses above 50 KB that are in the queue of this host at once
        ///
        /// The rest waits in weir, which sends the response with the least left first. What is on its
        /// way to a distant client does not count.
        #[arg(long)]
        uplink_kernel_cap: KernelCap = KernelCap::Auto,
        needs "kernel as uplink",
        example "16KB";
    }

    "Applications" {
        /// Send requests for PATH and everything below it to backends, such as
        /// /=http://127.0.0.1:9000, /=https://app or /app=unix:/run/app.sock; may be given several times
        ///
        /// A route with nothing but backends, on every host. On the command line it replaces the
        /// `[[route]]` of the same path without a host.
        #[arg(long)]
        proxy: Vec<ProxyFlag> = Vec::new(),
        else "none",
        example ["/app=http://127.0.0.1:9000,http://127.0.0.1:9001"];

        /// Most calls that a backend works on at once
        ///
        /// A route may say otherwise for its own backends.
        #[arg(long)]
        backend_limit: CallLimit = CallLimit::Auto,
        needs "backends",
        example 16;

        /// Which waiting call goes to a backend next
        ///
        /// A route may say otherwise for its own backends.
        #[arg(long)]
        backend_order: BackendOrder = BackendOrder::Adaptive,
        needs "backends",
        example "fifo";

        /// Memory for bodies on their way between clients and backends, all together
        ///
        /// A client (an IPv4 address, or an IPv6 network of 64 bits) gets no more while it has an
        /// eighth of what is free.
        #[arg(long)]
        proxy_memory: Size = Size(64_000_000),
        needs "backends",
        example "256MB";

        /// Temporary files for bodies that memory has no room for, all together; 0: none
        #[arg(long)]
        proxy_disk: Size = Size(1_000_000_000),
        example "10GB";

        /// Directory of the temporary files, which have no names
        ///
        /// `/tmp` is often memory, so it is not used unless `$TMPDIR` says so.
        #[arg(long)]
        proxy_temp_dir: PathBuf,
        else "$TMPDIR, or /var/tmp",
        example "/srv/tmp";
    }

    "Operation" {
        /// Address for /metrics, /healthz, /readyz and a page about the effect of the uplink's order
        ///
        /// For operators only: whoever reaches it reads everything there.
        #[arg(long)]
        admin: ListenAddress,
        else "none",
        example "127.0.0.1:9900";

        /// Time between a signal to stop, when /readyz answers 503, and the end of listening
        ///
        /// So a load balancer that asks for readiness sends nobody to a closed port.
        #[arg(long)]
        stop_delay: Timeout,
        else "none",
        example "5s";

        /// Longest time responses under way may take after the end of listening
        ///
        /// What is cut then is in the access log. A second signal skips what is waited for.
        #[arg(long)]
        stop_timeout: Timeout = Timeout::seconds(30),
        example "10s";
    }

    "Limits and timeouts" {
        /// Longest time from the first byte of a request's head to its last
        #[arg(long)]
        header_timeout: Timeout = Timeout::seconds(30),
        example "10s";

        /// Longest time a handshake of TLS may take
        #[arg(long)]
        handshake_timeout: Timeout = Timeout::seconds(10),
        needs "tls",
        example "5s";

        /// Longest time a connection may wait for its next request
        #[arg(long)]
        idle_timeout: Timeout = Timeout::seconds(75),
        example "20s";

        /// Longest time a client may take no data while a response is ready for it
        #[arg(long)]
        send_timeout: Timeout = Timeout::seconds(60),
        example "30s";

        /// Bytes a second that a client must take of a response, or send of a body; 0: any
        ///
        /// A client that sends more slowly is answered with 408; one that takes a response more
        /// slowly is cut. Only time in which the client is waited for counts.
        #[arg(long)]
        min_rate: Size = Size(100),
        example "1KB";

        /// Time over which `min_rate` is averaged
        #[arg(long)]
        min_rate_period: Timeout = Timeout::seconds(30),
        example "10s";
    }
}
