//! What must hold for every element and chain under any script: the contract of the crate's first paragraph.

mod lines;

use std::collections::HashMap;

use btu_units::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

use crate::conformance::virtual_time::{Journey, drive, drive_late};
use crate::network::{Attachment, Event, Network, Port, Wiring};
use crate::*;

const SEED: u64 = 7;

fn coin(name: &str, share: f64) -> Coin {
    Coin::new(SEED, name, Probability::new(share).unwrap())
}

/// A stage of each kind, from a number.
fn stage(kind: u8, share: f64, delay: Span, limit: usize) -> Stage {
    let limit = Limit::frames(limit);
    match kind % 7 {
        0 => Stage::Pass(Pass::new()),
        1 => Stage::Line(Line::new(BitRate::from_megabits_per_second(10), limit)),
        2 => Stage::Delay(Delay::new(delay, limit)),
        3 => Stage::Loss(Box::new(Loss::new(coin("loss", share), Scope::Every))),
        4 => Stage::Duplicate(Duplicate::new(coin("duplicate", share))),
        5 => Stage::Reorder(Box::new(Reorder::new(coin("reorder", share), 3, delay, limit))),
        _ => {
            let mut input = Input::new(coin("input", 0.0), limit);
            input.set(delay, Probability::new(share).unwrap());
            Stage::Input(Box::new(input))
        }
    }
}

prop_compose! {
    fn stages(most: usize)(kinds in prop::collection::vec(
        (0u8..7, 0.0f64..=1.0, 0u64..3_000_000, 1usize..40), 1..=most)) -> Vec<(u8, f64, Span, usize)> {
        kinds.into_iter().map(|(kind, share, delay, limit)| (kind, share, Span::from_nanoseconds(delay), limit)).collect()
    }
}

fn chain(stages: &[(u8, f64, Span, usize)]) -> Chain {
    let mut all = stages.iter().map(|&(kind, share, delay, limit)| stage(kind, share, delay, limit));
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
    let gone = journey.arrivals.iter().map(|arrival| arrival.tag).chain(journey.drops.iter().map(|&(tag, _)| tag));
    for tag in gone {
        *balance.entry(tag).or_default() -= 1;
    }
    prop_assert!(balance.values().all(|&frames| frames == 0), "{:?}", balance);
    let sent: HashMap<u32, Time> = script.iter().map(|&(at, frame)| (frame.tag, at)).collect();
    prop_assert!(journey.arrivals.iter().all(|arrival| arrival.at >= sent[&arrival.tag]));
    Ok(())
}

/// Two journeys differ at most in the order in which drops were told.
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
    /// Each frame and each announced copy leaves or is dropped, once; `drive` checks the books at every step.
    #[test]
    fn nothing_appears_or_vanishes(stages in stages(5), script in script()) {
        everybody_ends_once(&script, &drive(&mut chain(&stages), &script))?;
    }

    /// Late wake-ups change when something is noticed, never what happens or when it was due.
    #[test]
    fn lateness_does_not_add_up(stages in stages(5), script in script(), skips in prop::collection::vec(any::<bool>(), 1..64)) {
        let exact = drive(&mut chain(&stages), &script);
        let late = drive_late(&mut chain(&stages), &script, |poll| skips[poll % skips.len()]);
        the_same_happened(exact, late)?;
    }

    /// New books at any moment still balance.
    #[test]
    fn books_opened_under_way_balance(stages in stages(4), script in script(), at in 0usize..120) {
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

    /// A network of three ports: every frame and copy ends somewhere, nothing comes back to its sender, every book
    /// balances, however late the polls come.
    #[test]
    fn a_network_keeps_its_books(
        stages in stages(3),
        traffic in prop::collection::vec((0u64..500_000, 0u32..3, 0u8..4, any::<bool>()), 1..100),
    ) {
        let attach = |_| Attachment { inbound: chain(&stages), outbound: chain(&stages) };
        let mut network = Network::new((0..3).map(attach).collect(), Wiring::Switch);
        let mut holders: HashMap<u32, i64> = HashMap::new();
        let mut senders = HashMap::new();
        let mut now = Time::ZERO;
        for (tag, (gap, from, to, poll)) in (0u32..).zip(traffic) {
            now += Span::from_nanoseconds(gap);
            network.accept(Port(from), addressed(tag, from, to), now);
            holders.insert(tag, 1);
            senders.insert(tag, Port(from));
            if poll {
                empty(&mut network, now, &mut holders, &senders)?;
            }
        }
        empty(&mut network, Time::from_nanoseconds(u64::MAX), &mut holders, &senders)?;
        prop_assert!(holders.values().all(|&frames| frames == 0), "{:?}", holders);
        prop_assert_eq!(network.account().held, 0);
    }
}

/// A frame between stations 0 to 2; station 3 means everybody.
fn addressed(tag: u32, from: u32, to: u8) -> Frame {
    let station = |number: u8| Address::from_octets([2, 0, 0, 0, 0, number]);
    let to = if to == 3 { Address::BROADCAST } else { station(to) };
    Frame::new(tag, Bytes::new(100)).between(station(from as u8), to)
}

fn empty(
    network: &mut Network,
    now: Time,
    holders: &mut HashMap<u32, i64>,
    senders: &HashMap<u32, Port>,
) -> Result<(), TestCaseError> {
    loop {
        let event = network.poll(now);
        prop_assert!(network.account().is_balanced(), "{:?}", network.account());
        match event {
            Event::Deliver(port, frame, due) => {
                prop_assert!(due <= now && senders[&frame.tag] != port);
                release(holders, frame.tag)?;
            }
            Event::Drop(frame, _) => release(holders, frame.tag)?,
            Event::Duplicate(frame) => *holders.entry(frame.tag).or_default() += 1,
            Event::Wake(time) => {
                prop_assert!(time > now);
                break;
            }
            Event::Idle => break,
        }
    }
    prop_assert!(network.accounts().all(|(_, account)| account.is_balanced()));
    Ok(())
}

/// A driver frees a payload when its last holder is gone; it must never have been free before.
fn release(holders: &mut HashMap<u32, i64>, tag: u32) -> Result<(), TestCaseError> {
    let left = holders.get_mut(&tag).map(|frames| {
        *frames -= 1;
        *frames
    });
    prop_assert!(left.is_some_and(|left| left >= 0), "frame {} left more often than it was there", tag);
    Ok(())
}
