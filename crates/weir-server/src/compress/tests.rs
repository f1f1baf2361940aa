//! Requests that want the same and different things compressed.

use weir_http::message::conditions::ETag;

use super::encoder::decode;
use super::*;
use crate::config::parse;
use crate::metrics::Format;

const TEXT: &[u8] = &[b'x'; 50_000];

fn compressor(keys: &str) -> Arc<Compressor> {
    let text = format!("root = \".\"\ncompress = true\n{keys}");
    let config = Config::from_settings(parse(&text).unwrap()).unwrap();
    Compressor::open(&config, &Arc::new(Metrics::new())).expect("it is switched on")
}

fn key(number: u64, coding: Coding) -> Key {
    Key { etag: ETag::new(0, 0, number), coding }
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
    let Claim::Mine(ticket, own) = compressor.claim(key) else { panic!("nobody wants it") };
    let Claim::Others(other) = compressor.claim(key) else { panic!("it is claimed") };
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
    let Claim::Mine(ticket, own) = compressor.claim(key) else { panic!("nobody wants it") };
    let Claim::Others(other) = compressor.claim(key) else { panic!("it is claimed") };
    drop(ticket);
    assert!(own.result().await.is_none() && other.result().await.is_none());
    assert_eq!(figure(&compressor, "weir_compression_given_up_total{why=\"failed\"}"), 2.0);
    assert!(matches!(compressor.claim(key), Claim::Mine(..)), "the next one may try");
}

#[tokio::test]
async fn content_that_comes_late_is_waited_for_no_longer_by_who_brings_it() {
    let compressor = compressor("");
    let key = key(1, Coding::Gzip);
    let Claim::Mine(ticket, own) = compressor.claim(key) else { panic!("nobody wants it") };
    let Claim::Others(other) = compressor.claim(key) else { panic!("it is claimed") };
    assert!(own.result().await.is_none() && other.result().await.is_none());
    assert_eq!(figure(&compressor, "weir_compression_given_up_total{why=\"too slow\"}"), 2.0);
    ticket.submit(Box::new(TEXT.to_vec()));
    until(|| compressor.find(&key).is_some()).await;
}

#[tokio::test]
async fn what_is_not_worth_it_is_known_and_what_has_no_room_is_made_again() {
    let small = compressor("compress_cache = \"1KB\"");
    let noise: Vec<u8> = (0..5000_u32).map(|n| (n.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
    let Claim::Mine(ticket, own) = small.claim(key(1, Coding::Brotli)) else { panic!() };
    ticket.submit(Box::new(noise.clone()));
    let useless = own.result().await.unwrap();
    let content: Vec<u8> = (0..20_000_u32).flat_map(|n| n.to_string().into_bytes()).collect();
    let Claim::Mine(ticket, own) = small.claim(key(2, Coding::Gzip)) else { panic!() };
    ticket.submit(Box::new(content.clone()));
    let made = own.result().await.unwrap();
    assert_eq!(decode(Coding::Gzip, made.bytes().unwrap()), content);
    assert!(small.find(&key(2, Coding::Gzip)).is_none(), "it is larger than the cache");
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
    assert!(matches!(compressor.claim(key(1, Coding::Gzip)), Claim::Refused));
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

#[test]
fn streams_are_as_many_as_there_is_memory_for() {
    let compressor = compressor("");
    let mut streams: Vec<Stream> =
        std::iter::from_fn(|| compressor.stream(Coding::Gzip)).take(2 * STREAMS).collect();
    assert_eq!(streams.len(), STREAMS);
    streams.pop();
    assert!(compressor.stream(Coding::Gzip).is_some());
}
