//! The requests of a run are as the scene says.

use super::*;

fn requests(scene: &Scene) -> Vec<Asked> {
    scene.requests(1, 100.0).expect("requests")
}

fn wire(asked: &[Asked]) -> f64 {
    asked.iter().map(|asked| Wire::default().bytes(asked.body) as f64).sum::<f64>()
        / speed()
        / 100.0
}

#[test]
fn half_of_the_load_is_monitored_and_the_load_is_as_wanted() {
    let (monitored, others): (Vec<Asked>, Vec<Asked>) =
        requests(&Scene::new(Site::Austin, 0.8, 100)).into_iter().partition(|a| a.monitored);
    // The last request of each kind may be large.
    for load in [wire(&monitored), wire(&others)] {
        assert!((0.4..0.5).contains(&load), "{load}");
    }
    assert!(others.iter().all(|a| a.request.client.round_trip == Duration::from_micros(200)));
}

#[test]
fn round_trips_have_their_mean_and_are_no_less_than_the_site_s() {
    for (site, base) in [(Site::Austin, 0.03), (Site::Seattle, 0.05)] {
        let asked = requests(&Scene::new(site, 0.9, 150));
        let trips = asked.iter().filter(|a| a.monitored).map(|a| a.request.client.round_trip);
        let trips: Vec<f64> = trips.map(|trip| trip.as_secs_f64()).collect();
        let mean = trips.iter().sum::<f64>() / trips.len() as f64;
        assert!((mean / 0.15 - 1.0).abs() < 0.01, "{mean}");
        assert!(trips.iter().all(|trip| (base..=0.3 - base).contains(trip)));
    }
    let constant = Scene { added: Added::Constant, ..Scene::new(Site::Austin, 0.9, 150) };
    let far = Duration::from_millis(150);
    assert!(requests(&constant).iter().all(|a| !a.monitored || a.request.client.round_trip == far));
}

#[test]
fn scenes_that_differ_in_round_trips_ask_for_the_same() {
    let of = |trip| {
        let asked = requests(&Scene::new(Site::Seattle, 0.7, trip));
        asked.iter().map(|a| (a.request.at, a.body, a.monitored)).collect::<Vec<_>>()
    };
    assert_eq!(of(50), of(250));
    let austin = requests(&Scene::new(Site::Austin, 0.7, 50));
    assert_ne!(austin[0].request.at, of(50)[0].0);
}

#[test]
fn a_response_time_has_the_opening_of_the_connection_in_it() {
    let asked = Asked::new(10.0, 1000, 100.0, true);
    // The answer to a request that is at the server at 10 s is at the client at 10.05 s.
    assert!((asked.response_time(10.05) - 0.2).abs() < 1e-9);
}
