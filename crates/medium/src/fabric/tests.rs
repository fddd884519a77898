//! Drawn networks in virtual time.

use std::net::Ipv4Addr;

use btu_network::{
    Attachment, Bridge, Direction, Drawing, Link, LinkId, Medium, QueueLimit, Segment, SegmentId,
    Star, Station,
};
use btu_network::{BridgeId, Contention, Discipline, End, SharedEthernet, StationId};
use btu_units::{BitRate, Bytes, Length, Probability, Span, Time};

use super::*;
use crate::account::Cause;
use crate::frame::Address;

const END_OF_TIME: Time = Time::from_nanoseconds(u64::MAX / 2);

fn megabits(rate: u64) -> BitRate {
    BitRate::from_megabits_per_second(rate)
}

/// A drawing in the making, by hand.
#[derive(Default)]
pub(crate) struct Sketch(pub(crate) Drawing);

impl Sketch {
    pub(crate) fn segment(mut self, medium: Medium, stations: u32) -> Self {
        let id = SegmentId(self.0.segments.len() as u32);
        let name = format!("segment-{}", id.0);
        self.0.segments.push(Segment { group: name.clone(), name, medium });
        for _ in 0..stations {
            self = self.station(Attachment::Segment(id, Length::ZERO));
        }
        self
    }

    pub(crate) fn station(mut self, attachment: Attachment) -> Self {
        let number = self.0.stations.len() as u32;
        let name = format!("station-{number}");
        let address = Ipv4Addr::from(0xc612_0001 + number);
        self.0.stations.push(Station {
            group: name.clone(),
            name,
            attachment,
            address,
            one_at_a_time: false,
        });
        self
    }

    pub(crate) fn bridge(mut self, segments: &[u32], links: &[u32]) -> Self {
        let name = format!("bridge-{}", self.0.bridges.len());
        self.0.bridges.push(Bridge {
            group: name.clone(),
            name,
            segments: segments.iter().map(|&segment| (SegmentId(segment), Length::ZERO)).collect(),
            links: links.iter().map(|&link| LinkId(link)).collect(),
            latency: Span::from_microseconds(10),
            buffer: QueueLimit::Frames(20),
            addresses: 100,
            mtu: Bytes::new(1500),
        });
        self
    }

    pub(crate) fn link(mut self, ends: [End; 2], direction: Direction) -> Self {
        let name = format!("link-{}", self.0.links.len());
        self.0.links.push(Link {
            group: name.clone(),
            name,
            ends,
            forth: direction.clone(),
            back: direction,
            changes: Vec::new(),
        });
        self
    }
}

pub(crate) fn star(rate: BitRate) -> Medium {
    let line = Direction::new(rate, Span::ZERO);
    Medium::SwitchedEthernet(Star {
        up: line.clone(),
        down: line,
        latency: Span::from_microseconds(5),
    })
}

pub(crate) fn shared(rate: BitRate) -> Medium {
    Medium::SharedEthernet(SharedEthernet {
        rate,
        length: Length::ZERO,
        velocity: 0.77,
        contention: Contention::Standard,
        queue: Discipline::default(),
    })
}

fn frame(tag: u32, from: u32, to: u32) -> Frame {
    Frame::new(tag, Bytes::new(1514)).between(Address::of_station(from), Address::of_station(to))
}

/// All deliveries until no frame is left: the station, the frame and the time.
fn run(fabric: &mut Fabric, script: &[(u64, u32, Frame)]) -> Vec<(u32, u32, u64)> {
    for &(at, port, frame) in script {
        fabric.accept(Port(port), frame, Time::from_nanoseconds(at * 1000));
    }
    let mut arrivals = Vec::new();
    loop {
        match fabric.poll(END_OF_TIME) {
            Event::Deliver(port, frame, due) => {
                arrivals.push((port.0, frame.tag, due.nanoseconds()));
            }
            Event::Drop(..) | Event::Duplicate(_) => {}
            Event::Wake(_) | Event::Idle => return arrivals,
        }
    }
}

#[test]
fn a_switch_stores_and_forwards() {
    let drawing = Sketch::default().segment(star(megabits(10)), 3).0;
    let mut fabric = Fabric::of(&drawing, 1).unwrap();
    // 1526 octets up and down and 5 us in between; the first frame is flooded, the answer is not.
    let arrivals = run(&mut fabric, &[(0, 0, frame(0, 0, 1)), (10_000, 1, frame(1, 1, 0))]);
    let there = 2 * 1_220_800 + 5_000;
    assert_eq!(arrivals, [(1, 0, there), (2, 0, there), (0, 1, 10_000_000 + there)]);
    assert!(fabric.account().is_balanced(), "{:?}", fabric.account());
}

#[test]
fn a_bridge_between_two_segments_and_a_link_carries_what_belongs_elsewhere() {
    let drawing = Sketch::default()
        .segment(shared(megabits(10)), 2)
        .segment(shared(megabits(10)), 1)
        .bridge(&[0], &[0])
        .bridge(&[1], &[0, 1])
        .link(
            [End::Bridge(BridgeId(0)), End::Bridge(BridgeId(1))],
            Direction::new(megabits(1), Span::from_milliseconds(3)),
        )
        .link(
            [End::Station(StationId(3)), End::Bridge(BridgeId(1))],
            Direction::new(megabits(1), Span::ZERO),
        )
        .station(Attachment::Link(LinkId(1)))
        .0;
    let mut fabric = Fabric::of(&drawing, 1).unwrap();
    let script: Vec<_> =
        (0..4).map(|to| (u64::from(to) * 100_000, 0, frame(to, 0, to))).skip(1).collect();
    let arrivals: Vec<_> =
        run(&mut fabric, &script).into_iter().map(|(port, tag, _)| (port, tag)).collect();
    // No station has sent before, so the first frame is carried everywhere; only station 1's own
    // segment filters for it.
    assert_eq!(arrivals, [(1, 1), (3, 1), (2, 2), (3, 2), (3, 3)]);
    let back = run(&mut fabric, &[(1_000_000, 3, frame(9, 3, 0))]);
    assert_eq!(back.iter().map(|&(port, tag, _)| (port, tag)).collect::<Vec<_>>(), [(0, 9)]);
    assert!(fabric.account().is_balanced() && fabric.account().held == 0, "{:?}", fabric.account());
}

#[test]
fn after_an_announcement_nothing_is_flooded() {
    let drawing = Sketch::default()
        .segment(shared(megabits(10)), 2)
        .segment(star(megabits(10)), 2)
        .bridge(&[0], &[0])
        .bridge(&[1], &[0])
        .link(
            [End::Bridge(BridgeId(0)), End::Bridge(BridgeId(1))],
            Direction::new(megabits(1), Span::ZERO),
        )
        .0;
    let mut fabric = Fabric::of(&drawing, 1).unwrap();
    fabric.announce();
    let pairs =
        (0..4).flat_map(|from| (0..4).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let script: Vec<_> = (0u32..)
        .zip(pairs)
        .map(|(tag, (from, to))| (u64::from(tag) * 100_000, from, frame(tag, from, to)))
        .collect();
    let arrivals: Vec<_> =
        run(&mut fabric, &script).into_iter().map(|(port, tag, _)| (port, tag)).collect();
    let wanted =
        script.iter().map(|(_, _, frame)| (frame.destination.station_number().unwrap(), frame.tag));
    assert_eq!(arrivals, wanted.collect::<Vec<(u32, u32)>>());
}

#[test]
fn an_input_acts_on_what_comes_in_to_its_station_alone() {
    let drawing = Sketch::default().segment(star(megabits(10)), 3).0;
    let mut fabric = Fabric::with_inputs(&drawing, 1, &[Port(1)]).unwrap();
    fabric.announce();
    let one_way = 2 * 1_220_800 + 5_000;
    let millisecond = Span::from_milliseconds(1);
    assert!(fabric.impair(Port(1), millisecond, Probability::NEVER));
    assert!(!fabric.impair(Port(0), millisecond, Probability::NEVER), "it has no input");
    let both_ways =
        [(0, 0, frame(0, 0, 1)), (10_000, 1, frame(1, 1, 0)), (20_000, 0, frame(2, 0, 2))];
    let delayed = one_way + 1_000_000;
    let wanted = [(1, 0, delayed), (0, 1, 10_000_000 + one_way), (2, 2, 20_000_000 + one_way)];
    assert_eq!(run(&mut fabric, &both_ways), wanted);

    assert!(fabric.impair(Port(1), Span::ZERO, Probability::ALWAYS));
    let question = frame(4, 0, 1).carrying(crate::frame::Kind::Other);
    let arrivals = run(&mut fabric, &[(40_000, 0, frame(3, 0, 1)), (50_000, 0, question)]);
    assert_eq!(arrivals, [(1, 4, 50_000_000 + one_way)], "address resolution survives");
    let (_, lost) = fabric.accounts().find(|(name, _)| *name == "station-1/input/loss").unwrap();
    assert_eq!(lost.drops().collect::<Vec<_>>(), [(Cause::Loss, 1)]);
    assert!(fabric.account().is_balanced() && fabric.account().held == 0, "{:?}", fabric.account());
}
