//! Builds the chain of queueing disciplines for a direction of a line.
//!
//! A [`Direction`] is: queue and transmitter, then propagation with jitter, loss, corruption,
//! reordering. Two chains approximate it.
//!
//! * **Tail drop in frames**: three netems, each the child of the one before. The first only
//!   delays; the second is only queue and transmitter; the third adds jitter, losses and damage. A
//!   fourth holds frames back if jitter must keep the order. A constant delay before a queue gives
//!   every frame the times of one behind it, and it must be before: in newer kernels (seen in
//!   6.12.117) netem's limit counts what its children hold too. So the limit also includes the
//!   frames that jitter and reordering hold on a busy line of full frames.
//! * **Everything else** (octets, RED, `CoDel`, `FQ-CoDel`, and duplicates, which newer kernels
//!   refuse together with a second netem): one netem for propagation and impairments first, and as
//!   its child a token bucket before the queue. Deviations: lost frames take no time on the line
//!   and duplicates take twice theirs; jitter comes before the queue; a frame after a pause leaves
//!   up to one full frame's time early, because a bucket fills while no frame is sent.

use btu_network::{Direction, Discipline, Jitter, Loss, QueueLimit, Reordering, Shape};
use btu_testbed::netlink::Attributes;
use btu_units::{BitRate, Bytes, Probability, Span};

use super::delays::DelayTable;
use super::line::KernelRate;
use super::qdisc::{Losses, Netem, Qdisc, Tbf};
use super::sizes;
use crate::Scenario;

pub(super) const SCENARIOS: &[Scenario] = &[
    ("driver_delay_before_queue", a_constant_delay_stands_before_the_queue),
    ("driver_losses_behind_queue", losses_and_jitter_stand_behind_the_queue),
    ("driver_token_bucket", other_queues_stand_behind_a_token_bucket),
    ("driver_overtaking", overtaking_behind_ordered_jitter_needs_a_third),
];

/// More frames than any delay here holds: the limit of a netem that is not a queue, if no rate
/// bounds its input.
const NO_QUEUE: u32 = 1_000_000;

/// The purpose of a discipline in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DisciplineRole {
    /// Queue and transmitter: its drops are frames without room.
    Queue,
    /// Propagation: its drops are losses.
    Propagation,
}

/// A chain of disciplines, each the only child of the one before, and the sizes that they count.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tree {
    pub(super) sizes: Option<Attributes>,
    pub(super) chain: Vec<(DisciplineRole, Qdisc)>,
}

impl Tree {
    /// The chain for a direction; the random numbers of its parts come from `seed`.
    pub(super) fn of(direction: &Direction, seed: u64) -> Self {
        let line = KernelRate::of(direction);
        let way = Propagation::of(direction, &line);
        let in_order = matches!(
            direction.queue,
            Discipline::TailDrop { limit: QueueLimit::Suited | QueueLimit::Frames(_) }
        );
        let chain = if in_order && direction.duplicate == Probability::NEVER {
            behind_a_delay(direction, &line, way, seed)
        } else {
            before_a_token_bucket(direction, &line, way, seed)
        };
        Self { sizes: sizes::table(direction), chain }
    }
}

fn limit_of(discipline: Discipline) -> QueueLimit {
    match discipline {
        Discipline::TailDrop { limit } => limit,
        Discipline::Red(red) => red.limit,
        Discipline::Codel(codel) => codel.limit,
        Discipline::FqCodel(fair) => fair.codel.limit,
    }
}

/// Delay, queue and transmitter, impairments.
fn behind_a_delay(
    direction: &Direction,
    line: &KernelRate,
    way: Propagation,
    seed: u64,
) -> Vec<(DisciplineRole, Qdisc)> {
    let early = way.earliest.min(direction.delay);
    let wait = direction.delay.saturating_sub(line.gap).saturating_sub(early);
    let delay = Netem { delay: wait, ..Netem::idle(NO_QUEUE, other_seed(seed, 1)) };
    // The frame in transmission is in netem, but not in the queue.
    let limit = line
        .frames(limit_of(direction.queue))
        .saturating_add(1)
        .saturating_add(way.held_frames(line, early));
    let queue = Netem {
        octets_per_second: line.octets_per_second,
        ..Netem::idle(limit, other_seed(seed, 2))
    };
    let before = [
        (DisciplineRole::Propagation, Qdisc::Netem(delay)),
        (DisciplineRole::Queue, Qdisc::Netem(queue)),
    ];
    before.into_iter().chain(way.stages(early, direction, seed)).collect()
}

/// Impairments, then a token bucket and its queue.
fn before_a_token_bucket(
    direction: &Direction,
    line: &KernelRate,
    way: Propagation,
    seed: u64,
) -> Vec<(DisciplineRole, Qdisc)> {
    let bucket = Tbf { octets_per_second: line.octets_per_second, burst: line.longest };
    let queue = [Qdisc::Tbf(bucket), line.queue(direction.queue)]
        .map(|qdisc| (DisciplineRole::Queue, qdisc));
    way.stages(direction.delay, direction, seed).chain(queue).collect()
}

/// Random delays of a direction.
struct Propagation {
    /// Jitter, and the frames that are held back, unless a separate discipline holds them.
    first: Option<DelayTable>,
    /// The frames that are held back after ordered jitter.
    second: Option<DelayTable>,
    keep_order: bool,
    /// The largest advance of a frame by jitter, relative to the mean.
    earliest: Span,
    /// Frames that reordering holds, on average, on a busy line.
    overtaken: f64,
}

impl Propagation {
    fn of(direction: &Direction, line: &KernelRate) -> Self {
        let jitter = direction.jitter.filter(|jitter| jitter.spread > Span::ZERO);
        let keep_order = jitter.is_some_and(|jitter| jitter.keep_order);
        let reordering = direction.reorder;
        let frames = f64::from(reordering.depth) + 0.5;
        // The time of this number of full frames: on a busy line this number overtakes.
        let held = (reordering.share > Probability::NEVER)
            .then(|| (reordering, Span::from_seconds_f64(line.time_of(frames))));
        let jittered = delays(jitter, None);
        Self {
            earliest: jittered.as_ref().map_or(Span::ZERO, DelayTable::earliest),
            first: delays(jitter, held.filter(|_| !keep_order)),
            second: delays(None, held.filter(|_| keep_order)),
            keep_order,
            overtaken: reordering.share.share() * frames,
        }
    }

    /// Frames in flight behind the transmitter, where each waits for `early` and the random part.
    fn held_frames(&self, line: &KernelRate, early: Span) -> u32 {
        (early.seconds() / line.time_of(1.0) + self.overtaken).ceil() as u32
    }

    /// All frames except the held-back ones, after `delay`; and those, if they need a discipline of
    /// their own.
    fn stages(
        self,
        delay: Span,
        direction: &Direction,
        seed: u64,
    ) -> impl Iterator<Item = (DisciplineRole, Qdisc)> {
        let impairments = Netem {
            delay,
            table: self.first,
            losses: losses(direction.loss),
            duplicate: direction.duplicate,
            corrupt: direction.corrupt,
            octets_per_second: if self.keep_order { Netem::ORDERLY } else { 0 },
            ..Netem::idle(NO_QUEUE, other_seed(seed, 3))
        };
        let hold =
            |table| Netem { table: Some(table), ..Netem::idle(NO_QUEUE, other_seed(seed, 4)) };
        let stages = std::iter::once(impairments).chain(self.second.map(hold));
        stages.map(|netem| (DisciplineRole::Propagation, Qdisc::Netem(netem)))
    }
}

fn delays(jitter: Option<Jitter>, held: Option<(Reordering, Span)>) -> Option<DelayTable> {
    (jitter.is_some() || held.is_some())
        .then(|| DelayTable::new(jitter, held).expect("random delays of at most 8.5 s"))
}

fn losses(loss: Loss) -> Losses {
    match loss {
        Loss::None => Losses::Random(Probability::NEVER),
        Loss::Random(share) => Losses::Random(share),
        Loss::GilbertElliott { p, r, bad, good } => Losses::GilbertElliott { p, r, bad, good },
    }
}

/// A seed for another part: Weyl's sequence with the golden ratio, as in `SplitMix64`.
fn other_seed(seed: u64, part: u64) -> u64 {
    seed.wrapping_add(part.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

const TEN: BitRate = BitRate::from_megabits_per_second(10);

fn line() -> Direction {
    Direction::new(TEN, Span::from_milliseconds(1))
}

fn share(share: f64) -> Probability {
    Probability::new(share).unwrap()
}

fn kinds(direction: &Direction) -> Vec<&'static str> {
    Tree::of(direction, 1).chain.iter().map(|(_, qdisc)| qdisc.kind()).collect()
}

fn jitter(correlation: f64, keep_order: bool) -> Jitter {
    let spread = Span::from_milliseconds(1);
    Jitter { spread, shape: Shape::Normal, correlation: share(correlation), keep_order }
}

fn a_constant_delay_stands_before_the_queue() {
    let tree = Tree::of(&line(), 1);
    let [
        (DisciplineRole::Propagation, Qdisc::Netem(way)),
        (DisciplineRole::Queue, Qdisc::Netem(queue)),
        _,
    ] = &tree.chain[..]
    else {
        panic!("{tree:?}");
    };
    assert_eq!((queue.octets_per_second, queue.limit, queue.delay), (1_250_000, 101, Span::ZERO));
    // A frame has arrived before its gap is over, and netem counts the gap.
    assert_eq!(way.delay, Span::from_nanoseconds(1_000_000 - 9600));
    assert!(way.octets_per_second == 0 && way.limit >= NO_QUEUE && way.seed != queue.seed);
}

fn losses_and_jitter_stand_behind_the_queue() {
    let lossy =
        Direction { loss: Loss::Random(share(0.1)), jitter: Some(jitter(0.0, false)), ..line() };
    let tree = Tree::of(&lossy, 1);
    let [_, (_, Qdisc::Netem(queue)), (DisciplineRole::Propagation, Qdisc::Netem(way))] =
        &tree.chain[..]
    else {
        panic!("{tree:?}");
    };
    assert_eq!(
        way.delay,
        Span::from_milliseconds(1),
        "all of the delay is needed for frames that come early"
    );
    assert_eq!(queue.limit, 102, "and one full frame is then under way");
}

fn other_queues_stand_behind_a_token_bucket() {
    let bytes = Discipline::TailDrop { limit: QueueLimit::Bytes(Bytes::new(151_400)) };
    assert_eq!(kinds(&Direction { queue: bytes, ..line() }), ["netem", "tbf", "bfifo"]);
    let tree = Tree::of(&Direction { queue: bytes, ..line() }, 1);
    assert_eq!(tree.chain[2].1, Qdisc::Octets(153_800), "a hundred full frames with their framing");
    assert_eq!(kinds(&Direction { duplicate: share(0.1), ..line() }), ["netem", "tbf", "pfifo"]);
}

fn overtaking_behind_ordered_jitter_needs_a_third() {
    let reorder = Reordering { share: share(0.1), depth: 3 };
    assert_eq!(
        kinds(&Direction { reorder, jitter: Some(jitter(0.0, false)), ..line() }),
        ["netem"; 3]
    );
    let both = Direction {
        reorder,
        jitter: Some(jitter(0.0, true)),
        delay: Span::from_milliseconds(20),
        ..line()
    };
    assert_eq!(kinds(&both), ["netem"; 4]);
}
