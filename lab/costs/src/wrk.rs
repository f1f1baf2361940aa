//! wrk as a client, on the client's core: runs it and reads what it prints. `cpu` uses it for small
//! files.

use weir_peers::{Error, Result, tool};
use weir_stand::cores;

/// What wrk reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) requests: u64,
    pub(crate) seconds: f64,
}

/// Load `url` for some seconds. Any response but 2xx or 3xx, and any socket
/// error, fails the run.
pub(crate) fn run(url: &str, connections: usize, seconds: u64, close: bool) -> Result<Report> {
    let (c, d) = (format!("-c{connections}"), format!("-d{seconds}s"));
    let mut words = vec!["-c", cores::CLIENT, "wrk", "-t1", &c, &d, "--timeout", "10s"];
    if close {
        words.extend(["-H", "Connection: close"]);
    }
    words.push(url);
    let said = tool::output("taskset", &words)?;
    parse(&said).map_err(|why| Error(format!("wrk {url}: {why}; it said:\n{said}")))
}

fn parse(text: &str) -> std::result::Result<Report, String> {
    for line in text.lines().map(str::trim) {
        if line.starts_with("Non-2xx") || line.starts_with("Socket errors") {
            return Err(line.to_owned());
        }
    }
    let report = text.lines().find_map(|line| {
        let (requests, rest) = line.trim().split_once(" requests in ")?;
        let time = rest.split_once(',')?.0;
        let (number, factor) = match (time.strip_suffix("ms"), time.strip_suffix('s')) {
            (Some(ms), _) => (ms, 1e-3),
            (None, Some(s)) => (s, 1.0),
            // wrk writes minutes only beyond 60 s.
            (None, None) => (time.strip_suffix('m')?, 60.0),
        };
        let seconds = number.parse::<f64>().ok()? * factor;
        Some(Report { requests: requests.parse().ok()?, seconds })
    });
    match report {
        Some(report) if report.requests > 0 => Ok(report),
        Some(_) => Err("no response came".into()),
        None => Err("it reports no number of requests".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_totals_is_read() {
        let text = "Running\n  51233 requests in 2.01s, 59.22MB read\nRequests/sec: 1\n";
        assert_eq!(parse(text), Ok(Report { requests: 51_233, seconds: 2.01 }));
        let text = "  5 requests in 900.50ms, 1.00KB read\n";
        assert_eq!(parse(text), Ok(Report { requests: 5, seconds: 0.900_5 }));
    }

    #[test]
    fn errors_fail() {
        let text = "  5 requests in 1.00s, 1KB read\n  Non-2xx or 3xx responses: 5\n";
        assert!(parse(text).is_err());
        let text = "  Socket errors: connect 0, read 3, write 0, timeout 0\n 5 requests in 1s, 1";
        assert!(parse(text).is_err());
        assert!(parse("  0 requests in 1.00s, 0.00B read\n").is_err());
        assert!(parse("").is_err());
    }
}
