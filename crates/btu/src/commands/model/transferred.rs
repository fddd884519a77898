//! The simulator's answer for a transfer, next to the formula's: whole transfers by Reno, with others'
//! traffic, losses, changes and recordings as the file draws them. It has no answer next to senders
//! that always have another frame, which leave no room in a queue.

use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

use btu_medium::sim::{TcpTransfer, TransferTimes, transfer};
use btu_model::predict::{BulkTransfer, Prediction, SimulatedTransfer, as_connection};
use btu_network::{Arrivals, Drawing, Flow, Rate};
use btu_units::Span;

use crate::cli::Model;
use crate::exit::Refusal;
use crate::start::progress::SimulationBar;

/// Simulated transfers: begun with the network, or at as many moments of a recording. A further one
/// is outside of their range with a probability of 2 in 21.
const TRANSFERS: u32 = 20;

/// Segments of one transfer. A longer one goes on at the rate of its second half.
const MOST_SEGMENTS: f64 = 5e4;

/// Frames of the others in all transfers above which the network is too large to simulate while
/// a user waits.
const MOST_OF_OTHERS: f64 = 3e6;

/// How much longer than by the formula a simulated transfer may take.
const LONGEST: f64 = 10.0;

/// Adds the simulated time of the transfer, if there is one.
pub(super) fn simulate(
    model: &Model,
    drawing: &Drawing,
    prediction: &mut Prediction,
) -> anyhow::Result<()> {
    let Some(asked) = &mut prediction.transfer else { return Ok(()) };
    let question = model.transfer_of(model.transfer.unwrap_or_default());
    let drawn =
        as_connection(drawing, &question).map_err(|error| Refusal::Usage(error.to_string()))?;
    let segments = asked.size_bytes / asked.bulk.segment_bytes;
    let window = question.window.map(|window| window.count() as f64 / asked.bulk.segment_bytes);
    let Some(plan) = Simulations::of(&drawn, &asked.bulk, segments, window) else { return Ok(()) };
    let bar = SimulationBar::new(model.check.quiet);
    bar.show(0.0);
    let times = plan.run(&drawn);
    bar.clear();
    asked.bulk.simulated = summary(&plan, times?, segments);
    Ok(())
}

/// What is simulated.
struct Simulations {
    one: TcpTransfer,
    /// The time of a recording, after which it begins again.
    lap: Span,
    /// When the last change of a link is over.
    settled: Span,
    has_losses: bool,
}

impl Simulations {
    fn of(
        drawn: &Drawing,
        bulk: &BulkTransfer,
        segments: f64,
        window: Option<f64>,
    ) -> Option<Self> {
        let longest = bulk.by_start.map_or(bulk.seconds.value?, |[_, most]| most);
        let simulated = segments.ceil().clamp(1.0, MOST_SEGMENTS);
        let seconds = longest * (simulated / segments).min(1.0) * LONGEST + 10.0;
        let others = drawn.traffic.iter().skip(2);
        let frames = others.clone().map(per_second).sum::<f64>() * seconds / LONGEST;
        let always = |flow: &Flow| matches!(flow.arrivals, Arrivals::Saturated);
        if others.clone().any(always) || frames * f64::from(TRANSFERS) > MOST_OF_OTHERS {
            return None;
        }
        let lines = drawn.links.iter().flat_map(|link| [&link.forth, &link.back]);
        let laps = lines.filter_map(|line| match &line.rate {
            Rate::Trace(trace) => Some(trace.lap()),
            Rate::Fixed(_) => None,
        });
        let changes = drawn.links.iter().flat_map(|link| &link.changes);
        Some(Self {
            one: TcpTransfer {
                segments: simulated as u32,
                window: window.unwrap_or(f64::INFINITY),
                begin: Span::ZERO,
                end: Span::from_seconds_f64(seconds),
            },
            lap: laps.max().unwrap_or(Span::ZERO),
            has_losses: bulk.loss > 0.0 || changes.clone().any(|change| change.loss.is_some()),
            settled: changes.map(|change| change.at).max().unwrap_or(Span::ZERO),
        })
    }

    /// The times of all transfers, of two where these are alike and no loss is drawn. One that did
    /// not come to its end counts with the time after which it was given up.
    fn run(&self, drawn: &Drawing) -> anyhow::Result<Vec<TransferTimes>> {
        let mut times = self.some(drawn, 0..2)?;
        let is_certain = !self.has_losses && self.lap == Span::ZERO;
        if !is_certain || times[0].all != times[1].all {
            times.extend(self.some(drawn, 2..TRANSFERS)?);
        }
        Ok(times)
    }

    fn some(&self, drawn: &Drawing, numbers: Range<u32>) -> anyhow::Result<Vec<TransferTimes>> {
        let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
        let one = |number: u32| {
            let begin = self.lap.seconds() * (f64::from(number) + 0.5) / f64::from(TRANSFERS);
            let begin = Span::from_seconds_f64(begin);
            let asked = TcpTransfer { begin, end: self.one.end + begin, ..self.one };
            let given_up = TransferTimes { half: self.one.end, all: self.one.end };
            transfer(drawn, &asked, 1, number).map(|times| times.unwrap_or(given_up))
        };
        let share = |worker: usize| {
            numbers.clone().skip(worker).step_by(workers).map(one).collect::<Vec<_>>()
        };
        let times: Vec<_> = std::thread::scope(|scope| {
            let share = &share;
            let begun: Vec<_> =
                (0..workers).map(|worker| scope.spawn(move || share(worker))).collect();
            let ended = begun.into_iter().map(ScopedJoinHandle::join);
            ended.flat_map(|times| times.unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        Ok(times.into_iter().collect::<Result<_, _>>()?)
    }
}

/// Median and ends; where only the beginning was simulated, the rest goes on as its second half did.
fn summary(
    plan: &Simulations,
    times: Vec<TransferTimes>,
    segments: f64,
) -> Option<SimulatedTransfer> {
    let rest = (segments / f64::from(plan.one.segments) - 1.0).max(0.0);
    let is_steady = |times: &TransferTimes| times.half >= plan.settled && plan.lap == Span::ZERO;
    if rest > 0.0 && !times.iter().all(is_steady) {
        return None;
    }
    let whole = |times: TransferTimes| {
        let second_half = times.all.saturating_sub(times.half).seconds();
        times.all.seconds() + rest * 2.0 * second_half
    };
    let unfinished = times.iter().filter(|times| times.all >= plan.one.end).count() as u32;
    let mut seconds: Vec<f64> = times.into_iter().map(whole).collect();
    seconds.sort_unstable_by(f64::total_cmp);
    let range = [*seconds.first()?, *seconds.last()?];
    let transfers = seconds.len() as u32;
    Some(SimulatedTransfer { seconds: seconds[seconds.len() / 2], range, transfers, unfinished })
}

/// Frames that the senders of a flow hand over.
fn per_second(flow: &Flow) -> f64 {
    let each = match flow.arrivals {
        Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } => per_second,
        Arrivals::Closed { think, .. } => 1.0 / think.seconds().max(1e-3),
        Arrivals::Saturated => 0.0,
    };
    each * flow.from.len() as f64
}
