//! Tests of verdicts over cells with known numbers.

use btu_contract::json;
use btu_network::library_text;
use btu_units::Time;

use super::*;
use crate::Judged;
use crate::speed::upload;
use btu_contract::activity::{Activity, OpenLoop, Receiving};
use btu_contract::experiment::{CellSetting, Field, Frame, Raised};
use btu_contract::experiment::{Named, RunFacts};
use btu_contract::network::HostName;
use btu_contract::record::{
    CpuTime, DatagramsReceived, DatagramsSent, PlacedReport, Received, Sent,
};

const MEGABYTE: u64 = 1_000_000;

fn plan(phases: &[Phase]) -> SpeedPlan {
    let stations =
        ["test", "active"].map(|name| HostName::try_from(name).expect("a name")).to_vec();
    let text = format!(
        "# --set links.path.rate=10 Mb/s\n# --set links.path.delay=5 ms\n{}",
        library_text("path").expect("the library has it")
    );
    SpeedPlan {
        frame: Frame {
            version: SpeedPlan::VERSION,
            seed: 1,
            profile: "quick".to_owned(),
            blocks: 1,
            budget: Span::from_seconds(60),
            deadline: Span::from_seconds(60),
            left_out: Vec::new(),
            network: Field::Drawing(Raised {
                name: "10 Mb/s".to_owned(),
                text,
                stations,
                congestion_control: None,
                ipv6: false,
            }),
        },
        phases: phases.to_vec(),
        time: Span::from_seconds(2),
        requests: Some(OpenLoop {
            interval: Span::from_milliseconds(20),
            lead: Span::from_seconds(1),
        }),
        idle: Span::from_seconds(1),
        streams: 2,
        offered: Some(btu_units::BitRate::from_megabits_per_second(1)),
        dscp: None,
        receiving: Receiving::Plain,
    }
}

/// What `btu net run` plays without a plan is what a plan's phase plays, and requests until the queue
/// is empty again.
#[test]
fn an_upload_is_the_phase_with_one_connection() {
    let plan = SpeedPlan { streams: 1, ..plan(&[Phase::Up]) };
    let setting = CellSetting::unplayed(&plan.frame);
    let drawing = plan.frame.network.drawing().expect("a drawing");
    let ends = plan
        .hosts()
        .map(|host| drawing.station_called(host.expect("a host").as_str()).expect("a station"));
    let every = OpenLoop::every(Span::from_milliseconds(20));
    let played = SpeedPlan { requests: Some(every), ..plan.clone() }
        .script(&SpeedCell { phase: Phase::Up }, &setting);
    let mut seen = upload(&drawing, ends, plan.time, &setting);
    assert_eq!(seen.steps.len(), 4);
    let Activity::Request(request) = &mut seen.steps[1].order.activity else { panic!("requests") };
    // 100 frames of 10 Mb/s, and the time to begin.
    assert_eq!(request.duration, Span::from_milliseconds(2700));
    request.duration = plan.time;
    assert_eq!(seen, played);
    // 94.9 % of 10 Mb/s for a tenth of a second.
    let Activity::TcpSend(stream) = &seen.steps[3].order.activity else { panic!("a stream") };
    assert_eq!(stream.unsent, Some(Bytes::new(117_685)));
    assert_eq!(stream.unsent, Some(stream.message));
}

fn report(outcome: Outcome) -> Report {
    let cpu = CpuTime::of(Span::from_milliseconds(100), Span::from_milliseconds(300));
    Report { started: Time::ZERO, finished: Time::ZERO + Span::from_seconds(2), cpu, outcome }
}

/// Requests of these times in milliseconds.
fn asked(milliseconds: &[u64]) -> [Outcome; 2] {
    let mut round_trip = Histogram::new();
    for time in milliseconds {
        round_trip.record(time * 1_000_000);
    }
    let answers = milliseconds.len() as u64;
    let requested = Requested {
        requests: answers,
        answers,
        lost: 0,
        lost_batches: Vec::new(),
        late: 0,
        wrong: 0,
        round_trip,
    };
    [Outcome::Responded { answers }, Outcome::Requested(requested)]
}

/// A stream of 1 MB in `milliseconds`, of which a tenth was sent again; the sender first.
fn stream(milliseconds: u64) -> [Outcome; 2] {
    let tcp = TcpInfo { bytes_sent: 1_100_000, bytes_retransmitted: 110_000, ..TcpInfo::default() };
    let (bytes, half) = (Bytes::new(MEGABYTE), milliseconds * 500_000);
    let received = Received {
        bytes,
        messages: 8,
        first_byte: Span::ZERO,
        last_byte: Span::from_milliseconds(milliseconds),
        samples_checked: 1,
        samples_wrong: 0,
        // A quarter in the first half of the time.
        progress: vec![(half, MEGABYTE / 4), (half * 2, MEGABYTE)],
        tcp: TcpInfo::default(),
    };
    [
        Outcome::Sent(Sent { bytes, messages: 8, tcp, moments: Vec::new() }),
        Outcome::Received(received),
    ]
}

fn turned([sender, receiver]: [Outcome; 2]) -> [Outcome; 2] {
    [receiver, sender]
}

/// A cell with these accounts of its pairs: the far end first.
fn cell(phase: Phase, block: u32, pairs: Vec<[Outcome; 2]>) -> Measured<SpeedCell> {
    let placed = |(station, outcome): (&str, Outcome)| PlacedReport {
        station: HostName::try_from(station).expect("a name"),
        activity: "of a test".to_owned(),
        result: Ok(report(outcome)),
    };
    let reports = pairs
        .into_iter()
        .flat_map(|[far, near]| [("active", far), ("test", near)])
        .map(placed)
        .collect();
    let slot = btu_contract::experiment::Slot { cell: SpeedCell { phase }, block, position: 0 };
    plan(&[phase]).record(slot, Observation { reports, ..Observation::default() })
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.002, "{found}, not {expected}");
}

#[test]
fn a_queue_is_what_requests_wait_longer_than_on_the_idle_network() {
    let plan = plan(&[Phase::Idle, Phase::Up]);
    let cells = [
        cell(Phase::Idle, 0, vec![asked(&[10, 10, 10, 10, 11, 11])]),
        cell(
            Phase::Up,
            0,
            vec![asked(&[60, 60, 110, 110, 160, 160]), turned(stream(1000)), turned(stream(1000))],
        ),
    ];
    let verdict = plan.judge(&cells, &RunFacts::default());
    let [idle, up] = &verdict.rows[..] else { panic!("{:?}", verdict.rows) };
    near(idle.round_trip.unwrap().median.value, 0.010);
    near(up.queue_seconds.unwrap(), 0.1);
    // Of six requests each, the interval by ranks is all of them: 60 to 160 ms, and 10 to 11.
    near(up.queue_uncertainty_seconds.unwrap(), 0.05f64.hypot(0.0005));
    // The mean of 110 ms over the shortest of 10.
    near(up.buffer_delay.unwrap(), 10.0);
    // Each way 5 ms and a frame of 78 octets behind a preamble of 8.
    near(verdict.expected_round_trip_seconds.unwrap(), 2.0 * (0.005 + 86.0 * 8.0 / 1e7));
    // 100 ms of 110, which six requests know to 50 ms: certainly more than 20 ms.
    let bloat = verdict.bloat.expect("a verdict");
    assert_eq!((bloat.word, bloat.waits.len()), (BloatWord::Bloated, 1));
}

#[test]
fn connections_are_counted_over_the_near_host_s_time() {
    let plan = plan(&[Phase::Idle, Phase::Connects]);
    let cells = [
        cell(Phase::Idle, 0, vec![asked(&[10])]),
        cell(Phase::Connects, 0, vec![asked(&[21; 97])]),
    ];
    let row = plan.judge(&cells, &RunFacts::default()).rows.remove(1);
    let connects = row.connects.expect("connections");
    near(connects.per_second.value, 48.5);
    near(connects.idle_round_trips.unwrap(), 2.1);
    assert_eq!((connects.refused, row.queue_seconds, row.flows.len()), (0, None, 0));
    // By hand, with preambles: there a SYN of 86 octets, token and request in 110, and three empty
    // segments of 90 with their gaps; back a SYN, the answer in 94, and two empty segments. The
    // path delays four of these frames by 5 ms.
    let octets = 86.0 + 110.0 + 3.0 * 90.0 + 86.0 + 94.0 + 2.0 * 90.0;
    near(1.0 / connects.expected_per_second.unwrap(), 4.0 * 0.005 + octets * 8.0 / 1e7);
}

#[test]
fn connections_that_no_end_accounts_for_void_the_cell() {
    let faults = |answers: u64, refused: u64| {
        let [_, mut requested] = asked(&[10; 10]);
        if let Outcome::Requested(requested) = &mut requested {
            (requested.requests, requested.lost) = (10 + refused, refused);
        }
        cell(Phase::Connects, 0, vec![[Outcome::Responded { answers }, requested]]).faults
    };
    assert_eq!((faults(10, 0), faults(10, 3)), (Vec::new(), Vec::new()));
    assert_eq!(faults(11, 3), ["13 connections were opened, but 11 accepted and 3 refused"]);
}

#[test]
fn flows_of_one_direction_are_added_over_their_common_time_and_have_a_course() {
    let plan = plan(&[Phase::Both]);
    let pairs = vec![asked(&[10]), turned(stream(1000)), turned(stream(2000)), stream(4000)];
    let verdict = plan.judge(&[cell(Phase::Both, 0, pairs)], &RunFacts::default());
    let [up, down] = &verdict.rows[0].flows[..] else { panic!("{:?}", verdict.rows) };
    assert_eq!((up.direction, down.direction), (Direction::Up, Direction::Down));
    // In the second in which both run: all of the first, and a quarter of the other.
    near(up.goodput.unwrap().value, 8e6 + 2e6);
    near(down.goodput.unwrap().value, 2e6);
    near(up.sent_again.unwrap(), 0.1);
    // A quarter in the first half: half of the mean rate; then half as much again.
    assert_eq!((down.course_bits_per_second.len(), down.seconds, up.seconds), (20, 4.0, 1.0));
    near(down.course_bits_per_second[0], 1e6);
    near(down.course_bits_per_second[19], 3e6);
    near(down.expected_bits_per_second.unwrap(), 1e7 * 1448.0 / 1538.0);
    near(down.transfer_time_ratio.unwrap(), 1e7 * 1448.0 / 1538.0 / 2e6);
    // Four workers of 0.4 s each in 2 s.
    near(verdict.rows[0].near_processors.unwrap(), 0.8);
}

/// Sixteen streams that share a line of 9.415 Mb/s of payload, and end one after the other while its queue
/// drains: each one's octets over its own time would add up to 4 % more than the line has.
#[test]
fn parallel_streams_never_carry_more_than_their_line() {
    const LINE: f64 = 1e7 * 1448.0 / 1538.0;
    const STREAMS: u64 = 16;
    // The stream of this number ends 20 ms after the one before.
    let ends = |number: u64| 150 + number;
    let of = |number: u64| {
        let mut octets = 0.0;
        let progress = (1..=ends(number)).map(|slot| {
            let share = (0..STREAMS).filter(|other| ends(*other) >= slot).count();
            octets += LINE / 8.0 * 0.02 / share as f64;
            (slot * 20_000_000, octets as u64)
        });
        let progress: Vec<(u64, u64)> = progress.collect();
        let [sent, received] = stream(20 * ends(number));
        let Outcome::Received(received) = received else { panic!("not a receiver") };
        let bytes = Bytes::new(progress[progress.len() - 1].1);
        turned([sent, Outcome::Received(Received { bytes, progress, ..received })])
    };
    let pairs = [asked(&[10])].into_iter().chain((0..STREAMS).map(of)).collect();
    let measured = cell(Phase::Up, 0, pairs);
    let own: f64 = received(&measured.seen).map(|flow| flow.bits_per_second).sum();
    assert!(own > 1.03 * LINE, "{own}");
    let all = together(&measured.seen, Direction::Up).expect("a flow");
    assert!(all.bits_per_second <= LINE && all.bits_per_second > 0.999 * LINE, "{all:?}");
    let facts = plan(&[Phase::Up]).facts(&SpeedCell { phase: Phase::Up }, &measured.seen);
    near(facts.goodput_bits_per_second.unwrap(), LINE);
}

/// The word of an upload on a line whose requests take 10 ms: these times in milliseconds, and so many lost
/// ones in all parts of the phase.
fn word(times: &[u64], lost: u64) -> BloatWord {
    let lossy = |times: &[u64]| {
        let [answered, mut requested] = asked(times);
        if let Outcome::Requested(requested) = &mut requested {
            requested.requests += lost;
            requested.lost = lost;
            let places = (0..lost).map(|number| number * requested.requests / lost);
            requested.lost_batches = btu_stats::batches(places, requested.requests);
        }
        [answered, requested]
    };
    let cells = [
        cell(Phase::Idle, 0, vec![asked(&[10; 150])]),
        cell(Phase::Up, 0, vec![lossy(times), turned(stream(1000)), turned(stream(1000))]),
    ];
    plan(&[Phase::Idle, Phase::Up])
        .judge(&cells, &RunFacts::default())
        .bloat
        .expect("a verdict")
        .word
}

#[test]
fn nothing_is_fine_that_loses_one_in_a_hundred_or_lets_it_wait() {
    assert_eq!(word(&[10; 150], 0), BloatWord::Fine);
    assert_eq!(word(&[10; 149], 1), BloatWord::Fine, "0.7 %, with chance");
    assert_eq!(word(&[10; 49], 1), BloatWord::Borderline, "2 %, or 0.1 %");
    assert_eq!(word(&[10; 120], 30), BloatWord::Lossy);
    // Eight of 150 wait for 80 ms more, the median for nothing.
    let tail = [[10; 142].as_slice(), &[90; 8]].concat();
    assert_eq!(word(&tail, 0), BloatWord::Borderline);
    // One that waits may be chance.
    assert_eq!(word(&[[10; 149].as_slice(), &[90]].concat(), 0), BloatWord::Fine);
    assert_eq!(word(&[60; 120], 30), BloatWord::Bloated);
}

/// Five values have no interval of 95 % for their median.
#[test]
fn five_answers_are_no_wait() {
    assert_eq!(word(&[10; 5], 0), BloatWord::Unknown);
    assert_eq!(word(&[10; 6], 0), BloatWord::Fine);
    assert_eq!(word(&[60; 5], 0), BloatWord::Unknown);
}

#[test]
fn several_blocks_have_an_interval_and_an_invalid_one_does_not_count() {
    let plan = plan(&[Phase::Down]);
    let mut wrong = cell(Phase::Down, 2, vec![asked(&[10]), stream(10)]);
    wrong.faults.push("it fell".to_owned());
    let cells = [
        cell(Phase::Down, 0, vec![asked(&[10]), stream(1000)]),
        cell(Phase::Down, 1, vec![asked(&[12]), stream(1100)]),
        wrong,
    ];
    let row = plan.judge(&cells, &RunFacts::default()).rows.remove(0);
    assert_eq!(row.invalid, 1);
    let goodput = row.flows[0].goodput.unwrap();
    near(goodput.value, (8e6 * 8e6 / 1.1_f64).sqrt());
    assert!(goodput.interval.unwrap().contains(8e6));
    assert!(row.round_trip.unwrap().median.interval.is_some());
}

#[test]
fn datagrams_are_counted_lost_and_never_faster_than_sent() {
    let sent = DatagramsSent {
        datagrams: 1000,
        bytes: Bytes::new(MEGABYTE),
        refused: 0,
        offered: btu_units::BitRate::from_megabits_per_second(4),
        span: Span::from_seconds(2),
        lateness: Histogram::new(),
        held: None,
    };
    let received = DatagramsReceived {
        datagrams: 900,
        lost_batches: Vec::new(),
        bytes: Bytes::new(MEGABYTE / 10 * 9),
        duplicates: 0,
        reordered: 3,
        wrong: 0,
        buffer_drops: 0,
        first: Span::ZERO,
        span: Span::from_milliseconds(1900),
        farewell: true,
        jitter: None,
        progress: Vec::new(),
    };
    let pairs =
        vec![asked(&[10]), [Outcome::DatagramsReceived(received), Outcome::DatagramsSent(sent)]];
    let row = plan(&[Phase::DatagramsUp])
        .judge(&[cell(Phase::DatagramsUp, 0, pairs)], &RunFacts::default())
        .rows
        .remove(0);
    let flow = &row.flows[0];
    near(flow.lost.unwrap().share, 0.1);
    near(flow.sent_bits_per_second.unwrap(), 4e6);
    near(flow.goodput.unwrap().value, 3.6e6);
    assert_eq!((flow.overtaken, flow.expected_bits_per_second), (Some(3), None));
}

#[test]
fn bytes_that_are_missing_void_the_cell() {
    let [sender, receiver] = stream(1000);
    let Outcome::Received(mut short) = receiver else { panic!("not a receiver") };
    short.bytes = Bytes::new(MEGABYTE - 1);
    let cell = cell(Phase::Down, 0, vec![asked(&[10]), [sender, Outcome::Received(short)]]);
    assert!(
        cell.faults[0].contains("1000000 B were sent and 999999 B received"),
        "{:?}",
        cell.faults
    );
}

/// Only the far host has to be reachable: it listens in every phase.
#[test]
fn the_near_host_makes_every_call() {
    let all = [
        Phase::Idle,
        Phase::Up,
        Phase::Down,
        Phase::Both,
        Phase::Connects,
        Phase::DatagramsUp,
        Phase::DatagramsDown,
    ];
    let plan = plan(&all);
    for (cell, steps) in plan.cells().iter().zip([2, 6, 6, 10, 2, 4, 4]) {
        let script = plan.script(cell, &CellSetting::unplayed(plan.frame()));
        assert_eq!(script.steps.len(), steps, "{cell}");
        assert!(
            script.steps.iter().all(|step| (step.host.as_str() == "test") == step.peer.is_some()),
            "{cell}"
        );
    }
    let mut plan = json::to_value(&plan).unwrap();
    assert!(json::from_value::<SpeedPlan>(&plan).is_ok());
    plan["streams"] = 65.into();
    assert!(
        json::from_value::<SpeedPlan>(&plan).unwrap_err().to_string().contains("between 1 and 64")
    );
}

#[test]
fn a_99th_percentile_takes_a_hundred_requests() {
    let plan = plan(&[Phase::Idle]);
    let trip = |count: usize| {
        let cells = [cell(Phase::Idle, 0, vec![asked(&vec![10; count])])];
        plan.judge(&cells, &RunFacts::default()).rows[0].round_trip.expect("requests")
    };
    assert_eq!((trip(99).count, trip(99).p99_seconds), (99, None));
    near(trip(100).p99_seconds.unwrap(), 0.010);
}

/// The seconds of the first cell that counts, also of a stored one.
#[test]
fn what_was_reported_under_way_is_kept() {
    let plan = plan(&[Phase::Idle]);
    let second = Interval {
        from_seconds: 0.0,
        to_seconds: 1.0,
        request_seconds: Some(0.01),
        requests: Some(50),
        flows: Vec::new(),
    };
    let mut faulty = cell(Phase::Idle, 0, vec![asked(&[10])]);
    faulty.faults.push("it fell".to_owned());
    let mut good = cell(Phase::Idle, 1, vec![asked(&[10])]);
    good.seen.course = vec![second.clone()];
    let stored = serde_json::to_string(&good).unwrap();
    let good: Measured<SpeedCell> = serde_json::from_str(&stored).unwrap();
    assert_eq!(plan.judge(&[faulty, good], &RunFacts::default()).rows[0].course, [second]);
    let older = cell(Phase::Idle, 0, vec![asked(&[10])]);
    assert!(!serde_json::to_string(&older).unwrap().contains("course"));
}

/// The word is certain where the uncertainty leaves the bound of 20 ms on one side of all waits.
#[test]
fn the_word_is_that_of_the_longest_wait() {
    let plan = plan(&[Phase::Idle, Phase::Up, Phase::Down]);
    let word = |up: &[u64], down: &[u64]| {
        let cells = [
            cell(Phase::Idle, 0, vec![asked(&[10; 40])]),
            cell(Phase::Up, 0, vec![asked(up), turned(stream(1000))]),
            cell(Phase::Down, 0, vec![asked(down), stream(1000)]),
        ];
        plan.judge(&cells, &RunFacts::default()).bloat.map(|bloat| bloat.word)
    };
    let around = |middle: u64| (0..40).map(|place| middle - 10 + place / 2).collect::<Vec<_>>();
    assert_eq!(word(&[12; 40], &[29; 40]), Some(BloatWord::Fine));
    assert_eq!(word(&[12; 40], &[31; 40]), Some(BloatWord::Bloated));
    assert_eq!(word(&[12; 40], &around(30)), Some(BloatWord::Borderline));
    assert_eq!(
        plan.judge(
            &[cell(Phase::Up, 0, vec![asked(&[9]), turned(stream(9))])],
            &RunFacts::default()
        )
        .bloat,
        None
    );
}

/// A thread that could run and did not for half of its time: its host's requests wait for a processor, too.
#[test]
fn what_a_busy_end_makes_wait_is_no_bloated_queue() {
    let plan = plan(&[Phase::Idle, Phase::Up]);
    let word = |waited: u64| {
        let mut flow = stream(1000);
        let Outcome::Sent(sent) = &mut flow[0] else { panic!("a sender") };
        sent.tcp.busy_us = 1_000_000;
        let mut up = cell(Phase::Up, 0, vec![asked(&[60; 40]), turned(flow)]);
        for report in up.seen.reports.iter_mut().filter_map(|placed| placed.result.as_mut().ok()) {
            report.cpu.waited = Some(Span::from_milliseconds(waited));
        }
        let idle = cell(Phase::Idle, 0, vec![asked(&[10; 40])]);
        plan.judge(&[idle, up], &RunFacts::default()).bloat.map(|bloat| bloat.word)
    };
    assert_eq!(word(100), Some(BloatWord::Bloated));
    assert_eq!(word(1000), Some(BloatWord::BusyEnd));
}

/// Requests that become slower until the end say that a queue still fills.
#[test]
fn a_queue_that_still_fills_is_a_warning() {
    let plan = SpeedPlan { time: Span::from_seconds(3), ..plan(&[Phase::Up]) };
    let course = |last: f64| {
        // The lead is one second, and a request takes half a second: of the first answers most left
        // before.
        let second = |number: u32| Interval {
            from_seconds: f64::from(number),
            to_seconds: f64::from(number + 1),
            request_seconds: Some([0.1, 0.3, 0.5, last][number as usize]),
            requests: Some(50),
            flows: Vec::new(),
        };
        let mut measured = cell(Phase::Up, 0, vec![asked(&[500; 9]), turned(stream(3000))]);
        measured.seen.course = (0..4).map(second).collect();
        plan.judge(&[measured], &RunFacts::default()).warnings
    };
    assert!(course(0.6).is_empty() && course(0.4).is_empty());
    let warnings = course(0.7);
    assert_eq!(warnings[0].cause, "a queue that still fills");
    assert!(warnings[0].observed.contains("500 ms") && warnings[0].observed.contains("700 ms"));
}

/// A round trip is no duration, and two directions are two numbers.
#[test]
fn the_columns_of_a_cell_are_what_it_measured() {
    let plan = plan(&[Phase::Up, Phase::Both, Phase::Connects]);
    let facts = |phase, pairs: Vec<[Outcome; 2]>| {
        let measured = cell(phase, 0, pairs);
        plan.facts(&measured.cell, &measured.seen)
    };
    let up = facts(Phase::Up, vec![asked(&[1870]), turned(stream(1000))]);
    near(up.round_trip.expect("requests").seconds(), 1.87);
    assert_eq!((up.duration, up.goodput_bits_per_second, up.both_ways), (None, Some(8e6), None));
    let both = facts(Phase::Both, vec![asked(&[9]), turned(stream(1000)), stream(4000)]);
    assert_eq!((both.goodput_bits_per_second, both.both_ways), (None, Some([8e6, 2e6])));
    let connects = facts(Phase::Connects, vec![asked(&[21])]);
    near(connects.duration.expect("connections").seconds(), 0.021);
    assert_eq!(connects.round_trip, None);
}

fn plan_on(rate: &str) -> SpeedPlan {
    let mut plan = plan(&[Phase::Idle, Phase::Up, Phase::Down]);
    let Field::Drawing(raised) = &mut plan.frame.network else { panic!("a drawing") };
    raised.text = raised.text.replace("10 Mb/s\n", &format!("{rate}\n"));
    plan
}

/// By hand: at 300 b/s the SYNs with all that is around them on a cable take 3 s each, the request
/// with its token as much, their acknowledgements 2 s each.
#[test]
fn a_path_that_lets_nothing_through_is_known_before() {
    let (needed, limit) = plan_on("300 b/s").too_slow().expect("too slow");
    assert!(needed > limit && needed < limit * 3, "{needed}");
    assert_eq!(plan_on("9600 b/s").too_slow(), None);
}

/// By hand: the idle phase of a second, and two of two seconds between a lead of one and as long for
/// the queues to drain; each begins with a connection of some 20 ms.
#[test]
fn a_run_is_forecast_from_its_plan() {
    let takes = plan_on("10 Mb/s").takes().seconds();
    assert!((9.0..9.1).contains(&takes), "{takes}");
    // SYNs, the token with the request, the answer and acknowledgements at 9600 b/s: half a second.
    let slow = plan_on("9600 b/s").takes().seconds();
    assert!((10.0..11.5).contains(&slow), "{slow}");
}

#[test]
fn a_message_takes_a_tenth_of_a_second() {
    let bytes = |rate| {
        let plan = SpeedPlan { time: Span::from_seconds(1), ..plan_on(rate) };
        let script =
            plan.script(&SpeedCell { phase: Phase::Up }, &CellSetting::unplayed(&plan.frame));
        let sent = script.steps.iter().find_map(|step| match &step.order.activity {
            btu_contract::activity::Activity::TcpSend(send) => Some(send.message.count()),
            _ => None,
        });
        sent.expect("a stream")
    };
    assert_eq!(bytes("100 Mb/s"), 128 << 10);
    // 1448 of 1538 octets are payload.
    assert_eq!(bytes("1 Mb/s"), 12_500 * 1448 / 1538);
    // 9600 b/s are 120 octets in that time: less than a segment.
    assert_eq!(bytes("9600 b/s"), 1448);
}
