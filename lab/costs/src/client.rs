//! The clients: weir-load in a closed or an open loop on this program's core. Every measurement that wrk
//! does not make uses it.

use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_load::{Body, Demand, Plan, Report, Source, Tls};
use weir_peers::Result;
use weir_stats::Record;
use weir_workload::Requests;

use crate::outcome::Outcome;

/// Seconds after the end of load at which what has not come counts as unanswered.
const DRAIN: f64 = 20.0;

/// What all requests to a server share.
pub(crate) struct Client {
    pub(crate) server: SocketAddrV4,
    /// What bodies are the beginning of; if it is empty, only their lengths count.
    pub(crate) bodies: Arc<[u8]>,
    /// More header lines of each request, each ending in CRLF.
    pub(crate) headers: String,
    /// A connection for each request.
    pub(crate) close: bool,
    /// TLS on all connections.
    pub(crate) tls: Option<Tls>,
}

impl Client {
    /// A closed loop: so many requests under way for so many seconds.
    pub(crate) fn closed(
        &self,
        requests: Requests,
        under_way: usize,
        seconds: f64,
    ) -> Result<Outcome> {
        self.run(Demand::Saturate(requests, under_way as u32), seconds)
    }

    /// An open loop: requests at their own times, which end after so many seconds.
    pub(crate) fn open(&self, requests: Requests, seconds: f64) -> Result<Outcome> {
        self.run(Demand::Open(requests), seconds)
    }

    fn run(&self, demand: Demand, seconds: f64) -> Result<Outcome> {
        let mut records = Vec::new();
        let mut record = |record| records.push(record);
        let report = self.send(demand, Some(seconds), Vec::new(), &mut record)?;
        let outcome = Outcome::of(&records, seconds, DRAIN, report.steal);
        Ok(Outcome { handshakes: report.handshakes, ..outcome })
    }

    /// All of the demand; the record of each request.
    pub(crate) fn all(&self, demand: Demand) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        self.send(demand, None, Vec::new(), &mut |record| records.push(record))?;
        Ok(records)
    }

    /// The demand, for at most so many seconds, from a source address for each class where there are
    /// any.
    pub(crate) fn send(
        &self,
        demand: Demand,
        seconds: Option<f64>,
        sources: Vec<Source>,
        record: &mut dyn FnMut(Record),
    ) -> Result<Report> {
        let plan = Plan {
            server: self.server.into(),
            host: self.server.to_string(),
            headers: self.headers.clone(),
            tls: self.tls.clone(),
            sources,
            requests_per_connection: if self.close { 1 } else { u32::MAX },
            abort_after: None,
            retries: 0,
            drain: DRAIN,
            duration: seconds,
            slow_readers: None,
            body: Body::Prefix(Arc::clone(&self.bodies)),
            spin: false,
        };
        weir_stand::send(&plan, demand, &AtomicBool::new(false), record)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

    use super::*;
    use crate::files::one_file;

    const LENGTH: usize = 40_000;

    fn client(serve: fn(TcpStream)) -> Client {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let SocketAddr::V4(server) = listener.local_addr().expect("an address") else { panic!() };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream));
            }
        });
        let bodies = vec![b'.'; LENGTH].into();
        Client { server, bodies, headers: String::new(), close: false, tls: None }
    }

    /// Answers requests, which come one at a time and in one piece.
    fn answer(mut stream: TcpStream) {
        let mut request = [0; 1000];
        while let Ok(1..) = stream.read(&mut request) {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
            if stream.write_all(&[head.as_bytes(), &[b'.'; LENGTH]].concat()).is_err() {
                return;
            }
        }
    }

    #[test]
    fn a_closed_loop_has_as_many_right_answers_as_requests() {
        let outcome = client(answer).closed(one_file(LENGTH as u64), 4, 0.2).expect("it runs");
        outcome.check("it").expect("all is right");
        assert!(outcome.in_time > 0 && outcome.in_time <= outcome.requests);
    }

    #[test]
    fn a_client_that_knows_no_bytes_takes_any_of_the_right_length() {
        let client = Client { bodies: Arc::default(), ..client(answer) };
        let demand = |bytes| Demand::Saturate(Box::new(one_file(bytes).take(5)), 2);
        let records = client.all(demand(LENGTH as u64)).expect("it runs");
        assert!(records.len() == 5 && records.iter().all(|r| r.response_time().is_some()));
        let records = client.all(demand(7)).expect("it runs");
        assert!(records.len() == 5 && records.iter().all(|r| r.response_time().is_none()));
    }

    #[test]
    fn a_wrong_length_is_wrong_and_an_end_is_cut_off() {
        let of = |client: Client, bytes| {
            client.closed(Box::new(one_file(bytes).take(5)), 2, 5.0).expect("it runs")
        };
        let outcome = of(client(answer), LENGTH as u64 - 1);
        assert_eq!(outcome.errors.get("wrong content or length"), Some(&5));
        let outcome = of(client(drop), LENGTH as u64);
        assert_eq!(outcome.errors.get("cut off"), Some(&5));
    }
}
