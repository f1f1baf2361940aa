use super::*;
use crate::arrivals::LoadIs;
use crate::law::WorldCup;
use crate::shape::Shape;
use crate::wire::Wire;

fn w1(seconds: f64) -> Offered {
    let shape = Shape::schroeder(1).expect("in the table");
    Offered::new(Arc::new(WorldCup), shape, seconds, 1.25e6)
}

fn all(offered: &Offered) -> Vec<Request> {
    offered.arrivals().expect("a workload").collect()
}

/// Offered load of the requests within a span.
fn load(offered: &Offered, requests: &[Request], start: f64, end: f64) -> f64 {
    let inside = requests.iter().filter(|request| request.at >= start && request.at < end);
    let sizes = inside.filter_map(|request| request.size);
    let work: u64 = match offered.load_is {
        LoadIs::Wire => sizes.map(|size| Wire::default().bytes(size)).sum(),
        LoadIs::File => sizes.sum(),
    };
    work as f64 / (offered.bytes_per_second * (end - start))
}

#[test]
fn the_trace_of_seed_1_is_that_of_the_overload_benchmark() {
    // The first ten, the number and the sums of the first benchmark's trace: three cycles of 25 s at 1.2
    // and 25 s at 0.2, 10 Mbit/s, heads of 200 bytes.
    let first = [
        (0.006321712431980339, 2219),
        (0.006721363744887878, 2219),
        (0.007494597332726803, 1251),
        (0.023904955753166618, 1052),
        (0.02428969961191925, 96),
        (0.03387307447605401, 368),
        (0.03415782619367276, 510),
        (0.03451290198190132, 111),
        (0.03759748448840871, 838),
        (0.049593490033187616, 1471),
    ];
    let requests = all(&w1(150.0));
    for (request, (at, size)) in requests.iter().zip(first) {
        assert!((request.at / at - 1.0).abs() < 1e-12, "{request:?}");
        assert_eq!(request.size, Some(size));
        assert_eq!(*request.path, *format!("/{size}.bin"));
    }
    assert_eq!(requests.len(), 23_135);
    assert_eq!(requests.iter().filter_map(|request| request.size).sum::<u64>(), 113_902_217);
    let times: f64 = requests.iter().map(|request| request.at).sum();
    assert!((times / 1_536_901.549_644_584_8 - 1.0).abs() < 1e-9, "{times}");
}

#[test]
fn equal_seeds_give_equal_workloads_and_a_longer_one_begins_alike() {
    let requests = all(&w1(50.0));
    assert_eq!(requests, all(&w1(50.0)));
    assert_ne!(requests, all(&Offered { seed: 2, ..w1(50.0) }));
    let longer = all(&w1(60.0));
    assert_eq!(requests[..], longer[..requests.len()]);
}

#[test]
fn arrivals_ascend_and_the_load_is_what_was_asked() {
    // Sizes are heavy-tailed, so the load of one cycle may be 10 % off; over 100 cycles the
    // standard deviation is about 1 %.
    for load_is in [LoadIs::Wire, LoadIs::File] {
        let offered = Offered { load_is, ..w1(5000.0) };
        let requests = all(&offered);
        assert!(requests.windows(2).all(|pair| pair[0].at <= pair[1].at));
        assert!(requests.iter().zip(0..).all(|(request, index)| request.client == index));
        let spans = offered.shape.overload(offered.seconds);
        let high: f64 = spans.iter().map(|s| load(&offered, &requests, s.start, s.end)).sum();
        let high = high / spans.len() as f64;
        assert!((high / 1.2 - 1.0).abs() < 0.03, "{load_is}: {high}");
        let mean = load(&offered, &requests, 0.0, 5000.0);
        assert!((mean / 0.7 - 1.0).abs() < 0.03, "{load_is}: {mean}");
    }
}

#[test]
fn directories_change_only_paths() {
    let plain = all(&w1(50.0));
    let apart = all(&Offered { directories: 100, ..w1(50.0) });
    assert_eq!(plain.len(), apart.len());
    for (one, other) in plain.iter().zip(&apart) {
        assert_eq!((one.at, one.size), (other.at, other.size));
        assert!(other.path.starts_with("/dir") && other.path.ends_with(&*one.path));
    }
}

#[test]
fn classes_change_nothing_else() {
    let plain = all(&w1(50.0));
    let classed = all(&Offered { classes: vec![1.0, 1.0], ..w1(50.0) });
    assert!(plain.iter().all(|request| request.class == 0));
    let share =
        classed.iter().filter(|request| request.class == 1).count() as f64 / classed.len() as f64;
    assert!((share - 0.5).abs() < 0.03, "{share}");
    let unclassed: Vec<_> =
        classed.into_iter().map(|request| Request { class: 0, ..request }).collect();
    assert_eq!(plain, unclassed);
}

#[test]
fn equal_spacing_goes_on_over_periods_shorter_than_a_gap() {
    // Half of the time there is no load at all; 2 ms periods hold less than one arrival.
    let shape = Shape::parse("0.002s@0.6,0.002s@0").expect("a shape");
    let offered = Offered { shape, spacing: Spacing::Equal, ..w1(100.0) };
    let requests = all(&offered);
    let expected = 100.0 * 0.3 * 1.25e6 / offered.mean_work();
    assert!((requests.len() as f64 - expected).abs() < 2.0, "{} {expected}", requests.len());
    assert!(requests.windows(2).all(|pair| pair[0].at < pair[1].at));
}

#[test]
fn endless_requests_are_all_at_time_0() {
    let endless = w1(1.0).endless().expect("a demand");
    let sizes: Vec<_> = endless.take(50_000).map(|r| (r.at, r.size.unwrap_or(0))).collect();
    assert!(sizes.iter().all(|(at, _)| *at == 0.0));
    let small = sizes.iter().filter(|(_, size)| *size < 1000).count() as f64 / 50_000.0;
    assert!((small - 0.5).abs() < 0.01, "{small}");
}

#[test]
fn a_workload_that_makes_no_sense_is_refused() {
    for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e12] {
        assert!(w1(seconds).arrivals().is_err(), "{seconds}");
    }
    let no_link = Offered { bytes_per_second: 0.0, ..w1(1.0) };
    assert!(no_link.arrivals().is_err_and(|e| e.0.contains("bytes per second")));
    let classes = Offered { classes: vec![-1.0], ..w1(1.0) };
    assert!(classes.arrivals().is_err_and(|e| e.0.contains("class 0")));
    assert!(classes.endless().is_err());
}
