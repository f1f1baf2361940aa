//! Shows that a backend that is well again is found to be, whatever the clients do whose calls try it.

use crate::support::{Backend, Barrier, Server, Then, eventually};

/// The target of the call that tries, which is answered when `barrier` says so. Before it has been
/// asked for, `/ill` is reset.
fn sick(barrier: Barrier) -> Backend {
    Backend::new(move |call| match call.asked.target() {
        "/ill" => Then::Reset,
        "/try" => {
            barrier.pass();
            call.ok("sick")
        }
        _ => call.ok("sick"),
    })
}

#[test]
fn the_answer_to_a_try_counts_though_its_client_has_left() {
    for keys in ["", "cancels = true\n"] {
        let barrier = Barrier::default();
        let (sick, well) = (sick(barrier.clone()), Backend::saying("well"));
        let always = "max_fails = 1\nfail_timeout = \"100ms\"\nretries = 0\n";
        let server = Server::routed(&[&sick.url, &well.url], &format!("{always}{keys}"));
        eventually("it is put out", || server.get("/ill").status == 502);
        server.wait_for_metric("weir_backend_up", 1.0);
        let tried = || sick.targets().contains(&"/try".to_owned());
        eventually("one call tries it", || {
            let mut client = server.connect();
            client.ask("/try");
            eventually("it goes to one of the two", || tried() || client.has_answer());
            tried()
        });
        server.wait_for_metric("weir_backend_dead_in_service_total", 1.0);
        assert_eq!(server.metrics().sum("weir_backend_up"), 1.0, "there is no answer yet");
        barrier.open(1);
        // Nobody asks any more.
        server.wait_for_metric("weir_backend_up", 2.0);
    }
}
