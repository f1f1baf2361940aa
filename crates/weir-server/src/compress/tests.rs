//! Requests that want the same and different things compressed.

use std::future::Future;
use std::pin::Pin;

use weir_http::message::conditions::ETag;

use super::encoder::decode;
use super::*;
use crate::config::parse;
use crate::metrics::Format;

const TEXT: &[u8] = &[b'x'; 50_000];

fn compressor(keys: &str) -> Arc<Compressor> {
    compressor_with(keys, &Arc::new(Metrics::new()))
}

fn compressor_with(keys: &str, metrics: &Arc<Metrics>) -> Arc<Compressor> {
    let text = format!("root = \".\"\ncompress = true\n{keys}");
    let config = Config::from_settings(parse(&text).unwrap()).unwrap();
    Compressor::open(&config, metrics).expect("it is switched on")
}

fn key(number: u64, coding: Coding) -> Key {
    Key { etag: ETag::new(0, 0, number), coding }
}

/// A claim on what nobody has claimed.
fn mine(compressor: &Arc<Compressor>, key: Key, length: usize) -> (Ticket, Waiting) {
    match compressor.claim(key, length) {
        Claim::Mine(ticket, waiting) => (ticket, waiting),
        other => panic!("nobody has claimed it: {other:?}"),
    }
}

/// A claim on what somebody has claimed.
fn others(compressor: &Arc<Compressor>, key: Key) -> Waiting {
    match compressor.claim(key, TEXT.len()) {
        Claim::Others(waiting) => waiting,
        other => panic!("somebody has claimed it: {other:?}"),
    }
}

/// Whether a future is not done when it is polled once.
async fn is_pending(mut future: Pin<&mut impl Future<Output = ()>>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

/// The value of the only line that begins so.
fn figure(compressor: &Compressor, beginning: &str) -> f64 {
    let text = compressor.metrics.text(Format::Prometheus);
    let line = text.lines().find_map(|line| line.strip_prefix(beginning));
    line.and_then(|value| value.trim().parse().ok()).expect("there is such a line")
}

/// Waits for what a thread of the compressor brings about.
async fn until(condition: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "this never comes about");
        tokio::task::yield_now().await;
    }
}

#[test]
fn it_is_there_only_if_something_is_compressed() {
    let metrics = Arc::new(Metrics::new());
    let opens = |text: &str| {
        let config = Config::from_settings(parse(text).unwrap()).unwrap();
        Compressor::open(&config, &metrics).is_some()
    };
    let route = "[[route]]\npath = \"/\"\nbackends = \"http://a\"\n";
    assert!(!opens("") && !opens("root = \".\"\nprecompressed = true") && !opens(route));
    assert!(!opens("compress = true"), "the built-in site is small");
    assert!(opens("root = \".\"\ncompress = true") && opens(&format!("{route}compress = true")));
}

#[tokio::test]
async fn one_has_it_made_and_all_get_it() {
    let compressor = compressor("");
    let key = key(1, Coding::Gzip);
    let (ticket, own) = mine(&compressor, key, TEXT.len());
    let other = others(&compressor, key);
    ticket.submit(Box::new(TEXT.to_vec()));
    let own = own.result().await.unwrap();
    let others = other.result().await.unwrap();
    assert!(Arc::ptr_eq(&own, &others));
    assert_eq!(decode(Coding::Gzip, own.bytes().unwrap()), TEXT);
    assert!(Arc::ptr_eq(&compressor.find(&key).unwrap(), &own));
    assert!(figure(&compressor, "weir_compression_cache_bytes ") > 0.0);
    let time = || figure(&compressor, "weir_compression_processor_time_seconds_total ");
    until(|| time() > 0.0).await;
}

#[tokio::test]
async fn who_does_not_bring_the_content_holds_up_nobody() {
    let compressor = compressor("");
    let key = key(1, Coding::Zstd);
    let (ticket, own) = mine(&compressor, key, TEXT.len());
    let other = others(&compressor, key);
    drop(ticket);
    assert!(own.result().await.is_err() && other.result().await.is_err());
    assert_eq!(figure(&compressor, "weir_compression_given_up_total{why=\"failed\"}"), 2.0);
    assert!(matches!(compressor.claim(key, TEXT.len()), Claim::Mine(..)), "the next one may try");
}

#[tokio::test]
async fn content_that_comes_late_is_waited_for_no_longer_by_who_brings_it() {
    let compressor = compressor("");
    let key = key(1, Coding::Gzip);
    let (ticket, own) = mine(&compressor, key, TEXT.len());
    let other = others(&compressor, key);
    assert!(own.result().await.is_err() && other.result().await.is_err());
    assert_eq!(figure(&compressor, "weir_compression_given_up_total{why=\"too slow\"}"), 2.0);
    ticket.submit(Box::new(TEXT.to_vec()));
    until(|| compressor.find(&key).is_some()).await;
}

#[tokio::test]
async fn what_is_not_worth_it_is_known_and_what_has_no_room_is_made_again() {
    let small = compressor("compress_cache = \"1KB\"");
    let noise: Vec<u8> = (0..5000_u32).map(|n| (n.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    let (ticket, own) = mine(&small, key(1, Coding::Brotli), noise.len());
    ticket.submit(Box::new(noise.clone()));
    let useless = own.result().await.unwrap();
    let content: Vec<u8> = (0..20_000_u32).flat_map(|n| n.to_string().into_bytes()).collect();
    let (ticket, own) = mine(&small, key(2, Coding::Gzip), content.len());
    ticket.submit(Box::new(content.clone()));
    let made = own.result().await.unwrap();
    assert_eq!(decode(Coding::Gzip, made.bytes().unwrap()), content);
    assert!(small.find(&key(2, Coding::Gzip)).is_some(), "it is being sent");
    drop(made);
    // It is larger than the cache.
    until(|| small.find(&key(2, Coding::Gzip)).is_none()).await;
    assert_eq!(useless.bytes().is_none(), small.once(Coding::Brotli, noise.into()).await.is_none());
}

#[tokio::test]
async fn while_too_much_waits_everything_is_sent_as_it_is() {
    let compressor = compressor("");
    let (release, held) = std::sync::mpsc::channel::<()>();
    compressor.pool.begin(1, move || held.recv().unwrap_or_default()).unwrap();
    // The thread has taken that one once the queue holds as many as it can.
    while compressor.pool.begin(1, || {}).is_ok() {
        tokio::task::yield_now().await;
    }
    let refused = compressor.pool.refusal().expect("the queue is full, or late");
    let claim = compressor.claim(key(1, Coding::Gzip), TEXT.len());
    assert!(matches!(claim, Claim::Refused(_)));
    assert!(compressor.once(Coding::Gzip, TEXT.into()).await.is_none());
    assert!(compressor.stream(Coding::Gzip).is_none());
    let why = match refused {
        GivenUp::Busy => "processor busy",
        _ => "queue full",
    };
    let counted = figure(&compressor, &format!("weir_compression_given_up_total{{why=\"{why}\"}}"));
    assert!(counted >= 1.0, "{counted}");
    drop(release);
    until(|| compressor.pool.refusal().is_none()).await;
    assert!(compressor.once(Coding::Gzip, TEXT.into()).await.is_some());
}

#[tokio::test]
async fn content_that_is_brought_is_bounded_and_keeps_out_nobody_who_has_some() {
    let compressor = compressor("");
    let most = LONGEST as usize;
    let mut claims = Vec::new();
    let refused = loop {
        match compressor.claim(key(claims.len() as u64, Coding::Gzip), most) {
            Claim::Refused(why) => break why,
            claim => claims.push(claim),
        }
    };
    assert_eq!((refused, claims.len()), (GivenUp::QueueFull, 8));
    assert_eq!(figure(&compressor, "weir_compression_given_up_total{why=\"queue full\"}"), 1.0);
    assert!(matches!(compressor.claim(key(0, Coding::Gzip), most), Claim::Others(_)));
    assert!(compressor.once(Coding::Gzip, TEXT.into()).await.is_some());
    claims.pop();
    let claim = compressor.claim(key(100, Coding::Gzip), most);
    assert!(matches!(claim, Claim::Mine(..)));
}

#[test]
fn nothing_is_made_while_what_is_being_sent_takes_too_much() {
    let compressor = compressor("compress_cache = \"1MB\"");
    let claim = || compressor.claim(key(1, Coding::Gzip), TEXT.len());
    let made = |_| compressor.results.made(Some(vec![1; 1_000_000]));
    let sent: Vec<_> = (0..9).map(made).collect();
    assert!(figure(&compressor, "weir_compression_cache_bytes ") > 9e6);
    assert!(matches!(claim(), Claim::Refused(GivenUp::QueueFull)));
    drop(sent);
    assert!(matches!(claim(), Claim::Mine(..)));
    assert_eq!(figure(&compressor, "weir_compression_cache_bytes "), 0.0);
}

/// A reload has replaced it, and slow clients take their time.
#[test]
fn what_one_before_is_still_sending_keeps_the_next_from_nothing() {
    let before = compressor("compress_cache = \"1MB\"");
    let sent: Vec<_> = (0..9).map(|_| before.results.made(Some(vec![1; 1_000_000]))).collect();
    before.give_up();
    let keys = "compress_cache = \"1MB\"\ncompress_threads = 2";
    let next = compressor_with(keys, &before.metrics);
    let claim = |compressor: &Arc<Compressor>| compressor.claim(key(1, Coding::Gzip), TEXT.len());
    assert!(matches!(claim(&before), Claim::Refused(GivenUp::QueueFull)));
    assert!(matches!(claim(&next), Claim::Mine(..)));
    // The figure is of both.
    let own = next.results.made(Some(vec![1; 1_000_000]));
    let figure = || figure(&next, "weir_compression_cache_bytes ");
    assert!(figure() > 10e6, "{}", figure());
    drop(sent);
    assert!(figure() > 1e6 && figure() < 2e6, "{}", figure());
    drop(own);
    assert_eq!(figure(), 0.0);
}

#[tokio::test]
async fn content_that_has_come_too_late_is_refused_for_that_reason() {
    let compressor = compressor("");
    let gzip = key(1, Coding::Gzip);
    let (ticket, own) = mine(&compressor, gzip, TEXT.len());
    let (release, held) = std::sync::mpsc::channel::<()>();
    compressor.pool.begin(1, move || held.recv().unwrap_or_default()).unwrap();
    // Whether the thread has taken that one or not, what follows waits.
    compressor.pool.go_on(1, || {});
    until(|| compressor.pool.refusal() == Some(GivenUp::Busy)).await;
    ticket.submit(Box::new(TEXT.to_vec()));
    assert_eq!(own.result().await.unwrap_err(), GivenUp::Busy);
    let busy = "weir_compression_given_up_total{why=\"processor busy\"}";
    assert_eq!(figure(&compressor, busy), 1.0);
    drop(release);
}

#[tokio::test]
async fn who_brings_content_learns_that_all_who_wanted_it_have_left() {
    let compressor = compressor("");
    let gzip = key(1, Coding::Gzip);
    let (ticket, own) = mine(&compressor, gzip, TEXT.len());
    let other = others(&compressor, gzip);
    let told = async {
        let mut deserted = std::pin::pin!(ticket.deserted());
        drop(own);
        assert!(is_pending(deserted.as_mut()).await);
        let last = others(&compressor, gzip);
        drop(other);
        assert!(is_pending(deserted.as_mut()).await);
        tokio::join!(deserted, async { drop(last) });
    };
    timeout(Duration::from_secs(30), told).await.expect("it is told");
    drop(ticket);
    assert!(matches!(compressor.claim(gzip, TEXT.len()), Claim::Mine(..)));
}

#[tokio::test]
async fn who_has_waited_long_enough_still_wants_the_result() {
    let compressor = compressor("");
    let gzip = key(1, Coding::Gzip);
    let (ticket, own) = mine(&compressor, gzip, TEXT.len());
    assert_eq!(own.result().await.unwrap_err(), GivenUp::TooSlow);
    assert!(is_pending(std::pin::pin!(ticket.deserted())).await);
}

#[test]
fn streams_are_as_many_as_there_is_memory_for() {
    let compressor = compressor("");
    let mut streams: Vec<Stream> =
        std::iter::from_fn(|| compressor.stream(Coding::Gzip)).take(2 * STREAMS).collect();
    assert_eq!(streams.len(), STREAMS);
    streams.pop();
    assert!(compressor.stream(Coding::Gzip).is_some());
}
