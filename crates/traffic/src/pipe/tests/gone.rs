//! Tests of ends that go away.

use std::thread;
use std::time::{Duration, Instant};

use btu_conditions::{Conditions, judge};
use btu_contract::activity::Word;
use btu_contract::pipe::{Kind, Pattern, PipePlan, Precision};
use btu_units::Span;

use super::{NEVER, describe, every_way, pair, plan, processes};

/// An end that was killed ends the other within this.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

#[test]
fn an_end_that_goes_away_ends_the_other() {
    let conditions = Conditions::begin();
    for plan in
        every_way(Pattern::PingPong, "1,1000").into_iter().filter(|plan| plan.kind != Kind::Mpi)
    {
        let (near, far, _directory) = pair(&plan).expect("both ends are set up");
        let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
        let mut told = 0;
        let report = near.perform_telling(&NEVER, &mut |_| {
            told += 1;
            Err(std::io::Error::other("nobody listens"))
        });
        let begun = Instant::now();
        assert!(
            report.is_err_and(|error| error.to_string().contains("nobody listens")),
            "{}",
            describe(&plan)
        );
        assert_eq!(told, 1);
        assert!(far.join().expect("no panic").is_err(), "{}", describe(&plan));
        let took = begun.elapsed();
        judge!(conditions, took < ENDS_WITHIN, "{}: {took:?}", describe(&plan));
    }
}

#[test]
fn a_killed_process_ends_the_other() {
    let conditions = Conditions::begin();
    for plan in every_way(Pattern::PingPong, "1..1MB") {
        // So many sizes take much longer than the first of them.
        let precision = Precision { target: Span::from_milliseconds(20), ..plan.precision };
        let plan = PipePlan { precision, ..plan };
        for is_near in [false, true] {
            let (mut near, mut far, _directory) = processes::pair(&plan);
            assert!(matches!(near.word(), Some(Word::Point(_))), "{}", describe(&plan));
            let (victim, other) =
                if is_near { (&mut near, &mut far) } else { (&mut far, &mut near) };
            victim.child.kill().expect("killed");
            let begun = Instant::now();
            let mut last = None;
            while let Some(word) = other.word() {
                last = Some(word);
            }
            other.child.wait().expect("it is gone");
            assert!(matches!(last, Some(Word::Failed { .. })), "{}: {last:?}", describe(&plan));
            let took = begun.elapsed();
            judge!(conditions, took < ENDS_WITHIN, "{} {is_near}: {took:?}", describe(&plan));
        }
    }
}

/// Longer than QUIC's idle timeout, between two sizes, as during the turns of other signatures.
#[test]
fn an_end_that_does_something_else_for_a_while_stays_connected() {
    // Most of this is waiting, and the result does not depend on root: scripts/test has run it
    // already.
    if std::env::var_os("BTU_TESTED_AS").is_some() {
        return;
    }
    thread::scope(|scope| {
        for (pairs, away) in [(1, Duration::from_millis(2500)), (2, Duration::from_secs(6))] {
            scope.spawn(move || goes_on_after(pairs, away));
        }
    });
}

/// A signature of QUIC with an end that is away after each size.
fn goes_on_after(pairs: u32, away: Duration) {
    let plan = PipePlan { pairs, ..plan(Kind::Quic, Pattern::PingPong, "1,1000") };
    let (near, far, _directory) = pair(&plan).expect("both ends are set up");
    let far = thread::spawn(move || far.perform(&NEVER).map_err(|error| error.to_string()));
    let report = near.perform_telling(&NEVER, &mut |_| {
        thread::sleep(away);
        Ok(())
    });
    let far = far.join().expect("no panic");
    report.unwrap_or_else(|error| panic!("{pairs}: {error} ({far:?})"));
    far.unwrap_or_else(|error| panic!("{pairs}: {error}"));
}
