//! Shows that the memory for files is there once, however often the configuration changes while responses
//! are under way that began before.

use std::fs;

use crate::support::{Client, Configuration};

const START: &str = "workers = 1\naccess_log = \"off\"\nroot = \"public\"\ncache = \"40MB\"\n\
                     listen = \"127.0.0.1:0\"\nmin_rate = 0\nsend_timeout = \"1h\"\n";

/// Together 30 MB.
const FILES: usize = 1000;
const LENGTH: usize = 30_000;

#[test]
fn a_response_under_way_keeps_no_files_but_its_own_in_memory() {
    let configuration = Configuration::new(START);
    let public = configuration.path("public");
    let huge = vec![b'x'; 20_000_000];
    fs::write(public.join("huge"), &huge).unwrap();
    let names: Vec<String> = (0..FILES).map(|number| number.to_string()).collect();
    for name in &names {
        fs::write(public.join(name), vec![b'x'; LENGTH]).unwrap();
    }
    let server = configuration.start(1);
    let mut kept = server.connect();
    let (mut busy, mut memory) = (Vec::new(), Vec::new());
    let without = server.memory();
    for round in 0..5 {
        // It was written last: once it is remembered, all can be.
        server.make_hot(&mut kept, &format!("/{}", FILES - 1));
        for name in names.iter().chain(&names) {
            assert_eq!(kept.get(&format!("/{name}")).body.len(), LENGTH);
        }
        let mut client = Client::with_small_buffer(server.address());
        client.ask("/huge");
        assert_eq!(client.head().status, 200);
        busy.push(client);
        memory.push(server.memory());
        let said = configuration.change(&format!("{START}cache_control = \"max-age={round}\"\n"));
        assert!(said.contains("`cache_control`"), "{said}");
    }
    // All of them were in memory, most of the 30 MB at least.
    assert!(memory[0] > without + 20_000_000, "{without} and then {memory:?}");
    let more = memory[4].saturating_sub(memory[0]);
    assert!(more < (2 * FILES * LENGTH) as u64, "{memory:?}");
    assert!(busy[0].read(huge.len()) == huge);
}
