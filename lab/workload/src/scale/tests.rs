//! Shows that a scaled trace has the loads asked for, keeps its own order and bursts, and says when
//! it ends too early.

use proptest::prelude::*;

use super::*;
use crate::shape::Period;

fn request(at: f64, size: u64) -> Request {
    Request { at, client: 0, class: 0, path: "/".into(), size: Some(size) }
}

/// Sizes and gaps as uneven as real ones, the same each time.
fn trace(count: usize) -> Vec<Request> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut at = 1000.0;
    (0..count)
        .map(|_| {
            let u: f64 = random.random();
            at += 5.0 * u * u * u;
            request(at, (100.0 * (1.0 - u).powf(-0.9)).min(1e6) as u64)
        })
        .collect()
}

fn shape(periods: &[(f64, f64)]) -> Shape {
    let period = |&(seconds, load)| Period { seconds, load };
    Shape::new("test", periods.iter().map(period).collect()).expect("periods")
}

#[test]
fn each_period_offers_what_is_asked() {
    let trace = trace(20_000);
    let w1 = shape(&[(25.0, 1.2), (25.0, 0.2)]);
    let largest = trace.iter().map(|r| Wire::default().bytes(r.size.unwrap())).max().unwrap();
    for work in [Work::Wire(Wire::default()), Work::File] {
        let scaling = Scaling { work, ..Scaling::new(w1.clone(), 150.0, 1e5) };
        let scaled = scale(&trace, &scaling).unwrap();
        assert_eq!((scaled.ended, scaled.periods.len()), (None, 6));
        for offered in &scaled.periods {
            // Half a response is carried in, and half out.
            let slack = largest as f64 / (25.0 * 1e5 / 8.0);
            assert!((offered.load - offered.span.load).abs() <= slack, "{offered:?} {slack}");
            let inside = |r: &&Request| (offered.span.start..offered.span.end).contains(&r.at);
            assert_eq!(scaled.requests.iter().filter(inside).count(), offered.requests);
        }
        let mean: f64 = scaled.periods.iter().map(|p| p.load).sum::<f64>() / 6.0;
        assert!((mean - 0.7).abs() < 0.02, "{mean}");
        assert!(scaled.requests.is_sorted_by(|a, b| a.at <= b.at));
    }
}

#[test]
fn what_is_rounded_in_a_period_is_made_up_in_the_next() {
    let trace: Vec<Request> = (0..20).map(|i| request(f64::from(i), 1000)).collect();
    // Each period asks for one response and a half.
    let scaling = Scaling { work: Work::File, ..Scaling::new(shape(&[(1.5, 1.0)]), 6.0, 8000.0) };
    let scaled = scale(&trace, &scaling).unwrap();
    let requests: Vec<usize> = scaled.periods.iter().map(|period| period.requests).collect();
    assert_eq!(requests, [2, 1, 2, 1]);
}

#[test]
fn within_a_period_interarrivals_keep_their_proportions() {
    let trace = trace(5_000);
    let scaled = scale(&trace, &Scaling::new(shape(&[(10.0, 0.5)]), 10.0, 1e6)).unwrap();
    let gaps = |requests: &[Request]| -> Vec<f64> {
        requests.windows(2).map(|pair| pair[1].at - pair[0].at).collect()
    };
    let (own, now) = (gaps(&trace), gaps(&scaled.requests));
    let factor = now[0] / own[0];
    assert!(now.len() > 100);
    for (own, now) in own.iter().zip(&now) {
        assert!((now - own * factor).abs() < 1e-9, "{now} {own}");
    }
}

#[test]
fn one_factor_for_all_has_the_load_on_average_and_keeps_every_burst() {
    let trace = trace(20_000);
    let total: f64 = trace.iter().map(|r| r.size.unwrap() as f64).sum();
    // Just long enough for the whole trace: mean load is 0.5.
    let duration = total * 8.0 / 1e6 / 0.5;
    let scaling = Scaling {
        fit: Fit::Overall,
        work: Work::File,
        ..Scaling::new(shape(&[(1.0, 0.8), (1.0, 0.2)]), duration * 0.9, 1e6)
    };
    let scaled = scale(&trace, &scaling).unwrap();
    assert_eq!(scaled.ended, None);
    let used = scaled.requests.len() as f64 / trace.len() as f64;
    assert!((used - 0.9).abs() < 0.01, "{used}");
    let longer = Scaling { duration: duration * 1.5, ..scaling };
    let ended = scale(&trace, &longer).unwrap();
    assert_eq!(ended.requests.len(), trace.len());
    assert!((ended.ended.unwrap() / duration - 1.0).abs() < 0.01);
}

#[test]
fn a_trace_that_ends_early_says_so_or_begins_again() {
    let trace = trace(200);
    let total: f64 = trace.iter().map(|r| Wire::default().bytes(r.size.unwrap()) as f64).sum();
    let rate = total * 8.0 / 10.0; // at load 1 the trace lasts 10 s
    let once = Scaling::new(shape(&[(4.0, 1.0)]), 30.0, rate);
    let scaled = scale(&trace, &once).unwrap();
    assert_eq!(scaled.requests.len(), 200);
    assert!((scaled.ended.unwrap() - 10.0).abs() < 0.5, "{:?}", scaled.ended);
    assert!(scaled.requests.iter().all(|r| r.at <= scaled.ended.unwrap()));
    let again = scale(&trace, &Scaling { repeat: true, ..once }).unwrap();
    assert_eq!(again.ended, None);
    assert!((590..=610).contains(&again.requests.len()), "{}", again.requests.len());
}

#[test]
fn seeds_take_different_parts_and_the_same_seed_the_same() {
    let trace = trace(5_000);
    let from = |seed| {
        let scaling = Scaling { start: Some(seed), ..Scaling::new(shape(&[(5.0, 1.0)]), 5.0, 1e6) };
        scale(&trace, &scaling).unwrap()
    };
    assert_eq!(from(1), from(1));
    assert_ne!(from(1).requests[0].size, from(2).requests[0].size);
}

#[test]
fn long_gaps_are_cut_and_ties_and_single_requests_are_placed() {
    let days =
        vec![request(0.0, 1000), request(1.0, 1000), request(1e6, 1000), request(1e6 + 1.0, 1000)];
    let scaling = Scaling {
        longest_gap: 2.0,
        work: Work::File,
        ..Scaling::new(shape(&[(4.0, 1.0)]), 4.0, 8000.0)
    };
    let scaled = scale(&days, &scaling).unwrap();
    assert_eq!((scaled.gaps_cut, scaled.ended), (1, None));
    let gaps: Vec<f64> = scaled.requests.windows(2).map(|p| p[1].at - p[0].at).collect();
    assert!((gaps[1] / gaps[0] - 2.0).abs() < 1e-9, "{gaps:?}");
    // Half a gap at either end.
    let ends = [scaled.requests[0].at, scaled.requests[3].at];
    assert!((ends[0] - 0.5).abs() < 1e-9 && (ends[1] - 3.5).abs() < 1e-9, "{ends:?}");
    let ties = vec![request(0.0, 1000); 4];
    let at: Vec<f64> = scale(&ties, &scaling).unwrap().requests.iter().map(|r| r.at).collect();
    assert_eq!(at, [0.5, 1.5, 2.5, 3.5]);
    let single = scale(&ties[..1], &Scaling { repeat: true, ..scaling.clone() }).unwrap();
    assert_eq!(single.requests.len(), 4);
    assert!(scale(&[], &scaling).is_err());
    assert!(scale(&[request(0.0, 0)], &scaling).is_err());
    assert!(scale(&ties, &Scaling { duration: f64::NAN, ..scaling.clone() }).is_err());
    assert!(scale(&ties, &Scaling { rate: 0.0, ..scaling }).is_err());
}

proptest! {
    /// Whatever the trace and the shape: times are in order and inside, no request twice in one pass.
    #[test]
    fn scaled_times_are_in_order_and_inside(
        gaps in prop::collection::vec((0.0f64..100.0, 0u64..100_000), 1..200),
        periods in prop::collection::vec((0.1f64..20.0, 0.0f64..3.0), 1..5),
        duration in 0.1f64..100.0,
        overall in any::<bool>(),
        start in any::<Option<u64>>(),
    ) {
        prop_assume!(periods.iter().any(|period| period.1 > 0.0));
        let mut at = 0.0;
        let trace: Vec<Request> = gaps.iter().map(|&(gap, size)| { at += gap; request(at, size) }).collect();
        // One factor cannot spread what comes all at once; that is refused (a test above).
        prop_assume!(!overall || trace.first().map(|r| r.at) != trace.last().map(|r| r.at));
        let fit = if overall { Fit::Overall } else { Fit::Period };
        let scaling = Scaling { fit, start, ..Scaling::new(shape(&periods), duration, 1e6) };
        let scaled = scale(&trace, &scaling).unwrap();
        prop_assert!(scaled.requests.len() <= trace.len());
        prop_assert!(scaled.requests.is_sorted_by(|a, b| a.at <= b.at));
        prop_assert!(scaled.requests.iter().all(|r| (0.0..=duration).contains(&r.at)));
        prop_assert!(scaled.ended.is_none_or(|end| (0.0..=duration).contains(&end)));
        prop_assert_eq!(scaled.periods.iter().map(|p| p.requests).sum::<usize>(), scaled.requests.len());
    }
}

#[test]
fn one_factor_cannot_scale_requests_of_one_time() {
    let trace: Vec<Request> = (0..20).map(|_| request(5.0, 1000)).collect();
    let scaling = Scaling::new(shape(&[(1.0, 0.5)]), 3.0, 1e5);
    assert!(!scale(&trace, &scaling).expect("fitted by period").requests.is_empty());
    let overall = Scaling { fit: Fit::Overall, ..scaling };
    let said = scale(&trace, &overall).expect_err("no span").0;
    assert!(said.contains("the same time") && said.contains("--overall"), "{said}");
}

#[test]
fn durations_without_end_are_refused() {
    let scaling = Scaling { repeat: true, ..Scaling::new(shape(&[(1.0, 0.5)]), 2e9, 1e5) };
    let said = scale(&trace(10), &scaling).expect_err("too long").0;
    assert!(said.contains("at most 1000000000"), "{said}");
}
