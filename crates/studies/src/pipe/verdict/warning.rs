//! Warnings about a signature: each with its observation and its advice.

use std::collections::BTreeSet;

use btu_units::{Bytes, Span};
use serde::Serialize;

use super::emulator;
use super::fit::Fit;
use super::shape::Dip;
use super::size::SizeVerdict;
use crate::pipe::merge::{ReferenceReadings, readings};
use btu_contract::pipe::{Accounts, PipePlan, Point, Schedule};
use btu_contract::record::{Apart, ClockSteps};
use btu_contract::text::count;

/// A median with an interval of a larger half width than this share of it is widely spread.
const WIDE: f64 = 0.05;

/// A trial should last so long that a clock's reading and a timer's interrupt are short compared
/// with it.
const SHORT: Span = Span::from_milliseconds(1);

/// A warning, in numbers and in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PipeWarning {
    /// The observation, as numbers.
    #[serde(flatten)]
    pub cause: PipeCause,
    /// The observation, as a sentence.
    pub observed: String,
    /// The advice.
    #[serde(rename = "try")]
    pub advice: String,
}

/// Sizes of the plan, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SizeRange {
    /// The first size.
    pub first_bytes: Bytes,
    /// The last size.
    pub last_bytes: Bytes,
    /// The number of sizes from the first to the last.
    pub sizes: usize,
}

/// The kinds of warnings about a signature.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PipeCause {
    /// Bytes arrived that were not sent.
    WrongBytes {
        /// Messages with a wrong byte.
        messages: u64,
    },
    /// More messages arrived than were sent.
    Unbalanced {
        /// The number of messages beyond the expected ones.
        messages: u64,
    },
    /// The run has not finished.
    Missing {
        /// Sizes that were not measured.
        sizes: usize,
    },
    /// Sizes for which the plan's time was too short.
    OutOfTime {
        /// The plan's time, in nanoseconds.
        time_ns: u64,
        /// The number of sizes of the plan.
        planned: usize,
        /// The sizes without a measurement.
        ranges: Vec<SizeRange>,
    },
    /// The emulator lost frames that the network does not lose; their sizes do not count.
    EmulatorLost {
        /// The number of frames.
        frames: u64,
        /// The number of sizes concerned.
        sizes: usize,
    },
    /// The machine slept while sizes were measured; they do not count.
    Slept {
        /// The number of sizes.
        sizes: usize,
        /// The longest sleep, in nanoseconds.
        longest_ns: u64,
    },
    /// Frames left the emulator late.
    EmulatorLate {
        /// The number of sizes concerned.
        sizes: usize,
        /// The size with the latest frame, measured by its trials.
        worst_bytes: Bytes,
        /// Its lateness.
        max_ns: u64,
        /// `max_ns` as a share of a typical trial of that size.
        share: f64,
    },
    /// The hypervisor took processor time for others.
    Steal {
        /// Share of all processors over all sizes: 0 to 1.
        share: f64,
    },
    /// The hypervisor moved the processors of the two ends apart.
    ProcessorsApart {
        /// Measurements of a size in a pass with the processors far from each other.
        far: usize,
        /// Those of them that count, because too few others remain.
        counted: usize,
        /// All measurements of a size in a pass.
        of: usize,
        /// The time of a cache line there and back between near ones.
        near_ns: u64,
        /// The longest such time.
        most_ns: u64,
    },
    /// Another thread of the same core slowed the processors of the ends.
    ProcessorsSlowed {
        /// Measurements of a size in a pass with slow processors.
        slow: usize,
        /// Those of them that count, because too few others remain.
        counted: usize,
        /// All measurements of a size in a pass.
        of: usize,
        /// The time of a fixed piece of arithmetic at full speed.
        quick_ns: u64,
        /// The longest such time.
        most_ns: u64,
    },
    /// The wall clock was set meanwhile.
    ClockStepped {
        /// The number of sizes that were measured meanwhile.
        sizes: usize,
        /// The largest step, forward or back.
        worst_ns: u64,
    },
    /// Messages did not arrive.
    Lost {
        /// The number of messages.
        messages: u64,
        /// As a share of those sent.
        share: f64,
    },
    /// The trials of some sizes differ widely.
    WideSpread {
        /// The number of sizes.
        sizes: usize,
        /// The widest of them.
        worst_bytes: Bytes,
        /// Half the width of its median's interval, as a share of the median.
        half_width: f64,
    },
    /// Too few trials for an interval.
    FewTrials {
        /// Of the size with the fewest.
        trials: usize,
    },
    /// Trials lasted too short to be timed well.
    ShortTrials {
        /// How many sizes have such trials.
        sizes: usize,
    },
    /// Throughput falls at some sizes and comes back.
    Dips {
        /// The deepest dip.
        deepest: Dip,
        /// The number of them.
        count: usize,
    },
    /// t0 + n/r does not describe the large sizes.
    PoorFit {
        /// The largest distance, as a share of the time.
        worst_share: f64,
    },
    /// Sizes were left out because smaller ones took as long as the plan allows.
    LeftOut {
        /// The number of sizes.
        sizes: usize,
    },
}

/// All warnings about these points, and about those of them that count, the most severe first.
pub(super) fn all(
    plan: &PipePlan,
    [points, counted]: [&[Point]; 2],
    sizes: &[SizeVerdict],
    dips: &[Dip],
    fit: Option<&Fit>,
) -> Vec<PipeWarning> {
    let accounts = points.iter().fold(Accounts::default(), |all, point| all.and(point.accounts));
    let (missing, left_out) = rest(plan, points);
    let reference = ReferenceReadings::of(points);
    let causes = [
        (accounts.wrong > 0).then_some(PipeCause::WrongBytes { messages: accounts.wrong }),
        unbalanced(&accounts),
        emulator::lost(points),
        emulator::slept(points),
        match plan.precision.time {
            _ if missing == 0 => None,
            Some(time) => Some(out_of_time(plan, points, time)),
            None => Some(PipeCause::Missing { sizes: missing }),
        },
        emulator::late(points),
        emulator::steal(points),
        apart([points, counted], &reference),
        slowed([points, counted], &reference),
        lost(&accounts),
        wide(sizes),
        few(sizes),
        short(points),
        dips.iter()
            .min_by(|a, b| a.share.total_cmp(&b.share))
            .map(|&deepest| PipeCause::Dips { deepest, count: dips.len() }),
        fit.filter(|fit| fit.is_poor())
            .map(|fit| PipeCause::PoorFit { worst_share: fit.worst_share }),
        (left_out > 0).then_some(PipeCause::LeftOut { sizes: left_out }),
        emulator::stepped(points),
    ];
    let words = |cause: PipeCause| PipeWarning {
        observed: cause.observed(),
        advice: cause.advice().to_owned(),
        cause,
    };
    causes.into_iter().flatten().map(words).collect()
}

/// Sizes that are still to be measured, and sizes that never will be.
fn rest(plan: &PipePlan, points: &[Point]) -> (usize, usize) {
    let schedule = Schedule::of(plan);
    let measured = schedule
        .sizes()
        .iter()
        .filter(|size| points.iter().any(|point| point.size == **size))
        .count();
    let left_out = schedule.left_out(points);
    (schedule.sizes().len() - measured - left_out, left_out)
}

/// Which of the missing sizes had no time does not depend on whether the run was stopped earlier.
fn out_of_time(plan: &PipePlan, points: &[Point], time: Span) -> PipeCause {
    let schedule = Schedule::of(plan);
    let range = |gap: &[Bytes]| SizeRange {
        first_bytes: gap[0],
        last_bytes: gap[gap.len() - 1],
        sizes: gap.len(),
    };
    PipeCause::OutOfTime {
        time_ns: time.nanoseconds(),
        planned: schedule.sizes().len(),
        ranges: schedule.gaps(points).into_iter().map(range).collect(),
    }
}

/// Of these points, those that are disturbed in this way, and those of them that count.
fn disturbed(
    [points, counted]: [&[Point]; 2],
    is_disturbed: impl Fn(&Point) -> bool,
) -> [usize; 2] {
    [points, counted].map(|all| all.iter().filter(|point| is_disturbed(point)).count())
}

/// Measurements by far processors are left out, or more than one in a hundred counts.
fn apart(measured: [&[Point]; 2], reference: &ReferenceReadings) -> Option<PipeCause> {
    let [far, counted] = disturbed(measured, |point| reference.is_far(point));
    let latencies = reference.latencies();
    let near_ns = latencies.near()?.nanoseconds();
    let most_ns = latencies.most().nanoseconds();
    let of = measured[0].len();
    is_worth_saying(far, counted, of).then_some(PipeCause::ProcessorsApart {
        far,
        counted,
        of,
        near_ns,
        most_ns,
    })
}

/// Measurements by slow processors are left out, or more than one in a hundred counts.
fn slowed(measured: [&[Point]; 2], reference: &ReferenceReadings) -> Option<PipeCause> {
    let [slow, counted] = disturbed(measured, |point| reference.is_slow(point));
    let quick_ns = reference.quick()?.nanoseconds();
    let times = measured[0].iter().filter_map(|point| readings(point).arithmetic);
    let most_ns = times.max()?.nanoseconds();
    let of = measured[0].len();
    is_worth_saying(slow, counted, of).then_some(PipeCause::ProcessorsSlowed {
        slow,
        counted,
        of,
        quick_ns,
        most_ns,
    })
}

fn is_worth_saying(disturbed: usize, counted: usize, of: usize) -> bool {
    disturbed > counted || counted as f64 > Apart::MOST_FAR * of as f64
}

fn unbalanced(accounts: &Accounts) -> Option<PipeCause> {
    let arrived = accounts.received.saturating_add(accounts.duplicates);
    (accounts.lost().is_none())
        .then(|| PipeCause::Unbalanced { messages: arrived.saturating_sub(accounts.sent) })
}

fn lost(accounts: &Accounts) -> Option<PipeCause> {
    let messages = accounts.lost().filter(|lost| *lost > 0)?;
    Some(PipeCause::Lost { messages, share: messages as f64 / accounts.sent as f64 })
}

fn wide(sizes: &[SizeVerdict]) -> Option<PipeCause> {
    let half_width = |size: &SizeVerdict| {
        size.one_way.median_seconds.relative_half_width().filter(|half| *half > WIDE)
    };
    let wide: Vec<(Bytes, f64)> =
        sizes.iter().filter_map(|size| Some((size.size, half_width(size)?))).collect();
    let &(worst_bytes, half_width) = wide.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(PipeCause::WideSpread { sizes: wide.len(), worst_bytes, half_width })
}

fn few(sizes: &[SizeVerdict]) -> Option<PipeCause> {
    let without = sizes.iter().filter(|size| size.one_way.median_seconds.interval.is_none());
    without.map(|size| size.trials).min().map(|trials| PipeCause::FewTrials { trials })
}

fn short(points: &[Point]) -> Option<PipeCause> {
    let is_short = |point: &&Point| point.trials.iter().any(|trial| trial.elapsed < SHORT);
    let sizes: BTreeSet<Bytes> = points.iter().filter(is_short).map(|point| point.size).collect();
    (!sizes.is_empty()).then_some(PipeCause::ShortTrials { sizes: sizes.len() })
}

impl PipeCause {
    /// The title in two or three words.
    pub const fn title(&self) -> &'static str {
        match self {
            Self::WrongBytes { .. } => "wrong bytes",
            Self::Unbalanced { .. } => "accounts do not balance",
            Self::Missing { .. } => "not finished",
            Self::OutOfTime { .. } => "out of time",
            Self::EmulatorLost { .. } => "the emulator lost frames",
            Self::Slept { .. } => "the machine slept",
            Self::EmulatorLate { .. } => "late emulator",
            Self::Steal { .. } => "processor time taken",
            Self::ProcessorsApart { .. } => "processors apart",
            Self::ProcessorsSlowed { .. } => "processors slowed",
            Self::ClockStepped { .. } => "stepped clock",
            Self::Lost { .. } => "lost messages",
            Self::WideSpread { .. } => "wide spread",
            Self::FewTrials { .. } => "few trials",
            Self::ShortTrials { .. } => "short trials",
            Self::Dips { .. } => "dips",
            Self::PoorFit { .. } => "poor fit",
            Self::LeftOut { .. } => "sizes left out",
        }
    }

    /// The observation, in one sentence without a full stop.
    fn observed(&self) -> String {
        match self {
            Self::WrongBytes { messages } => {
                format!("{} came with bytes that were not sent", count(*messages, "message"))
            }
            Self::Unbalanced { messages } => {
                format!("{} more came than were sent", count(*messages, "message"))
            }
            Self::Missing { sizes } => {
                format!("{} of the plan to be measured yet", sizes_of(*sizes))
            }
            Self::OutOfTime { time_ns, planned, ranges } => no_time(*time_ns, *planned, ranges),
            Self::EmulatorLost { frames, sizes } => format!(
                "the emulator lost {} that the network does not lose; {} left out of the result",
                count(*frames, "frame"),
                sizes_of(*sizes)
            ),
            Self::Slept { sizes, longest_ns } => format!(
                "the machine slept while {} measured, up to {}; left out of the result",
                were(*sizes),
                Span::from_nanoseconds(*longest_ns)
            ),
            Self::EmulatorLate { sizes, worst_bytes, max_ns, share } => {
                late(*sizes, *worst_bytes, *max_ns, *share)
            }
            Self::Steal { share } => {
                format!(
                    "the hypervisor gave {} of the processors' time to others",
                    per_cent(*share)
                )
            }
            Self::ProcessorsApart { far, counted, of, near_ns, most_ns } => {
                were_far([*far, *counted, *of], [*near_ns, *most_ns])
            }
            Self::ProcessorsSlowed { slow, counted, of, quick_ns, most_ns } => {
                were_slow([*slow, *counted, *of], [*quick_ns, *most_ns])
            }
            Self::ClockStepped { sizes, worst_ns } => format!(
                "the wall clock was stepped while {} measured, by up to {}",
                were(*sizes),
                Span::from_nanoseconds(*worst_ns)
            ),
            Self::Lost { messages, share } => {
                let (messages, share) = (count(*messages, "message"), per_cent(*share));
                format!("{messages} did not arrive, {share} of those sent")
            }
            Self::WideSpread { sizes, worst_bytes, half_width } => {
                spread(*sizes, *worst_bytes, *half_width)
            }
            Self::FewTrials { trials } => {
                format!(
                    "{} of a size: too few for an interval of the median",
                    count(*trials as u64, "trial")
                )
            }
            Self::ShortTrials { sizes } => {
                format!("trials of {} lasted less than {SHORT}", sizes_of(*sizes))
            }
            Self::Dips { deepest, count } => dips(deepest, *count),
            Self::PoorFit { worst_share } => format!(
                "a fixed time and a rate do not describe the larger half of the sizes: a time is {} off",
                per_cent(*worst_share)
            ),
            Self::LeftOut { sizes } => {
                format!(
                    "{} left out: a smaller message took as long as the plan allows",
                    sizes_of(*sizes)
                )
            }
        }
    }

    /// The advice of a warning.
    const fn advice(&self) -> &'static str {
        match self {
            Self::WrongBytes { .. } | Self::Unbalanced { .. } => {
                "measure again with every byte checked; if it stays, the transport or this program is broken"
            }
            Self::Missing { .. } => "measure again, or resume the run",
            Self::OutOfTime { .. } => "a longer `--time`, or fewer `--sizes`",
            Self::EmulatorLost { .. } => {
                "a slower emulated rate, or a machine with more processors"
            }
            Self::Slept { .. } => {
                "keep the machine awake: `systemd-inhibit --what=sleep btu pipe ...`, mains power, an open lid"
            }
            Self::EmulatorLate { .. } => {
                "a dedicated processor for the emulator: a quieter machine, more processors, or root for real-time priority"
            }
            Self::ProcessorsApart { .. } => "a machine whose processors stay where they are",
            Self::ProcessorsSlowed { .. } => {
                "dedicated cores: no other thread of the same core (SMT) at work meanwhile; or more `--trials`"
            }
            Self::ClockStepped { .. } => ClockSteps::ADVICE,
            Self::Steal { .. } => "a dedicated machine, or a time when its neighbours are quiet",
            Self::Lost { .. } => {
                "larger socket buffers, fewer pairs, or a transport that repairs losses itself"
            }
            Self::WideSpread { .. } => "an idle machine, more trials, or longer ones",
            Self::FewTrials { .. } => "six trials or more",
            Self::ShortTrials { .. } => "a longer target time for trials",
            Self::Dips { .. } => {
                "the same with larger socket buffers and without perturbation: a dip that moves has its cause there"
            }
            Self::PoorFit { .. } => {
                "read the signature itself; n-half and the saturation point say little here"
            }
            Self::LeftOut { .. } => "a higher limit, if larger messages matter",
        }
    }
}

fn were_far([far, counted, of]: [usize; 3], times_ns: [u64; 2]) -> String {
    let apart = Apart::of(times_ns.map(Span::from_nanoseconds));
    let what = format!("the hypervisor moved the processors apart in {far} of {of} trials");
    format!("{what}: {apart}; {}", left_out(far, counted))
}

fn were_slow([slow, counted, of]: [usize; 3], times_ns: [u64; 2]) -> String {
    let [quick, most] = times_ns.map(Span::from_nanoseconds);
    let what = format!("the processors were slowed in {slow} of {of} trials");
    format!("{what}: arithmetic of {quick} took up to {most}; {}", left_out(slow, counted))
}

/// `all left out`, `12 of them count, as too few others remain`.
fn left_out(disturbed: usize, counted: usize) -> String {
    match counted {
        0 => "all left out".to_owned(),
        _ if counted == disturbed => "they count, as too few others remain".to_owned(),
        _ => format!("{counted} of them count, as too few others remain"),
    }
}

fn spread(sizes: usize, worst_bytes: Bytes, half_width: f64) -> String {
    format!(
        "the median time of {} is known to no better than ±{:.0} %; worst is {worst_bytes} with ±{:.0} %",
        sizes_of(sizes),
        WIDE * 100.0,
        half_width * 100.0
    )
}

/// `1 size was`, `2 sizes were`.
fn were(sizes: usize) -> String {
    let verb = if sizes == 1 { "was" } else { "were" };
    format!("{} {verb}", sizes_of(sizes))
}

/// `118 of 124 sizes did not fit into 20 s: 2 B to 13 B, 19 B to 253 B, 8388611 B`.
fn no_time(time_ns: u64, planned: usize, ranges: &[SizeRange]) -> String {
    let time = Span::from_nanoseconds(time_ns);
    let sizes: usize = ranges.iter().map(|range| range.sizes).sum();
    let named = ranges.iter().map(|range| match (range.first_bytes, range.last_bytes) {
        (first, last) if first == last => format!("{}", first.count()),
        (first, last) => format!("{} to {}", first.count(), last.count()),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    format!("{sizes} of {} did not fit into {time}: those of {named} bytes", sizes_of(planned))
}

fn per_cent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn late(sizes: usize, worst_bytes: Bytes, max_ns: u64, share: f64) -> String {
    format!(
        "frames of {} left the emulator late; worst is {worst_bytes}, where one was {} late, {} of a trial",
        sizes_of(sizes),
        Span::from_nanoseconds(max_ns),
        per_cent(share)
    )
}

fn dips(deepest: &Dip, ranges: usize) -> String {
    format!(
        "throughput falls in {} of sizes and comes back; deepest from {} to {} bytes, where {} bytes reach {:.0} % \
         of what smaller messages reach",
        count(ranges as u64, "range"),
        deepest.from.count(),
        deepest.to.count(),
        deepest.deepest.count(),
        deepest.share * 100.0
    )
}

fn sizes_of(number: usize) -> String {
    count(number as u64, "size")
}
