//! The result of `btu speed` as a report.

mod answer;
mod breakdown;
mod limit;
mod seconds;
pub(crate) mod verdict;

use btu_stats::{Estimate, Proportion};
use btu_studies::speed::{
    Connects, Direction, FlowSpeed, Phase, SpeedPlan, SpeedRow, SpeedVerdict,
};

use self::verdict::bloat_sentence;
use crate::differs;
use crate::html::{Block, Cell, Page, Section, Table};
use crate::number::{ends, three_digits};
use crate::script_cells::script_cells;
use crate::stored_page::{StoredRun, warned};
use crate::study::{CellTable, Reported};
use crate::summary::{KeyFigure, Summary};
use crate::unit::{self, time, time_unit};

/// Milliseconds in a second, bits per second in a Mb/s, the whole in per cent.
const MILLI: f64 = 1e3;
const MEGA: f64 = 1e6;
const MINUTE: f64 = 60.0;
const PERCENT: f64 = 100.0;

impl Reported for SpeedPlan {
    fn answer(&self, verdict: &SpeedVerdict) -> Option<String> {
        answer::short(verdict)
    }

    fn page(&self, verdict: &SpeedVerdict, _: &[Self::Record], stored: &StoredRun<'_>) -> Page {
        let hosts = self.hosts().map(|host| host.map_or_else(String::new, ToString::to_string));
        let sections = vec![
            answer(verdict, &hosts),
            connections(verdict),
            breakdown::section(verdict),
            seconds::section(verdict, &hosts),
            further(verdict, &hosts),
        ];
        let page = stored.page(headline(verdict, &hosts), warned(&verdict.warnings), sections);
        let limit = limit::limit(verdict);
        let summary = Summary { shows_all: true, ..stored.summary(figures(verdict), limit) };
        Page { summary, ..page }
    }

    fn cell_table(&self, records: &[Self::Record]) -> CellTable {
        script_cells(self, records)
    }
}

/// The verdict in a sentence; where none is possible both rates, and the time of a request.
fn headline(verdict: &SpeedVerdict, hosts: &[String; 2]) -> String {
    verdict.bloat.as_ref().map_or_else(|| numbers(verdict, hosts), bloat_sentence)
}

/// Both rates, and the time of a request with and without them.
fn numbers(verdict: &SpeedVerdict, [near, far]: &[String; 2]) -> String {
    let rate = |phase: Phase, direction: Direction| {
        let row = verdict.rows.iter().find(|row| row.cell.phase == phase)?;
        let flow = row.flows.iter().find(|flow| flow.direction == direction)?;
        Some(unit::rate(flow.goodput?.value))
    };
    let up = rate(Phase::Up, Direction::Up).map(|rate| format!("{rate} up"));
    let down = rate(Phase::Down, Direction::Down).map(|rate| format!("{rate} down"));
    let median = |row: &SpeedRow| Some(row.round_trip?.median.value);
    let idle = verdict.rows.iter().find(|row| row.cell.phase == Phase::Idle).and_then(median);
    let loaded =
        verdict.rows.iter().filter(|row| !row.cell.phase.is_of_requests()).filter_map(median);
    let worst = loaded.max_by(f64::total_cmp);
    let trip = match (idle, worst) {
        (Some(idle), Some(worst)) => {
            Some(format!("round trip {} idle, {} loaded", time(idle), time(worst)))
        }
        (Some(idle), None) => Some(format!("round trip {}", time(idle))),
        (None, _) => None,
    };
    let parts: Vec<String> = [up, down, trip].into_iter().flatten().collect();
    if parts.is_empty() {
        return format!("Nothing came through between {near} and {far}");
    }
    format!("{near} to {far}: {}", parts.join(", "))
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Up => "TCP up",
        Phase::Down => "TCP down",
        Phase::Both => "TCP both ways",
        Phase::Connects => "connections",
        Phase::DatagramsUp => "UDP up",
        Phase::DatagramsDown => "UDP down",
    }
}

/// One of two flows at once.
fn both(direction: Direction) -> String {
    let way = if direction == Direction::Up { "up" } else { "down" };
    format!("both ways, {way}")
}

/// The rate of each flow with the times of requests meanwhile; without a flow only those times.
fn figures(verdict: &SpeedVerdict) -> Vec<KeyFigure> {
    verdict.rows.iter().flat_map(of_phase).collect()
}

fn of_phase(row: &SpeedRow) -> Vec<KeyFigure> {
    if let Some(connects) = &row.connects {
        return vec![of_connects(row, connects)];
    }
    if row.flows.is_empty() {
        let trip = row.round_trip.map(|trip| trip.median);
        let idle = trip.map(|trip| KeyFigure {
            name: name(row.cell.phase).to_owned(),
            value: time(trip.value),
            interval: ends(&trip, time_unit(trip.value).worth).unwrap_or_default(),
            note: [Some("round trip".to_owned()), per_minute(trip.value), requests_lost(row)]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", "),
        });
        return idle.into_iter().collect();
    }
    let trip = row.round_trip.map(|trip| {
        let seconds = trip.median.value;
        let per_minute = per_minute(seconds).map(|rate| format!(" ({rate})"));
        format!("RTT {}{}", time(seconds), per_minute.unwrap_or_default())
    });
    let trip = trip.into_iter().chain(requests_lost(row));
    let of_flow = |flow: &FlowSpeed| {
        let rate = flow.goodput?;
        let percent = |share: f64| three_digits(share * PERCENT);
        let again = flow.sent_again.map(|share| format!("{} % resent", percent(share)));
        let lost = flow.lost.map(|lost| {
            let [low, high] = [lost.interval.low, lost.interval.high].map(percent);
            format!("{} % lost ({low} to {high})", percent(lost.share))
        });
        let (value, ends) = unit::rate_with_ends(&rate);
        Some(KeyFigure {
            name: way(row, flow),
            value,
            interval: ends.unwrap_or_default(),
            note: trip.clone().chain(again).chain(lost).collect::<Vec<_>>().join(", "),
        })
    };
    row.flows.iter().filter_map(of_flow).collect()
}

/// Requests without an answer, if there are any.
fn requests_lost(row: &SpeedRow) -> Option<String> {
    let lost = row.round_trip?.lost;
    (lost.events > 0).then(|| format!("{} of {} requests lost", lost.events, lost.trials))
}

/// Round trips a minute, if they are not more than those of an excellent network, of which more say no
/// more (draft-ietf-ippm-responsiveness, section 2.1).
fn per_minute(seconds: f64) -> Option<String> {
    const EXCELLENT: f64 = 6000.0;
    let rate = MINUTE / seconds;
    (rate <= EXCELLENT).then(|| format!("{rate:.0} /min"))
}

/// How many connections in a second, and how long one takes.
fn of_connects(row: &SpeedRow, connects: &Connects) -> KeyFigure {
    let each = row.round_trip.map(|trip| format!("{} each", time(trip.median.value)));
    let trips =
        connects.idle_round_trips.map(|trips| format!("{} idle round trips", three_digits(trips)));
    let refused = (connects.refused > 0).then(|| format!("{} refused", connects.refused));
    KeyFigure {
        name: name(row.cell.phase).to_owned(),
        value: format!("{} /s", three_digits(connects.per_second.value)),
        interval: ends(&connects.per_second, 1.0).unwrap_or_default(),
        note: [each, trips, refused].into_iter().flatten().collect::<Vec<_>>().join(", "),
    }
}

/// The phase, or which of its two flows.
fn way(row: &SpeedRow, flow: &FlowSpeed) -> String {
    if row.flows.len() > 1 { both(flow.direction) } else { name(row.cell.phase).to_owned() }
}

/// A line for each phase; the one with both directions has two.
fn answer(verdict: &SpeedVerdict, [near, far]: &[String; 2]) -> Option<Section> {
    let head = ["phase", "Mb/s", "round trip, ms", "p99, ms", "n", "queues, ms", "resent, %"];
    let mut table = Table::new("What the network gives", &head, 1);
    for row in verdict.rows.iter().filter(|row| row.cell.phase != Phase::Connects) {
        let flows: Vec<Option<&FlowSpeed>> =
            if row.flows.is_empty() { vec![None] } else { row.flows.iter().map(Some).collect() };
        for (place, flow) in flows.into_iter().enumerate() {
            let way = flow.map_or_else(|| name(row.cell.phase).to_owned(), |flow| way(row, flow));
            // The times of requests are shown once.
            let trip = row.round_trip.filter(|_| place == 0);
            let queue = row.queue_seconds.filter(|_| place == 0);
            let goodput: Option<Estimate> = flow.and_then(|flow| flow.goodput);
            table.rows.push(vec![
                Cell::text(way),
                Cell::estimate(goodput.as_ref(), MEGA),
                Cell::estimate(trip.map(|trip| trip.median).as_ref(), 1.0 / MILLI),
                Cell::number(trip.and_then(|trip| trip.p99_seconds).map(|p99| p99 * MILLI)),
                trip.map_or(Cell::Nothing, |trip| Cell::count(trip.count)),
                queue_cell(row, queue),
                share(flow.and_then(|flow| flow.sent_again)),
            ]);
        }
    }
    let mut note = format!(
        "up is from {near} to {far}; payload that arrived, and the median time of the requests meanwhile; n is the number of \
         requests, and below 100 there is no 99th percentile; resent is what TCP sent again"
    );
    let trips = verdict.rows.iter().filter_map(|row| row.round_trip);
    if trips.clone().any(|trip| trip.lost.events > 0) {
        let (lost, sent) = trips
            .fold((0, 0), |(lost, sent), trip| (lost + trip.lost.events, sent + trip.lost.trials));
        let counted = format!("; {lost} of {sent} requests had no answer");
        note += &counted;
    }
    let datagrams = datagrams(verdict);
    if datagrams.is_some() {
        note += "; jitter is how much the spacing of datagrams differs from their schedule on average (RFC 3550)";
    }
    if is_measured_once(verdict) {
        note +=
            "; measured once, so no number has an interval: --profile standard measures five times";
    }
    if verdict.rows.iter().any(is_quicker_than_idle) {
        note += "; on a busy network processors are awake: without a queue its requests may be faster than on the idle one";
    }
    let blocks = [Some(table), datagrams].into_iter().flatten().map(Block::Table).collect();
    Section::of("What the network gives", &note, blocks)
}

/// What became of the datagrams; `None` if none were sent.
fn datagrams(verdict: &SpeedVerdict) -> Option<Table> {
    let head = ["phase", "sent, Mb/s", "lost, %", "overtaken", "jitter, ms"];
    let mut table = Table::new("Datagrams", &head, 1);
    for row in &verdict.rows {
        for flow in row.flows.iter().filter(|flow| flow.lost.is_some()) {
            table.rows.push(vec![
                Cell::text(way(row, flow)),
                Cell::number(flow.sent_bits_per_second.map(|rate| rate / MEGA)),
                lost_cell(flow.lost),
                flow.overtaken.map_or(Cell::Nothing, Cell::count),
                Cell::number(flow.jitter_seconds.map(|jitter| jitter * MILLI)),
            ]);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The phase that counts connections.
fn connections(verdict: &SpeedVerdict) -> Option<Section> {
    let head = [
        "",
        "a second",
        "median, ms",
        "p99, ms",
        "n",
        "idle round trips",
        "expected a second",
        "refused",
    ];
    let mut table = Table::new("Connections", &head, 1);
    for row in &verdict.rows {
        let Some(connects) = &row.connects else { continue };
        let trip = row.round_trip;
        table.rows.push(vec![
            Cell::text(name(row.cell.phase)),
            Cell::estimate(Some(&connects.per_second), 1.0),
            Cell::estimate(trip.map(|trip| trip.median).as_ref(), 1.0 / MILLI),
            Cell::number(trip.and_then(|trip| trip.p99_seconds).map(|p99| p99 * MILLI)),
            trip.map_or(Cell::Nothing, |trip| Cell::count(trip.count)),
            Cell::number(connects.idle_round_trips),
            Cell::number(connects.expected_per_second),
            Cell::count(connects.refused),
        ]);
    }
    let numbers = verdict.rows.iter().filter_map(|row| {
        let connects = row.connects.as_ref()?;
        Some((name(row.cell.phase), &connects.per_second, connects.expected_per_second?))
    });
    let differing = differs::sentence(numbers, Some("the form's hosts take no time"));
    let table = (!table.rows.is_empty()).then_some(Block::Table(table));
    let blocks = table.into_iter().chain(differing.map(Block::Text)).collect();
    let note = "one after the other: connect, a request of 16 octets, its answer, close; expected: by the closed form of the network \
                file, two round trips and the frames of one connection, with hosts that take no time";
    Section::of("How many connections", note, blocks)
}

/// The time in queues; `none` within the uncertainty of the difference, which may be below zero.
fn queue_cell(row: &SpeedRow, queue: Option<f64>) -> Cell {
    let Some(seconds) = queue else { return Cell::Nothing };
    let value = seconds * MILLI;
    let is_none = seconds <= row.queue_uncertainty_seconds.unwrap_or(0.0);
    let shown = if is_none { "none".to_owned() } else { three_digits(value) };
    Cell::Number { value, shown, interval: None }
}

fn is_quicker_than_idle(row: &SpeedRow) -> bool {
    row.queue_seconds.zip(row.queue_uncertainty_seconds).is_some_and(|(queue, by)| queue < -by)
}

/// Whether there are numbers, and none has an interval.
fn is_measured_once(verdict: &SpeedVerdict) -> bool {
    let trips = verdict.rows.iter().filter_map(|row| Some(row.round_trip?.median));
    let rates =
        verdict.rows.iter().flat_map(|row| row.flows.iter().filter_map(|flow| flow.goodput));
    let mut numbers = trips.chain(rates).peekable();
    numbers.peek().is_some() && numbers.all(|number| number.interval.is_none())
}

/// A share of losses with its interval.
fn lost_cell(lost: Option<Proportion>) -> Cell {
    let estimate = lost.map(|lost| Estimate { value: lost.share, interval: Some(lost.interval) });
    Cell::estimate(estimate.as_ref(), 1.0 / PERCENT)
}

fn share(share: Option<f64>) -> Cell {
    share.map_or(Cell::Nothing, |share| Cell::Number {
        value: share * PERCENT,
        shown: three_digits(share * PERCENT),
        interval: None,
    })
}

/// The numbers of RFC 6349, the closed forms, and the cost for the hosts.
fn further(verdict: &SpeedVerdict, [near, far]: &[String; 2]) -> Option<Section> {
    let mut blocks =
        vec![Block::Table(rfc(verdict)), Block::Table(hosts_table(verdict, near, far))];
    if let Some(expected) = verdict.expected_round_trip_seconds {
        let text = format!(
            "The network file's closed form expects {} of a request on the idle network.",
            time(expected)
        );
        blocks.push(Block::Text(text));
        let idle = verdict.rows.iter().filter(|row| row.cell.phase == Phase::Idle);
        let idle = idle.filter_map(|row| {
            Some((name(row.cell.phase), &row.round_trip.as_ref()?.median, expected))
        });
        blocks.extend(
            differs::sentence(idle, Some("the form's hosts take no time")).map(Block::Text),
        );
    }
    let numbers = verdict.rows.iter().filter_map(|row| {
        let flow = row.flows.first().filter(|_| !row.cell.phase.is_of_requests())?;
        Some((name(row.cell.phase), flow.goodput.as_ref()?, flow.expected_bits_per_second?))
    });
    let reason = "the first screen says what limited them";
    blocks.extend(differs::sentence(numbers, Some(reason)).map(Block::Text));
    let note = "RFC 6349: how much longer a transfer takes than the closed form's, octets that were not resent, mean round trip over \
                the shortest idle one, less one; processors that btu's workers kept busy";
    Section::of("For the record", note, blocks)
}

fn rfc(verdict: &SpeedVerdict) -> Table {
    let head =
        ["phase", "expected, Mb/s", "transfer time ratio", "efficiency, %", "buffer delay, %"];
    let mut table = Table::new("RFC 6349", &head, 1);
    for row in verdict.rows.iter().filter(|row| !row.cell.phase.is_of_requests()) {
        let flow = row.flows.first();
        table.rows.push(vec![
            Cell::text(name(row.cell.phase)),
            Cell::number(
                flow.and_then(|flow| flow.expected_bits_per_second).map(|rate| rate / MEGA),
            ),
            Cell::number(flow.and_then(|flow| flow.transfer_time_ratio)),
            share(flow.and_then(|flow| flow.sent_again).map(|again| 1.0 - again)),
            share(row.buffer_delay),
        ]);
    }
    table
}

fn hosts_table(verdict: &SpeedVerdict, near: &str, far: &str) -> Table {
    let (here, there) = (format!("processors of {near}"), format!("processors of {far}"));
    let head = ["phase", here.as_str(), there.as_str()];
    let mut table = Table::new("At the ends", &head, 1);
    for row in &verdict.rows {
        table.rows.push(vec![
            Cell::text(name(row.cell.phase)),
            Cell::number(row.near_processors),
            Cell::number(row.far_processors),
        ]);
    }
    table
}

#[cfg(test)]
mod tests;
