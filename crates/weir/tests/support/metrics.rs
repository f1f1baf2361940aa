//! Reads the figures of a server as a scraper would.

use std::net::SocketAddr;

use super::get_anew;

/// The text of `/metrics` at one moment.
#[derive(Debug)]
pub struct Metrics(pub String);

impl Metrics {
    pub fn read(admin: SocketAddr) -> Metrics {
        let answer = get_anew(admin, "/metrics");
        assert_eq!(answer.status, 200);
        Metrics(String::from_utf8(answer.body).expect("metrics are UTF-8"))
    }

    /// Name, labels in their braces or nothing, and value of every sample.
    pub fn samples(&self) -> impl Iterator<Item = (&str, &str, f64)> {
        self.0.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let (series, value) = line.rsplit_once(' ').expect("a sample has a value");
            let (name, labels) = series.split_at(series.find('{').unwrap_or(series.len()));
            (name, labels, value.parse().expect("a value is a number"))
        })
    }

    /// The sum over all labels of a metric that must exist.
    pub fn sum(&self, name: &str) -> f64 {
        let values: Vec<f64> =
            self.samples().filter(|sample| sample.0 == name).map(|sample| sample.2).collect();
        assert!(!values.is_empty(), "there is no metric {name} in\n{}", self.0);
        values.iter().sum()
    }

    /// The value with exactly these labels, such as `{status="200"}`.
    pub fn value(&self, name: &str, labels: &str) -> Option<f64> {
        self.samples().find(|sample| sample.0 == name && sample.1 == labels).map(|s| s.2)
    }
}
