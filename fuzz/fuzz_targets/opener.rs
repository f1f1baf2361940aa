//! Arbitrary bytes as each of the messages between a server and the opener; what is read is written the
//! same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_opener::protocol::{Answer, Hello, LONGEST_NAME, Question, Welcome};

fuzz_target!(|data: &[u8]| {
    if let Ok(hello) = Hello::decode(data) {
        assert_eq!(hello.encode(), data);
    }
    if let Ok(welcome) = Welcome::decode(data) {
        assert_eq!(welcome.encode(), data);
    }
    if let Ok(question) = Question::decode(data) {
        assert!(question.name.starts_with(b"/") && question.name.len() <= LONGEST_NAME);
        assert!(!question.name.contains(&0));
        assert_eq!(question.encode().as_deref(), Ok(data));
    }
    if let Ok(answer) = Answer::decode(data) {
        assert_eq!(answer.encode(), data);
    }
});
