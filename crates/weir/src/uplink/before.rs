//! How somebody's queue is brought back after weir's bands: the words of `tc qdisc add`, made from what
//! `tc -j qdisc show` tells of it. Pure; `install` keeps them for `remove`.

use serde_json::Value;

use super::queues::Queue;

/// Kinds of queues that nothing hangs from, with all of their options: the name that `tc` gives it
/// in JSON, the word that it takes, and the unit that the word needs.
type Options = &'static [(&'static str, &'static str, &'static str)];

const KINDS: [(&str, Options); 5] = [
    ("pfifo", &[("limit", "limit", "")]),
    ("bfifo", &[("limit", "limit", "")]),
    ("pfifo_fast", &[]),
    ("tbf", &[("rate", "rate", "bps"), ("burst", "burst", ""), ("lat", "latency", "us")]),
    (
        "fq_codel",
        &[
            ("limit", "limit", ""),
            ("flows", "flows", ""),
            ("quantum", "quantum", ""),
            ("target", "target", "us"),
            ("interval", "interval", "us"),
            ("memory_limit", "memory_limit", ""),
            ("drop_batch", "drop_batch", ""),
            ("ecn", "ecn", ""),
        ],
    ),
];

/// The words of `tc qdisc add dev DEVICE` that make the same queue. `None` if it is of a kind, or has an
/// option, that is not known here: then it would not be the same.
pub(super) fn words(queue: &Queue) -> Option<String> {
    let (_, known) = KINDS.iter().find(|(kind, _)| *kind == queue.kind)?;
    let mut words = format!("root handle {} {}", queue.handle, queue.kind);
    // pfifo_fast has no options to set; what tc tells of it is built in.
    if known.is_empty() {
        return Some(words);
    }
    for (name, value) in &queue.options {
        let (_, word, unit) = known.iter().find(|(known, ..)| known == name)?;
        match value {
            Value::Number(number) => words.push_str(&format!(" {word} {number}{unit}")),
            Value::Bool(true) => words.push_str(&format!(" {word}")),
            Value::Bool(false) => words.push_str(&format!(" no{word}")),
            _ => return None,
        }
    }
    // tc leaves ecn out when it is off, and a new fq_codel has it on.
    if queue.kind == "fq_codel" && !queue.options.contains_key("ecn") {
        words.push_str(" noecn");
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::super::queues::{Root, parse, root};
    use super::*;

    fn words_of(queue: &str) -> Option<String> {
        let queues = parse(&format!("[{queue}]")).expect("a list");
        let Root::Other(queue, false) = root(&queues, "eth0") else { panic!("{queue}") };
        words(&queue)
    }

    #[test]
    fn known_queues_are_made_again_and_others_are_not() {
        let tbf = r#"{"kind":"tbf","handle":"8:","root":true,"options":{"rate":125000,"burst":5120,"lat":70000}}"#;
        let words = words_of(tbf);
        let expected = "root handle 8: tbf burst 5120 latency 70000us rate 125000bps";
        assert_eq!(words.as_deref(), Some(expected));
        let fq = r#"{"kind":"fq_codel","handle":"1:","root":true,"options":{"limit":10240,"target":4999,"ecn":true}}"#;
        let expected = "root handle 1: fq_codel ecn limit 10240 target 4999us";
        assert_eq!(words_of(fq).as_deref(), Some(expected));
        let noecn = r#"{"kind":"fq_codel","handle":"1:","root":true,"options":{"limit":10240}}"#;
        let expected = "root handle 1: fq_codel limit 10240 noecn";
        assert_eq!(words_of(noecn).as_deref(), Some(expected));
        let peak = r#"{"kind":"tbf","handle":"8:","root":true,"options":{"rate":125000,"burst":5120,"peakrate":9}}"#;
        let cake = r#"{"kind":"cake","handle":"8:","root":true,"options":{"bandwidth":1}}"#;
        assert_eq!((words_of(peak), words_of(cake)), (None, None));
    }
}
