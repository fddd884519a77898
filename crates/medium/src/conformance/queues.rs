//! Tests of queues in front of a line, and of lines with a recorded rate.

use btu_conditions::judge;
use btu_network::{Codel, Direction, Discipline, QueueLimit, Rate, Trace};
use btu_units::{BitRate, Bytes, Span};

use super::{Arrival, Bench, FULL_FRAME, SHORTEST_FRAME, nothing_is_lost};

const TEN: BitRate = BitRate::from_megabits_per_second(10);
/// A full frame at 10 Mb/s, gap included.
const EACH: Span = Span::from_nanoseconds(1_230_400);

/// Of a burst to a queue of ten frames, the first eleven arrive: one in transmission, ten that
/// wait; the rest only as far as room is made while the burst is still being sent.
///
/// # Panics
/// When others do.
pub fn a_queue_of_frames_drops_at_its_tail(bench: &mut impl Bench) {
    let queue = Discipline::TailDrop { limit: QueueLimit::Frames(10) };
    let arrivals = bench.run(&slow(queue), &[(Span::ZERO, FULL_FRAME); 30]);
    let numbers: Vec<u32> = arrivals.iter().map(|arrival| arrival.number).collect();
    judge!(bench, numbers.starts_with(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), "{numbers:?}");
    let sending = arrivals[arrivals.len() - 1].sent.since(arrivals[0].sent);
    let room = sending.nanoseconds().div_ceil(EACH.nanoseconds()) as usize;
    judge!(bench, numbers.len() <= 11 + room, "{numbers:?}, sent within {sending}");
}

/// A queue of 15 000 octets behind the frame in transmission holds nine full frames, not a tenth,
/// but the short one after it; unless room is made while the burst is still being sent.
///
/// # Panics
/// When it holds others.
pub fn a_queue_of_bytes_counts_bytes(bench: &mut impl Bench) {
    let queue = Discipline::TailDrop { limit: QueueLimit::Bytes(Bytes::new(15_000)) };
    let mut script = vec![(Span::ZERO, FULL_FRAME); 11];
    script.push((Span::ZERO, SHORTEST_FRAME));
    let arrivals = bench.run(&slow(queue), &script);
    let numbers: Vec<u32> = arrivals.iter().map(|arrival| arrival.number).collect();
    let sending = arrivals[arrivals.len() - 1].sent.since(arrivals[0].sent);
    let rest: Vec<u32> = numbers.iter().copied().filter(|number| *number != 10).collect();
    judge!(
        bench,
        rest == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11] && (rest == numbers || sending >= EACH),
        "{numbers:?}, sent within {sending}"
    );
}

/// `CoDel` under 5 per cent more than the line carries: once it has found its drop rate (within 1.5
/// s), the delay in the queue falls to the target again and again, where tail drop would let it
/// grow to 75 ms and more; and the line stays busy.
///
/// # Panics
/// When it does not.
pub fn controlled_delay_keeps_no_standing_queue(bench: &mut impl Bench) {
    let target = Span::from_milliseconds(5);
    let codel =
        Codel { limit: QueueLimit::Frames(1000), target, interval: Span::from_milliseconds(100) };
    let gap = Span::from_nanoseconds(EACH.nanoseconds() * 100 / 105);
    let script: Vec<_> = (0..2100).map(|n| (gap * n, FULL_FRAME)).collect();
    let arrivals = bench.run(&slow(Discipline::Codel(codel)), &script);
    let start = arrivals[0].sent;
    let settled: Vec<&Arrival> = arrivals
        .iter()
        .filter(|arrival| arrival.sent.since(start) > Span::from_milliseconds(1500))
        .collect();
    let least = settled.iter().map(|arrival| arrival.delay()).min().expect("some arrive");
    judge!(bench, least <= target + EACH + bench.tolerance(), "{least} at least");
    let busy = settled[settled.len() - 1].arrived.since(settled[0].arrived).seconds();
    let share = (settled.len() - 1) as f64 * EACH.seconds() / busy;
    judge!(bench, (share - 1.0).abs() < 0.02, "busy for {share} of the time");
    let dropped = script.len() - arrivals.len();
    judge!(bench, (20..200).contains(&dropped), "{dropped} dropped");
}

/// A recorded line with four opportunities in ten milliseconds: of a long queue of full frames,
/// each arrives one lap after the fourth before it. The trace's phase is the driver's.
///
/// # Panics
/// When the median of those times is not a lap, within tolerance.
pub fn a_recorded_line_keeps_its_opportunities(bench: &mut impl Bench) {
    let rate = Rate::Trace(Trace { opportunities_ms: vec![1, 4, 4, 10] });
    let queue = Discipline::TailDrop { limit: QueueLimit::Frames(1000) };
    let script = [(Span::ZERO, FULL_FRAME); 200];
    let arrivals = bench.run(&Direction { rate, ..slow(queue) }, &script);
    nothing_is_lost(bench, &arrivals, &script);
    let lap = Span::from_milliseconds(10);
    let mut errors: Vec<Span> = arrivals
        .windows(5)
        .map(|five| five[4].arrived.since(five[0].arrived))
        .map(|seen| seen.saturating_sub(lap) + lap.saturating_sub(seen))
        .collect();
    errors.sort_unstable();
    let median = errors[errors.len() / 2];
    judge!(bench, median <= bench.tolerance(), "laps are off by {median}");
}

/// A line of 10 Mb/s behind `queue`.
fn slow(queue: Discipline) -> Direction {
    Direction { queue, ..Direction::new(TEN, Span::ZERO) }
}
