//! The server's side of a run: a thread that reads the kernel's counters once a second, and at the
//! beginning and end of each span of overload. The run of a cell starts it beside the load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_peers::Result;
use weir_peers::processes::{Usage, usage};

use crate::link::counters::{Counters, ListenDrops, Queue, device};
use crate::link::network::{BOTTLENECK, Network};
use crate::outcome::Sample;
use weir_peers::namespace::within;

/// A server of so many processes is looked at with every few samples only.
const MANY: u32 = 16;
const SELDOM: u32 = 10;

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    pub(crate) samples: Vec<Sample>,
    /// Bytes on the wire per second within each span.
    pub(crate) throughput: Vec<f64>,
}

/// Reads the counters of a network and a server.
pub(crate) struct Sampler {
    namespace: String,
    queues: Counters,
    connections: Counters,
    listen_drops: ListenDrops,
    device: i32,
    /// Bytes on the wire for each packet that the device does not count.
    uncounted: u64,
    server: u32,
    /// What the server had used when it was last looked at, and samples so far.
    usage: Usage,
    samples: u32,
}

/// Whatever ends a run while the sampler waits.
pub(crate) struct UntilEnd<'a> {
    /// The load has ended.
    pub(crate) over: &'a AtomicBool,
    /// Called in between, at least ten times a second.
    pub(crate) meanwhile: &'a (dyn Fn() + Sync),
}

impl Sampler {
    /// Ready for the server whose first process is `server`.
    pub(crate) fn new(network: &Network, server: u32) -> Result<Sampler> {
        let bottleneck = network.bottleneck().name();
        Ok(Sampler {
            namespace: network.server.name().to_owned(),
            queues: Counters::of_queues(bottleneck)?,
            connections: Counters::of_connections(network.server.name())?,
            listen_drops: ListenDrops::of(network.server.name())?,
            device: device(bottleneck, BOTTLENECK)?,
            uncounted: network.uncounted(),
            server,
            usage: Usage::default(),
            samples: 0,
        })
    }

    /// Packets that the bottleneck has dropped so far.
    pub(crate) fn dropped(&mut self) -> Result<u64> {
        Ok(self.queues.queue(self.device)?.drops)
    }

    /// Bytes that have gone over the bottleneck so far.
    pub(crate) fn sent(&mut self) -> Result<u64> {
        let queue = self.queues.queue(self.device)?;
        Ok(self.on_wire(&queue))
    }

    /// Sample from `origin` on until the end. The spans are in order and do not overlap.
    pub(crate) fn run(
        &mut self,
        origin: Instant,
        spans: &[(f64, f64)],
        end: &UntilEnd<'_>,
    ) -> Result<Observations> {
        let namespace = self.namespace.clone();
        within(&namespace, || self.run_inside(origin, spans, end))
    }

    fn run_inside(
        &mut self,
        origin: Instant,
        spans: &[(f64, f64)],
        end: &UntilEnd<'_>,
    ) -> Result<Observations> {
        let mut seen = Observations::default();
        let bounds: Vec<f64> = spans.iter().flat_map(|&(from, to)| [from, to]).collect();
        let mut readings: Vec<(f64, u64)> = Vec::new();
        let mut second: f64 = 0.0;
        loop {
            let bound = bounds.get(readings.len()).copied().unwrap_or(f64::INFINITY);
            if !wait(origin, second.min(bound), end) {
                break;
            }
            if bound <= second {
                let queue = self.queues.queue(self.device)?;
                readings.push((origin.elapsed().as_secs_f64(), self.on_wire(&queue)));
            } else {
                seen.samples.push(self.sample(origin)?);
                second += 1.0;
            }
        }
        let whole = readings.chunks_exact(2);
        seen.throughput = whole
            .map(|pair| (pair[1].1.saturating_sub(pair[0].1)) as f64 / (pair[1].0 - pair[0].0))
            .collect();
        Ok(seen)
    }

    fn on_wire(&self, queue: &Queue) -> u64 {
        queue.bytes + self.uncounted * u64::from(queue.packets)
    }

    fn sample(&mut self, origin: Instant) -> Result<Sample> {
        let queue = self.queues.queue(self.device)?;
        let connections = self.connections.connections()?;
        // A walk through hundreds of processes costs the machine that is measured.
        self.samples += 1;
        if self.usage.count < MANY || self.samples.is_multiple_of(SELDOM) {
            self.usage = usage(self.server);
        }
        let usage = self.usage;
        Ok(Sample {
            at: origin.elapsed().as_secs_f64(),
            established: connections.established,
            syn_received: connections.syn_received,
            closing: connections.closing,
            listen_queue: connections.listen_queue,
            listen_drops: self.listen_drops.count()?,
            queue_drops: queue.drops,
            queue_length: queue.length,
            cpu: usage.cpu,
            memory: usage.memory,
        })
    }
}

/// Wait until `at` seconds after the origin; false if the run ends before.
fn wait(origin: Instant, at: f64, end: &UntilEnd<'_>) -> bool {
    loop {
        (end.meanwhile)();
        if end.over.load(Ordering::Relaxed) {
            return false;
        }
        let nap = Duration::from_millis(100);
        let left = match at.is_finite() {
            true => {
                (origin + Duration::from_secs_f64(at)).saturating_duration_since(Instant::now())
            }
            false => nap,
        };
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(nap));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_time_or_with_the_run() {
        let over = AtomicBool::new(false);
        let calls = AtomicBool::new(false);
        let meanwhile = || calls.store(true, Ordering::Relaxed);
        let end = UntilEnd { over: &over, meanwhile: &meanwhile };
        let origin = Instant::now();
        assert!(wait(origin, 0.01, &end));
        assert!(origin.elapsed() >= Duration::from_millis(10) && calls.load(Ordering::Relaxed));
        over.store(true, Ordering::Relaxed);
        assert!(!wait(origin, 1e9, &end));
    }
}
