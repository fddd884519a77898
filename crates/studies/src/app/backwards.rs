//! Questions asked backwards of the closed forms: how few round trips until a picture is quick
//! enough, how little bandwidth until items are shown fast enough. What both ends compute is as
//! they were measured.

use btu_units::Span;
use serde::{Deserialize, Serialize};

use super::verdict::AppRow;
use super::{AppCell, AppPlan, Protocol, Ways, Work};

/// Bandwidth is looked for between so small a share of the line's own and its reciprocal.
const LEAST_SHARE: f64 = 1e-6;

/// Halvings of that range; its logarithm is known to 1e-12 of it then.
const HALVINGS: u32 = 40;

/// The questions that the closed forms answer backwards, from a wanted result.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Questions {
    /// The time limit of a picture, for which the number of round trips is computed.
    #[serde(rename = "within_ns", default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Span>,
    /// So many items a second have to be shown: how much bandwidth does it take?
    #[serde(
        rename = "at_least_items_per_second",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub at_least: Option<f64>,
}

impl Questions {
    /// Whether there are no questions.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The number of round trips that a picture may have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trips {
    /// The measurement with one request at a time.
    #[serde(flatten)]
    pub cell: AppCell,
    /// Round trips of stop-and-wait: one for each request.
    pub stop_and_wait: u64,
    /// Seconds of stop-and-wait, by the closed form.
    pub stop_and_wait_seconds: f64,
    /// The most round trips with which a picture is quick enough, and the window that leaves so
    /// many. `None` when even all requests at once are too slow.
    pub most: Option<MostTrips>,
    /// Seconds with all requests on their way at once, which no window beats.
    pub least_seconds: f64,
}

/// An answer about round trips.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MostTrips {
    /// Round trips of a picture.
    pub round_trips: u64,
    /// Requests on their way at once.
    pub window: u64,
    /// Seconds of a picture with that window, by the closed form.
    pub seconds: f64,
}

/// The required bandwidth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bandwidth {
    /// The way of drawing.
    #[serde(flatten)]
    pub cell: AppCell,
    /// Bits per second of frames that the slowest part of the way carries now.
    pub line_bits_per_second: f64,
    /// The least rate. `None` when no bandwidth is enough: delay and computing are too slow.
    pub least_bits_per_second: Option<f64>,
    /// Items per second with endless bandwidth, by the closed form.
    pub most_items_per_second: f64,
}

/// The row's answer about round trips, where it was measured one request at a time.
pub(super) fn trips(
    plan: &AppPlan,
    row: &AppRow,
    ways: &Ways,
    work: Work,
    within: Span,
) -> Option<Trips> {
    if row.cell.protocol != Protocol::StopAndWait {
        return None;
    }
    let requests = plan.requests(&row.cell);
    let seconds = |window: u64| ways.windowed_seconds(window, requests, work);
    let quick = |window: &u64| seconds(*window).is_some_and(|seconds| seconds <= within.seconds());
    let widest = plan.mix(&row.cell).map_or(requests, |mix| mix.fan_out().into());
    let most = (1..=widest).find(quick).and_then(|window| {
        Some(MostTrips {
            round_trips: plan.round_trips(&row.cell, window),
            window,
            seconds: seconds(window)?,
        })
    });
    Some(Trips {
        cell: row.cell.clone(),
        stop_and_wait: requests,
        stop_and_wait_seconds: seconds(1)?,
        most,
        least_seconds: seconds(widest)?,
    })
}

/// The row's answer about bandwidth.
pub(super) fn bandwidth(
    plan: &AppPlan,
    row: &AppRow,
    ways: &Ways,
    work: Work,
    at_least: f64,
) -> Option<Bandwidth> {
    let (requests, shown) = (plan.requests(&row.cell), plan.shown(&row.cell) as f64);
    let rate = |share: f64| {
        Some(shown / ways.with_bandwidth(share).seconds(row.cell.protocol, requests, work)?)
    };
    let (least, most) = (LEAST_SHARE.ln(), -LEAST_SHARE.ln());
    let most_items_per_second = rate(most.exp())?;
    let share = (most_items_per_second >= at_least).then(|| {
        let (mut low, mut high) = (least, most);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            let enough = rate(middle.exp()).is_some_and(|rate| rate >= at_least);
            if enough { high = middle } else { low = middle }
        }
        high.exp()
    });
    let line_bits_per_second = ways.line_bits_per_second();
    Some(Bandwidth {
        cell: row.cell.clone(),
        line_bits_per_second,
        least_bits_per_second: share.map(|share| share * line_bits_per_second),
        most_items_per_second,
    })
}
