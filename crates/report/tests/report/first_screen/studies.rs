//! The first screens of `btu app`, `copy`, `lan` and `run`, from invented accounts that are judged
//! like measured ones; that of `btu speed` is tested next to its code.

use std::collections::BTreeMap;

use btu_contract::app;
use btu_contract::app::{Carrier, Displayed, Drawn, Protocol, Workload};
use btu_contract::copy::{Cache, Direction, FileCopied, FileEnd, Marks, Mode, Program, Storage};
use btu_contract::experiment::{
    Experiment, Field, Frame, Measured, Named, Observation, Raised, RunFacts, Scripts, Slot,
};
use btu_contract::lan::{
    FileSizes, FilesServed, Pattern, SETUP_CLIENT, ServedClient, StationDone, StationProgram,
    StationWork, Task, TaskDone,
};
use btu_contract::network::HostName;
use btu_contract::program::{Ended, Ending, Part, Printed, ProgramReport};
use btu_contract::record::{CpuTime, Outcome, PlacedReport, Report};
use btu_network::{Drawing, library_text};
use btu_report::html::Page;
use btu_report::{Origin, Reported, StoredRun, TextOptions, page_text};
use btu_stats::{Histogram, Welford};
use btu_studies::Judged;
use btu_studies::app::{AppCell, AppPlan};
use btu_studies::copy::{Background, CopyCell, CopyPlan};
use btu_studies::lan::{LanCell, LanPlan, Level};
use btu_studies::run::{ExperimentNetwork, Found, Ground, RunCell, RunPlan, read};
use btu_units::{BitRate, Bytes, Span, Time};

use super::both;
use crate::sample::head;

/// The plan's frame on a network of the library.
fn frame(version: u32, network: &str, stations: &[&str]) -> Frame {
    let stations = stations.iter().map(|name| HostName::try_from(*name).unwrap()).collect();
    let text = library_text(network).unwrap().to_owned();
    Frame {
        version,
        seed: 7,
        profile: "quick".to_owned(),
        blocks: 3,
        budget: Span::from_seconds(60),
        deadline: Span::from_seconds(100),
        left_out: Vec::new(),
        network: Field::Drawing(Raised {
            name: network.to_owned(),
            text,
            stations,
            congestion_control: Some("cubic".parse().expect("a name")),
            ipv6: false,
        }),
    }
}

/// The page of a run with equal cells of this kind.
fn page<E: Scripts + Reported + Experiment<Record = Measured<<E as Scripts>::Cell>>>(
    plan: &E,
    network: &str,
    seen: impl Fn(&E::Cell, f64) -> Observation,
) -> Page {
    let mut records = Vec::new();
    for block in 0..plan.frame().blocks {
        // One block is a little slower than the one before.
        let factor = 1.0 + 0.01 * f64::from(block);
        for (position, cell) in (0..).zip(plan.cells()) {
            let observation = seen(&cell, factor);
            records.push(plan.record(Slot { cell, block, position }, observation));
        }
    }
    let faults: Vec<&String> = records.iter().flat_map(|record| &record.faults).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let mut run = head();
    network.clone_into(&mut run.network);
    run.conditions = vec!["congestion control: cubic".to_owned()];
    let origin = Origin::default();
    let stored = StoredRun {
        run: &run,
        origin: &origin,
        settings: &BTreeMap::new(),
        changes: &[],
        earlier: None,
        studies: &[],
    };
    plan.page(&plan.judge(&records, &RunFacts::default()), &records, &stored)
}

/// What these hosts' activities reported.
fn observation(outcomes: Vec<(&str, Outcome)>, lasted: Span) -> Observation {
    let report = |outcome| Report {
        started: Time::from_nanoseconds(5),
        finished: Time::from_nanoseconds(5) + lasted,
        cpu: CpuTime::default(),
        outcome,
    };
    let placed = |(host, outcome): (&str, Outcome)| PlacedReport {
        station: HostName::try_from(host).unwrap(),
        activity: String::new(),
        result: Ok(report(outcome)),
    };
    Observation { reports: outcomes.into_iter().map(placed).collect(), ..Observation::default() }
}

/// 10 us for a request at either end, and the protocol's waits for 10 ms of round trip.
fn drawn(cell: &AppCell, factor: f64) -> Observation {
    let requests = if cell.protocol == Protocol::Bitmap { 100 } else { 630 };
    let waits = if cell.protocol == Protocol::StopAndWait { 630.0 } else { 1.0 };
    let (picture, busy) =
        (Span::from_seconds_f64(0.011 * waits * factor), Span::from_microseconds(10) * requests);
    let drawn = Drawn {
        pictures: vec![picture],
        requests,
        bytes: Bytes::new(20 * requests),
        replies: 1,
        busy,
        repeated: 0,
        discarded: None,
        echoes: None,
    };
    let displayed = Displayed {
        pictures: 1,
        spans: vec![picture],
        requests,
        bytes: Bytes::new(20 * requests),
        replies: 1,
        busy,
        wrong: 0,
        digest: cell.workload.picture().digest(),
        file: Bytes::new(12_600),
        memory: Bytes::new(20_480),
        discarded: None,
    };
    observation(
        vec![("test", Outcome::Displayed(displayed)), ("passive", Outcome::Drawn(drawn))],
        picture,
    )
}

#[test]
fn of_an_application() {
    let plan = AppPlan {
        frame: frame(AppPlan::VERSION, "path", &["passive", "test"]),
        workloads: vec![Workload::Vectors, Workload::Text],
        protocols: vec![Protocol::StopAndWait, Protocol::Pipelined, Protocol::Bitmap],
        carriers: vec![Carrier::Tcp],
        displays: Vec::new(),
        speeds: Vec::new(),
        broadcasts: Vec::new(),
        broadcaster: None,
        slowing: app::Slowing::default(),
        nice: app::Niceness::default(),
        mix: None,
        relay: None,
        factors: None,
        paper: false,
        questions: btu_studies::app::Questions::default(),
        application: Span::ZERO,
        display: Span::ZERO,
        target: Span::from_milliseconds(50),
    };
    let page = page(&plan, "10 Mb/s, delay 5 ms", drawn);
    insta::assert_snapshot!(both(&page));
    assert!(!both(&page).contains("within"), "nothing was asked");
    let questions = btu_studies::app::Questions {
        within: Some(Span::from_milliseconds(500)),
        at_least: Some(5000.0),
    };
    let asked = AppPlan { questions, ..plan.clone() };
    let asked = both(&self::page(&asked, "10 Mb/s, delay 5 ms", drawn));
    assert!(asked.contains("within 500 ms"), "{asked}");
    assert!(!asked.contains("no bandwidth is enough"), "no row has a form for it: {asked}");
    let nice = app::Niceness { application: 0, display: 19 };
    let lower = self::page(&AppPlan { nice, ..plan.clone() }, "10 Mb/s, delay 5 ms", drawn);
    let rates =
        lower.sections.iter().find(|section| section.title == "How fast a picture is drawn");
    let lower = Page { sections: rates.into_iter().cloned().collect(), ..Page::default() };
    let lower = page_text(&lower, &TextOptions { colour: false, width: 200 });
    assert!(lower.contains("nice 0 at the application, 19 at the display"), "{lower}");
    let single = AppPlan {
        workloads: vec![Workload::Vectors],
        protocols: vec![Protocol::Pipelined],
        ..plan
    };
    let single = both(&self::page(&single, "10 Mb/s, delay 5 ms", drawn));
    assert!(!single.contains("times as many"), "{single}");
    let shaped =
        page.sections.iter().find(|section| section.title == "Side by side").unwrap().clone();
    let alone = Page { sections: vec![shaped], ..Page::default() };
    insta::assert_snapshot!(
        "in_the_shape_of_the_study",
        page_text(&alone, &TextOptions { colour: false, width: 100 })
    );
}

/// Bare TCP needs little more than the line, rcp 50 % more, and both share the line with other
/// traffic.
fn copied(cell: &CopyCell, factor: f64) -> Observation {
    let program = if cell.program == Program::Bare { 1.0 } else { 1.5 };
    let others = if cell.background.is_quiet() { 1.0 } else { 2.5 };
    let seconds = cell.size.bits() / 9e6 * program * others * factor;
    let ms = Span::from_milliseconds;
    let marks = Marks {
        connected: ms(1),
        first_byte: ms(2),
        last_byte: Span::from_seconds_f64(seconds * 0.99),
        durable: Span::from_seconds_f64(seconds),
    };
    let end = FileEnd {
        bytes: cell.size,
        marks,
        digest: "d".to_owned(),
        method: String::new(),
        tcp: None,
        file_calls: None,
        packets: Vec::new(),
    };
    let outcomes = if cell.program == Program::Local {
        let copied = FileCopied { copy: end, source_digest: "d".to_owned() };
        vec![("sender", Outcome::FileCopied(copied))]
    } else {
        vec![("receiver", Outcome::FileReceived(end.clone())), ("sender", Outcome::FileSent(end))]
    };
    observation(outcomes, marks.durable)
}

#[test]
fn of_copies() {
    let plan = CopyPlan {
        frame: frame(
            CopyPlan::VERSION,
            "citi-1989",
            &["sender", "receiver", "background-1", "sink-1"],
        ),
        programs: vec![Program::Local, Program::Bare, Program::Rcp],
        sizes: [1, 2, 5].map(|megabytes| Bytes::new(megabytes * 1_000_000)).to_vec(),
        backgrounds: vec![Background::QUIET],
        storages: vec![Storage::Disk, Storage::Memory],
        directions: vec![Direction::Put],
        caches: vec![Cache::Cold],
        mode: Mode::Offered,
        at: None,
        paper: false,
        pairs: Vec::new(),
        full: BitRate::from_megabits_per_second(9),
        lead: Span::from_seconds(1),
    };
    insta::assert_snapshot!(both(&page(&plan, "citi-1989", copied)));
}

/// A server of exactly 2 ms and no other time: a task of 100 operations takes 0.2 s alone, and 0.2
/// s more for each station.
fn served(cell: &LanCell, factor: f64) -> Observation {
    let count = if let Level::Stations(count) = cell.level { count } else { 0 };
    let operation = Span::from_seconds_f64(0.002 * factor) * u64::from(count + 1);
    let (read, written) = (Bytes::new(131_072), Bytes::new(131_072));
    let task = TaskDone {
        times: vec![operation * 100],
        operations: 100,
        setup_operations: 6,
        read,
        written,
        wrong: 0,
        digest: "d".to_owned(),
        share: None,
    };
    let client = |client, operations: u64| {
        let stayed = operation * operations;
        ServedClient { client, operations, read, written, met: 0, stayed }
    };
    let numbers = (1..=count).map(|number| client(number, 42));
    let clients = [client(0, 100), client(SETUP_CLIENT, 6)].into_iter().chain(numbers).collect();
    let mut outcomes = vec![("bench", Outcome::TaskDone(task))];
    if matches!(cell.level, Level::Stations(_)) {
        outcomes.insert(0, ("server", Outcome::FilesServed(FilesServed { clients })));
    }
    let stations = ["s1", "s2", "s3"].into_iter().take(count as usize);
    outcomes.extend(stations.map(|station| (station, Outcome::StationDone(worked(operation * 2)))));
    observation(outcomes, Span::from_seconds(1))
}

fn worked(time: Span) -> StationDone {
    let (mut times, mut seconds) = (Histogram::new(), Welford::default());
    let samples_ns: Vec<u64> = (0..20).map(|number| time.nanoseconds() + number).collect();
    for &sample in &samples_ns {
        times.record(sample);
        seconds.push(sample as f64 * 1e-9);
    }
    StationDone {
        transactions: 20,
        operations: 42,
        wrong: 0,
        times,
        mean_seconds: seconds.mean(),
        deviation_seconds: seconds.deviation(),
        cycle_seconds: seconds.mean(),
        samples_ns,
    }
}

#[test]
fn of_a_file_server() {
    let mut frame = frame(LanPlan::VERSION, "office-1988", &["server", "bench", "s1", "s2", "s3"]);
    if let Field::Drawing(raised) = &mut frame.network {
        // Only the server counts: other tests check the closed forms of the network.
        raised.text = String::new();
    }
    let record = Bytes::new(512);
    let plan = LanPlan {
        frame,
        tasks: vec![Task::WpLoadProgram, Task::FmSort],
        levels: vec![0, 1, 3],
        work: StationWork::Transactions {
            pattern: Pattern::Record,
            program: StationProgram::Constant,
            record,
        },
        sizes: FileSizes::Scaled(1),
        at: None,
        service: Span::from_milliseconds(2),
        lead: Span::from_milliseconds(300),
        target: Span::from_milliseconds(50),
        limit: Span::from_milliseconds(10),
    };
    insta::assert_snapshot!(both(&page(&plan, "office-1988", served)));
}

const EXPERIMENT: &str = r#"
name = "search"
network = "veth"
[measure.search]
on = "test"
run = ["search", "--threads", "{threads}", "--index", "{index}"]
values = { took = "elapsed", score = { pattern = "score ([0-9.]+)", unit = "points", better = "higher" } }
[factors]
threads = [1, 2]
index = ["none", "of words", "of words and of pairs of words"]
"#;

/// The second level of a factor takes twice the time of the first, and the third three times.
fn searched(cell: &RunCell, factor: f64) -> Observation {
    let product: usize = cell.levels.iter().map(|level| level + 1).product();
    let milliseconds = 10.0 * product as f64 * factor;
    let text = format!("score {:.6}\n", 1e3 / milliseconds);
    let ended = Ended {
        ending: Ending::Exited(0),
        started: Time::from_nanoseconds(1_000),
        finished: Time::from_nanoseconds(1_000) + Span::from_seconds_f64(milliseconds * 1e-3),
        cpu: CpuTime::default(),
        peak_memory: Bytes::new(5_000_000),
        least_memory: Bytes::new(4_000_000),
        voluntary_switches: 3,
        involuntary_switches: 1,
        output: Printed { all: text.len() as u64, text },
        errors: Printed::default(),
        left_running: 0,
        unacknowledged: Bytes::ZERO,
        connections_reset: 0,
        directory_full: false,
        moments: None,
    };
    let (name, station) = ("search".to_owned(), HostName::try_from("test").unwrap());
    Observation {
        programs: vec![ProgramReport { name, station, part: Part::Measured, ended }],
        ..Observation::default()
    }
}

/// The plan of an experiment on a veth pair.
fn experiment(text: &str) -> RunPlan {
    let raised = || match frame(RunPlan::VERSION, "veth", &["test"]).network {
        Field::Drawing(raised) => raised,
        Field::Machines(_) => panic!("a network of the library"),
    };
    let find = |_: &ExperimentNetwork| {
        let raised = raised();
        let drawing =
            Drawing::read(&raised.text, &raised.name).map_err(|error| error.to_string())?;
        Ok(Found { raised, drawing })
    };
    let ground = Ground::Networks { find: &find, instead: None };
    let file = read(text, "search.toml", &[], ground).expect("a file");
    RunPlan::new(frame(RunPlan::VERSION, "veth", &["test"]), file)
}

#[test]
fn of_an_experiment() {
    insta::assert_snapshot!(both(&page(&experiment(EXPERIMENT), "veth", searched)));
}

/// The first line of an experiment with one factor of two levels. The second takes `times` the time of
/// the first, and each repetition is off by some of `scatter`, as a sleep of 0.1 s is on a busy machine.
fn verdict_of_two(factor: &str, values: &str, times: f64, scatter: f64) -> String {
    let text = format!(
        "name = 'work'\nnetwork = 'veth'\n[measure.search]\non = 'test'\nrun = ['sleep']\nvalue = {values}\n{factor}"
    );
    let mut plan = experiment(&text);
    (plan.frame.blocks, plan.least_blocks) = (5, 5);
    // Those of either level add up to nothing.
    let off = [0.3, -0.7, -1.0, 0.2, 0.6, 0.9, -0.4, -0.2, 0.5, -0.2];
    let mut repetitions = off.into_iter();
    let mut records = Vec::new();
    for block in 0..5 {
        for (position, cell) in (0..).zip(plan.cells()) {
            let by = 1.0 + scatter * repetitions.next().expect("ten repetitions");
            let of_level = if cell.levels == [1] { times } else { 1.0 };
            let base = RunCell { levels: vec![0, 0], name: String::new() };
            let seen = searched(&base, 10.0 * of_level * by);
            records.push(plan.record(Slot { cell, block, position }, seen));
        }
    }
    let (run, origin) = (head(), Origin::default());
    let stored = StoredRun {
        run: &run,
        origin: &origin,
        settings: &BTreeMap::new(),
        changes: &[],
        earlier: None,
        studies: &[],
    };
    let page = plan.page(&plan.judge(&records, &RunFacts::default()), &records, &stored);
    assert_eq!(page.summary.decided, "", "one factor decides always");
    page.headline
}

const VARIANTS: &str = "[variant.old]\nmeasure.search.run = ['sleep']\n[variant.new]\nmeasure.search.run = ['sleep', '1']\n";
const ELAPSED: &str = "'elapsed'";
const SCORE: &str = "{ pattern = 'score ([0-9.]+)', unit = 'points', better = 'higher' }";
const RATE: &str = "{ pattern = 'score ([0-9.]+)', unit = 'requests/s', better = 'higher' }";

/// Known changes are found and named in the right direction, for times, rates and other quantities; of
/// equal programs it is said how much they differ at most.
#[test]
fn two_settings_get_a_verdict() {
    for (values, times, expected) in [
        (ELAPSED, 1.1, "new is 1.1# times slower than old (1.0# to 1.1#)"),
        (ELAPSED, 0.4, "new is 2.# times faster than old (2.# to 2.#)"),
        (RATE, 0.4, "new is 2.# times faster than old (2.# to 2.#)"),
        (RATE, 1.05, "new is 1.0# times slower than old (1.0# to 1.0#)"),
        (ELAPSED, 1.05, "new is 1.0# times slower than old (1.0# to 1.0#)"),
        (SCORE, 2.0, "search with new is # times lower than with old (1.9# to 2.0#)"),
    ] {
        let said = verdict_of_two(VARIANTS, values, times, 0.01);
        assert!(is_like(&said, expected), "{said}\n{expected}");
    }
    let equal = verdict_of_two(VARIANTS, ELAPSED, 1.0, 0.01);
    let most = equal.strip_prefix("cannot tell a difference between old and new, at most ");
    let most: f64 = most.and_then(|most| most.strip_suffix(" %")).expect(&equal).parse().unwrap();
    assert!((0.5..4.0).contains(&most), "{equal}");
    let loud = verdict_of_two(VARIANTS, ELAPSED, 1.2, 0.8);
    assert!(loud.ends_with(": cannot tell yet"), "{loud}");
}

/// Whether a text is a pattern in which `#` stands for digits and points.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    for (place, part) in pattern.split('#').enumerate() {
        if place > 0 {
            rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        }
        let Some(after) = rest.strip_prefix(part) else { return false };
        rest = after;
    }
    rest.is_empty()
}

#[test]
fn levels_are_named_as_sentences_need_them() {
    let of = |factor: &str| verdict_of_two(factor, ELAPSED, 2.0, 0.01);
    let words = of("[factors]\nthreads = [1, 4]\n");
    assert!(
        is_like(&words, "search with threads=4 is # times slower than with threads=1 (# to #)"),
        "{words}"
    );
    let load = of("[load.cpu]\non = 'test'\nactivity = 'cpu'\n[factors]\nload = ['none', 'cpu']\n");
    assert!(is_like(&load, "search under cpu is # times slower than alone (# to #)"), "{load}");
    let control = of("[factors]\ncongestion_control = ['reno', 'bbr']\n");
    assert!(is_like(&control, "bbr is # times slower than reno (# to #)"), "{control}");
}
