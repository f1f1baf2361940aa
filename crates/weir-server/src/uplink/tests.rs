use std::future::Future;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use weir_sched::{BitRate, Packets, policy};

use super::bands::CONTROL_PRIORITY;
use super::owner::Owner;
use super::*;
use crate::config::BandCutoffs;
use crate::identity::PeerAddress;
use crate::transport::{Socket, Transport};

#[test]
fn a_client_is_an_ipv4_address_or_an_ipv6_network() {
    let of = |peer: &str| client(PeerAddress::Ip(peer.parse().expect("an address")));
    assert_eq!(of("192.0.2.1:1"), of("192.0.2.1:2"));
    assert_eq!(of("192.0.2.1:1"), of("[::ffff:192.0.2.1]:1"));
    assert_ne!(of("192.0.2.1:1"), of("192.0.2.2:1"));
    assert_eq!(of("[2001:db8::1]:1"), of("[2001:db8::2:3:4:5]:1"));
    assert_ne!(of("[2001:db8::1]:1"), of("[2001:db8:0:1::1]:1"));
}

/// The uplink of one worker, step by step.
struct Bench {
    uplink: Arc<Uplink>,
    local: LocalUplink,
    owner: Owner,
    /// The clients' ends.
    clients: Vec<TcpStream>,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(SwiftRoundTrip::Measured)
    }

    fn with(round_trip: SwiftRoundTrip) -> Bench {
        let config = UplinkConfig {
            rate: BitRate::new(100_000_000).unwrap(),
            pace: 1.0,
            policy: policy::SRPT,
            round_trip,
            framing: WireOverhead::ETHERNET,
            in_kernel: None,
        };
        let (uplink, gate) = build(config, 1, Arc::new(Metrics::new()));
        let local = LocalUplink::new(uplink.clone(), Vec::new(), 0);
        Bench { owner: Owner::new(uplink.clone(), gate), uplink, local, clients: Vec::new() }
    }

    fn open(&mut self) -> Flow {
        self.open_for(None)
    }

    /// A connection for the client that a load balancer names, or for its other end.
    fn open_for(&mut self, named: Option<PeerAddress>) -> Flow {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        self.clients.push(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let (server, peer) = listener.accept().unwrap();
        let socket = Rc::new(Transport::from(Socket::new(OwnedFd::from(server))));
        let peer = PeerAddress::Ip(peer);
        match self.local.open_lane(&socket, peer, named.unwrap_or(peer)) {
            Some(Lane::Paced(flow)) => flow,
            other => panic!("{other:?}"),
        }
    }

    /// The owner has its turn: it reads what was posted and hands out grants.
    fn own(&mut self) {
        self.owner.handle_events();
        self.owner.grant();
    }

    /// The worker has its turn: it hands over what has come.
    fn hand_over(&self) {
        let mut grants = Vec::new();
        self.uplink.outboxes[0].take(&mut grants);
        self.local.hand_over(grants.drain(..));
    }

    /// Owner and worker have their turns until the job has a grant; `None` if it gets none.
    fn grant(&mut self, job: &mut Job<'_>) -> Option<Grant> {
        for _ in 0..50 {
            self.own();
            self.hand_over();
            if let Some(grant) = poll(job) {
                return Some(grant);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        None
    }

    /// Responses and grants at the gate, as the owner reads what was posted.
    fn at_the_gate(&mut self) -> (usize, usize) {
        self.owner.handle_events();
        (self.owner.gate.jobs(), self.owner.gate.leases())
    }
}

fn poll(job: &mut Job<'_>) -> Option<Grant> {
    match pin!(job.granted()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(grant) => Some(grant),
        Poll::Pending => None,
    }
}

#[test]
fn a_late_grant_of_a_job_that_has_ended_goes_back_and_serves_no_other() {
    let mut bench = Bench::new();
    let flow = bench.open();
    let first = flow.begin(Some(1_000), None);
    bench.own();
    first.end(false);
    // The worker finds the grant when the connection's next response waits already.
    let mut second = flow.begin(Some(1_000), None);
    bench.owner.handle_events();
    bench.hand_over();
    assert_eq!(poll(&mut second), None);
    let mut events = Vec::new();
    bench.uplink.inbox.take(&mut events);
    let [Event::Used { grant: late, bytes: 0, blocked: Blocked::No }] = events[..] else {
        panic!("{events:?}")
    };
    bench.uplink.inbox.post(Event::Used { grant: late, bytes: 0, blocked: Blocked::No });
    assert_eq!(bench.at_the_gate(), (1, 0));
    let own = bench.grant(&mut second).expect("it can be sent");
    assert_ne!((own.tag, own.job), (late.tag, late.job));
    assert_eq!(own.flow, late.flow);
}

#[test]
fn a_dropped_job_leaves_nothing_behind() {
    let mut bench = Bench::new();
    let flow = bench.open();
    let job = flow.begin(Some(1_000_000), None);
    bench.own();
    bench.hand_over();
    assert_eq!((bench.uplink.waiting(), bench.at_the_gate()), (1, (1, 1)));
    // Its grant is with the worker.
    drop(job);
    assert_eq!((bench.uplink.waiting(), bench.at_the_gate()), (0, (0, 0)));
    drop(flow);
    assert_eq!(bench.at_the_gate(), (0, 0));
    assert!(bench.owner.flows.is_empty() && bench.owner.jobs.is_empty());
}

#[test]
fn each_job_of_a_connection_gets_its_own_grants() {
    let mut bench = Bench::new();
    let flow = bench.open();
    let mut first = flow.begin(Some(1_000), None);
    let mut second = flow.begin(Some(2_000), None);
    let grant = bench.grant(&mut first).expect("it is the first");
    assert_eq!((grant.bytes, poll(&mut second)), (1_000, None));
    first.used(&grant, 1_000, Blocked::No);
    first.end(true);
    let grant = bench.grant(&mut second).expect("it is the first now");
    assert_eq!(grant.bytes, 2_000);
    second.used(&grant, 2_000, Blocked::No);
    second.end(true);
    assert_eq!(bench.at_the_gate(), (0, 0));
}

#[test]
fn a_job_that_waits_for_its_content_does_not_wait_for_the_link() {
    let mut bench = Bench::new();
    let (flow, other) = (bench.open(), bench.open());
    let mut job = flow.begin(Some(10_000), None);
    let grant = bench.grant(&mut job).expect("it is alone");
    job.used(&grant, 100, Blocked::Job);
    assert_eq!(bench.uplink.waiting(), 0);
    assert_eq!(bench.grant(&mut job), None);
    let mut longer = other.begin(Some(20_000), None);
    assert!(bench.grant(&mut longer).is_some());
    drop(longer);
    job.ready();
    assert_eq!(bench.uplink.waiting(), 1);
    assert!(bench.grant(&mut job).is_some());
}

#[test]
fn what_blocked_a_job_does_not_block_the_next_of_its_connection() {
    for blocked in [Blocked::Job, Blocked::Flow] {
        let mut bench = Bench::new();
        let flow = bench.open();
        let mut dropped = flow.begin(Some(10_000), None);
        let grant = bench.grant(&mut dropped).expect("it is alone");
        dropped.used(&grant, 100, blocked);
        assert_eq!(bench.grant(&mut dropped), None);
        drop(dropped);
        let mut next = flow.begin(Some(1_000), None);
        assert!(bench.grant(&mut next).is_some(), "{blocked:?}");
    }
}

#[test]
fn a_connection_that_serves_another_client_is_another_flow_and_its_responses_are_sent() {
    let mut bench = Bench::new();
    let flow = bench.open();
    bench.own();
    let mut events = Vec::new();
    // The client that it has, wherever that asks from.
    flow.serves(PeerAddress::Ip(([127, 0, 0, 1], 9).into()));
    bench.uplink.inbox.take(&mut events);
    assert!(events.is_empty(), "{events:?}");
    let before = flow.number.get();
    let other = PeerAddress::Ip(([192, 0, 2, 1], 0).into());
    flow.serves(other);
    bench.uplink.inbox.take(&mut events);
    let [Event::Close { flow: closed }, Event::Open { flow: opened, spec, .. }] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((*closed, *opened), (before, flow.number.get()));
    assert_eq!(spec.client, client(other));
    for event in events {
        bench.uplink.inbox.post(event);
    }
    let mut job = flow.begin(Some(1_000), None);
    let grant = bench.grant(&mut job).expect("it is alone");
    job.used(&grant, 1_000, Blocked::No);
    job.end(true);
    drop(flow);
    assert_eq!(bench.at_the_gate(), (0, 0));
    assert!(bench.owner.flows.is_empty() && bench.uplink.open.load(Ordering::Relaxed) == 0);
}

/// The client and the packets of this connection, as the one event says that opened it at the gate. Closes
/// it and leaves no event behind.
fn opening(uplink: &Uplink, flow: Flow) -> (ClientId, Packets) {
    let mut events = Vec::new();
    uplink.inbox.take(&mut events);
    let [Event::Open { flow: number, spec, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(*number, flow.number.get());
    drop(flow);
    uplink.inbox.take(&mut Vec::new());
    (spec.client, spec.packets)
}

#[test]
fn packets_are_those_of_the_connection_whichever_client_a_load_balancer_names() {
    let mut bench = Bench::new();
    let mut opened = |named| {
        let flow = bench.open_for(named);
        opening(&bench.uplink, flow)
    };
    let (_, packets) = opened(None);
    let other = PeerAddress::Ip(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 0).into());
    assert_eq!(opened(Some(other)), (client(other), packets));
}

#[test]
fn the_round_trip_that_a_request_names_counts_only_where_it_is_asked_for() {
    let named = Duration::from_millis(70);
    for (round_trip, counts) in [(SwiftRoundTrip::Measured, false), (SwiftRoundTrip::Request, true)]
    {
        let mut bench = Bench::with(round_trip);
        let flow = bench.open();
        flow.answers(Some("rtt=70"));
        let _job = flow.begin(Some(1_000), None);
        let mut events = Vec::new();
        bench.uplink.inbox.take(&mut events);
        let arrives = |event: &Event| matches!(event, Event::Arrive { path: Some(path), .. } if path.round_trip == named);
        assert_eq!(events.iter().any(arrives), counts);
        let measured = flow.charge_extra().unwrap().round_trip;
        assert_eq!(measured == named, counts);
        // The next request of the connection names none.
        flow.answers(None);
        assert_ne!(flow.path().unwrap().round_trip, named);
    }
}

/// A connection in kernel mode, with bands in force as far as the server knows, and its client's end.
fn banded() -> (Arc<Uplink>, Rc<Transport>, Banded, TcpStream) {
    banded_by(KernelOrder::Size(BandCutoffs::Fixed(BandCutoffs::PAPER)))
}

fn banded_by(order: KernelOrder) -> (Arc<Uplink>, Rc<Transport>, Banded, TcpStream) {
    let config = KernelConfig { device: None, order, cap: KernelCap::Auto };
    let (uplink, _) = build_in_kernel(&config, 1, Arc::new(Metrics::new()));
    let (in_force, _) = uplink.bands.as_ref().unwrap();
    in_force.note(Sight::Bands(vec!["eth0".to_owned()]));
    let local = LocalUplink::new(uplink.clone(), Vec::new(), 0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, peer) = listener.accept().unwrap();
    let socket = Rc::new(Transport::from(Socket::new(OwnedFd::from(server))));
    let peer = PeerAddress::Ip(peer);
    match local.open_lane(&socket, peer, peer) {
        Some(Lane::Banded(lane)) => (uplink, socket, lane, client),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_sockets_priority_follows_what_is_left() {
    let (_uplink, socket, lane, _client) = banded();
    assert_eq!(socket.priority().unwrap(), 0);
    for (left, priority) in [(700, 5), (1_500, 4), (700, 5), (1_000_000, 1), (49_000, 2)] {
        lane.begins(left);
        assert_eq!(socket.priority().unwrap(), priority, "{left}");
    }
    assert!(lane.waits(50_001) && !lane.waits(50_000));
    // Whatever sets it: it is not asked what it is.
    socket.set_priority(3).unwrap();
    assert!(lane.enter_band(49_000));
    assert_eq!(socket.priority().unwrap(), 3);
}

#[test]
fn a_proxys_packets_are_its_own_whichever_client_has_the_share() {
    let (uplink, _socket, lane, _client) = banded();
    let opened = || opening(&uplink, lane.at_gate());
    let (_, packets) = opened();
    let other = PeerAddress::Ip(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 0).into());
    lane.serves(other);
    assert_eq!(opened(), (client(other), packets));
}

#[test]
fn what_is_said_before_a_response_goes_first() {
    let (_uplink, socket, lane, _client) = banded();
    lane.receives();
    assert_eq!(socket.priority().unwrap(), CONTROL_PRIORITY);
    lane.begins(1_000_000);
    assert_eq!(socket.priority().unwrap(), 1);
}

#[test]
fn a_large_response_may_have_more_unsent_as_the_cap_grows() {
    let (uplink, _socket, lane, _client) = banded();
    let kernel = uplink.in_kernel.as_ref().unwrap();
    lane.begins(1_000_000);
    let before = lane.unsent();
    assert!(kernel.is_full(kernel.cap()));
    kernel.counted(0, 0);
    kernel.adapt();
    lane.goes_on(900_000);
    assert_eq!(lane.unsent(), 2 * before);
}

#[test]
fn after_a_refusal_nothing_waits_and_no_priority_is_tried() {
    let (uplink, socket, lane, _client) = banded();
    lane.begins(1_000_000);
    uplink.priority_refused(&std::io::ErrorKind::PermissionDenied.into());
    assert!(!lane.waits(1_000_000) && lane.enter_band(700));
    assert_eq!(socket.priority().unwrap(), 1);
}

#[test]
fn by_swift_a_far_clients_socket_has_an_earlier_band_than_a_near_ones() {
    let priorities = |round_trip| {
        let (_uplink, socket, lane, _client) = banded_by(KernelOrder::Swift(round_trip));
        [Some("rtt=1"), Some("rtt=350"), None].map(|query| {
            lane.answers(query);
            lane.begins(800_000);
            socket.priority().unwrap()
        })
    };
    // By the request; one that names none has the measured one, which is near.
    assert_eq!(priorities(SwiftRoundTrip::Request), [1, 4, 1]);
    assert_eq!(priorities(SwiftRoundTrip::Measured), [1, 1, 1]);
}

#[test]
fn data_that_are_here_keep_a_response_from_an_earlier_band_but_not_from_a_later_one() {
    let (_uplink, socket, lane, _client) = banded();
    lane.begins(1_000_000);
    assert!(lane.enter_band(4_000));
    lane.begins(1_000_000);
    // Its client reads nothing, so that soon whole segments are unsent.
    let data = vec![0; 1 << 20];
    while matches!(socket.write(&data, false), Ok(Some(_))) {}
    assert!(!lane.enter_band(4_000));
    assert_eq!(socket.priority().unwrap(), 1);
    let (_uplink, socket, lane, _client) = banded();
    lane.begins(700);
    while matches!(socket.write(&data, false), Ok(Some(_))) {}
    assert!(lane.enter_band(1_000_000));
    assert_eq!(socket.priority().unwrap(), 1);
}
