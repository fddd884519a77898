//! The simulator's answer for a transfer, next to the formula's.
//!
//! The simulator has no congestion control: the connection is a window of frames on the way, wide
//! enough to fill its path with some more in its queue. So it has no answer where random loss
//! decides, and where others always have another frame, too. Every second frame is acknowledged.
//! On a shared Ethernet each one is, and the window is the station's queue, where Reno's and BBR's
//! grow to: while a station that lost a contention waits, the other one must come to its end.

use btu_medium::sim::{Outcome, Settings};
use btu_model::Warning;
use btu_model::predict::{BulkLimit, BulkTransfer, Prediction, SimulatedTransfer, as_window};
use btu_network::{Arrivals, Drawing};
use btu_stats::{Estimate, Level};
use btu_units::Span;

use crate::cli::Model;
use crate::commands::sim::replicate_all;
use crate::exit::Refusal;
use crate::start::progress::SimulationBar;

/// Frames of the connection that wait at the slowest part of its path.
const WAITING: f64 = 20.0;

/// A wider window is not simulated: each of its frames is a sender of its own.
const MOST_FRAMES: f64 = 2000.0;

/// Segments that each replication counts, and those before them.
const COUNTED: f64 = 4000.0;
const WARM_UP: f64 = 500.0;

/// Round trips that each replication counts at least, and those before them.
const ROUND_TRIPS: f64 = 20.0;

/// Frames of the others in all replications above which the network is too large to simulate while
/// a user waits.
const MOST_OF_OTHERS: f64 = 3e5;

/// Adds the simulated time of the transfer, if there is one.
pub(super) fn simulate(
    model: &Model,
    drawing: &Drawing,
    prediction: &mut Prediction,
) -> anyhow::Result<()> {
    let Some(asked) = &mut prediction.transfer else { return Ok(()) };
    let bulk = &asked.bulk;
    let Some((segments, window)) = plan(drawing, bulk) else { return Ok(()) };
    let transfer = model.transfer_of(model.transfer.unwrap_or_default());
    let pause = Span::from_seconds_f64(1.0 / segments);
    let drawn = as_window(drawing, &transfer, window, pause)
        .map_err(|error| Refusal::Usage(error.to_string()))?;
    let settings = settings(bulk, segments);
    if others_in(&drawn, &settings) > MOST_OF_OTHERS {
        return Ok(());
    }
    let bar = SimulationBar::new(model.check.quiet);
    let replications = replicate_all(&drawn, &settings, |share| bar.show(share));
    bar.clear();
    let outcome = Outcome::of(&drawn, &settings, &replications?);
    let bits = bulk.segment_bytes * 8.0;
    let seconds = |segments: f64| bulk.seconds_at(asked.size_bytes, segments * bits);
    let Some([least, mean, most]) = delivered(&outcome) else { return Ok(()) };
    asked.bulk.simulated = Some(SimulatedTransfer {
        seconds: seconds(mean),
        interval: [seconds(most), seconds(least)],
        confidence: Level::P95.share(),
        window_frames: window.iter().sum(),
    });
    Ok(())
}

/// Segments per second by formula and the window in frames, acknowledged and not, where the
/// simulator has an answer.
fn plan(drawing: &Drawing, bulk: &BulkTransfer) -> Option<(f64, [u32; 2])> {
    let goodput = bulk.goodput_bits_per_second.value?;
    let segments = goodput / bulk.segment_bytes / 8.0;
    let always = |arrivals| matches!(arrivals, Arrivals::Saturated);
    let others = drawing.traffic.iter().filter(|flow| Some(&flow.name) != bulk.replaces.as_ref());
    if bulk.loss > 0.0 || segments <= 0.0 || others.into_iter().any(|flow| always(flow.arrivals)) {
        return None;
    }
    let on_the_way = segments * bulk.round_trip_seconds;
    let contends = bulk.seconds.warning == Some(Warning::Optimistic);
    let (frames, silent) = match bulk.limit {
        BulkLimit::Window => (on_the_way.floor().max(1.0), 0.0),
        _ if contends => (on_the_way + queue_of_cable(bulk), 0.0),
        BulkLimit::Path | BulkLimit::Loss => (on_the_way.ceil() + WAITING, 0.5),
    };
    let silent = (frames * silent).floor();
    (frames <= MOST_FRAMES).then_some((segments, [(frames - silent) as u32, silent as u32]))
}

/// Frames that a station's queue on a shared Ethernet holds if the file gives no limit: 100, or
/// 100 ms of the medium.
fn queue_of_cable(bulk: &BulkTransfer) -> f64 {
    const FEWEST: f64 = 100.0;
    const SECONDS: f64 = 0.1;
    const FULL_FRAME_BITS: f64 = 1538.0 * 8.0;
    (bulk.bottleneck.rate_bits_per_second * SECONDS / FULL_FRAME_BITS).max(FEWEST)
}

fn settings(bulk: &BulkTransfer, segments: f64) -> Settings {
    let round_trips = ROUND_TRIPS * bulk.round_trip_seconds;
    let warm_up = Span::from_seconds_f64(round_trips.max(WARM_UP / segments));
    let counted = Span::from_seconds_f64(round_trips.max(COUNTED / segments));
    Settings { duration: warm_up + counted, warm_up, replications: Settings::REPLICATIONS, seed: 1 }
}

/// Frames that the others hand over in all replications.
fn others_in(drawn: &Drawing, settings: &Settings) -> f64 {
    let rate = |flow: &btu_network::Flow| match flow.arrivals {
        Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } => per_second,
        Arrivals::Closed { think, .. } => 1.0 / think.seconds().max(1e-3),
        Arrivals::Saturated => 0.0,
    };
    let others = drawn.traffic.iter().skip(2);
    let frames: f64 = others.map(|flow| rate(flow) * flow.from.len() as f64).sum();
    frames * settings.duration.seconds() * f64::from(settings.replications)
}

/// Segments per second: the lower end, the mean, the upper end.
fn delivered(outcome: &Outcome) -> Option<[f64; 3]> {
    let each = outcome.flows.iter().take(2).filter_map(|flow| flow.exchanges.as_ref());
    let ends = |estimate: &Estimate| {
        let interval = estimate.interval;
        let [low, high] = interval.map_or([estimate.value; 2], |at| [at.low, at.high]);
        [low, estimate.value, high]
    };
    let add = |sum: [f64; 3], more: [f64; 3]| [0, 1, 2].map(|end| sum[end] + more[end]);
    let sum = each.map(|exchanges| ends(&exchanges.per_second)).fold([0.0; 3], add);
    (sum[0] > 0.0).then_some(sum)
}
