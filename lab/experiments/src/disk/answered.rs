//! Load of which only the number of right responses matters: filling a cache, reading a tree. The bench
//! sends it between phases and beside them.

use std::sync::atomic::AtomicBool;

use weir_load::{Demand, Plan};
use weir_peers::{Error, Result};
use weir_stand::send;
use weir_stats::Outcome as End;

/// Send a demand until `end` is set; how many complete and right responses it had.
///
/// # Errors
///
/// When the load cannot be sent, or responses had wrong bytes.
pub(super) fn answered(plan: &Plan, demand: Demand, end: &AtomicBool) -> Result<u64> {
    let (mut right, mut wrong) = (0, 0);
    send(plan, demand, end, &mut |record| {
        right += u64::from(record.outcome == End::Ok);
        wrong += usize::from(record.outcome == End::Wrong);
    })?;
    none_wrong(wrong)?;
    Ok(right)
}

/// A server of wrong bytes is not measured.
///
/// # Errors
///
/// With any wrong response.
pub(super) fn none_wrong(wrong: usize) -> Result<()> {
    match wrong {
        0 => Ok(()),
        _ => Err(Error(format!("{wrong} responses had other bytes than the files"))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use weir_load::Body;
    use weir_workload::Request;

    use super::*;

    /// What a server comes to that answers every request with these four bytes, where `abcd` is right.
    fn of(body: &'static str) -> Result<u64> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 1000];
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n";
                let read = stream.read(&mut request);
                let _ = read.and_then(|_| stream.write_all(format!("{head}{body}").as_bytes()));
            }
        });
        let plan = Plan {
            server,
            host: "x".into(),
            headers: String::new(),
            tls: None,
            sources: Vec::new(),
            requests_per_connection: 1,
            abort_after: None,
            retries: 0,
            drain: 5.0,
            duration: None,
            slow_readers: None,
            body: Body::Prefix(b"abcd".as_slice().into()),
            spin: false,
        };
        let request =
            |client| Request { at: 0.0, client, class: 0, path: "/".into(), size: Some(4) };
        let demand = Demand::Saturate(Box::new((0..3).map(request)), 1);
        answered(&plan, demand, &AtomicBool::new(false))
    }

    #[test]
    fn right_responses_are_counted_and_wrong_bytes_are_an_error() {
        assert_eq!(of("abcd").expect("all is right"), 3);
        let error = of("abcx").expect_err("a byte is wrong").to_string();
        assert!(error.contains("3 responses had other bytes"), "{error}");
    }
}
