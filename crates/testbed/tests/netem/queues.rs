//! Queues: the result of a burst, and the effect of active queue management on a standing queue.

use btu_conditions::judge;
use btu_medium::conformance::{self, Arrival, FULL_FRAME, SHORTEST_FRAME};
use btu_network::{Codel, Direction, Discipline, FairCodel, QueueLimit, Red};
use btu_units::{Bytes, Span};

use crate::Scenario;
use crate::bench::{NetemBench, delay, duration, line, median, sent_after, share, steady};
use crate::scenarios::Machine;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("queue_in_frames", || a_burst_fills(QueueLimit::Frames(50))),
    ("queue_in_octets", || a_burst_fills(QueueLimit::Bytes(Bytes::new(50 * 1514)))),
    ("queue_tail", || conformance::a_queue_of_frames_drops_at_its_tail(&mut NetemBench::new())),
    ("queue_tail_in_octets", || conformance::a_queue_of_bytes_counts_bytes(&mut NetemBench::new())),
    ("queue_controlled_delay", || {
        conformance::controlled_delay_keeps_no_standing_queue(&mut NetemBench::new());
    }),
    ("queue_behind_the_delay", propagation_is_no_queue),
    ("queue_codel", || codel(Discipline::Codel)),
    ("queue_fq_codel", || {
        codel(|codel| {
            Discipline::FqCodel(FairCodel { codel, queues: 1024, quantum: Bytes::new(1514) })
        });
    }),
    ("queue_red", red),
    ("queue_token_bucket_rate", a_token_bucket_keeps_its_rate),
];

/// Of 200 frames at once the first goes, 50 wait, and the others are dropped: a frame takes 12.3
/// ms.
fn a_burst_fills(limit: QueueLimit) {
    let direction = Direction { queue: Discipline::TailDrop { limit }, ..line(1) };
    let (arrivals, accounts) = NetemBench::new().ride(&direction, &[(Span::ZERO, FULL_FRAME); 200]);
    let numbers: Vec<u32> = arrivals.iter().map(|arrival| arrival.number).collect();
    judge!(Machine, numbers == (0..=50).collect::<Vec<_>>(), "{numbers:?}");
    assert_eq!((accounts.refused + arrivals.len() as u64, accounts.lost), (200, 0));
}

/// 2000 frames in flight are no queue of 10.
fn propagation_is_no_queue() {
    let queue = Discipline::TailDrop { limit: QueueLimit::Frames(10) };
    let direction = Direction { queue, delay: Span::from_milliseconds(100), ..line(100) };
    let script = steady(3000, Span::from_microseconds(50), SHORTEST_FRAME);
    let (arrivals, accounts) = NetemBench::new().ride(&direction, &script);
    judge!(Machine, (arrivals.len(), accounts.refused) == (3000, 0), "{accounts:?}");
}

/// A queue discipline on a line with 5 per cent excess load for 5 s: the arrivals of the last
/// second.
fn overload(queue: Discipline) -> Vec<Arrival> {
    // 1538 octets at 10 Mb/s take 1230.4 us.
    let script = steady(4267, Span::from_nanoseconds(1_230_400 * 100 / 105), FULL_FRAME);
    let (arrivals, accounts) = NetemBench::new().ride(&Direction { queue, ..line(10) }, &script);
    judge!(Machine, accounts.refused > 0, "5 per cent have to go");
    let start = arrivals[0].sent;
    let last: Vec<Arrival> = sent_after(&arrivals, start, Span::from_seconds(4)).copied().collect();
    println!("  median delay in the last second: {}", median(last.iter().map(delay)));
    last
}

/// `CoDel`'s dropping rate has grown to the necessary 41 per second after about 17 drops: less than
/// a second. From then on the delay is near the target; without, it would be 250 ms.
fn codel(discipline: fn(Codel) -> Discipline) {
    let limit = QueueLimit::Frames(1000);
    let last = overload(discipline(Codel {
        limit,
        target: Span::from_milliseconds(5),
        interval: Span::from_milliseconds(100),
    }));
    let delay = median(last.iter().map(delay));
    judge!(Machine, delay < Span::from_milliseconds(40), "median delay {delay}");
}

/// RED drops 5 per cent where the mean queue is about half way between its bounds (its probability
/// at the upper is 10).
fn red() {
    let (minimum, maximum) = (Bytes::new(15_140), Bytes::new(45_420));
    let limit = QueueLimit::Frames(100);
    let last = overload(Discipline::Red(Red {
        limit,
        minimum,
        maximum,
        probability: share(0.1),
        weight: 1.0 / 512.0,
    }));
    let delay = median(last.iter().map(delay));
    // 10 and 30 full frames of 1.23 ms.
    judge!(
        Machine,
        (Span::from_milliseconds(12)..Span::from_milliseconds(37)).contains(&delay),
        "median delay {delay}"
    );
}

fn a_token_bucket_keeps_its_rate() {
    let queue = Discipline::TailDrop { limit: QueueLimit::Bytes(Bytes::new(1_000_000)) };
    let bench = NetemBench::new();
    for length in [FULL_FRAME, Bytes::new(200)] {
        let (arrivals, _) =
            bench.ride(&Direction { queue, ..line(10) }, &[(Span::ZERO, length); 600]);
        judge!(Machine, arrivals.len() == 600, "{} of 600", arrivals.len());
        // A full bucket lets the first few of the short ones go at once: they are left out.
        let steady = &arrivals[20..];
        let expected = (steady.len() - 1) as f64 * (length.count() + 24) as f64 * 8.0 / 1e7;
        let seconds = duration(steady).seconds();
        judge!(
            Machine,
            (seconds / expected - 1.0).abs() < 0.01,
            "{length}: {seconds} s instead of {expected} s"
        );
    }
}
