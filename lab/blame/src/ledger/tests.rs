//! The ledger by a worked example, and by events in any order, some of them lost.

use proptest::prelude::*;

use super::*;
use crate::calls::number_of;
use crate::report::Blocked;

const LOOP: u32 = 10;
const HELPER: u32 = 20;

fn call(name: &str) -> Call {
    Call { number: number_of(name), arguments: [3; 6] }
}

/// Hands these over, times in milliseconds; answers every question with the name of its call.
fn tell(ledger: &mut Ledger, events: &[(u64, u32, Event)]) {
    for &(ms, task, event) in events {
        ledger.take(&Moment { at: ms * 1_000_000, task, event });
        for question in ledger.questions() {
            ledger.answer(&question, format!("/srv/{}", about(question.call.number).name));
        }
        ledger.settle();
    }
}

fn report(ledger: Ledger, ms: u64) -> Report {
    ledger.report(ms * 1_000_000, Method::Tracepoints)
}

fn enters(name: &str) -> Event {
    Event::Enters(call(name))
}

fn returns(name: &str, value: i64) -> Event {
    Event::Returns { number: number_of(name), value }
}

fn sleeps(state: State) -> Event {
    Event::Stops(state)
}

const HELD: State = State::Uninterruptible;
const ASLEEP: State = State::Interruptible;

/// An event loop that opens and sends a file, and a helper that reads one.
fn example() -> Vec<(u64, u32, Event)> {
    let waits = Event::Found { state: ASLEEP, inside: Inside::Call(call("epoll_pwait")) };
    let helper = Event::Found { state: ASLEEP, inside: Inside::Call(call("futex")) };
    vec![
        (0, LOOP, waits),
        (0, HELPER, helper),
        (10, LOOP, Event::Wakes),
        (11, LOOP, Event::Runs),
        (11, LOOP, returns("epoll_pwait", 12)),
        (11, LOOP, enters("openat")),
        (12, LOOP, sleeps(HELD)),
        (14, LOOP, Event::Wakes),
        (15, LOOP, Event::Runs),
        (15, LOOP, returns("openat", 7)),
        (15, LOOP, enters("sendfile")),
        (16, LOOP, sleeps(HELD)),
        (26, LOOP, Event::Wakes),
        (26, LOOP, Event::Runs),
        (27, LOOP, returns("sendfile", 4096)),
        (28, LOOP, enters("epoll_pwait")),
        (30, LOOP, returns("epoll_pwait", 0)),
        (31, LOOP, enters("epoll_pwait")),
        (32, LOOP, sleeps(ASLEEP)),
        (40, HELPER, Event::Runs),
        (40, HELPER, returns("futex", 0)),
        (40, HELPER, enters("pread64")),
        (40, HELPER, sleeps(HELD)),
        (60, HELPER, Event::Runs),
        (60, HELPER, returns("pread64", 4096)),
        (60, HELPER, Event::Ends),
    ]
}

fn ms(seconds: f64) -> u64 {
    (seconds * 1e3).round() as u64
}

/// Call, file, whether in an event loop, calls, milliseconds.
fn rows(blocked: &[Blocked]) -> Vec<(&str, Option<&str>, bool, u64, u64)> {
    let mut rows = Vec::new();
    for row in blocked {
        let (call, path) = (row.call.as_str(), row.path.as_deref());
        rows.push((call, path, row.in_event_loop, row.calls, ms(row.total_s)));
    }
    rows
}

#[test]
fn the_example_comes_out_as_by_hand() {
    let mut ledger = Ledger::new(0, [LOOP, HELPER]);
    tell(&mut ledger, &example());
    let found = report(ledger, 100);
    assert_eq!(
        rows(&found.blocked),
        [
            ("pread64", Some("/srv/pread64"), false, 1, 20),
            ("sendfile", Some("/srv/sendfile"), true, 1, 10),
            ("openat", Some("/srv/openat"), true, 1, 2),
        ]
    );
    assert_eq!(
        rows(&found.waiting),
        [("epoll_pwait", None, true, 2, 78), ("futex", None, false, 1, 40)]
    );
    let ready = found.ready.as_ref().unwrap();
    assert_eq!((ready.count, ready.empty, ready.median), (1, 1, 12));
    // Without the helper from 60 ms on; the loop ran or could from 10 to 12, 14 to 16, 26 to 32.
    assert_eq!((found.none_runnable().unwrap() * 100.0).round(), 90.0);
    assert_eq!((found.runnable.unwrap()[5] * 100.0).round(), 10.0);
    assert_eq!(found.most_runnable(), Some(0.0));
    let turn = found.longest_turn.as_ref().unwrap();
    assert_eq!((turn.task, ms(turn.at_s), ms(turn.seconds), ms(turn.queued_s)), (LOOP, 11, 17, 1));
    let calls: Vec<&str> = turn.blocked.iter().map(|row| row.call.as_str()).collect();
    assert_eq!(calls, ["sendfile", "openat"]);
    assert!(!turn.unfinished && !found.ended && found.tasks == 2);
    assert_eq!((ms(found.processor_s), ms(found.queued_s), ms(found.unknown_s)), (8, 2, 0));
}

#[test]
fn a_call_that_blocks_to_the_end_is_told() {
    let mut ledger = Ledger::new(0, [LOOP]);
    let mut events = example();
    events.truncate(7);
    events.retain(|(_, task, _)| *task == LOOP);
    tell(&mut ledger, &events);
    let found = report(ledger, 112);
    assert_eq!(rows(&found.blocked), [("openat", Some("/srv/openat"), true, 1, 100)]);
    let turn = found.longest_turn.unwrap();
    assert!(turn.unfinished && turn.blocked.len() == 1);
}

#[test]
fn a_file_closed_before_its_name_was_read_has_none() {
    let mut ledger = Ledger::new(0, [LOOP]);
    let events = [
        (1, enters("fsync")),
        (1, sleeps(HELD)),
        (2, Event::Runs),
        (2, returns("fsync", 0)),
        (3, enters("close")),
    ];
    for (ms, event) in events {
        ledger.take(&Moment { at: ms * 1_000_000, task: LOOP, event });
    }
    assert_eq!(ledger.questions(), []);
    assert_eq!(rows(&report(ledger, 4).blocked), [("fsync", None, false, 1, 1)]);
}

#[test]
fn a_page_fault_is_blamed_and_a_stopped_task_is_not() {
    let mut ledger = Ledger::new(0, [LOOP]);
    let events = [
        (0, LOOP, returns("read", 1)),
        (1, LOOP, sleeps(HELD)),
        (4, LOOP, Event::Wakes),
        (5, LOOP, Event::Runs),
        (6, LOOP, sleeps(ASLEEP)),
        (9, LOOP, Event::Runs),
    ];
    tell(&mut ledger, &events);
    let found = report(ledger, 10);
    assert_eq!(rows(&found.blocked), [("page fault", None, false, 1, 3)]);
    assert_eq!(rows(&found.waiting), [("page fault", None, false, 1, 3)]);
}

#[test]
fn time_in_which_events_were_lost_is_nobodys() {
    let mut ledger = Ledger::new(0, [LOOP]);
    let blocks = [(0, LOOP, enters("openat")), (1, LOOP, sleeps(HELD))];
    tell(&mut ledger, &blocks);
    ledger.lose(50_000_000, 7);
    let goes_on = Event::Found { state: HELD, inside: Inside::Call(call("openat")) };
    tell(&mut ledger, &[(60, LOOP, goes_on), (70, LOOP, Event::Runs)]);
    let found = report(ledger, 70);
    assert_eq!((found.lost_events, ms(found.unknown_s)), (7, 59));
    assert_eq!(rows(&found.blocked), [("openat", Some("/srv/openat"), false, 1, 10)]);
}

#[test]
fn while_only_the_busy_tasks_are_known_again_nothing_counts_as_runnable() {
    let mut ledger = Ledger::new(0, [LOOP, HELPER]);
    ledger.lose(10_000_000, 7);
    let idle = Event::Found { state: ASLEEP, inside: Inside::Call(call("futex")) };
    tell(&mut ledger, &[(20, LOOP, Event::Runs), (110, HELPER, idle)]);
    let found = report(ledger, 120);
    // One of two from 110 ms on, not one of one before.
    assert_eq!(
        (found.runnable.unwrap()[5], found.runnable.unwrap()[10], found.mean_runnable),
        (1.0, 0.0, Some(0.5))
    );
}

#[test]
fn a_child_is_watched_from_its_fork_to_its_end() {
    let mut ledger = Ledger::new(0, [LOOP]);
    let forks = Event::Forks { child: 30 };
    tell(&mut ledger, &[(0, LOOP, Event::Runs), (1, LOOP, forks), (2, 30, Event::Runs)]);
    tell(&mut ledger, &[(3, LOOP, Event::Ends), (5, 30, Event::Ends), (6, 30, Event::Runs)]);
    assert!(!ledger.is_alive());
    let found = report(ledger, 8);
    assert!(found.ended && found.tasks == 2);
    assert_eq!((found.processor_s, found.queued_s), (0.006, 0.001));
    // One of one, two of two, one of one; then there was none.
    assert_eq!(found.runnable.unwrap()[10], 1.0);
}

#[test]
fn samples_make_calls_and_turns_of_what_they_see() {
    let mut ledger = Ledger::new(0, [LOOP]);
    let at = |ms, state, inside| (ms, LOOP, Event::Sampled { state, inside });
    let waits = Inside::Call(call("epoll_pwait"));
    let opens = Inside::Call(call("openat"));
    let seen = [
        at(0, ASLEEP, waits),
        at(1, ASLEEP, waits),
        at(2, HELD, opens),
        at(3, HELD, opens),
        at(4, State::Runnable, Inside::Unknown),
        at(5, ASLEEP, waits),
    ];
    tell(&mut ledger, &seen);
    let method = Method::Sampled { per_second: 1000.0, because: "a test".into() };
    let found = ledger.report(6_000_000, method);
    assert_eq!(rows(&found.blocked), [("openat", Some("/srv/openat"), true, 1, 2)]);
    assert_eq!(rows(&found.waiting), [("epoll_pwait", None, true, 2, 3)]);
    assert_eq!(found.ready, None);
    assert_eq!(found.longest_turn.map(|turn| ms(turn.seconds)), Some(3));
}

#[test]
fn samples_of_one_wait_after_another_are_no_turn() {
    let at = |ms, inside| (ms, LOOP, Event::Sampled { state: ASLEEP, inside });
    // The timeout, and what an earlier call has left in a register that this one does not use.
    let waits = |timeout, left| {
        let arguments = [3, 0x7f00, 64, timeout, 0, left];
        Inside::Call(Call { number: number_of("epoll_pwait"), arguments })
    };
    let mut ledger = Ledger::new(0, [LOOP]);
    let seen = [
        at(0, waits(100, 0)),
        at(10, waits(50, 0)),
        at(60, waits(50, 0)),
        at(70, waits(50, 8)),
        at(110, waits(25, 8)),
    ];
    tell(&mut ledger, &seen);
    let found = report(ledger, 120);
    assert_eq!(found.longest_turn, None);
    assert_eq!(rows(&found.waiting), [("epoll_pwait", None, true, 4, 120)]);
}

fn some_call() -> impl Strategy<Value = Call> {
    let names = ["epoll_pwait", "openat", "read", "sendfile", "close", "futex", "ppoll"];
    (prop::sample::select(names.to_vec()), any::<[u64; 6]>())
        .prop_map(|(name, arguments)| Call { number: number_of(name), arguments })
}

fn some_state() -> impl Strategy<Value = State> {
    prop::sample::select(vec![State::Runnable, ASLEEP, HELD])
}

fn some_inside() -> impl Strategy<Value = Inside> {
    prop_oneof![Just(Inside::Unknown), Just(Inside::Program), some_call().prop_map(Inside::Call)]
}

fn some_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (some_state(), some_inside()).prop_map(|(state, inside)| Event::Found { state, inside }),
        (some_state(), some_inside()).prop_map(|(state, inside)| Event::Sampled { state, inside }),
        some_call().prop_map(Event::Enters),
        (some_call(), -4_i64..700)
            .prop_map(|(call, value)| Event::Returns { number: call.number, value }),
        some_state().prop_map(Event::Stops),
        Just(Event::Runs),
        Just(Event::Wakes),
        (0_u32..6).prop_map(|child| Event::Forks { child }),
        Just(Event::Ends),
    ]
}

proptest! {
    /// Times in any order, contradictions, events lost: the time of the tasks is that of the rows and
    /// of the conditions, and shares are shares.
    #[test]
    fn times_add_up_whatever_comes(
        events in prop::collection::vec((0_u64..1000, 0_u32..6, some_event(), 0_u8..40), 0..120),
        answers in any::<bool>(),
    ) {
        let mut ledger = Ledger::new(100, [0, 1]);
        // Task time by the clock that never goes back.
        let mut watched = 0_u64;
        for (at, task, event, lost) in events {
            let before = ledger.now;
            let alive = ledger.tasks.len() as u64;
            match lost {
                0 => ledger.lose(at, 3),
                _ => ledger.take(&Moment { at, task, event }),
            }
            watched += (ledger.now - before) * alive;
            for question in ledger.questions() {
                if answers {
                    ledger.answer(&question, format!("/{}", question.number));
                }
            }
            ledger.settle();
        }
        let before = ledger.now;
        watched += (1000 - before.min(1000)) * ledger.tasks.len() as u64;
        let found = ledger.report(1000, Method::Tracepoints);
        let total = |rows: &[Blocked]| rows.iter().map(|row| row.total_s).sum::<f64>();
        let blocked = total(&found.blocked) + total(&found.waiting);
        let sum = found.processor_s + found.queued_s + found.unknown_s + blocked;
        prop_assert!((sum - watched as f64 / 1e9).abs() < 1e-12, "{sum} of {watched}");
        let shares: f64 = found.runnable.iter().flatten().sum();
        prop_assert!(shares == 0.0 || (shares - 1.0).abs() < 1e-9, "{shares}");
        for row in found.blocked.iter().chain(&found.waiting) {
            prop_assert!(row.longest_s <= row.total_s && row.mean_s <= row.longest_s + 1e-15);
        }
        if let Some(turn) = &found.longest_turn {
            let parts = turn.queued_s + total(&turn.blocked);
            prop_assert!(parts <= turn.seconds + 1e-12, "{turn:?}");
        }
    }
}
