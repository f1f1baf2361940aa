//! An ACME server that takes its time to make certificates, by a clock that the test sets. It takes every
//! name as proved.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::fake::{Fake, response};

/// How long it says to wait at first: longer than an order polls at one go, so that no test waits.
pub(crate) const ASKED: Duration = Duration::from_secs(200);

/// See the module.
pub(crate) struct Slow {
    pub(crate) fake: Fake,
    state: Arc<Mutex<State>>,
}

/// What comes of an order, and how long after it has its request. "gone": the server does not know it.
pub(crate) type Fate = (Duration, &'static str);

struct State {
    /// Where it listens.
    url: String,
    now: SystemTime,
    asked: Duration,
    /// It answers as the proxy before a server that is down.
    is_down: bool,
    /// Of the orders, from the first on. The last goes for all that follow.
    fates: Vec<Fate>,
    orders: Vec<Ordered>,
    chain: String,
    /// Certificates that were fetched.
    fetched: usize,
}

struct Ordered {
    placed: SystemTime,
    /// The request to sign, and when it came.
    request: Option<(Vec<u8>, SystemTime)>,
}

impl Slow {
    pub(crate) fn start(fates: &[Fate]) -> Slow {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let state = Arc::new(Mutex::new(State {
            url: format!("https://{}", listener.local_addr().unwrap()),
            now: SystemTime::UNIX_EPOCH,
            asked: ASKED,
            is_down: false,
            fates: fates.to_vec(),
            orders: Vec::new(),
            chain: String::new(),
            fetched: 0,
        }));
        let of_server = state.clone();
        let fake =
            Fake::on(listener, move |request| Some(of_server.lock().unwrap().answer(request)));
        Slow { fake, state }
    }

    pub(crate) fn set_time(&self, now: SystemTime) {
        self.state.lock().unwrap().now = now;
    }

    /// How long it says to wait from here on.
    pub(crate) fn set_asked(&self, asked: Duration) {
        self.state.lock().unwrap().asked = asked;
    }

    pub(crate) fn set_down(&self, is_down: bool) {
        self.state.lock().unwrap().is_down = is_down;
    }

    /// What its certificates are.
    pub(crate) fn set_chain(&self, chain: &str) {
        self.state.lock().unwrap().chain = chain.to_owned();
    }

    /// When the orders were placed.
    pub(crate) fn placed(&self) -> Vec<SystemTime> {
        self.state.lock().unwrap().orders.iter().map(|order| order.placed).collect()
    }

    /// The requests to sign that it got, one an order.
    pub(crate) fn requests(&self) -> Vec<Vec<u8>> {
        let state = self.state.lock().unwrap();
        let requests = state.orders.iter().filter_map(|order| order.request.as_ref());
        requests.map(|(request, _)| request.clone()).collect()
    }

    /// How many certificates were fetched.
    pub(crate) fn fetched(&self) -> usize {
        self.state.lock().unwrap().fetched
    }
}

impl State {
    fn answer(&mut self, request: &str) -> Vec<u8> {
        if self.is_down {
            return response("503 Service Unavailable", "", "<html>");
        }
        let (head, body) = request.split_once("\r\n\r\n").unwrap_or_default();
        let mut path = head.split(' ').nth(1).unwrap_or_default().split('/').skip(1);
        let place = path.next().unwrap_or_default();
        let number: usize = path.next().and_then(|number| number.parse().ok()).unwrap_or(0);
        let url = self.url.clone();
        match place {
            "directory" => {
                let place = |name: &str| format!("{url}/{name}");
                let directory = json!({
                    "newNonce": place("nonce"),
                    "newAccount": place("account"),
                    "newOrder": place("orders"),
                });
                response("200 OK", "", &directory.to_string())
            }
            "account" => told("201 Created", &format!("Location: {url}/account/1\r\n"), "{}"),
            "orders" => {
                self.orders.push(Ordered { placed: self.now, request: None });
                let number = self.orders.len() - 1;
                self.order(number, "201 Created", &format!("Location: {url}/order/{number}\r\n"))
            }
            "order" => self.order(number, "200 OK", ""),
            "finalize" => {
                let order = &mut self.orders[number];
                assert!(order.request.is_none(), "an order has one request");
                order.request = Some((signing_request(body), self.now));
                self.order(number, "200 OK", "")
            }
            "certificate" => {
                self.fetched += 1;
                told("200 OK", "", &self.chain)
            }
            // The place of nonces.
            _ => told("200 OK", "", ""),
        }
    }

    /// How an order is.
    fn order(&self, number: usize, status: &str, fields: &str) -> Vec<u8> {
        let url = &self.url;
        let how = self.status(number);
        let mut order = json!({
            "status": how,
            "authorizations": [],
            "finalize": format!("{url}/finalize/{number}"),
        });
        match how {
            "gone" => {
                let problem =
                    json!({ "type": "urn:ietf:params:acme:error:malformed", "status": 404 });
                return told("404 Not Found", "", &problem.to_string());
            }
            "valid" => order["certificate"] = json!(format!("{url}/certificate/{number}")),
            "invalid" => {
                order["error"] = json!({ "type": "urn:ietf:params:acme:error:serverInternal" });
            }
            "processing" => {
                let fields = format!("Retry-After: {}\r\n{fields}", self.asked.as_secs());
                return told(status, &fields, &order.to_string());
            }
            _ => {}
        }
        told(status, fields, &order.to_string())
    }

    fn status(&self, number: usize) -> &'static str {
        let Some((_, since)) = &self.orders[number].request else { return "ready" };
        let (wait, status) = self.fates[number.min(self.fates.len() - 1)];
        if self.now >= *since + wait { status } else { "processing" }
    }
}

/// An answer with a nonce.
fn told(status: &str, fields: &str, body: &str) -> Vec<u8> {
    response(status, &format!("Replay-Nonce: abc\r\n{fields}"), body)
}

/// What is in the payload of a signed request (RFC 8555 sections 6.2 and 7.4).
fn signing_request(body: &str) -> Vec<u8> {
    let decoded = |value: &Value, name: &str| {
        BASE64_URL_SAFE_NO_PAD.decode(value[name].as_str().unwrap()).unwrap()
    };
    let signed: Value = serde_json::from_str(body).unwrap();
    let payload: Value = serde_json::from_slice(&decoded(&signed, "payload")).unwrap();
    decoded(&payload, "csr")
}
