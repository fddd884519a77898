use proptest::prelude::*;

use super::*;

const ANN: &str = "ann";
const BOB: &str = "bob";

fn at(seconds: u64) -> Time {
    Time::from_nanoseconds(seconds * 1_000_000_000)
}

fn asked(run: &str, who: &str, seconds: u64) -> Asked {
    let expected = Span::from_seconds(seconds);
    Asked { run: run.to_owned(), controller: who.to_owned(), expected }
}

fn id(number: u8) -> SessionId {
    [number; 16]
}

fn reserved(answer: &ReservationResult) -> bool {
    matches!(answer, ReservationResult::Reserved { .. })
}

#[test]
fn the_second_is_told_who_is_there_and_how_long() {
    let mut sessions = Sessions::new(Rules::USUAL);
    assert!(reserved(&sessions.reserve(at(0), &asked("r12", ANN, 44), None, id(1)).0));
    let (answer, due) = sessions.reserve(at(4), &asked("r3", BOB, 9), None, id(2));
    let ReservationResult::Busy(busy) = answer else { panic!("two runs at once") };
    assert_eq!(busy.to_string(), "busy with run r12 of ann, free in 40 s");
    assert_eq!(due, []);
    sessions.renew(at(4), id(1), Span::from_seconds(600)).0.unwrap();
    let ReservationResult::Busy(busy) =
        sessions.reserve(at(4), &asked("r3", BOB, 9), None, id(2)).0
    else {
        panic!("two runs")
    };
    assert_eq!(busy.to_string(), "busy with run r12 of ann, free in 10 min");
    sessions.renew(at(5), id(1), Span::ZERO).0.unwrap();
    let ReservationResult::Busy(busy) =
        sessions.reserve(at(6), &asked("r3", BOB, 9), None, id(2)).0
    else {
        panic!("two runs")
    };
    assert_eq!(busy.to_string(), "busy with run r12 of ann, which takes longer than expected");
    assert_eq!(called("a survey"), "a survey");
}

#[test]
fn a_lease_that_is_not_renewed_lapses_once_and_can_be_taken_up_again() {
    let mut sessions = Sessions::new(Rules::USUAL);
    sessions.reserve(at(0), &asked("r1", ANN, 60), None, id(1));
    assert_eq!(sessions.next_wake(), Some(at(5)));
    sessions.renew(at(4), id(1), Span::ZERO).0.unwrap();
    assert_eq!(sessions.pass(at(8)), []);
    assert_eq!(sessions.pass(at(9)), [Due::Settle(id(1))]);
    assert_eq!(sessions.pass(at(10)), []);
    assert_eq!(sessions.renew(at(10), id(1), Span::ZERO).0, Err(Unusable::Lapsed));
    assert_eq!((sessions.held(id(1)), sessions.usable(id(1))), (Err(Unusable::Lapsed), Ok(())));
    let (answer, due) = sessions.reserve(at(11), &asked("r1", ANN, 60), Some(id(1)), id(9));
    assert_eq!(
        (answer, due),
        (ReservationResult::Reserved { session: id(1), resumed: true }, vec![])
    );
    assert_eq!(sessions.held(id(1)), Ok(()));
}

#[test]
fn what_is_kept_is_forgotten_after_an_hour_or_with_the_next_run() {
    let mut sessions = Sessions::new(Rules::USUAL);
    sessions.reserve(at(0), &asked("r1", ANN, 60), None, id(1));
    assert_eq!(sessions.pass(at(5)), [Due::Settle(id(1))]);
    assert_eq!(sessions.next_wake(), Some(at(3605)));
    assert_eq!(sessions.pass(at(3605)), [Due::Forget(id(1))]);
    assert_eq!(sessions.next_wake(), None);

    sessions.reserve(at(4000), &asked("r1", ANN, 60), None, id(1));
    let (answer, due) = sessions.reserve(at(4005), &asked("r2", BOB, 60), None, id(2));
    assert!(reserved(&answer));
    assert_eq!(due, [Due::Settle(id(1)), Due::Forget(id(1))]);
    assert_eq!(sessions.usable(id(1)), Err(Unusable::Unknown));
}

#[test]
fn a_controller_that_was_killed_comes_back_to_its_run_at_once() {
    let mut sessions = Sessions::new(Rules::USUAL);
    sessions.reserve(at(0), &asked("r1", ANN, 60), None, id(1));
    let (answer, due) = sessions.reserve(at(1), &asked("r1", ANN, 60), None, id(2));
    assert_eq!(
        (answer, due),
        (ReservationResult::Reserved { session: id(2), resumed: false }, vec![Due::Forget(id(1))])
    );
    assert!(
        !reserved(&sessions.reserve(at(1), &asked("r2", ANN, 60), None, id(3)).0),
        "another run of hers is another run"
    );
    assert!(
        !reserved(&sessions.reserve(at(1), &asked("r1", BOB, 60), None, id(3)).0),
        "and so is one of the same name"
    );
}

#[test]
fn a_session_is_of_those_who_know_it() {
    let mut sessions = Sessions::new(Rules::USUAL);
    sessions.reserve(at(0), &asked("r1", ANN, 60), None, id(1));
    assert_eq!(sessions.held(id(2)), Err(Unusable::Unknown));
    assert_eq!(sessions.release(at(1), id(2)).0, Err(Unusable::Unknown));
    assert!(!reserved(&sessions.reserve(at(1), &asked("r1", BOB, 60), Some(id(2)), id(3)).0));
    assert_eq!(sessions.release(at(1), id(1)), (Ok(()), vec![Due::Forget(id(1))]));
    assert!(reserved(&sessions.reserve(at(1), &asked("r1", BOB, 60), Some(id(1)), id(2)).0));
}

#[derive(Debug, Clone)]
enum Call {
    Reserve { run: u8, who: bool, old: Option<u8> },
    Renew { session: u8 },
    Release { session: u8 },
    Nothing,
}

fn calls() -> impl Strategy<Value = (u64, Call)> {
    let call = prop_oneof![
        (0..3u8, any::<bool>(), prop::option::of(0..40u8))
            .prop_map(|(run, who, old)| Call::Reserve { run, who, old }),
        (0..40u8).prop_map(|session| Call::Renew { session }),
        (0..40u8).prop_map(|session| Call::Release { session }),
        Just(Call::Nothing),
    ];
    (prop_oneof![4 => 0..4u64, 1 => 0..4000u64], call)
}

proptest! {
    /// For any calls at any times: never more runs than allowed, every session is settled before it
    /// is forgotten or forgotten outright, each at most once, none is held longer than its lease,
    /// and in the end nothing is left.
    #[test]
    fn sessions_are_held_in_bounds_and_end(most in 1..3usize, asked_for in prop::collection::vec(calls(), 0..60)) {
        let mut sessions = Sessions::new(Rules { most, ..Rules::USUAL });
        let mut now = 0;
        let mut known: Vec<(SessionId, Time, bool)> = Vec::new();
        for (number, (pause, call)) in (0u8..).zip(asked_for) {
            now += pause;
            let name = |who| if who { ANN } else { BOB };
            let due = match call {
                Call::Reserve { run, who, old } => {
                    let fresh = id(100 + number);
                    let (answer, due) = sessions.reserve(at(now), &asked(&format!("r{run}"), name(who), 9), old.map(|old| id(100 + old)), fresh);
                    carry_out(&mut known, &due, at(now))?;
                    if let ReservationResult::Reserved { session, resumed } = answer {
                        prop_assert_eq!(resumed, session != fresh);
                        known.retain(|(known, ..)| *known != session);
                        known.push((session, at(now), true));
                    }
                    vec![]
                }
                Call::Renew { session } => {
                    let (renewed, due) = sessions.renew(at(now), id(100 + session), Span::ZERO);
                    if renewed.is_ok() {
                        known.iter_mut().filter(|(known, ..)| *known == id(100 + session)).for_each(|known| known.1 = at(now));
                    }
                    due
                }
                Call::Release { session } => sessions.release(at(now), id(100 + session)).1,
                Call::Nothing => sessions.pass(at(now)),
            };
            carry_out(&mut known, &due, at(now))?;
            let held: Vec<_> = known.iter().filter(|known| known.2).collect();
            prop_assert!(held.len() <= most);
            for (session, renewed, _) in held {
                prop_assert!(at(now).since(*renewed) < Rules::USUAL.lease, "{:?} is held too long", session);
            }
            prop_assert_eq!(sessions.next_wake().is_some(), !known.is_empty());
            prop_assert!(sessions.next_wake().is_none_or(|wake| wake > at(now)), "what is due is done");
        }
        let mut steps = 0;
        while let Some(wake) = sessions.next_wake() {
            let due = sessions.pass(wake);
            prop_assert!(!due.is_empty(), "a wake that is for nothing");
            carry_out(&mut known, &due, wake)?;
            steps += 1;
            prop_assert!(steps < 300);
        }
        prop_assert!(known.is_empty());
    }
}

fn carry_out(
    known: &mut Vec<(SessionId, Time, bool)>,
    due: &[Due],
    now: Time,
) -> Result<(), TestCaseError> {
    for due in due {
        match *due {
            Due::Settle(session) => {
                let found = known.iter_mut().find(|known| known.0 == session && known.2);
                prop_assert!(found.is_some(), "{session:?} is settled, but was not held");
                if let Some((_, renewed, held)) = found {
                    *held = false;
                    prop_assert!(now.since(*renewed) >= Rules::USUAL.lease);
                }
            }
            Due::Forget(session) => {
                let before = known.len();
                known.retain(|known| known.0 != session);
                prop_assert_eq!(
                    known.len() + 1,
                    before,
                    "{:?} is forgotten, but was not known",
                    session
                );
            }
        }
    }
    Ok(())
}
