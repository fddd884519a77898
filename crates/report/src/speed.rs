//! The result of `btu speed` as a report.

mod answer;
mod breakdown;
mod seconds;
mod verdict;

use btu_stats::Estimate;
use btu_studies::speed::{
    BloatWord, Connects, Direction, FlowSpeed, Phase, SpeedPlan, SpeedRow, SpeedVerdict,
};

use crate::html::{Block, Cell, Page, Section, Table};
use crate::number::{ends, three_digits};
use crate::stored_page::{StoredRun, warned};
use crate::study::Reported;
use crate::summary::KeyFigure;
use crate::unit::{self, time, time_unit};

/// Milliseconds in a second, bits per second in a Mb/s, the whole in per cent.
const MILLI: f64 = 1e3;
const MEGA: f64 = 1e6;
const PERCENT: f64 = 100.0;

/// If TCP gets this share of a line's capacity, the line is the limit: the rest is its start and
/// its recovery from losses.
const MOST_OF_LINE: f64 = 0.8;

impl Reported for SpeedPlan {
    fn answer(&self, verdict: &SpeedVerdict) -> Option<String> {
        answer::short(verdict)
    }

    fn page(&self, verdict: &SpeedVerdict, stored: &StoredRun<'_>) -> Page {
        let hosts = self.hosts().map(|host| host.map_or_else(String::new, ToString::to_string));
        let sections = vec![
            answer(verdict, &hosts),
            connections(verdict),
            breakdown::section(verdict),
            seconds::section(verdict, &hosts),
            further(verdict, &hosts),
        ];
        let page = stored.page(headline(verdict, &hosts), warned(&verdict.warnings), sections);
        let limit = limit(verdict).filter(|_| !is_bloated(verdict)).unwrap_or_default();
        Page { summary: stored.summary(figures(verdict), limit), ..page }
    }
}

/// The verdict in a sentence; where none is possible both rates, and the time of a request.
fn headline(verdict: &SpeedVerdict, hosts: &[String; 2]) -> String {
    verdict::sentence(verdict).unwrap_or_else(|| numbers(verdict, hosts))
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
            note: "round trip".to_owned(),
        });
        return idle.into_iter().collect();
    }
    let trip = row.round_trip.map(|trip| format!("RTT {}", time(trip.median.value)));
    let of_flow = |flow: &FlowSpeed| {
        let rate = flow.goodput?;
        let percent =
            |share: f64, what: &str| format!("{} % {what}", three_digits(share * PERCENT));
        let again = flow.sent_again.map(|share| percent(share, "resent"));
        let lost = flow.lost.map(|share| percent(share, "lost"));
        let (value, ends) = unit::rate_with_ends(&rate);
        Some(KeyFigure {
            name: way(row, flow),
            value,
            interval: ends.unwrap_or_default(),
            note: trip.clone().into_iter().chain(again).chain(lost).collect::<Vec<_>>().join(", "),
        })
    };
    row.flows.iter().filter_map(of_flow).collect()
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

/// A known line is the limit if TCP gets most of it; else what the time of the flows says.
fn limit(verdict: &SpeedVerdict) -> Option<String> {
    let share = |row: &SpeedRow| {
        let flow =
            row.flows.first().filter(|_| matches!(row.cell.phase, Phase::Up | Phase::Down))?;
        Some((name(row.cell.phase), flow.goodput?.value / flow.expected_bits_per_second?))
    };
    let shares: Vec<(&str, f64)> = verdict.rows.iter().filter_map(share).collect();
    let Some(least) = shares.iter().map(|(_, share)| *share).reduce(f64::min) else {
        return breakdown::limit(verdict);
    };
    let each: Vec<String> = shares
        .iter()
        .map(|(name, share)| format!("{name} gets {:.0} %", share * PERCENT))
        .collect();
    let line = format!("of what the line can carry {}", each.join(", "));
    if least >= MOST_OF_LINE {
        return Some(format!("the line: {line}"));
    }
    Some(breakdown::limit(verdict).map_or_else(
        || format!("something else than the line: {line}"),
        |limit| format!("{limit}; {line}"),
    ))
}

/// A full queue before the line is what matters then; that TCP gets all of the line would read as if
/// all were well.
fn is_bloated(verdict: &SpeedVerdict) -> bool {
    verdict.bloat.as_ref().is_some_and(|bloat| bloat.word == BloatWord::Bloated)
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
    let mut trips = verdict.rows.iter().filter_map(|row| row.round_trip);
    if trips.clone().any(|trip| trip.lost > 0) {
        let (lost, sent) =
            trips.clone().fold((0, 0), |(lost, sent), trip| (lost + trip.lost, sent + trip.sent));
        let counted = format!("; {lost} of {sent} requests had no answer");
        note += &counted;
    }
    if trips.any(|trip| trip.is_weighted) {
        note += "; an older version measured this: one request at a time, each counted once for every 20 ms that it took";
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
        note += "; a busy network has processors that are awake: without a queue its requests may be quicker than those of the idle one";
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
                share(flow.lost),
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
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
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
    }
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
mod tests {
    use std::collections::BTreeMap;

    use btu_stats::Interval;
    use btu_studies::speed::{Bloat, RoundTrip, SpeedCell, Wait};
    use btu_suite::activity::Receiving;
    use btu_suite::experiment::{Experiment, Field, Frame, Raised};
    use btu_suite::network::HostName;
    use btu_suite::sample::{FlowInterval, Interval as Second};
    use btu_units::Span;

    use super::*;
    use crate::head::{RunHead, TextOptions};
    use crate::html::figures;
    use crate::stored_page::Origin;
    use crate::{FIRST_SCREEN_LINES, first_screen, page_text};
    use btu_studies::breakdown::{Breakdown, ConnectionShares, ThreadShares};

    fn plan() -> SpeedPlan {
        let stations =
            ["laptop", "server"].map(|name| HostName::try_from(name).expect("a name")).to_vec();
        let (name, text) = ("home-bloated".to_owned(), String::new());
        SpeedPlan {
            frame: Frame {
                version: SpeedPlan::VERSION,
                seed: 7,
                profile: "standard".to_owned(),
                blocks: 5,
                budget: Span::from_seconds(60),
                deadline: Span::from_seconds(60),
                left_out: Vec::new(),
                network: Field::Drawing(Raised {
                    name,
                    text,
                    stations,
                    congestion_control: None,
                    ipv6: false,
                }),
            },
            phases: vec![Phase::Idle, Phase::Up, Phase::Both, Phase::DatagramsDown],
            time: Span::from_seconds(10),
            requests: None,
            idle: Span::from_seconds(1),
            streams: 1,
            offered: None,
            dscp: None,
            receiving: Receiving::Plain,
        }
    }

    fn estimate(value: f64) -> Estimate {
        Estimate { value, interval: Some(Interval { low: value * 0.99, high: value * 1.01 }) }
    }

    fn row(phase: Phase, median: f64, flows: Vec<FlowSpeed>) -> SpeedRow {
        let round_trip = RoundTrip {
            count: 150,
            sent: 150,
            lost: 0,
            is_weighted: false,
            least_seconds: median * 0.9,
            median: estimate(median),
            median_uncertainty_seconds: median * 0.01,
            p99_seconds: Some(median * 1.5),
            mean_seconds: median,
        };
        let is_loaded = phase != Phase::Idle;
        SpeedRow {
            cell: SpeedCell { phase },
            round_trip: Some(round_trip),
            queue_seconds: is_loaded.then_some(median - 0.037),
            queue_uncertainty_seconds: is_loaded.then_some(median * 0.01),
            buffer_delay: is_loaded.then_some(median / 0.033 - 1.0),
            flows,
            connects: None,
            near_processors: Some(0.0123),
            far_processors: Some(0.00456),
            invalid: 0,
            course: Vec::new(),
        }
    }

    fn flow(direction: Direction, rate: f64) -> FlowSpeed {
        FlowSpeed {
            direction,
            goodput: Some(estimate(rate)),
            seconds: 10.0,
            course_bits_per_second: (0..20)
                .map(|part| rate * (0.9 + 0.01 * f64::from(part)))
                .collect(),
            expected_bits_per_second: Some(1e6),
            transfer_time_ratio: Some(1e6 / rate),
            sent_again: Some(0.0123),
            sent_bits_per_second: None,
            lost: None,
            overtaken: None,
            jitter_seconds: None,
            breakdown: None,
        }
    }

    fn verdict() -> SpeedVerdict {
        let datagrams = FlowSpeed {
            expected_bits_per_second: None,
            transfer_time_ratio: None,
            sent_again: None,
            sent_bits_per_second: Some(5e6),
            lost: Some(0.0004),
            overtaken: Some(2),
            jitter_seconds: Some(0.000_123),
            ..flow(Direction::Down, 4.998e6)
        };
        let waits = [(Phase::Up, 1.833), (Phase::Both, 1.863)];
        let waits =
            waits.map(|(phase, seconds)| Wait { phase, seconds, uncertainty_seconds: 0.02 });
        let word = BloatWord::Bloated;
        SpeedVerdict {
            bloat: Some(Bloat { word, bound_seconds: 0.02, waits: waits.to_vec() }),
            rows: vec![
                row(Phase::Idle, 0.037, Vec::new()),
                row(Phase::Up, 1.87, vec![flow(Direction::Up, 0.938e6)]),
                row(
                    Phase::Both,
                    1.9,
                    vec![flow(Direction::Up, 0.9e6), flow(Direction::Down, 13.2e6)],
                ),
                row(Phase::DatagramsDown, 0.04, vec![datagrams]),
            ],
            expected_round_trip_seconds: Some(0.0368),
            warnings: Vec::new(),
        }
    }

    fn told(verdict: &SpeedVerdict, width: usize) -> String {
        page_text(&paged(verdict), &TextOptions { colour: false, width })
    }

    fn paged(verdict: &SpeedVerdict) -> Page {
        let origin = Origin {
            uuid: "u".to_owned(),
            label: None,
            version: "0".to_owned(),
            plan_hash: "h".to_owned(),
            plan_is_known: true,
        };
        let head = RunHead {
            id: "r7".to_owned(),
            started: "2026-01-01T00:00:00Z".to_owned(),
            network: "home-bloated".to_owned(),
            profile: "standard".to_owned(),
            machine: "2 x a processor".to_owned(),
            ..RunHead::default()
        };
        let settings = BTreeMap::new();
        let stored = StoredRun { run: &head, origin: &origin, settings: &settings, changes: &[] };
        plan().page(verdict, &stored)
    }

    /// Each flow on a line with the times of requests meanwhile, at most twelve lines.
    #[test]
    fn the_first_screen() {
        let page = paged(&verdict());
        let screens = [80, 120].map(|width| {
            let text = first_screen(&page, &TextOptions { colour: false, width });
            assert!(text.lines().count() <= FIRST_SCREEN_LINES, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            format!("{width} columns\n{text}")
        });
        insta::assert_snapshot!(screens.join("\n"));
    }

    /// The answer with its intervals is on the first lines, and no line is wider than the limit.
    #[test]
    fn the_answer_comes_first() {
        let text = told(&verdict(), 100);
        insta::assert_snapshot!(text);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn one_block_has_no_interval_and_that_is_said() {
        let mut once = verdict();
        for row in &mut once.rows {
            row.round_trip.iter_mut().for_each(|trip| trip.median.interval = None);
            row.flows
                .iter_mut()
                .filter_map(|flow| flow.goodput.as_mut())
                .for_each(|rate| rate.interval = None);
        }
        // Wherever lines end.
        let told = |verdict: &SpeedVerdict| told(verdict, 100).replace('\n', " ");
        assert!(told(&once).contains("measured once, so no number has an interval"));
        assert!(!told(&verdict()).contains("measured once"));
    }

    fn threads(on_processor: f64) -> ThreadShares {
        ThreadShares {
            on_processor,
            waiting: Some(0.0),
            throttled: None,
            blocked: 1.0 - on_processor,
        }
    }

    /// On a bare network no line is known: its limit is what the time of the flow says. A full queue is
    /// the headline.
    #[test]
    fn without_a_known_line_the_time_of_the_flow_says_the_limit() {
        let limit = |sender: f64, expected: Option<f64>, word: BloatWord| {
            let mut verdict = verdict();
            verdict.rows.truncate(2);
            verdict.bloat.iter_mut().for_each(|bloat| bloat.word = word);
            let flow = &mut verdict.rows[1].flows[0];
            flow.expected_bits_per_second = expected;
            flow.breakdown = Some(Breakdown {
                seconds: 10.0,
                connection: ConnectionShares {
                    nothing_to_send: 0.0,
                    receiver_window: 0.6,
                    send_buffer: 0.1,
                    path: 0.3,
                },
                sender: threads(sender),
                receiver: threads(0.2),
            });
            let page = paged(&verdict);
            assert!(told(&verdict, 100).contains("Where the time went"));
            page.summary.limit
        };
        assert_eq!(
            limit(0.95, None, BloatWord::Fine),
            "the sender's processor: 95 % of the time of TCP up"
        );
        assert_eq!(
            limit(0.1, Some(1e7), BloatWord::Fine),
            "the receiver's window: 60 % of the time of TCP up; of what the line can carry TCP up gets 9 %"
        );
        assert_eq!(
            limit(0.1, Some(1e6), BloatWord::Fine),
            "the line: of what the line can carry TCP up gets 94 %"
        );
        assert_eq!(limit(0.95, None, BloatWord::Bloated), "");
    }

    #[test]
    fn connections_have_a_line_and_a_table_of_their_own() {
        let mut verdict = verdict();
        let mut row = row(Phase::Connects, 0.0754, Vec::new());
        (row.queue_seconds, row.queue_uncertainty_seconds, row.buffer_delay) = (None, None, None);
        row.connects = Some(Connects {
            per_second: estimate(13.31),
            expected_per_second: Some(13.5),
            idle_round_trips: Some(2.04),
            refused: 2,
        });
        verdict.rows.push(row);
        let page = paged(&verdict);
        let text = page_text(&page, &TextOptions { colour: false, width: 100 });
        assert!(!page.headline.contains("75.4"), "{}", page.headline);
        let figure = page.summary.figures.last().expect("a figure");
        assert_eq!(
            (&*figure.value, &*figure.note),
            ("13.3 /s", "75.4 ms each, 2.04 idle round trips, 2 refused")
        );
        let lines: Vec<&str> =
            text.lines().filter(|line| line.starts_with("connections ")).collect();
        let [of_its_own, of_hosts] = &lines[..] else { panic!("{text}") };
        assert!(of_its_own.contains("13.5") && of_its_own.ends_with(" 2"), "{of_its_own}");
        assert!(of_hosts.contains("0.0123"), "{of_hosts}");
    }

    /// The difference of two medians may be below zero; a queue may not.
    #[test]
    fn a_queue_within_its_uncertainty_is_none() {
        let with = |queue: f64| {
            let mut verdict = verdict();
            verdict.rows.truncate(2);
            verdict.rows[1].queue_seconds = Some(queue);
            verdict.rows[1].queue_uncertainty_seconds = Some(0.001);
            told(&verdict, 120)
        };
        let why = "processors that are awake";
        let shown = with(-0.002);
        assert!(shown.contains(" none ") && shown.replace('\n', " ").contains("awake"), "{shown}");
        let shown = with(0.000_9);
        assert!(shown.contains(" none ") && !shown.contains(why), "{shown}");
        let shown = with(0.0011);
        assert!(shown.contains(" 1.10 ") && !shown.contains("none"), "{shown}");
    }

    /// A second of a cell, with one flow or none.
    fn second(number: u32, flow: Option<(&str, &str)>) -> Second {
        let host = |name: &str| HostName::try_from(name).expect("a name");
        let flow = flow.map(|(from, to)| FlowInterval {
            from: host(from),
            to: host(to),
            goodput_bits_per_second: 0.9e6,
            segments_sent_again: Some(number.into()),
            congestion_window_bytes: Some(2048 * u64::from(number)),
            round_trip_seconds: Some(0.5),
            missed: None,
        });
        Second {
            from_seconds: f64::from(number - 1),
            to_seconds: f64::from(number),
            request_seconds: Some(0.04 * f64::from(number)),
            requests: Some(50),
            flows: flow.into_iter().collect(),
        }
    }

    /// Rate, resent segments, window and round trip, with the same seconds below each other; in
    /// CSV and SVG, too.
    #[test]
    fn seconds_are_drawn_one_below_the_other() {
        assert!(!told(&verdict(), 100).contains("Second by second"));
        let mut verdict = verdict();
        verdict.rows[0].course = (1..=2).map(|number| second(number, None)).collect();
        let up = |number| second(number, Some(("laptop", "server")));
        verdict.rows[1].course = (1..=4).map(up).collect();
        let page = paged(&verdict);
        let figure = figures(&page).find(|figure| figure.name == "seconds").expect("a figure");
        let drawn: Vec<(&str, Vec<(&str, usize)>)> = figure
            .panels
            .iter()
            .map(|panel| {
                let series = panel.series.iter();
                (&*panel.title, series.map(|one| (&*one.name, one.points.len())).collect())
            })
            .collect();
        let up = vec![("TCP up", 4)];
        assert_eq!(
            drawn,
            [
                ("Rate", up.clone()),
                ("Resent", up.clone()),
                ("Congestion window", up.clone()),
                ("Round trip of TCP", up),
                ("Round trip of requests", vec![("idle", 2), ("TCP up", 4)]),
            ]
        );
        let csv = crate::csv(&page);
        for line in [
            "Second by second,TCP up 3,resent,3,,,3",
            "Second by second,TCP up 3,\"window, KiB\",6,,,6.00",
            "Second by second,idle 2,\"of requests, ms\",80,,,80.0",
        ] {
            assert!(csv.contains(line), "{line}: {csv}");
        }
        let svg = crate::svg(&page).expect("a picture");
        assert!(svg.contains("Congestion window: seconds") && svg.contains("Resent: seconds"));
    }

    /// Without a wait that is above its uncertainty nothing is longer.
    #[test]
    fn a_network_without_a_queue_is_fine() {
        let mut verdict = verdict();
        let wait = |phase, seconds| Wait { phase, seconds, uncertainty_seconds: 0.001 };
        let waits = vec![wait(Phase::Up, 0.000_5), wait(Phase::Down, 0.0031)];
        verdict.bloat = Some(Bloat { word: BloatWord::Fine, bound_seconds: 0.02, waits });
        assert_eq!(
            paged(&verdict).headline,
            "Fine: requests wait no longer while you upload, 3.10 ms while you download; calls suffer above 20 ms"
        );
    }

    /// A name has one colour in all charts of the page.
    #[test]
    fn a_series_has_one_colour_on_the_page() {
        let mut verdict = verdict();
        verdict.rows[0].course = vec![second(1, None)];
        let up = |number| second(number, Some(("laptop", "server")));
        verdict.rows[1].course = (1..=2).map(up).collect();
        let page = paged(&verdict);
        let mut colours = BTreeMap::new();
        let panels = figures(&page).flat_map(|figure| &figure.panels);
        for series in panels.flat_map(|panel| &panel.series) {
            let colour = *colours.entry(&series.name).or_insert(series.role);
            assert_eq!(colour, series.role, "{}", series.name);
        }
        assert_eq!(colours.len(), 2, "{colours:?}");
    }

    #[test]
    fn where_nothing_came_through_that_is_said() {
        let nothing = SpeedVerdict {
            bloat: None,
            rows: Vec::new(),
            expected_round_trip_seconds: None,
            warnings: Vec::new(),
        };
        assert!(told(&nothing, 80).starts_with("Nothing came through between laptop and server\n"));
    }
}
