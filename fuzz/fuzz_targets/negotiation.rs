//! Arbitrary bytes as the values of fields that say what a client takes and who it is: `Accept-Encoding`,
//! `Accept`, `Authorization`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_http::message::accept::wanted;
use weir_http::message::coding::{AcceptedCodings, Coding};
use weir_http::message::credentials::basic;

fuzz_target!(|data: &[u8]| {
    if let Some(credentials) = basic(data) {
        let both = [credentials.user.as_str(), &credentials.password].concat();
        assert!(!credentials.user.contains(':') && !both.contains(|c: char| c.is_ascii_control()));
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let accepted = AcceptedCodings::parse(text);
    let best = accepted.best(Coding::ALL.map(|coding| (coding, 1)));
    assert!(best.is_none() || !accepted.is_none());
    // Of one that is excluded in the end, nothing is sent.
    if let Some(best) = best {
        let excluded = Coding::ALL.map(|coding| format!("{};q=0", coding.name())).join(",");
        let only = AcceptedCodings::parse(&excluded);
        assert!(only.best([(best, 1)]).is_none());
    }
    assert!(wanted(text, "text/html").quality <= 1000);
});
