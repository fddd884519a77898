//! Whole runs over simulated lines: what fits into a time, without a clock.

use super::*;
use crate::pipe::{End, Kind, Pattern, PipePlan, Place, Point, Precision, Trial};

/// Bytes of headers around each segment.
const HEADERS: u64 = 78;

/// A line between two ends.
#[derive(Debug, Clone, Copy)]
struct Line {
    bits_per_second: f64,
    delay_seconds: f64,
    /// Messages larger than this take ten times as long for each byte more.
    police_above: u64,
}

impl Line {
    const fn of(bits_per_second: f64, delay_seconds: f64) -> Self {
        Self { bits_per_second, delay_seconds, police_above: u64::MAX }
    }

    /// The one-way time of a message.
    fn one_way(&self, size: u64) -> f64 {
        let bytes = |size: u64| (size + HEADERS * size.div_ceil(SEGMENT.count())) as f64;
        let slow = bytes(size.saturating_sub(self.police_above)) * 9.0;
        self.delay_seconds + (bytes(size) + slow) * 8.0 / self.bits_per_second
    }
}

/// A finished run.
struct Run {
    progress: Progress,
    /// The size of every round and its whole time, in their order.
    rounds: Vec<(Bytes, Span)>,
    left_out: usize,
}

/// The near end of `plan` on this line: as the transports do it, with simulated time.
fn run(plan: &PipePlan, line: Line) -> Run {
    let schedule = Schedule::of(plan);
    let mut run = Run { progress: Progress::default(), rounds: Vec::new(), left_out: 0 };
    loop {
        match schedule.next(&run.progress) {
            Next::Pilot { size, repetitions } => {
                let elapsed = run.round(size, repetitions, plan, line);
                let once = elapsed.seconds() / repetitions as f64;
                run.progress.pilots.push((size, once / plan.pattern.one_way_parts()));
            }
            Next::Measure { size, warm_up, trials, repetitions } => {
                let mut point = Point::empty(size);
                if warm_up > 0 {
                    let elapsed = run.round(size, warm_up, plan, line);
                    let once = Span::from_nanoseconds(elapsed.nanoseconds() / warm_up);
                    if !schedule.has_time(&run.progress, once) {
                        run.progress.abandoned.push(size);
                        continue;
                    }
                }
                while point.trials.len() < trials as usize {
                    let before = run.progress.spent;
                    let elapsed = run.round(size, repetitions, plan, line);
                    let trial =
                        Trial { repetitions, elapsed, clock: End::Near, lost: 0, repeated: 0 };
                    point.trials.push(trial);
                    let whole = run.progress.spent - before;
                    if !schedule.has_time(&run.progress, whole) {
                        break;
                    }
                }
                run.progress.points.push(point);
            }
            Next::Done { left_out } => return Run { left_out, ..run },
        }
    }
}

impl Run {
    fn round(&mut self, size: Bytes, repetitions: u64, plan: &PipePlan, line: Line) -> Span {
        let once = line.one_way(size.count()) * plan.pattern.one_way_parts();
        let elapsed = Span::from_seconds_f64(once * repetitions as f64);
        // The round is announced and accounted for, each with an answer.
        let whole = elapsed + Span::from_seconds_f64(4.0 * line.one_way(48));
        self.progress.spend(whole, elapsed);
        self.rounds.push((size, whole));
        elapsed
    }

    fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> =
            self.progress.points.iter().map(|point| point.size.count()).collect();
        sizes.sort_unstable();
        sizes
    }
}

fn plan(sizes: &str, seconds: u64) -> PipePlan {
    let plan = PipePlan::new(1, Kind::Tcp, Place::Here);
    let sizes: crate::pipe::Sizes = sizes.parse().unwrap();
    let time = Span::from_seconds(seconds);
    let trials = sizes.list().len() as u64 * u64::from(plan.precision.trials);
    let target = Span::from_nanoseconds(time.nanoseconds() / 2 / trials);
    let precision = Precision { time: Some(time), target, ..plan.precision };
    PipePlan { sizes, precision, ..plan }
}

/// From a telephone over a satellite to a network of today; and a line that is slower for large
/// messages.
const LINES: [Line; 8] = [
    Line::of(9600.0, 0.3),
    Line::of(64e3, 0.05),
    Line::of(2e6, 0.275),
    Line::of(10e6, 2e-3),
    Line::of(100e6, 0.1),
    Line::of(1e9, 50e-6),
    Line::of(10e9, 10e-6),
    Line { police_above: 20_000, ..Line::of(10e6, 0.02) },
];

const SECONDS: [u64; 5] = [2, 5, 20, 60, 600];

#[test]
fn no_run_lasts_longer_than_its_time_and_one_trial() {
    for line in LINES {
        for seconds in SECONDS {
            let run = run(&plan("1..10MB", seconds), line);
            let (_, last) = run.rounds.last().unwrap();
            let excess = run.progress.spent - Span::from_seconds(seconds);
            // One trial of the smallest size is made even if its pilot has taken all the time.
            let is_least = run.rounds.len() == 2;
            let is_kept = excess <= *last || is_least;
            assert!(is_kept, "{line:?} {seconds} s: {excess} more, last {last}");
            assert_eq!(run.left_out + run.sizes().len(), 124, "{line:?} {seconds} s");
        }
    }
}

#[test]
fn sizes_are_spread_over_all_that_the_line_can_carry() {
    for line in LINES {
        for seconds in SECONDS {
            let run = run(&plan("1..10MB", seconds), line);
            let sizes = run.sizes();
            assert_eq!(sizes[0], 1, "{line:?} {seconds} s");
            let is_dense = sizes.windows(2).all(|pair| pair[1] <= pair[0] * STEP as u64);
            assert!(is_dense, "{line:?} {seconds} s: {sizes:?}");
        }
    }
}

#[test]
fn no_message_is_much_larger_than_those_before() {
    for line in LINES {
        for sizes in ["1..10MB", "64KiB..10MB", "8MiB,1", "1,64KiB"] {
            let mut known = SEGMENT.count() as f64 / STEP;
            for (size, _) in run(&plan(sizes, 20), line).rounds {
                let size = size.count() as f64;
                assert!(size <= known * STEP, "{line:?} {sizes}: {size} B after {known} B");
                known = known.max(size);
            }
        }
    }
}

/// The number of sizes and of the largest in 20 s, and the fewest trials of a size.
#[test]
fn what_twenty_seconds_are_enough_for() {
    let found = LINES.map(|line| {
        let run = run(&plan("1..10MB", 20), line);
        let sizes = run.sizes();
        let trials = run.progress.points.iter().map(|point| point.trials.len()).min();
        (sizes.len(), sizes.last().copied().unwrap_or(0), trials.unwrap_or(0))
    });
    let expected = [
        (6, 1539, 1),
        (15, 12_291, 1),
        (9, 65_536, 1),
        (41, 1_048_576, 1),
        (13, 8_388_611, 1),
        (124, 8_388_611, 2),
        (124, 8_388_611, 7),
        (16, 65_536, 2),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_fast_line_has_time_for_every_size_and_every_trial() {
    let plan = plan("1..10MB", 20);
    let run = run(&plan, Line::of(10e9, 10e-6));
    assert_eq!((run.sizes().len(), run.left_out), (124, 0));
    let trials = plan.precision.trials as usize;
    assert!(run.progress.points.iter().all(|point| point.trials.len() == trials));
}

#[test]
fn sizes_far_from_each_other_are_reached_by_pilots() {
    let run = run(&plan("8MiB,1", 20), Line::of(1e9, 50e-6));
    assert_eq!(run.sizes(), [1, 8 << 20]);
    let pilots: Vec<u64> = run.progress.pilots.iter().map(|(size, _)| size.count()).collect();
    assert_eq!(pilots, [1, 1, 16, 256, 4096, 65_536, 1 << 20]);
}

#[test]
fn what_is_too_large_for_the_time_is_not_begun() {
    let run = run(&plan("1MB,2MB", 20), Line::of(9600.0, 0.3));
    assert_eq!((run.sizes().len(), run.left_out), (0, 2));
    assert!(run.progress.spent <= Span::from_seconds(20), "{}", run.progress.spent);
}

#[test]
fn the_first_small_size_is_measured_even_if_the_time_is_over() {
    let run = run(&plan("1..10MB", 1), Line::of(2e6, 0.275));
    assert_eq!(run.sizes(), [1]);
}

#[test]
fn a_resumed_run_has_the_rest_of_the_time() {
    let plan = plan("1..10MB", 20);
    let whole = run(&plan, Line::of(2e6, 0.275));
    let known = &whole.progress.points[..3];
    let rest = plan.after(known).unwrap();
    assert_eq!(rest.sizes.list().len(), 121);
    let spent: Span = known.iter().flat_map(|p| &p.trials).map(|trial| trial.elapsed).sum();
    assert_eq!(rest.precision.time, Some(Span::from_seconds(20) - spent));
    let mut long = known.to_vec();
    long[0].trials[0].elapsed = Span::from_seconds(20);
    assert_eq!(plan.after(&long), None);
}

#[test]
fn a_message_of_a_stream_takes_its_whole_time() {
    let plan = PipePlan { pattern: Pattern::Streaming, ..plan("1..10MB", 20) };
    let run = run(&plan, Line::of(64e3, 0.05));
    assert!(run.sizes().len() > 6, "{:?}", run.sizes());
}
