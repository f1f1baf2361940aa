//! One call under way at a backend and others that wait for it, as a test wants them.

use super::{Backend, Barrier, Client, Server, route};

/// A backend that answers a call when the barrier lets it, with the call's target.
pub fn held() -> (Backend, Barrier) {
    let barrier = Barrier::default();
    let pass = barrier.clone();
    let backend = Backend::new(move |call| {
        pass.pass();
        call.ok(call.asked.target())
    });
    (backend, barrier)
}

/// One call at a time, with more keys of the route.
pub fn one_at_a_time(backend: &Backend, keys: &str) -> Server {
    // One worker: each keeps connections of its own.
    let route = route("/", &[&backend.url]);
    Server::configured(&format!("workers = 1\n{route}backend_limit = 1\n{keys}\n"), &[])
}

/// A client that has asked and does not wait.
pub fn asking(server: &Server, path: &str) -> Client {
    let mut client = server.connect();
    client.ask(path);
    client
}

pub fn wait_for_waiting(server: &Server, count: usize) {
    server.wait_for_metric("weir_backend_waiting", count as f64);
}

/// One call under way, and the others waiting in this order.
pub fn queue(server: &Server, backend: &Backend, paths: &[&str]) -> Vec<Client> {
    let mut clients = vec![asking(server, "/first")];
    backend.wait_for_requests(1);
    for (count, path) in paths.iter().enumerate() {
        clients.push(asking(server, path));
        wait_for_waiting(server, count + 1);
    }
    clients
}
