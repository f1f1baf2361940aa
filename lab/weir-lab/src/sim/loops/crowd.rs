//! A workload half of which comes from closed loops behind few addresses: what it costs the clients
//! of single requests that the gate follows a client from one response to the next. Called by the
//! command.

use serde::Serialize;
use weir_sched::{BitRate, ClientId, policy};
use weir_sim::uplink::{Again, Client, Invalid, Link, Looping, Scene, Single, Sizes};
use weir_workload::arrivals::Offered;

use crate::sim::offered::HEAD;

/// Addresses in closed loops.
const ADDRESSES: usize = 20;

/// What the mean with the gate's rule may be, to that without.
const MOST: f64 = 1.05;

/// Seconds after which nobody waits any more: beyond the end of any workload.
const END: f64 = 3e9;

#[derive(Clone, Debug, Serialize)]
pub(super) struct Crowd {
    pub(super) seed: u64,
    pub(super) requests: usize,
    /// Of these, asked once, when the workload says.
    pub(super) open_requests: usize,
    /// Mean response time of the open ones under `protective`, ...
    pub(super) response_ms_mean: f64,
    /// ... and if each request of a loop were somebody else's.
    pub(super) follows_nobody_ms_mean: f64,
    pub(super) ratio: f64,
    pub(super) most_ratio: f64,
    pub(super) kept: bool,
}

impl Crowd {
    /// Plays the workload of a seed with the rule and without.
    ///
    /// # Errors
    ///
    /// Requests that no link plays.
    pub(super) fn play(rate: BitRate, offered: &Offered, seed: u64) -> Result<Crowd, Invalid> {
        let offered = Offered { seed, ..offered.clone() };
        let (mut singles, mut sizes) = (Vec::new(), vec![Vec::new(); ADDRESSES]);
        // It was checked that there are arrivals; the iterator of an error is empty.
        for (index, request) in offered.arrivals().into_iter().flatten().enumerate() {
            let size = HEAD + request.size.unwrap_or_default();
            let address = ClientId((ADDRESSES + index) as u128);
            match index % 2 {
                0 => singles.push(Single {
                    at: request.at,
                    size,
                    address,
                    client: Client::default(),
                }),
                _ => sizes[index / 2 % ADDRESSES].push(size),
            }
        }
        let open = singles.len();
        let requests = open + sizes.iter().map(Vec::len).sum::<usize>();
        let mut scene = Scene { singles, loops: Vec::new(), leavers: Vec::new(), until: END };
        let mut mean = |again| {
            scene.loops = loops(&sizes, again);
            let looped = Link::new(rate).loops(policy::PROTECTIVE, &scene)?;
            let times = scene.singles.iter().zip(&looped.finish);
            let times =
                times.filter_map(|(single, finish)| Some(finish.as_ref()?.received - single.at));
            Ok::<_, Invalid>(1e3 * times.sum::<f64>() / open.max(1) as f64)
        };
        let with = mean(Again::New)?;
        let without = mean(Again::Stranger)?;
        Ok(Crowd {
            seed,
            requests,
            open_requests: open,
            response_ms_mean: with,
            follows_nobody_ms_mean: without,
            ratio: with / without,
            most_ratio: MOST,
            kept: with <= MOST * without,
        })
    }

    /// Of the sums of means over all seeds: those of one differ by which large responses meet.
    pub(super) fn ratio(crowds: &[Crowd]) -> Option<f64> {
        let sum = |of: fn(&Crowd) -> f64| crowds.iter().map(of).sum::<f64>();
        let with = sum(|crowd| crowd.response_ms_mean);
        (!crowds.is_empty()).then(|| with / sum(|crowd| crowd.follows_nobody_ms_mean))
    }
}

/// Each address asks the next of its sizes as soon as it has the last, on a new connection as the
/// workload does.
fn loops(sizes: &[Vec<u64>], again: Again) -> Vec<Looping> {
    let loops = sizes.iter().enumerate().map(|(index, sizes)| Looping {
        address: ClientId(index as u128),
        connections: 1,
        sizes: Sizes::Once(sizes.clone()),
        again,
        range_of: None,
        client: Client::default(),
    });
    loops.collect()
}
