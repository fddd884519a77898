//! Properties of every element and chain under any script: the contract of the crate's first
//! paragraph.

mod lines;

use std::collections::HashMap;

use btu_units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

use crate::conformance::virtual_time::{Journey, drive, drive_late};
use crate::*;

const SEED: u64 = 7;

fn bernoulli(name: &str, share: f64) -> Bernoulli {
    Bernoulli::new(SEED, name, Probability::new(share).unwrap())
}

/// A stage of each kind, from a number.
fn stage(kind: u8, share: f64, delay: Span, limit: usize) -> Stage {
    let limit = Limit::frames(limit);
    match kind % 5 {
        0 => Stage::Line(Line::new(BitRate::from_megabits_per_second(10), limit)),
        1 => Stage::Delay(Delay::new(delay, limit)),
        2 => Stage::Loss(Box::new(Loss::new(bernoulli("loss", share), Scope::Every))),
        3 => Stage::Duplicate(Duplicate::new(bernoulli("duplicate", share))),
        _ => Stage::Reorder(Box::new(Reorder::new(bernoulli("reorder", share), 3, delay, limit))),
    }
}

prop_compose! {
    fn stages(most: usize)(kinds in prop::collection::vec(
        (0u8..5, 0.0f64..=1.0, 0u64..3_000_000, 1usize..40), 1..=most)) -> Vec<(u8, f64, Span, usize)> {
        kinds.into_iter().map(|(kind, share, delay, limit)| (kind, share, Span::from_nanoseconds(delay), limit)).collect()
    }
}

fn chain(stages: &[(u8, f64, Span, usize)]) -> Chain {
    let mut all =
        stages.iter().map(|&(kind, share, delay, limit)| stage(kind, share, delay, limit));
    let first = Chain::new("0", all.next().expect("at least one"));
    all.enumerate().fold(first, |chain, (n, stage)| chain.then((n + 1).to_string(), stage))
}

prop_compose! {
    fn script()(gaps in prop::collection::vec((0u64..2_000_000, 40u64..1600, any::<bool>()), 0..120)) -> Vec<(Time, Frame)> {
        let mut now = Time::ZERO;
        (0u32..).zip(gaps).map(|(tag, (gap, length, ip))| {
            now += Span::from_nanoseconds(gap);
            let kind = if ip { Kind::Ip } else { Kind::Other };
            (now, Frame::new(tag, Bytes::new(length)).carrying(kind))
        }).collect()
    }
}

/// Each frame and each announced copy left or was dropped, once, and none before it was sent.
fn everybody_ends_once(script: &[(Time, Frame)], journey: &Journey) -> Result<(), TestCaseError> {
    let mut balance: HashMap<u32, i64> = HashMap::new();
    for tag in script.iter().map(|(_, frame)| frame.tag).chain(journey.copies.iter().copied()) {
        *balance.entry(tag).or_default() += 1;
    }
    let gone = journey
        .arrivals
        .iter()
        .map(|arrival| arrival.tag)
        .chain(journey.drops.iter().map(|&(tag, _)| tag));
    for tag in gone {
        *balance.entry(tag).or_default() -= 1;
    }
    prop_assert!(balance.values().all(|&frames| frames == 0), "{:?}", balance);
    let sent: HashMap<u32, Time> = script.iter().map(|&(at, frame)| (frame.tag, at)).collect();
    prop_assert!(journey.arrivals.iter().all(|arrival| arrival.at >= sent[&arrival.tag]));
    Ok(())
}

/// Two runs differ at most in the order in which drops were reported.
fn the_same_happened(one: Journey, other: Journey) -> Result<(), TestCaseError> {
    prop_assert_eq!(one.arrivals, other.arrivals);
    let sorted = |mut drops: Vec<(u32, Cause)>| {
        drops.sort_unstable();
        drops
    };
    prop_assert_eq!(sorted(one.drops), sorted(other.drops));
    Ok(())
}

proptest! {
    /// Each frame and each announced copy leaves or is dropped, once; `drive` checks the accounts
    /// at every step.
    #[test]
    fn nothing_appears_or_vanishes(stages in stages(5), script in script()) {
        everybody_ends_once(&script, &drive(&mut chain(&stages), &script))?;
    }

    /// Late wake-ups change when an event is reported, never the event or its due time.
    #[test]
    fn lateness_does_not_add_up(stages in stages(5), script in script(), skips in prop::collection::vec(any::<bool>(), 1..64)) {
        let exact = drive(&mut chain(&stages), &script);
        let late = drive_late(&mut chain(&stages), &script, |poll| skips[poll % skips.len()]);
        the_same_happened(exact, late)?;
    }

    /// New accounts at any moment still balance.
    #[test]
    fn accounts_opened_under_way_balance(stages in stages(4), script in script(), at in 0usize..120) {
        let mut chain = chain(&stages);
        for (n, &(now, frame)) in script.iter().enumerate() {
            chain.accept(frame, now);
            if n == at {
                chain.reset();
            }
            prop_assert!(chain.account().is_balanced());
            while !matches!(chain.poll(now), Step::Wake(_) | Step::Idle) {
                prop_assert!(chain.account().is_balanced());
            }
            prop_assert!(chain.accounts().all(|(_, account)| account.is_balanced()));
        }
    }
}
