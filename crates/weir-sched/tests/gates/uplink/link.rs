//! The policies in front of a link that is slower than it was set.

use super::support::{LINK, Link, Numbers, mean_response, request};
use weir_sched::policy;

#[test]
fn a_link_slower_than_set_does_not_turn_protective_into_fifo() {
    // Load 1.1 of the real rate, which is 3 % under what the gate was told.
    let real = LINK * 97 / 100;
    for seed in 1..=2 {
        let mut requests = Numbers(seed).heavy_tailed(1.07, 20.0);
        requests.extend(
            Numbers(seed + 5).heavy_tailed(0.2, 10.0).iter().map(|r| request(r.at + 20.0, r.size)),
        );
        let small = |policy| {
            let finish = Link { real, ..Link::exact(policy) }.play(&requests);
            let (small, finish): (Vec<_>, Vec<_>) = requests
                .iter()
                .zip(finish)
                .filter(|(r, _)| r.size < 10_000)
                .map(|(r, f)| (*r, f))
                .unzip();
            mean_response(&small, &finish)
        };
        let srpt = small(policy::SRPT);
        let protective = small(policy::PROTECTIVE);
        let fifo = small(policy::FIFO);
        assert!(protective < 1.05 * srpt, "seed {seed}: {protective} {srpt}");
        assert!(protective < 0.75 * fifo, "seed {seed}: {protective} {fifo}");
    }
}
