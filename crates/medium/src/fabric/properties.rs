//! Properties of every drawn network under any script.

use std::collections::HashMap;

use btu_network::{
    Attachment, BridgeId, Direction, Drawing, End, LinkId, Loss, Reordering, StationId,
};
use btu_units::{BitRate, Bytes, Probability, Span, Time};
use proptest::prelude::*;

use super::tests::{Sketch, shared, star};
use super::*;
use crate::account::Cause;
use crate::frame::Address;

const SEED: u64 = 11;
const STATIONS: u32 = 6;

/// A shared segment, a star and a far station, in a row, with an impaired trunk.
fn drawing(trunk: Direction) -> Drawing {
    let megabits = BitRate::from_megabits_per_second;
    Sketch::default()
        .segment(shared(megabits(10)), 3)
        .segment(star(megabits(100)), 2)
        .bridge(&[0], &[0])
        .bridge(&[1], &[0, 1])
        .link([End::Bridge(BridgeId(0)), End::Bridge(BridgeId(1))], trunk.clone())
        .link([End::Station(StationId(5)), End::Bridge(BridgeId(1))], trunk)
        .station(Attachment::Link(LinkId(1)))
        .0
}

prop_compose! {
    fn trunk()(megabits in 1u64..20, delay in 0u64..5_000_000, shares in prop::array::uniform4(0.0f64..0.3)) -> Direction {
        let [loss, corrupt, duplicate, reorder] = shares.map(|share| Probability::new(share).expect("a share"));
        Direction {
            loss: Loss::Random(loss),
            corrupt,
            duplicate,
            reorder: Reordering { share: reorder, depth: 3 },
            ..Direction::new(BitRate::from_megabits_per_second(megabits), Span::from_nanoseconds(delay))
        }
    }
}

prop_compose! {
    /// Times, senders, receivers (one of them means all stations, one is unknown) and lengths;
    /// whether the driver polls then.
    fn script()(entries in prop::collection::vec(
        (0u64..800_000, 0..STATIONS, 0..STATIONS + 2, 46u64..1514, any::<bool>()), 1..120)) -> Vec<(Time, Port, Frame, bool)> {
        let mut now = Time::ZERO;
        (0u32..).zip(entries).map(|(tag, (gap, from, to, length, polled))| {
            now += Span::from_nanoseconds(gap);
            let to = match to {
                STATIONS => Address::BROADCAST,
                to if to > STATIONS => Address::from_octets([2, 0, 0, 0, 0, 1]),
                to => Address::of_station(to),
            };
            let frame = Frame::new(tag, Bytes::new(length)).between(Address::of_station(from), to);
            (now, Port(from), frame, polled)
        }).collect()
    }
}

/// The frames that left a network.
#[derive(Debug, Default, PartialEq)]
struct Story {
    arrivals: Vec<(Port, Frame, Time)>,
    drops: Vec<(u32, Cause)>,
    copies: Vec<u32>,
}

impl Story {
    /// Polls until there is nothing more at `now`; the next wake-up.
    fn listen(&mut self, fabric: &mut Fabric, now: Time) -> Option<Time> {
        loop {
            match fabric.poll(now) {
                Event::Deliver(port, frame, due) => {
                    assert!(due <= now, "{due:?} after {now:?}");
                    assert!(
                        self.arrivals.last().is_none_or(|&(_, _, last)| last <= due),
                        "out of order"
                    );
                    self.arrivals.push((port, frame, due));
                }
                Event::Drop(frame, cause) => self.drops.push((frame.tag, cause)),
                Event::Duplicate(frame) => self.copies.push(frame.tag),
                Event::Wake(time) => {
                    assert!(time > now, "woken in the past");
                    assert!(fabric.account().is_balanced(), "{:?}", fabric.account());
                    return Some(time);
                }
                Event::Idle => return None,
            }
        }
    }

    fn of(drawing: &Drawing, script: &[(Time, Port, Frame, bool)], exact: bool) -> (Self, Fabric) {
        let mut fabric = Fabric::of(drawing, SEED).unwrap();
        let mut story = Self::default();
        let mut wake = None;
        for &(at, port, frame, polled) in script {
            while let Some(time) = wake.filter(|&time| time <= at) {
                wake = story.listen(&mut fabric, time);
            }
            fabric.accept(port, frame, at);
            wake = if exact || polled { story.listen(&mut fabric, at) } else { None };
        }
        let end = Time::from_nanoseconds(u64::MAX / 2);
        assert_eq!(story.listen(&mut fabric, end), None);
        (story, fabric)
    }
}

proptest! {
    /// When and how often a driver polls changes nothing.
    #[test]
    fn lateness_does_not_matter(trunk in trunk(), script in script()) {
        let drawing = drawing(trunk);
        let (exact, _) = Story::of(&drawing, &script, true);
        let (lazy, _) = Story::of(&drawing, &script, false);
        prop_assert_eq!(exact, lazy);
    }

    /// Every frame ends exactly once for each of its copies, and all accounts balance.
    #[test]
    fn nothing_appears_or_vanishes(trunk in trunk(), script in script()) {
        let (story, fabric) = Story::of(&drawing(trunk), &script, false);
        let mut inside: HashMap<u32, i64> = HashMap::new();
        for tag in script.iter().map(|(_, _, frame, _)| frame.tag).chain(story.copies.iter().copied()) {
            *inside.entry(tag).or_default() += 1;
        }
        let ends = story.arrivals.iter().map(|(_, frame, _)| frame.tag).chain(story.drops.iter().map(|&(tag, _)| tag));
        for tag in ends {
            *inside.entry(tag).or_default() -= 1;
        }
        prop_assert!(inside.values().all(|&copies| copies == 0), "{:?}", inside);
        let account = fabric.account();
        prop_assert!(account.is_balanced() && account.held == 0, "{:?}", account);
        prop_assert_eq!(account.delivered, story.arrivals.len() as u64);
        prop_assert_eq!(account.dropped(), story.drops.len() as u64);
        for (name, account) in fabric.accounts() {
            prop_assert!(account.is_balanced(), "{}: {:?}", name, account);
        }
    }

    /// No station receives its own frame, and damage never passes a bridge.
    #[test]
    fn frames_go_where_they_should(trunk in trunk(), script in script()) {
        let (story, _) = Story::of(&drawing(trunk), &script, true);
        for (port, frame, _) in &story.arrivals {
            prop_assert_ne!(frame.source, Address::of_station(port.0));
            prop_assert!(frame.damage == crate::frame::Damage::NONE || port.0 == 5);
        }
    }

    /// New accounts opened under way balance.
    #[test]
    fn accounts_opened_under_way_balance(trunk in trunk(), script in script(), at in 0usize..120) {
        let mut fabric = Fabric::of(&drawing(trunk), SEED).unwrap();
        for (place, &(now, port, frame, polled)) in script.iter().enumerate() {
            fabric.accept(port, frame, now);
            if place == at {
                fabric.reset();
            }
            while polled && !matches!(fabric.poll(now), Event::Wake(_) | Event::Idle) {
                prop_assert!(fabric.account().is_balanced(), "{:?}", fabric.account());
            }
        }
        prop_assert!(fabric.account().is_balanced(), "{:?}", fabric.account());
    }
}
