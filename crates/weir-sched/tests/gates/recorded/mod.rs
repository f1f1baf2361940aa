//! Recorded decisions: long sequences of calls, the same in every run, and a digest of every answer
//! of the gates. Used by whoever rebuilds a gate or a policy: the digests stay the same as long as
//! the decisions do.
//!
//! A digest that differs means that some decision differs. If that was intended, take over the
//! digest that the failure prints, and say in the commit which decisions changed and why.

mod backend;
mod disk;
mod script;
mod uplink;

/// Compares what was computed with what was recorded, and prints all that differ at once.
fn compare(recorded: &[(&str, u64)], computed: &[(String, u64)]) {
    let differ: Vec<String> = computed
        .iter()
        .filter(|(name, digest)| {
            recorded.iter().any(|(other, expected)| other == name && expected != digest)
        })
        .map(|(name, digest)| format!("(\"{name}\", {digest:#018X})"))
        .collect();
    assert!(differ.is_empty(), "decisions differ from the recorded ones: {}", differ.join(", "));
    for (name, _) in recorded {
        assert!(
            computed.iter().any(|(other, _)| other == name),
            "{name} is recorded, but not there"
        );
    }
}
