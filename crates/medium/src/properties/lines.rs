//! Whole lines as a network file draws them, with changes under way.

use btu_network::{
    Change, Codel, Direction, Discipline, FairCodel, Framing, Jitter, Loss as Losses, QueueLimit,
    Rate, Red, Reordering, Shape, Trace, Way,
};
use btu_units::{BitRate, Bytes, Probability, Span, Time};
use proptest::prelude::*;

use super::{everybody_ends_once, script, the_same_happened};
use crate::conformance::virtual_time::{drive, drive_late};
use crate::{Chain, Element, Step, changing_line, line};

fn probability() -> impl Strategy<Value = Probability> {
    let some = (0.0f64..=1.0).prop_map(|share| Probability::new(share).expect("between 0 and 1"));
    prop_oneof![Just(Probability::NEVER), some]
}

fn span(most_microseconds: u64) -> impl Strategy<Value = Span> {
    (0..=most_microseconds * 1000).prop_map(Span::from_nanoseconds)
}

fn bit_rate() -> impl Strategy<Value = BitRate> {
    (100_000u64..1_000_000_000).prop_map(BitRate::from_bits_per_second)
}

fn rate() -> impl Strategy<Value = Rate> {
    let trace = prop::collection::vec(0u32..20, 1..30).prop_map(|gaps| {
        let mut at = 0;
        let opportunities = gaps.into_iter().map(|gap| {
            at += gap;
            at
        });
        // A trace ends at 1 ms at least.
        let mut opportunities_ms: Vec<u32> = opportunities.collect();
        opportunities_ms.push(opportunities_ms.last().copied().unwrap_or(0).max(1));
        Rate::Trace(Trace { opportunities_ms })
    });
    prop_oneof![3 => bit_rate().prop_map(Rate::Fixed), 1 => trace]
}

fn framing() -> impl Strategy<Value = Framing> {
    let serial = (0u8..20, 1u8..12);
    let serial =
        serial.prop_map(|(overhead, bits_per_octet)| Framing::Serial { overhead, bits_per_octet });
    prop_oneof![Just(Framing::Ethernet), serial, Just(Framing::Aal5), Just(Framing::Bare)]
}

fn discipline() -> impl Strategy<Value = Discipline> {
    let limit = prop_oneof![
        Just(QueueLimit::Suited),
        (1u32..40).prop_map(QueueLimit::Frames),
        (60u64..40_000).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes)))
    ];
    let control = (span(5000), span(20_000));
    (limit, control, 1u32..10, probability(), 0u8..4).prop_map(
        |(limit, (target, interval), few, probability, which)| {
            let codel = Codel { limit, target, interval };
            let (minimum, maximum) = (Bytes::new(1000), Bytes::new(1001 + u64::from(few) * 2000));
            match which {
                0 => Discipline::TailDrop { limit },
                1 => Discipline::Red(Red {
                    limit,
                    minimum,
                    maximum,
                    probability,
                    weight: 1.0 / f64::from(few),
                }),
                2 => Discipline::Codel(codel),
                _ => {
                    Discipline::FqCodel(FairCodel { codel, queues: few, quantum: Bytes::new(300) })
                }
            }
        },
    )
}

fn jitter() -> impl Strategy<Value = Option<Jitter>> {
    let shape = prop_oneof![Just(Shape::Uniform), Just(Shape::Normal), Just(Shape::Pareto)];
    let jitter = (span(3000), shape, probability(), any::<bool>());
    prop::option::of(jitter.prop_map(|(spread, shape, correlation, keep_order)| Jitter {
        spread,
        shape,
        correlation,
        keep_order,
    }))
}

fn loss() -> impl Strategy<Value = Losses> {
    let share = probability;
    let bursts = (share(), share(), share(), share());
    let bursts = bursts.prop_map(|(p, r, bad, good)| Losses::GilbertElliott { p, r, bad, good });
    prop_oneof![Just(Losses::None), share().prop_map(Losses::Random), bursts]
}

prop_compose! {
    fn direction()(
        rate in rate(), framing in framing(), queue in discipline(), delay in span(3000), jitter in jitter(),
        loss in loss(), corrupt in probability(), duplicate in probability(),
        (share, depth) in (probability(), 0u32..5), mtu in 100u64..1600,
    ) -> Direction {
        let reorder = Reordering { share, depth };
        Direction { rate, framing, queue, delay, jitter, loss, corrupt, duplicate, reorder, mtu: Bytes::new(mtu) }
    }
}

prop_compose! {
    fn change()(
        at in span(100_000), rate in prop::option::of(bit_rate()), delay in prop::option::of(span(3000)),
        loss in prop::option::of(loss()),
    ) -> Change {
        Change { at, way: Way::Both, rate, delay, loss }
    }
}

fn changing(direction: &Direction, changes: &[Change]) -> Chain {
    let mut chain = changing_line(direction, "up", 7);
    let recorded = matches!(direction.rate, Rate::Trace(_));
    for change in changes {
        let change = if recorded { &Change { rate: None, ..change.clone() } } else { change };
        assert!(chain.change(change, Time::ZERO + change.at));
    }
    chain
}

proptest! {
    /// `drive` checks at every step that accounts balance and that due times ascend.
    #[test]
    fn nothing_appears_or_vanishes(direction in direction(), script in script()) {
        everybody_ends_once(&script, &drive(&mut line(&direction, "up", 7), &script))?;
    }

    /// Late wake-ups change when an event is reported, never the event or its due time: also with
    /// active queues, jitter that overtakes, traces, and changes.
    #[test]
    fn lateness_does_not_add_up(
        direction in direction(), changes in prop::collection::vec(change(), 0..4), script in script(),
        skips in prop::collection::vec(any::<bool>(), 1..64),
    ) {
        let exact = drive(&mut changing(&direction, &changes), &script);
        let late = drive_late(&mut changing(&direction, &changes), &script, |poll| skips[poll % skips.len()]);
        everybody_ends_once(&script, &exact)?;
        the_same_happened(exact, late)?;
    }

    /// Parts that were left out would have had no effect.
    #[test]
    fn parts_that_may_change_but_do_not_do_nothing(direction in direction(), script in script()) {
        let plain = drive(&mut line(&direction, "up", 7), &script);
        the_same_happened(plain, drive(&mut changing_line(&direction, "up", 7), &script))?;
    }

    /// The driver does not have to poll at all between frames, and changes may be announced at
    /// their time instead of in advance.
    #[test]
    fn changes_may_be_told_when_they_come(
        direction in direction(), change in change(), script in script(),
    ) {
        let change = if matches!(direction.rate, Rate::Trace(_)) { Change { rate: None, ..change } } else { change };
        let at = Time::ZERO + change.at;
        let (before, after) = script.split_at(script.partition_point(|&(time, _)| time < at));
        let beforehand = drive(&mut changing(&direction, std::slice::from_ref(&change)), &script);
        let mut chain = changing_line(&direction, "up", 7);
        for &(time, frame) in before {
            chain.accept(frame, time);
        }
        prop_assert!(chain.change(&change, at));
        for &(time, frame) in after {
            chain.accept(frame, time);
        }
        let mut arrivals = Vec::new();
        loop {
            match chain.poll(Time::from_nanoseconds(u64::MAX)) {
                Step::Deliver(frame, due) => arrivals.push((frame.tag, due)),
                Step::Wake(_) | Step::Idle => break,
                Step::Drop(..) | Step::Duplicate(_) => {}
            }
        }
        let expected: Vec<_> = beforehand.arrivals.iter().map(|arrival| (arrival.tag, arrival.at)).collect();
        prop_assert_eq!(arrivals, expected);
    }
}
