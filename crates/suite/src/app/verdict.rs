//! What a run of `btu app` amounts to.

use std::collections::BTreeMap;

use btu_network::{Drawing, StationId};
use btu_stats::{Estimate, Level, TwoWay, geometric_interval, median};
use btu_units::{Bytes, Span};
use serde::Serialize;

use super::plan::accounts;
use super::{AppCell, AppPlan, Carrier, Displayed, Drawn, PICTURE_BYTES, Protocol, TimeShares, Ways, Work, Workload};
use crate::experiment::{Experiment, Measured, Warning, warnings};
use crate::network::HostName;

/// The verdict over a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppVerdict {
    /// One for each cell of the plan, in the plan's order.
    pub rows: Vec<AppRow>,
    /// Octets of the display file against those of the bitmap, as in Table 5-2.
    pub memory: Vec<Memory>,
    /// How much of what rates differ by is the protocol's, over TCP or whatever comes first in the plan.
    pub shares: Option<ProtocolShares>,
    /// The picture of each workload: SHA-256, and whether every way of drawing left it.
    pub pictures: Vec<PictureDigest>,
    /// Reasons to doubt.
    pub warnings: Vec<Warning>,
}

/// One way of drawing one picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppRow {
    /// Picture, protocol and carrier.
    #[serde(flatten)]
    pub cell: AppCell,
    /// Seconds for a picture: of each cell the median, of the cells the geometric mean (95 %).
    pub seconds: Option<Estimate>,
    /// Items shown per second, by the same.
    pub items_per_second: Option<Estimate>,
    /// Requests of one picture.
    pub requests: u64,
    /// Pictures drawn in all valid cells.
    pub pictures: u64,
    /// What the application computed for a request, in seconds.
    pub application_seconds: Option<f64>,
    /// What the display computed for a request, in seconds.
    pub display_seconds: Option<f64>,
    /// By the closed form, with what both ends were seen to compute.
    pub expected_seconds: Option<f64>,
    /// Measured less expected, as a share of the expected.
    pub error: Option<f64>,
    /// What the expected time is made of.
    pub shares: Option<TimeShares>,
    /// Cells that do not count.
    pub invalid: usize,
}

/// What a display keeps of a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The picture.
    pub workload: Workload,
    /// The display file.
    #[serde(rename = "file_bytes")]
    pub file: Bytes,
    /// The bitmap.
    #[serde(rename = "bitmap_bytes")]
    pub bitmap: Bytes,
}

/// The variance of the logarithms of rates, divided between the factors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProtocolShares {
    /// What carried the requests.
    pub carrier: Carrier,
    /// The protocol's share: 0 to 1.
    pub protocol: f64,
    /// The picture's.
    pub workload: f64,
    /// What neither makes alone.
    pub interaction: f64,
}

/// The picture that every way of drawing has to leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PictureDigest {
    /// The picture.
    pub workload: Workload,
    /// SHA-256 of its bits.
    pub digest: String,
    /// Cells that left it.
    pub cells: usize,
    /// Cells that left another one.
    pub others: usize,
}

/// Judges a run by all that is stored of it.
pub(super) fn judge(plan: &AppPlan, cells: &[Measured<AppCell>]) -> AppVerdict {
    let drawing = plan.frame().network.drawing();
    let ends = drawing.as_ref().and_then(|drawing| stations(plan, drawing));
    let ways = |carrier| Ways::over(drawing.as_ref()?, ends?, carrier);
    let ways: BTreeMap<Carrier, Option<Ways>> = plan.carriers.iter().map(|&carrier| (carrier, ways(carrier))).collect();
    let rows: Vec<AppRow> = plan
        .cells()
        .into_iter()
        .map(|cell| row(plan, cell, cells, ways.get(&cell.carrier).copied().flatten()))
        .collect();
    AppVerdict {
        shares: shares(plan, &rows),
        rows,
        memory: memory(plan, cells),
        pictures: plan.workloads.iter().map(|&workload| picture(workload, cells)).collect(),
        warnings: warnings(cells),
    }
}

fn stations(plan: &AppPlan, drawing: &Drawing) -> Option<[StationId; 2]> {
    let [application, display] = plan.hosts();
    let station = |host: Option<&HostName>| drawing.station_called(host?.as_str());
    Some([station(application)?, station(display)?])
}

fn row(plan: &AppPlan, cell: AppCell, cells: &[Measured<AppCell>], ways: Option<Ways>) -> AppRow {
    let own: Vec<&Measured<AppCell>> = cells.iter().filter(|measured| measured.cell == cell).collect();
    let valid: Vec<(&Drawn, &Displayed)> =
        own.iter().filter(|measured| measured.is_valid()).filter_map(|measured| accounts(&measured.seen)).collect();
    let typical = |(drawn, _): &(&Drawn, &Displayed)| {
        median(&drawn.pictures.iter().map(|span| span.seconds()).collect::<Vec<_>>())
    };
    let times: Vec<f64> = valid.iter().filter_map(typical).collect();
    let items = cell.workload.items().len() as f64;
    let rates: Vec<f64> = times.iter().map(|seconds| items / seconds).collect();
    let seconds = geometric_interval(&times, Level::P95);
    let requests = plan.requests(cell);
    let busy = |which: fn(&Drawn, &Displayed) -> Span| {
        let all: f64 = valid.iter().map(|(drawn, displayed)| which(drawn, displayed).seconds()).sum();
        let of: u64 = valid.iter().map(|(drawn, _)| drawn.requests).sum();
        (of > 0).then(|| all / of as f64)
    };
    let application_seconds = busy(|drawn, _| drawn.busy);
    let display_seconds = busy(|_, displayed| displayed.busy);
    let work = application_seconds.zip(display_seconds);
    let work = work.map(|(application, display)| Work { application, display });
    let expected_seconds = ways.zip(work).and_then(|(ways, work)| ways.seconds(cell.protocol, requests, work));
    let shares = ways.zip(work).and_then(|(ways, work)| ways.shares(cell.protocol, requests, work));
    let error = seconds.zip(expected_seconds).map(|(seconds, expected)| seconds.value / expected - 1.0);
    AppRow {
        cell,
        seconds,
        items_per_second: geometric_interval(&rates, Level::P95),
        requests,
        pictures: valid.iter().map(|(drawn, _)| drawn.pictures.len() as u64).sum(),
        application_seconds,
        display_seconds,
        expected_seconds,
        error,
        shares,
        invalid: own.iter().filter(|measured| !measured.is_valid()).count(),
    }
}

/// What displays kept; of protocols that send items.
fn memory(plan: &AppPlan, cells: &[Measured<AppCell>]) -> Vec<Memory> {
    let file = |workload: Workload| {
        let own = cells.iter().filter(|measured| measured.cell.workload == workload && measured.is_valid());
        let mut items = own.filter(|measured| measured.cell.protocol != Protocol::Bitmap);
        items.find_map(|measured| Some(accounts(&measured.seen)?.1.file))
    };
    let bitmap = Bytes::new(PICTURE_BYTES as u64);
    plan.workloads.iter().filter_map(|&workload| Some(Memory { workload, file: file(workload)?, bitmap })).collect()
}

/// Of the carrier that comes first: protocols that send every item against workloads.
fn shares(plan: &AppPlan, rows: &[AppRow]) -> Option<ProtocolShares> {
    let carrier = *plan.carriers.first()?;
    let table: Option<Vec<Vec<f64>>> = plan
        .protocols
        .iter()
        .filter(|protocol| carrier.carries(**protocol) && **protocol != Protocol::Redraw)
        .map(|&protocol| {
            let rate = |workload: &Workload| {
                let cell = AppCell { workload: *workload, protocol, carrier };
                let row = rows.iter().find(|row| row.cell == cell)?;
                Some(row.items_per_second?.value.ln())
            };
            plan.workloads.iter().map(rate).collect()
        })
        .collect();
    let [protocol, workload, interaction] = TwoWay::of(&table?)?.shares()?;
    Some(ProtocolShares { carrier, protocol, workload, interaction })
}

fn picture(workload: Workload, cells: &[Measured<AppCell>]) -> PictureDigest {
    let digest = workload.picture().digest();
    let left = cells.iter().filter(|measured| measured.cell.workload == workload);
    let left: Vec<&str> = left.filter_map(|measured| Some(accounts(&measured.seen)?.1.digest.as_str())).collect();
    let same = left.iter().filter(|found| **found == digest).count();
    PictureDigest { workload, cells: same, others: left.len() - same, digest }
}
