use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn whatever_is_read_is_written_the_same(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(hello) = Hello::decode(&bytes) {
            prop_assert_eq!(&hello.encode()[..], &bytes[..]);
        }
        if let Ok(welcome) = Welcome::decode(&bytes) {
            prop_assert_eq!(&welcome.encode()[..], &bytes[..]);
        }
        if let Ok(question) = Question::decode(&bytes) {
            prop_assert_eq!(question.encode(), Ok(bytes.clone()));
        }
        if let Ok(answer) = Answer::decode(&bytes) {
            prop_assert_eq!(&answer.encode()[..], &bytes[..]);
        }
    }

    #[test]
    fn a_question_is_read_as_it_was_asked(
        number: u32,
        name in proptest::collection::vec(1_u8.., 0..=LONGEST_NAME - 1),
    ) {
        let name = [&b"/"[..], &name].concat();
        let question = Question { number, name: &name };
        let bytes = question.encode().unwrap();
        prop_assert_eq!(Question::decode(&bytes), Ok(question));
        // One byte less or more is no question.
        prop_assert_eq!(Question::decode(&bytes[..bytes.len() - 1]), Err(Malformed));
        let longer = [&bytes[..], b"x"].concat();
        prop_assert_eq!(Question::decode(&longer), Err(Malformed));
    }

    #[test]
    fn an_answer_is_read_as_it_was_given(number: u32, kind in 0..4, error: u16) {
        let found = match kind {
            0 => Found::File,
            1 => Found::Directory,
            2 => Found::Nothing(error),
            _ => Found::NotTold(error),
        };
        let answer = Answer { number, found };
        prop_assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
    }
}

#[test]
fn names_that_cannot_be_are_refused() {
    let question = |name| Question { number: 1, name }.encode();
    assert!(question(b"/a").is_ok() && question(&[b'/'; LONGEST_NAME]).is_ok());
    for name in [&b""[..], b"a", b"../a", b"/a\0b", &[b'/'; LONGEST_NAME + 1], &[b'/'; 70_000]] {
        assert_eq!(question(name), Err(Malformed));
    }
    // Another kind of question.
    let mut bytes = question(b"/a").unwrap();
    bytes[4] = 2;
    assert_eq!(Question::decode(&bytes), Err(Malformed));
}

#[test]
fn only_the_same_version_is_welcome() {
    assert!(Welcome::to(Hello { version: VERSION }).accepted);
    for version in [0, VERSION + 1, u16::MAX] {
        let hello = Hello::decode(&Hello { version }.encode()).unwrap();
        assert_eq!(Welcome::to(hello), Welcome { version: VERSION, accepted: false });
    }
    assert_eq!(Hello::decode(b"GET / HT"), Err(Malformed));
}

/// The module in C reads and writes these very bytes.
#[test]
fn the_bytes_are_those_of_the_module() {
    assert_eq!(Hello { version: 1 }.encode(), *b"WOPN\x01\0\0\0");
    assert_eq!(Welcome { version: 1, accepted: true }.encode(), *b"WOPN\x01\0\x01\0");
    let question = Question { number: 258, name: b"/ab" };
    assert_eq!(question.encode().unwrap(), b"\x02\x01\0\0\x01\0\x03\0/ab");
    let answer = Answer { number: 258, found: Found::Nothing(2) };
    assert_eq!(answer.encode(), *b"\x02\x01\0\0\x03\0\x02\0");
}
