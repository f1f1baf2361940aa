//! Times: order, windows, and where requests lie inside their second.

use super::*;

fn log(seconds: &[u32]) -> String {
    let line = |s: &u32| {
        format!(
            "a - - [10/Oct/2000:13:{:02}:{:02} +0000] \"GET /{s} HTTP/1.0\" 200 1\n",
            s / 60,
            s % 60
        )
    };
    seconds.iter().map(line).collect()
}

fn at(seconds: &[u32], options: Options) -> Vec<f64> {
    read(log(seconds), options).expect("in order").iter().map(|r| r.at).collect()
}

#[test]
fn requests_of_one_second_are_spread_inside_it() {
    let seconds = [5, 5, 5, 5, 6, 8, 8];
    let even = at(&seconds, Options { spread: Spread::Even, ..Options::default() });
    assert_eq!(even, [0.125, 0.375, 0.625, 0.875, 1.5, 3.25, 3.75]);
    let none = at(&seconds, Options { spread: Spread::None, ..Options::default() });
    assert_eq!(none, [0.0, 0.0, 0.0, 0.0, 1.0, 3.0, 3.0]);
    let uniform =
        |seed| at(&seconds, Options { spread: Spread::Uniform { seed }, ..Options::default() });
    assert_eq!(uniform(1), uniform(1));
    assert_ne!(uniform(1), uniform(2));
    assert!(uniform(1).is_sorted());
    assert_eq!(uniform(1).iter().map(|t| t.floor()).collect::<Vec<_>>(), none);
}

#[test]
fn uniform_spreading_looks_like_a_poisson_process() {
    // 4000 in a second: the mean gap is 1/4000, its coefficient of variation that of exponentials.
    let times = at(&[7; 4000], Options::default());
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.1);
}

#[test]
fn a_time_that_goes_back_is_an_error_unless_the_window_sorts_it() {
    let said = error(log(&[5, 9, 7, 10]));
    assert!(said.starts_with("line 3: the time is 2 s before"), "{said}");
    let (kept, counts) = skipping(log(&[5, 9, 7, 10]), None);
    assert_eq!((kept.len(), counts.bad.get(&Reason::OutOfOrder)), (3, Some(&1)));
    let none = Options { spread: Spread::None, ..Options::default() };
    let sorted = at(&[5, 9, 7, 10, 9], Options { reorder: 2.0, ..none.clone() });
    assert_eq!(sorted, [0.0, 2.0, 4.0, 4.0, 5.0]);
    // The first request in time need not be the first in the log.
    assert_eq!(at(&[5, 4, 6], Options { reorder: 1.0, ..none.clone() }), [0.0, 1.0, 2.0]);
    assert!(read(log(&[5, 9, 7, 10]), Options { reorder: 1.0, ..none }).is_err());
}

#[test]
fn a_jump_of_the_longest_length_reads_back_wherever_it_was_spread_in_its_second() {
    let csv = |last: f64| format!("time,client,path,size\n0.25,a,/x,1\n{last},a,/x,1\n");
    assert_eq!(read(csv(31_622_401.0), Options::default()).expect("366 days").len(), 2);
    assert!(read(csv(31_622_401.5), Options::default()).is_err());
}

#[test]
fn of_equal_times_the_first_in_the_log_stays_first() {
    let lines: String = (0..50)
        .map(|i| format!("a - - [10/Oct/2000:13:00:00 +0000] \"GET /{i} HTTP/1.0\" 200 {i}\n"))
        .collect();
    for reorder in [0.0, 5.0] {
        let requests = read(&lines, Options { reorder, ..Options::default() }).unwrap();
        assert!(requests.iter().zip(0..).all(|(r, i)| r.size == Some(i)));
    }
}

#[test]
fn csv_of_whole_seconds_is_spread_on_request() {
    let csv = "time,client,path,size\n3,1,/a,1\n3,1,/b,1\n4,1,/c,1\n";
    let plain: Vec<f64> = requests(csv).iter().map(|r| r.at).collect();
    assert_eq!(plain, [3.0, 3.0, 4.0]);
    let options = Options { whole_seconds: true, spread: Spread::Even, ..Options::default() };
    let spread: Vec<f64> = read(csv, options).unwrap().iter().map(|r| r.at).collect();
    assert_eq!(spread, [3.25, 3.75, 4.5]);
}

#[test]
fn one_time_far_ahead_is_refused_alone_and_gaps_of_months_pass() {
    let header = "time,client,path,size\n";
    let csv = format!("{header}0,1,/a,5\n4e9,1,/b,5\n1,1,/c,5\n2e7,1,/d,5\n");
    let said = error(&csv);
    assert!(said.starts_with("line 3: the time is 4000000000 s after"), "{said}");
    let (kept, counts) = skipping(&csv, None);
    assert_eq!(kept.iter().map(|r| r.at).collect::<Vec<_>>(), [0.0, 1.0, 2e7]);
    assert_eq!(counts.bad.into_iter().collect::<Vec<_>>(), [(Reason::FarAhead, 1)]);
}

#[test]
fn a_full_window_empties_when_time_goes_on() {
    use crate::read::limits::MOST_HELD;
    use crate::read::order::Window;
    let path: std::sync::Arc<str> = "/".into();
    let request = |at| Request { at, client: 0, class: 0, path: path.clone(), size: None };
    let mut window = Window::new(10.0);
    for _ in 0..MOST_HELD {
        window.push(request(0.0)).expect("room");
    }
    assert!(window.push(request(5.0)).is_err() && window.pop(false).is_none());
    assert!(window.push(request(20.0)).is_err(), "full until something was taken out");
    assert!(window.pop(false).is_some());
    assert!(window.push(request(20.0)).is_ok());
}
