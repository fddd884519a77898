//! The verdict over a run of `btu app`.

use std::collections::{BTreeMap, BTreeSet};

use btu_network::{Drawing, StationId};
use btu_stats::{Estimate, Level, geometric_interval, median};
use btu_units::{Bytes, Span};
use serde::Serialize;

use super::accounts::{accounts, broadcast, x11perf};
use super::effects::two_way;
use super::expected::FIRST_SEGMENTS;
use super::missed::missed;
use super::own::Echoed;
use super::x11perf::next_to_x11perf;
use super::{
    AppCell, AppPlan, Bandwidth, Carrier, Discarded, Displayed, Drawn, FactorShares, NextToX11perf,
    PICTURE_BYTES, PaperTable, Protocol, TimeShares, Trips, Ways, Work, Workload, backwards,
    effects, paper,
};
use btu_contract::experiment::{Field, Measured, Scripts, Warning, warnings};
use btu_contract::network::HostName;

/// The verdict over a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppVerdict {
    /// One for each cell of the plan, in the plan's order.
    pub rows: Vec<AppRow>,
    /// Octets of the display file against those of the bitmap, as in Table 5-2.
    pub memory: Vec<Memory>,
    /// The share of the protocol in the differences of rates, over TCP or the first carrier in the
    /// plan.
    pub shares: Option<ProtocolShares>,
    /// The effect of each factor, if several are tried together.
    pub factors: Option<FactorShares>,
    /// The study's tables next to what was measured, where they are repeated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paper: Vec<PaperTable>,
    /// The number of round trips that a picture may have, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub round_trips: Vec<Trips>,
    /// The required bandwidth, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bandwidth: Vec<Bandwidth>,
    /// What an X server shows next to what x11perf measures there, if both were requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub x11perf: Vec<NextToX11perf>,
    /// The picture of each workload: SHA-256, and whether every way of drawing left it.
    pub pictures: Vec<PictureDigest>,
    /// The warnings about the result.
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
    /// The application's computing for a request, in seconds.
    pub application_seconds: Option<f64>,
    /// The display's computing for a request, in seconds.
    pub display_seconds: Option<f64>,
    /// What a message of 20 octets and its echo took longer, before the pictures, than the network
    /// file says, in seconds (95 % over the cells): the machines' own time of a round trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_round_seconds: Option<Estimate>,
    /// The least time between two such messages, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_message_seconds: Option<Estimate>,
    /// All of this for the closed form.
    #[serde(skip)]
    pub(super) work: Option<Work>,
    /// By the closed form, with what both ends were seen to compute, and with the echoes.
    pub expected_seconds: Option<f64>,
    /// Measured less expected, as a share of the expected.
    pub error: Option<f64>,
    /// The parts of the expected time.
    pub shares: Option<TimeShares>,
    /// The broadcasts of the cells, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pollution: Option<Pollution>,
    /// Cells that do not count.
    pub invalid: usize,
}

/// Broadcasts a second, over all valid cells.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pollution {
    /// Those that the third station sent.
    pub sent: f64,
    /// Those that the application's host received and discarded.
    pub application: Option<f64>,
    /// Those that the display's host received and discarded.
    pub display: Option<f64>,
}

/// The memory of a display for a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The picture that the display stores.
    pub workload: Workload,
    /// The display file, 20 octets an item.
    #[serde(rename = "file_bytes")]
    pub file: Bytes,
    /// Memory that the display was seen to hold for it.
    #[serde(rename = "memory_bytes")]
    pub memory: Bytes,
    /// The size of the picture's bitmap.
    #[serde(rename = "bitmap_bytes")]
    pub bitmap: Bytes,
}

/// The variance of the logarithms of rates, divided between the factors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProtocolShares {
    /// The carrier of the requests.
    pub carrier: Carrier,
    /// The protocol's share: 0 to 1.
    pub protocol: f64,
    /// The share of the variance that the picture makes, from 0 to 1.
    pub workload: f64,
    /// The interaction of both.
    pub interaction: f64,
}

/// The picture that every way of drawing has to leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PictureDigest {
    /// The picture that is drawn.
    pub workload: Workload,
    /// SHA-256 of its bits.
    pub digest: String,
    /// Cells that left it.
    pub cells: usize,
    /// Cells that left another one.
    pub others: usize,
}

/// Judges a run by all its stored data.
pub(super) fn judge(plan: &AppPlan, cells: &[Measured<AppCell>]) -> AppVerdict {
    let rows: Vec<(AppRow, Option<Ways>)> = with_ways(plan)
        .into_iter()
        .map(|(cell, ways)| (row(plan, cell, cells, ways), ways))
        .collect();
    let (round_trips, bandwidth) = answers(plan, &rows);
    let rows: Vec<AppRow> = rows.into_iter().map(|(row, _)| row).collect();
    let control = match &plan.frame().network {
        Field::Drawing(raised) => raised.congestion_control.as_ref(),
        Field::Machines(_) => None,
    };
    AppVerdict {
        shares: shares(plan, &rows),
        factors: plan.factors.as_ref().and_then(|factors| effects::judge(plan, factors, cells)),
        paper: if plan.paper { paper::tables(&rows) } else { Vec::new() },
        round_trips,
        bandwidth,
        memory: memory(plan, cells),
        x11perf: next_to_x11perf(&rows),
        pictures: workloads(&rows).into_iter().map(|workload| picture(workload, cells)).collect(),
        warnings: warnings(cells).into_iter().chain(missed(&rows, cells, control)).collect(),
        rows,
    }
}

/// The cells of a plan, with the ways of their packets where the closed forms know them.
fn with_ways(plan: &AppPlan) -> Vec<(AppCell, Option<Ways>)> {
    let drawing = plan.frame().network.drawing();
    let mut known: BTreeMap<(Carrier, Option<HostName>, bool), Option<Ways>> = BTreeMap::new();
    let mut ways = |cell: &AppCell| {
        let over = || {
            let route = route(plan, cell, drawing.as_ref()?)?;
            Ways::over(drawing.as_ref()?, &route, cell.carrier, plan.mix(cell))
        };
        *known
            .entry((cell.carrier, cell.display.clone(), plan.mix(cell).is_some()))
            .or_insert_with(over)
    };
    let with_ways = |cell: AppCell| {
        let ways = ways(&cell);
        (cell, ways)
    };
    plan.cells().into_iter().map(with_ways).collect()
}

/// The time of one picture of each cell, by its closed form: with the additional computing that was
/// asked for, and none of the ends' own.
pub(super) fn least_times(plan: &AppPlan) -> Vec<(AppCell, Span)> {
    let work = Work {
        application: plan.application.seconds(),
        display: plan.display.seconds(),
        ..Work::default()
    };
    let least = |(cell, ways): (AppCell, Option<Ways>)| {
        let seconds = ways?.seconds(cell.protocol, plan.requests(&cell), work)?;
        Some((cell, Span::from_seconds_f64(seconds)))
    };
    with_ways(plan).into_iter().filter_map(least).collect()
}

/// The inverse questions, for every row with an answer.
fn answers(plan: &AppPlan, rows: &[(AppRow, Option<Ways>)]) -> (Vec<Trips>, Vec<Bandwidth>) {
    let known = || rows.iter().filter_map(|(row, ways)| Some((row, ways.as_ref()?, row.work?)));
    let questions = plan.questions;
    let trips = questions.within.map(|within| {
        known()
            .filter_map(|(row, ways, work)| backwards::trips(plan, row, ways, work, within))
            .collect()
    });
    let bandwidth = questions.at_least.map(|at_least| {
        known()
            .filter_map(|(row, ways, work)| backwards::bandwidth(plan, row, ways, work, at_least))
            .collect()
    });
    (trips.unwrap_or_default(), bandwidth.unwrap_or_default())
}

/// The pictures of these rows, each once.
fn workloads(rows: &[AppRow]) -> BTreeSet<Workload> {
    rows.iter().map(|row| row.cell.workload).filter(|workload| *workload != Workload::Mix).collect()
}

/// The stations that a cell's requests pass, with the relay's where there is one.
fn route(plan: &AppPlan, cell: &AppCell, drawing: &Drawing) -> Option<Vec<StationId>> {
    let [application, display] = plan.hosts(cell);
    let relay = plan.relay.as_ref().filter(|_| cell.carrier == Carrier::Relay);
    let stations = [application, relay, display].into_iter().flatten();
    stations.map(|host| drawing.station_called(host.as_str())).collect()
}

/// Seconds of the median picture of so many over one connection: TCP grows with the first one.
fn expected(
    ways: &Ways,
    cell: &AppCell,
    requests: u64,
    work: Work,
    pictures: usize,
) -> Option<f64> {
    let seconds = |work| ways.seconds(cell.protocol, requests, work);
    let grown = Work { first_segments: f64::INFINITY, ..work };
    match pictures {
        GROWN_AT.. => seconds(grown),
        2 => Some(f64::midpoint(seconds(work)?, seconds(grown)?)),
        _ => seconds(work),
    }
}

/// The median of so many pictures or more is that of a connection that has grown.
pub(super) const GROWN_AT: usize = 3;

fn row(plan: &AppPlan, cell: AppCell, cells: &[Measured<AppCell>], ways: Option<Ways>) -> AppRow {
    let own: Vec<&Measured<AppCell>> =
        cells.iter().filter(|measured| measured.cell == cell).collect();
    let valid: Vec<(&Drawn, &Displayed)> = own
        .iter()
        .filter(|measured| measured.is_valid())
        .filter_map(|measured| accounts(&measured.seen))
        .collect();
    let typical = |(drawn, _): &(&Drawn, &Displayed)| {
        median(&drawn.pictures.iter().map(|span| span.seconds()).collect::<Vec<_>>())
    };
    let items = plan.shown(&cell) as f64;
    let times: Vec<f64> = if cell.carrier == Carrier::X11perf {
        let rates = own.iter().filter_map(|measured| x11perf(&measured.seen));
        rates.map(|rate| items / rate).collect()
    } else {
        valid.iter().filter_map(typical).collect()
    };
    let rates: Vec<f64> = times.iter().map(|seconds| items / seconds).collect();
    let seconds = geometric_interval(&times, Level::P95);
    let requests = match valid.first() {
        // Its client sends other requests than the plan knows.
        Some((drawn, _)) if cell.carrier == Carrier::X11 => {
            drawn.requests / (drawn.pictures.len() as u64).max(1)
        }
        _ => plan.requests(&cell),
    };
    let busy = |which: fn(&Drawn, &Displayed) -> Span| {
        let all: f64 =
            valid.iter().map(|(drawn, displayed)| which(drawn, displayed).seconds()).sum();
        let of: u64 = valid.iter().map(|(drawn, _)| drawn.requests).sum();
        (of > 0).then(|| all / of as f64)
    };
    let application_seconds = busy(|drawn, _| drawn.busy);
    let display_seconds =
        busy(|_, displayed| displayed.busy).filter(|_| cell.carrier != Carrier::X11);
    let echoed = ways.and_then(|ways| Echoed::of(valid.iter().map(|(drawn, _)| *drawn), &ways));
    let work = application_seconds.zip(display_seconds).map(|(application, display)| Work {
        application,
        display,
        own: echoed.map(|echoed| echoed.own()).unwrap_or_default(),
        first_segments: f64::from(FIRST_SEGMENTS),
    });
    let known = ways.zip(work);
    let pictures: usize = valid.iter().map(|(drawn, _)| drawn.pictures.len()).sum();
    let each = pictures / valid.len().max(1);
    let expected_seconds =
        known.and_then(|(ways, work)| expected(&ways, &cell, requests, work, each));
    let shares = known.and_then(|(ways, work)| ways.shares(cell.protocol, requests, work));
    let error =
        seconds.zip(expected_seconds).map(|(seconds, expected)| seconds.value / expected - 1.0);
    AppRow {
        cell,
        seconds,
        items_per_second: geometric_interval(&rates, Level::P95),
        requests,
        pictures: pictures as u64,
        application_seconds,
        display_seconds,
        own_round_seconds: echoed.map(|echoed| echoed.round),
        own_message_seconds: echoed.map(|echoed| echoed.message),
        work,
        expected_seconds,
        error,
        shares,
        pollution: pollution(&own),
        invalid: own.iter().filter(|measured| !measured.is_valid()).count(),
    }
}

/// The broadcasts that were sent and that came, in the cells that count.
fn pollution(own: &[&Measured<AppCell>]) -> Option<Pollution> {
    let valid = || own.iter().filter(|measured| measured.is_valid());
    let rate = |counts: Vec<(u64, Span)>| {
        let all: f64 = counts.iter().map(|(_, span)| span.seconds()).sum();
        (all > 0.0).then(|| counts.iter().map(|(count, _)| *count as f64).sum::<f64>() / all)
    };
    let came = |which: fn((&Drawn, &Displayed)) -> Option<Discarded>| {
        let counts = valid().filter_map(|measured| which(accounts(&measured.seen)?));
        rate(counts.map(|came| (came.broadcasts, came.span)).collect())
    };
    let sent = valid().filter_map(|measured| broadcast(&measured.seen));
    Some(Pollution {
        sent: rate(sent.map(|sent| (sent.datagrams, sent.span)).collect())?,
        application: came(|(drawn, _)| drawn.discarded),
        display: came(|(_, displayed)| displayed.discarded),
    })
}

/// The memory of displays; for protocols that send items.
fn memory(plan: &AppPlan, cells: &[Measured<AppCell>]) -> Vec<Memory> {
    let bitmap = Bytes::new(PICTURE_BYTES as u64);
    let of = |workload: Workload| {
        let own = cells
            .iter()
            .filter(|measured| measured.cell.workload == workload && measured.is_valid());
        let mut items = own.filter(|Measured { cell, .. }| {
            cell.protocol != Protocol::Bitmap && !cell.carrier.is_x11()
        });
        let kept = items.find_map(|measured| Some(accounts(&measured.seen)?.1))?;
        Some(Memory { workload, file: kept.file, memory: kept.memory, bitmap })
    };
    let pictures = plan.workloads.iter().filter(|workload| **workload != Workload::Mix);
    pictures.filter_map(|&workload| of(workload)).collect()
}

/// Of what comes first of everything else: protocols that send every item against workloads.
fn shares(plan: &AppPlan, rows: &[AppRow]) -> Option<ProtocolShares> {
    let carrier = *plan.carriers.first()?;
    let sends_items =
        |protocol: &&Protocol| carrier.carries(**protocol) && **protocol != Protocol::Redraw;
    let protocols: Vec<Protocol> = plan.protocols.iter().filter(sends_items).copied().collect();
    let rate = |protocol: Protocol, workload: Workload| {
        let same = |row: &&AppRow| {
            (row.cell.workload, row.cell.protocol, row.cell.carrier)
                == (workload, protocol, carrier)
        };
        Some(rows.iter().find(same)?.items_per_second?.value.ln())
    };
    let values = protocols
        .iter()
        .flat_map(|&protocol| plan.workloads.iter().map(move |&workload| rate(protocol, workload)));
    let values: Option<Vec<f64>> = values.collect();
    let [protocol, workload, interaction] =
        two_way(protocols.len(), plan.workloads.len(), &values?)?;
    Some(ProtocolShares { carrier, protocol, workload, interaction })
}

fn picture(workload: Workload, cells: &[Measured<AppCell>]) -> PictureDigest {
    let digest = workload.picture().digest();
    let left = cells.iter().filter(|measured| measured.cell.workload == workload);
    let left: Vec<&str> =
        left.filter_map(|measured| Some(accounts(&measured.seen)?.1.digest.as_str())).collect();
    let same = left.iter().filter(|found| **found == digest).count();
    PictureDigest { workload, cells: same, others: left.len() - same, digest }
}
