//! Rate, delay, loss, duplicates, order, damage: the conformance tests, and tests of further
//! impairments.

use btu_conditions::judge;
use btu_medium::conformance::{self, FULL_FRAME, SHORTEST_FRAME};
use btu_network::{Direction, Framing, Jitter, Loss, Rate, Reordering, Shape};
use btu_units::{BitRate, Bytes, Probability, Span};

use crate::Scenario;
use crate::bench::{NetemBench, delay, duration, line, overtaken, share, steady, within};
use crate::scenarios::Machine;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("line_rate_10", || rate(10, FULL_FRAME)),
    ("line_rate_10_short", || rate(10, Bytes::new(512))),
    ("line_rate_100", || rate(100, FULL_FRAME)),
    ("line_delay", delays),
    ("line_loss_1", || losses(0.01)),
    ("line_loss_5", || losses(0.05)),
    ("line_loss_20", || losses(0.2)),
    ("line_duplicates", || {
        conformance::duplicates_come_in_pairs(&mut NetemBench::new(), share(0.05));
    }),
    ("line_reordering", || {
        conformance::reordered_frames_are_overtaken(&mut NetemBench::new(), share(0.05));
    }),
    ("line_bursts_of_loss", || conformance::losses_come_in_bursts(&mut NetemBench::new())),
    ("line_damage", || conformance::damage_is_binomial(&mut NetemBench::new(), share(0.05))),
    ("line_jitter_normal", || jitter(Shape::Normal, 1.0)),
    ("line_jitter_uniform", || jitter(Shape::Uniform, 1.0 / 3f64.sqrt())),
    ("line_jitter_quantiles", jitter_quantiles),
    (
        "line_jitter_in_order",
        || conformance::jitter_keeps_order_where_asked(&mut NetemBench::new()),
    ),
    ("line_jitter_and_reordering", overtaking_behind_ordered_jitter),
    ("line_framing", framings_take_their_time),
    ("line_everything", everything_at_once),
];

fn rate(megabits: u64, length: Bytes) {
    let rate = BitRate::from_megabits_per_second(megabits);
    conformance::a_busy_line_keeps_its_rate(&mut NetemBench::new(), rate, length);
}

fn delays() {
    let mut bench = NetemBench::new();
    for delay in [
        Span::ZERO,
        Span::from_milliseconds(1),
        Span::from_milliseconds(20),
        Span::from_milliseconds(250),
    ] {
        conformance::an_idle_link_delays_as_asked(&mut bench, delay);
    }
}

fn losses(of: f64) {
    conformance::losses_are_binomial(&mut NetemBench::new(), share(of));
}

const APART: Span = Span::from_microseconds(50);

fn jitter_quantiles() {
    let mut bench = NetemBench::new();
    for shape in [Shape::Uniform, Shape::Normal, Shape::Pareto] {
        conformance::jitter_is_distributed_as_asked(&mut bench, shape);
    }
}

fn jittery(shape: Shape) -> Direction {
    let jitter = Jitter {
        spread: Span::from_milliseconds(1),
        shape,
        correlation: Probability::NEVER,
        keep_order: false,
    };
    Direction { delay: Span::from_milliseconds(20), jitter: Some(jitter), ..line(100) }
}

/// Mean and standard deviation of the delays, and frames overtake. `deviation` is in milliseconds.
/// Not for Pareto: its fourth moment is infinite, so a sample gives no error of its deviation.
fn jitter(shape: Shape, deviation: f64) {
    let script = steady(8000, APART, SHORTEST_FRAME);
    let (arrivals, _) = NetemBench::new().ride(&jittery(shape), &script);
    let count = arrivals.len() as f64;
    assert_eq!(arrivals.len(), script.len());
    let delays: Vec<f64> = arrivals.iter().map(|arrival| delay(arrival).milliseconds()).collect();
    let mean = delays.iter().sum::<f64>() / count;
    let squares = delays.iter().map(|delay| (delay - mean).powi(2));
    let fourth = delays.iter().map(|delay| (delay - mean).powi(4)).sum::<f64>() / count;
    let variance = squares.sum::<f64>() / count;
    // 10 us for the kernel's own work, one standard error, and 5.76 us that a frame takes.
    within("mean delay, ms", mean, 20.005_76, deviation / count.sqrt() + 0.01);
    // The standard error of a variance, from the sample's fourth moment; half of it, relatively,
    // for its root.
    let error = ((fourth - variance * variance) / count).sqrt() / (2.0 * variance.sqrt());
    within("its standard deviation, ms", variance.sqrt(), deviation, error);
    let overtaken = overtaken(&arrivals);
    judge!(Machine, overtaken > 100, "{overtaken} overtaken");
}

/// Frames of full size on a busy line: exactly three overtake each, unless one of them is held back
/// too.
fn overtaking_behind_ordered_jitter() {
    let reorder = Reordering { share: share(0.05), depth: 3 };
    let jitter = Jitter {
        spread: Span::from_microseconds(100),
        shape: Shape::Uniform,
        correlation: Probability::NEVER,
        keep_order: true,
    };
    let plain = Direction { reorder, ..line(10) };
    let script = steady(2000, Span::from_microseconds(1240), FULL_FRAME);
    let bench = NetemBench::new();
    for direction in [Direction { jitter: Some(jitter), ..plain.clone() }, plain] {
        let (arrivals, _) = bench.ride(&direction, &script);
        assert_eq!(arrivals.len(), script.len());
        within("overtaken", overtaken(&arrivals) as f64, 100.0, 95f64.sqrt());
        let most = arrivals
            .windows(5)
            .filter(|few| few[4].number < few[3].number && few[3].number > few[4].number + 2);
        judge!(Machine, most.count() > 60, "three frames come before most that are held back");
    }
}

/// Fifty packets of 500 octets, each 60 octets shorter than the last by turns, take the times of
/// cells and characters.
fn framings_take_their_time() {
    let bench = NetemBench::new();
    let script: Vec<_> =
        (0..50).map(|n| (Span::ZERO, Bytes::new(14 + 500 - 60 * (n % 2)))).collect();
    // Between the first arrival and the last lie all frames but the first: 25 short ones and 24
    // long ones.
    let cases = [
        // 500 + 16 octets are 11 cells, 440 + 16 are 10.
        (Framing::Aal5, (25.0 * 10.0 + 24.0 * 11.0) * 53.0 * 8.0),
        (Framing::Serial { overhead: 8, bits_per_octet: 10 }, (25.0 * 448.0 + 24.0 * 508.0) * 10.0),
        (Framing::Ethernet, (25.0 * 478.0 + 24.0 * 538.0) * 8.0),
        (Framing::Bare, (25.0 * 454.0 + 24.0 * 514.0) * 8.0),
    ];
    for (framing, bits) in cases {
        let rate = Rate::Fixed(BitRate::from_bits_per_second(1_000_000));
        let (arrivals, _) = bench.ride(&Direction { rate, framing, ..line(1) }, &script);
        let seconds = duration(&arrivals).seconds();
        println!("  {framing:?}: {seconds} s, expected {} s", bits / 1e6);
        judge!(Machine, (seconds / (bits / 1e6) - 1.0).abs() < 0.005, "{framing:?}");
    }
}

/// The accounts balance with all impairments together.
fn everything_at_once() {
    let all = Direction {
        loss: Loss::Random(share(0.05)),
        corrupt: share(0.05),
        reorder: Reordering { share: share(0.05), depth: 3 },
        ..jittery(Shape::Pareto)
    };
    let script = steady(4000, APART, SHORTEST_FRAME);
    let bench = NetemBench::new();
    for direction in [all.clone(), Direction { duplicate: share(0.05), ..all }] {
        let (arrivals, accounts) = bench.ride(&direction, &script);
        assert!(accounts.lost > 100 && arrivals.len() > 3500);
    }
}
