//! How often each client may ask: the keys `limit_requests` and `limit_burst`, of the server or of a route.
//! Used by [`super::Access`] and [`super::Guard`] for each request; all workers share the buckets.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use weir_sched::{BucketRate, Time, TokenBuckets};
use weir_units::RequestRate;

use super::refusal::Refusal;
use crate::config::{ClientWidth, burst};

/// The most clients whose buckets are kept: some 8 MB.
const CLIENTS: usize = 65_536;

/// See the module.
#[derive(Debug)]
pub(super) struct RequestLimit {
    rate: BucketRate,
    width: ClientWidth,
    buckets: Mutex<TokenBuckets<IpAddr>>,
}

impl RequestLimit {
    /// `at_once`: how many may come at once, if that is said. `before`: the limit in the same place of the
    /// configuration before, which goes on if it lets through the same, so that no reload fills buckets.
    pub(super) fn open(
        before: Option<&Arc<RequestLimit>>,
        rate: RequestRate,
        at_once: Option<u32>,
        width: ClientWidth,
    ) -> Arc<RequestLimit> {
        let rate = BucketRate::new(rate.per_second(), burst(rate, at_once));
        let same = before.filter(|before| (before.rate, before.width) == (rate, width));
        same.cloned().unwrap_or_else(|| {
            let buckets = Mutex::new(TokenBuckets::new(rate, CLIENTS));
            Arc::new(RequestLimit { rate, width, buckets })
        })
    }

    /// A request of the client at `address` comes.
    ///
    /// # Errors
    ///
    /// It has sent too many.
    pub(super) fn admit(&self, address: IpAddr, now: Time) -> Result<(), Refusal> {
        let client = self.width.network(address);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(now, client).map_err(Refusal::TooMany)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_one_network_share_a_bucket() {
        let rate = "1/m".parse().unwrap();
        let limit = RequestLimit::open(None, rate, Some(2), ClientWidth::default());
        let admitted = |address: &str| limit.admit(address.parse().unwrap(), Time::ZERO).is_ok();
        let near = ["2001:db8::1", "2001:db8::2", "2001:db8::3"].map(admitted);
        assert_eq!(near, [true, true, false]);
        assert!(admitted("2001:db8:0:1::1") && admitted("192.0.2.1") && admitted("192.0.2.2"));
    }

    #[test]
    fn a_limit_goes_on_if_it_lets_through_the_same() {
        let width = ClientWidth::default();
        let open = |before, rate: &str, at_once, width| {
            RequestLimit::open(before, rate.parse().unwrap(), at_once, width)
        };
        let limit = open(None, "60/m", None, width);
        for (rate, at_once, width, goes_on) in [
            ("60/m", None, width, true),
            ("1/s", Some(1), width, true),
            ("2/s", Some(1), width, false),
            ("1/s", Some(2), width, false),
            ("1/s", None, ClientWidth { ipv4: 24, ..width }, false),
        ] {
            let next = open(Some(&limit), rate, at_once, width);
            assert_eq!(Arc::ptr_eq(&next, &limit), goes_on, "{rate} {at_once:?} {width:?}");
        }
    }
}
