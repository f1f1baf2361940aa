//! Rows in words, by hand.

use super::*;

fn ours(values: &[f64]) -> Ours {
    Ours { interval: Interval::of(values.iter().copied()), ..Ours::none() }
}

fn row(values: &[f64]) -> Row {
    Row::new("a", "8", ours(values), Unit::Times)
}

#[test]
fn an_interval_is_least_to_most_of_five_and_narrower_of_many() {
    let five = Interval::of([5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
    assert_eq!((five.middle, five.low, five.high, five.count), (3.0, 1.0, 5.0, 5));
    let nine = Interval::of((1..=9).map(f64::from)).unwrap();
    assert_eq!((nine.middle, nine.low, nine.high), (5.0, 2.0, 8.0));
    assert_eq!(Interval::of([f64::NAN]), None);
    assert_eq!(Interval::of([1.0, 3.0]).unwrap().middle, 2.0);
}

#[test]
fn a_missed_bar_says_by_how_much() {
    let missed = row(&[9.0]).bar(Bar::AtLeast(10.0));
    assert_eq!(
        (missed.verdict(), missed.words().as_str()),
        (Verdict::Missed, "missed by 10.0 % (1 seed)")
    );
    let unsure = row(&[9.0, 11.0, 12.0]).bar(Bar::AtLeast(10.0));
    assert_eq!(unsure.verdict(), Verdict::Reached);
    assert_eq!(unsure.words(), "reached, though the interval has both (3 seeds)");
}

#[test]
fn a_limit_of_zero_is_missed_by_a_value_in_its_unit() {
    for (value, unit, by) in [
        (0.5, Unit::Percent, "50.0 points"),
        (3.0, Unit::Count, "3"),
        (3.0, Unit::Ms, "3.00 ms"),
        (1500.0, Unit::Seconds, "1500 s"),
    ] {
        let some = Row::new("a", "", ours(&[value]), unit).bar(Bar::AtMost(0.0));
        assert_eq!(some.words(), format!("missed by {by} (1 seed)"));
    }
    // What is too low has no sign: "by" says how far, the limit in which direction.
    let less = Row::new("a", "", ours(&[-0.226]), Unit::Percent).paper_says(Bar::Above(0.0));
    assert_eq!(less.words(), "not as the paper says, by 22.6 points (1 seed)");
}

#[test]
fn every_verdict_says_of_how_many_seeds() {
    let five = [11.0, 12.0, 13.0, 14.0, 15.0];
    assert_eq!(row(&five).bar(Bar::AtLeast(10.0)).words(), "reached (5 seeds)");
    assert_eq!(row(&five).words(), "reported (5 seeds)");
    assert_eq!(row(&five).paper_says(Bar::AtLeast(8.0)).words(), "as the paper says (5 seeds)");
    assert_eq!(row(&five).paper_is(13.0).words(), "as in the paper, within a quarter (5 seeds)");
    let computed = Row::new("a", "", Ours::computed(2.0), Unit::Times);
    assert_eq!(computed.words(), "reported (computed)");
}

#[test]
fn strict_and_two_sided_bars() {
    assert!(!Bar::Above(1.9).reached(1.9) && Bar::AtLeast(1.9).reached(1.9));
    assert!(!Bar::Below(1.9).reached(1.9) && Bar::AtMost(1.9).reached(1.9));
    let null = row(&[1.2]).bar(Bar::Between(0.9, 1.1));
    assert_eq!(null.words(), "missed by 9.1 % (1 seed)");
    assert!(Bar::Between(0.9, 1.1).reached(0.9));
    let wide = row(&[0.5, 1.0, 1.5]).bar(Bar::Between(0.9, 1.1)).words();
    assert_eq!(wide, "reached, though the interval has both (3 seeds)");
}

#[test]
fn without_runs_there_is_no_verdict() {
    let nothing = Row::new("a", "8", Ours::none(), Unit::Times).bar(Bar::AtLeast(1.0));
    assert_eq!((nothing.verdict(), nothing.words().as_str()), (Verdict::Nothing, "not run"));
    let void = Ours { left_out: 2, ..Ours::none() };
    let void = Row::new("a", "8", void, Unit::Times).bar(Bar::AtLeast(1.0));
    assert_eq!(void.words(), "no valid run; 2 void seeds left out");
}

#[test]
fn a_mean_of_those_who_were_answered_says_who_was_not() {
    let some = Ours { incomplete: 0.026, ..ours(&[8.5]) };
    let said = "reported (1 seed); up to 2.6 % of a run's requests got no whole response and are in \
                no response time";
    for unit in [Unit::Ms, Unit::Times] {
        assert_eq!(Row::new("a", "", some.clone(), unit).words(), said);
    }
    // A share or a number is not only of those who were answered.
    for unit in [Unit::Percent, Unit::Count] {
        assert_eq!(Row::new("a", "", some.clone(), unit).words(), "reported (1 seed)");
    }
    let nothing = Ours { incomplete: 0.026, ..Ours::none() };
    assert_eq!(Row::new("a", "", nothing, Unit::Ms).words(), "not run");
    let few = Ours { incomplete: 0.0009, ..ours(&[8.5]) };
    assert_eq!(Row::new("a", "", few, Unit::Times).words(), "reported (1 seed)");
}

#[test]
fn a_figure_of_the_paper_is_met_within_a_quarter() {
    for (value, verdict, words) in [
        (8.5, Verdict::Agrees, "as in the paper, within a quarter (1 seed)"),
        (10.0, Verdict::Agrees, "as in the paper, within a quarter (1 seed)"),
        (6.4, Verdict::Agrees, "as in the paper, within a quarter (1 seed)"),
        (6.3, Verdict::Differs, "0.787 × the paper's (1 seed)"),
        (16.0, Verdict::Differs, "2.00 × the paper's (1 seed)"),
    ] {
        let row = row(&[value]).paper_is(8.0);
        assert_eq!((row.verdict(), row.words().as_str()), (verdict, words));
    }
    let none = row(&[0.0]).paper_is(0.0);
    assert_eq!(
        (none.verdict(), none.words().as_str()),
        (Verdict::Agrees, "as the paper says (1 seed)")
    );
    assert_eq!(row(&[0.1]).paper_is(0.0).verdict(), Verdict::Differs);
}

#[test]
fn a_limit_of_the_paper_has_one_side() {
    // "At least 8" holds of any more, and of nothing less, not even within a quarter.
    let much = row(&[80.0]).paper_says(Bar::AtLeast(8.0));
    assert_eq!(
        (much.verdict(), much.words().as_str()),
        (Verdict::Agrees, "as the paper says (1 seed)")
    );
    let less = row(&[7.0]).paper_says(Bar::AtLeast(8.0));
    assert_eq!(
        (less.verdict(), less.words().as_str()),
        (Verdict::Differs, "not as the paper says, by 12.5 % (1 seed)")
    );
    // "Incomplete 10 to 15 %."
    let share = Row::new("a", "", ours(&[0.0176]), Unit::Percent);
    let share = share.paper_says(Bar::Between(0.10, 0.15));
    assert_eq!(share.words(), "not as the paper says, by 82.4 % (1 seed)");
}

#[test]
fn a_bar_of_ours_stands_before_what_the_paper_says() {
    let row = row(&[16.0]).paper_is(8.0).bar(Bar::AtLeast(10.5));
    assert_eq!(row.verdict(), Verdict::Reached);
    assert_eq!(row.words(), "reached; 2.00 × the paper's (1 seed)");
    let row = row.not_comparable("the kernel waits a second");
    assert_eq!(row.verdict(), Verdict::NotComparable);
    assert_eq!(row.words(), "not comparable: the kernel waits a second");
}

#[test]
fn a_row_names_every_commit_behind_it() {
    let several = ["b", "a"].map(str::to_owned).into_iter().collect();
    let two = Ours { commits: several, ..ours(&[1.0, 2.0]) };
    assert_eq!(Row::new("a", "", two, Unit::Times).commits(), "a, b");
    assert_eq!(row(&[1.0]).commits(), "");
}

#[test]
fn a_bar_is_missed_where_too_many_got_no_whole_response() {
    let of = |incomplete: f64| {
        let some = Ours { incomplete, ..ours(&[9.0]) };
        Row::new("a", "", some, Unit::Percent).bar(Bar::AtMost(10.0)).whole()
    };
    assert_eq!(of(0.01).verdict(), Verdict::Reached);
    assert_eq!(of(0.02).verdict(), Verdict::Missed);
    let words = "missed, since up to 2.0 % of the requests got no whole response (1 seed)";
    assert_eq!(of(0.02).words(), words);
    assert_eq!(Row { whole: false, ..of(0.02) }.verdict(), Verdict::Reached);
}
