use std::collections::BTreeMap;

use btu_contract::activity::Receiving;
use btu_contract::experiment::{Field, Frame, LoadBefore, Named, Raised, Warning};
use btu_contract::network::HostName;
use btu_contract::sample::{FlowInterval, Interval as Second};
use btu_stats::{Interval, Level, wilson};
use btu_studies::speed::{Bloat, BloatWord, PhaseLoss, RoundTrip, SpeedCell, Wait};
use btu_units::Span;

use super::*;
use crate::head::{RunHead, TextOptions};
use crate::html::figures;
use crate::stored_page::Origin;
use crate::{FIRST_SCREEN_TEXTS, first_screen, page_text};
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
        lost: wilson(0, 150, Level::P95).expect("requests"),
        least_seconds: median * 0.9,
        median: estimate(median),
        median_uncertainty_seconds: median * 0.01,
        p99_seconds: Some(median * 1.5),
        p99_uncertainty_seconds: Some(median * 0.1),
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
        course_bits_per_second: (0..20).map(|part| rate * (0.9 + 0.01 * f64::from(part))).collect(),
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
        lost: wilson(2, 5000, Level::P95),
        overtaken: Some(2),
        jitter_seconds: Some(0.000_123),
        ..flow(Direction::Down, 4.998e6)
    };
    let waits = [(Phase::Up, 1.833), (Phase::Both, 1.863)];
    let waits = waits.map(|(phase, seconds)| Wait { phase, seconds, uncertainty_seconds: 0.02 });
    SpeedVerdict {
        bloat: Bloat::of(waits.to_vec(), Vec::new(), Vec::new(), Vec::new()),
        rows: vec![
            row(Phase::Idle, 0.037, Vec::new()),
            row(Phase::Up, 1.87, vec![flow(Direction::Up, 0.938e6)]),
            row(Phase::Both, 1.9, vec![flow(Direction::Up, 0.9e6), flow(Direction::Down, 13.2e6)]),
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
    paged_on(None, verdict)
}

/// On a machine that other programs used.
fn paged_on(busy: Option<Warning>, verdict: &SpeedVerdict) -> Page {
    let origin = Origin {
        uuid: "u".to_owned(),
        label: None,
        version: "0".to_owned(),
        plan_hash: "h".to_owned(),
    };
    let head = RunHead {
        id: "r7".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        network: "home-bloated".to_owned(),
        profile: "standard".to_owned(),
        machine: "2 x a processor".to_owned(),
        busy,
        ..RunHead::default()
    };
    let settings = BTreeMap::new();
    let stored = StoredRun {
        run: &head,
        origin: &origin,
        settings: &settings,
        changes: &[],
        earlier: None,
        studies: &[],
    };
    plan().page(verdict, &[], &stored)
}

/// Each flow on a line with the times of requests meanwhile: with five of them some thirteen lines.
#[test]
fn the_first_screen() {
    let page = paged(&verdict());
    let screens = [80, 120].map(|width| {
        let text = first_screen(&page, &TextOptions { colour: false, width });
        // Where the rows have no room for their ends, these take a line of their own.
        let most = FIRST_SCREEN_TEXTS + if width == 80 { 6 } else { 1 };
        assert!(text.lines().count() <= most, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        format!("{width} columns\n{text}")
    });
    insta::assert_snapshot!(screens.join("\n"));
}

/// Both directions of every pair, whatever the machine has to be warned of.
#[test]
fn all_rows_are_on_the_first_screen() {
    let mut verdict = verdict();
    let mut up = verdict.rows[3].clone();
    up.cell.phase = Phase::DatagramsUp;
    up.flows[0].direction = Direction::Up;
    verdict.rows.insert(2, row(Phase::Down, 0.1, vec![flow(Direction::Down, 9.4e6)]));
    verdict.rows.insert(4, up);
    let busy = LoadBefore::of(0.5, 2, [Some(0.97), Some(0.02)]).map(|load| load.warning());
    let text =
        first_screen(&paged_on(busy.clone(), &verdict), &TextOptions { colour: false, width: 80 });
    let names =
        ["idle", "TCP up", "TCP down", "both ways, up", "both ways, down", "UDP up", "UDP down"];
    for name in names {
        let has_row = text.lines().any(|line| line.starts_with(&format!("  {name} ")));
        assert!(has_row, "{name}: {text}");
    }
    assert!(text.contains("busy machine") && text.contains("> btu show r7 --all"), "{text}");
    let wide = first_screen(&paged_on(busy, &verdict), &TextOptions { colour: false, width: 120 });
    assert!(wide.lines().count() <= FIRST_SCREEN_TEXTS + 3, "{wide}");
}

/// Rate, ends, times of requests and what was sent again are on one line of 80 columns, on a slow path and on a fast one.
#[test]
fn a_row_of_tcp_is_one_line() {
    for median in [2.15, 0.0161, 0.009_12, 0.000_123] {
        let mut verdict = verdict();
        verdict.rows = vec![
            row(Phase::Idle, median, Vec::new()),
            row(Phase::Up, median, vec![flow(Direction::Up, 9.37e6)]),
            row(Phase::Down, median, vec![flow(Direction::Down, 9.38e6)]),
        ];
        let text = first_screen(&paged(&verdict), &TextOptions { colour: false, width: 80 });
        let rows = text.lines().filter(|line| line.starts_with("  TCP "));
        assert_eq!(rows.filter(|line| line.ends_with("1.23 % resent")).count(), 2, "{text}");
    }
}

/// A user who measures while a compiler runs reads so on the first screen.
#[test]
fn other_programs_are_told_on_the_first_screen() {
    let busy = LoadBefore::of(0.5, 2, [Some(0.97), Some(0.02)]).map(|load| load.warning());
    let text = first_screen(&paged_on(busy, &verdict()), &TextOptions { colour: false, width: 80 });
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("busy machine"), "{text}");
    assert!(words.contains("others used 97 % of 2 processors just before the run"), "{text}");
    assert!(text.lines().count() <= FIRST_SCREEN_TEXTS + 6, "{text}");
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
    ThreadShares { on_processor, waiting: Some(0.0), throttled: None, blocked: 1.0 - on_processor }
}

/// Of a thread that runs for so much of its time, and of a receiver's window that is the limit for 60 %.
fn window_limited(sender: f64) -> Breakdown {
    Breakdown {
        seconds: 10.0,
        connection: ConnectionShares {
            nothing_to_send: 0.0,
            receiver_window: 0.6,
            send_buffer: 0.1,
            path_parts: None,
            path: 0.3,
        },
        sender: threads(sender),
        receiver: threads(0.2),
    }
}

fn full_line() -> Breakdown {
    let mut full = window_limited(0.1);
    full.connection =
        ConnectionShares { receiver_window: 0.0, send_buffer: 0.0, path: 1.0, ..full.connection };
    full
}

/// What is said of an upload, and of a download on a line that is not known: each with its wait in seconds, and the
/// share of the line.
fn limits([up, down]: [(Breakdown, f64); 2], expected: Option<f64>, word: BloatWord) -> String {
    let mut verdict = verdict();
    verdict.rows.truncate(2);
    verdict.rows.push(row(Phase::Down, down.1 + 0.037, vec![flow(Direction::Down, 9e5)]));
    verdict.rows[1].flows[0].expected_bits_per_second = expected;
    verdict.rows[2].flows[0].expected_bits_per_second = None;
    let waits = [(Phase::Up, up.1), (Phase::Down, down.1)].map(|(phase, seconds)| Wait {
        phase,
        seconds,
        uncertainty_seconds: 0.001,
    });
    let bloat = verdict.bloat.as_mut().expect("a word");
    (bloat.word, bloat.waits) = (word, waits.to_vec());
    for (row, breakdown) in [(1, up.0), (2, down.0)] {
        verdict.rows[row].flows[0].breakdown = Some(breakdown);
    }
    assert!(told(&verdict, 100).contains("Where the time went"));
    paged(&verdict).summary.limit
}

/// On a bare network no line is known: its limit is what the time of the flow says.
#[test]
fn without_a_known_line_the_time_of_the_flow_says_the_limit() {
    let window = || (window_limited(0.1), 0.0);
    let busy = (window_limited(0.95), 0.0);
    assert_eq!(
        limits([busy, window()], None, BloatWord::Fine),
        "the sender's processor: 95 % of the time of TCP up; the receiver's window: 60 % of the time of TCP down"
    );
    assert_eq!(
        limits([window(), window()], Some(1e7), BloatWord::Fine),
        "the receiver's window: 60 % of the time of TCP up, 60 % of TCP down; TCP up gets 9 % of the line"
    );
    assert_eq!(
        limits([window(), window()], Some(1e6), BloatWord::Fine),
        "the line: 94 % of it by TCP up; the receiver's window: 60 % of the time of TCP down"
    );
}

/// A direction that is slow is named next to the other one's queue, and a busy end is no queue.
#[test]
fn each_direction_has_its_own_limit() {
    let (window, full) = ((window_limited(0.1), 0.0), (full_line(), 0.11));
    assert_eq!(
        limits([window, full], Some(1e7), BloatWord::Bloated),
        "the receiver's window: 60 % of the time of TCP up; the queue of a full line: 75 % of a request during TCP \
         down; TCP up gets 9 % of the line"
    );
    // A small end next to a queue; and no queue of a line that is known to carry far more.
    assert_eq!(
        limits([(window_limited(0.1), 0.11), window], None, BloatWord::Bloated),
        "the queue of a full line: 6 % of a request during TCP up; the receiver's window: 60 % of the time of TCP up, \
         60 % of TCP down"
    );
    assert_eq!(
        limits([(window_limited(0.1), 0.11), window], Some(1e7), BloatWord::Bloated),
        "the receiver's window: 60 % of the time of TCP up, 60 % of TCP down; TCP up gets 9 % of the line"
    );
    let mut throttled = full_line();
    throttled.receiver = ThreadShares { throttled: Some(0.6), blocked: 0.3, ..threads(0.1) };
    assert_eq!(
        limits([(throttled, 0.04), window], None, BloatWord::BusyEnd),
        "the CPU quota of the receiver's container: 60 % of the time of TCP up; the receiver's window: 60 % of the \
         time of TCP down"
    );
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
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("connections ")).collect();
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
    let why = "processors are awake";
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
    verdict.bloat = Bloat::of(waits, Vec::new(), Vec::new(), Vec::new());
    assert_eq!(
        paged(&verdict).headline,
        "Fine: requests wait as long as before while you upload, 3.10 ms longer while you download; calls suffer above 20 ms"
    );
}

/// What the word says holds for what was measured, also of few requests: one lost of fifty is not two
/// per cent, and a wait that cannot be told is not said to be none.
#[test]
fn the_sentence_says_why() {
    let waits = |seconds: f64, uncertainty_seconds: f64| {
        let wait = |phase| Wait { phase, seconds, uncertainty_seconds };
        vec![wait(Phase::Up), wait(Phase::Down)]
    };
    let lost = |events: u64, trials: u64| PhaseLoss {
        phase: Phase::Up,
        lost: wilson(events, trials, Level::P95).expect("requests"),
    };
    let said = |waits, tails, losses| {
        bloat_sentence(&Bloat::of(waits, tails, losses, Vec::new()).expect("a verdict"))
    };
    let before = "requests wait as long as before while you upload and while you download";
    let suffer = "calls suffer above 20 ms";
    for (losses, expected) in [
        (vec![lost(1, 150)], format!("Fine: {before}; {suffer}")),
        (
            vec![lost(1, 50)],
            format!(
                "Borderline: {before}; 1 of 50 lost while you upload (0.354 to 10.5 %); {suffer}"
            ),
        ),
        (
            vec![PhaseLoss { phase: Phase::Idle, ..lost(1, 200) }, lost(40, 200)],
            "Lossy: 20.0 % of requests are lost while you upload (15.0 to 26.1); calls suffer above 1 %"
                .to_owned(),
        ),
    ] {
        assert_eq!(said(waits(0.0005, 0.001), Vec::new(), losses), expected);
    }
    let tail = Wait { phase: Phase::Down, seconds: 0.069, uncertainty_seconds: 0.03 };
    assert_eq!(
        said(waits(0.0005, 0.001), vec![tail], Vec::new()),
        format!("Borderline: {before}; one in 100 69.0 ms longer while you download; {suffer}")
    );
    assert_eq!(
        said(waits(-0.002, 0.027), Vec::new(), Vec::new()),
        format!(
            "Borderline: requests wait 0 to 25.0 ms longer while you upload and while you download; {suffer}"
        )
    );
    assert_eq!(
        said(waits(0.038, 0.002), Vec::new(), vec![lost(1, 200)]),
        format!(
            "Slightly bloated: requests wait 38.0 ms longer while you upload and while you download; {suffer}; fq_codel or cake cures it"
        )
    );
}

#[test]
fn a_phase_without_answers_is_told_and_a_managed_queue_needs_no_cure() {
    let wait = |seconds| Wait { phase: Phase::Down, seconds, uncertainty_seconds: 0.002 };
    let said = |waits, has_cure| {
        let bloat = Bloat::of(waits, Vec::new(), Vec::new(), vec![Phase::Up]).expect("a verdict");
        bloat_sentence(&Bloat { has_cure, ..bloat })
    };
    let silent = "too few requests were answered while you upload";
    assert_eq!(
        said(vec![wait(0.0105)], true),
        format!(
            "Cannot tell: {silent}; requests wait 10.5 ms longer while you download; calls suffer above 20 ms"
        )
    );
    assert_eq!(
        said(vec![wait(0.21)], false),
        format!(
            "Bloated: {silent}; requests wait 210 ms longer while you download; calls suffer above 20 ms"
        )
    );
    assert!(
        said(Vec::new(), true)
            .starts_with(&format!("Cannot tell: {silent}; the wait of the others"))
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
