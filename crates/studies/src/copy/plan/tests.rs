//! Plans, scripts and verdicts of copies with invented accounts.

use btu_units::Time;

use super::*;
use crate::Judged;
use crate::copy::Marks;
use btu_contract::experiment::RunFacts;
use btu_contract::experiment::{Field, Raised, Slot};
use btu_contract::record::{CpuTime, PlacedReport};

const MB: u64 = 1_000_000;

fn host(name: &str) -> HostName {
    HostName::try_from(name).unwrap()
}

fn plan() -> CopyPlan {
    let text = btu_network::library_text("citi-1989").unwrap().to_owned();
    let stations = ["sender", "receiver", "background-1", "sink-1"].map(host).to_vec();
    CopyPlan {
        frame: Frame {
            version: CopyPlan::VERSION,
            seed: 7,
            profile: "quick".to_owned(),
            blocks: 2,
            budget: Span::from_seconds(60),
            deadline: Span::from_seconds(100),
            left_out: Vec::new(),
            network: Field::Drawing(Raised {
                name: "citi-1989".to_owned(),
                text,
                stations,
                congestion_control: None,
                ipv6: false,
            }),
        },
        programs: vec![Program::Local, Program::Bare, Program::Rcp],
        sizes: vec![Bytes::new(MB), Bytes::new(2 * MB), Bytes::new(5 * MB)],
        backgrounds: vec![Background::percent(60).unwrap(), Background::QUIET],
        storages: vec![Storage::Disk, Storage::Memory],
        directions: vec![Direction::Put],
        caches: vec![Cache::Cold],
        mode: Mode::Offered,
        at: None,
        paper: true,
        pairs: vec![[host("background-1"), host("sink-1")]],
        full: BitRate::from_megabits_per_second(9),
        lead: Span::from_seconds(1),
    }
}

fn cell(program: Program, megabytes: u64, background: u16) -> CopyCell {
    let (size, background) = (Bytes::new(megabytes * MB), Background::percent(background).unwrap());
    CopyCell {
        program,
        size,
        direction: Direction::Put,
        storage: Storage::Disk,
        cache: Cache::Cold,
        background,
    }
}

/// A copy that took so many milliseconds.
fn observed(
    size: Bytes,
    milliseconds: u64,
    change: impl FnOnce(&mut FileEnd, &mut FileEnd),
) -> Observation {
    let ms = Span::from_milliseconds;
    let marks =
        Marks { connected: ms(1), first_byte: ms(2), last_byte: ms(3), durable: ms(milliseconds) };
    let end = FileEnd {
        bytes: size,
        marks,
        digest: "d".to_owned(),
        method: String::new(),
        tcp: None,
        file_calls: None,
        packets: Vec::new(),
    };
    let (mut sent, mut received) = (end.clone(), end);
    change(&mut sent, &mut received);
    let placed = |station, outcome| PlacedReport {
        station: host(station),
        activity: String::new(),
        result: Ok(Report {
            started: Time::from_nanoseconds(5),
            finished: Time::from_nanoseconds(5) + ms(milliseconds),
            cpu: CpuTime::default(),
            outcome,
        }),
    };
    let reports = vec![
        placed("receiver", Outcome::FileReceived(received)),
        placed("sender", Outcome::FileSent(sent)),
    ];
    Observation { reports, ..Observation::default() }
}

#[test]
fn local_copies_and_other_storage_stay_on_the_quiet_network() {
    let cells = plan().cells();
    // Quiet: three programs of three sizes, and the largest in memory; loaded: two programs of
    // three sizes.
    assert_eq!(cells.len(), 3 * 3 + 3 + 2 * 3);
    let loaded = || cells.iter().filter(|cell| !cell.background.is_quiet());
    assert!(loaded().all(|cell| cell.program != Program::Local && cell.storage == Storage::Disk));
    let memory: Vec<u64> = cells
        .iter()
        .filter(|cell| cell.storage == Storage::Memory)
        .map(|cell| cell.size.count() / MB)
        .collect();
    assert_eq!(memory, [5, 5, 5]);
    let names: std::collections::BTreeSet<String> = cells.iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), cells.len(), "a name is the cell's in the store");
}

#[test]
fn a_block_takes_a_background_at_a_time_and_every_cell_once() {
    let plan = plan();
    for block in 0..10 {
        let order = plan.order(block);
        let changes =
            order.windows(2).filter(|pair| pair[0].background != pair[1].background).count();
        assert_eq!(changes, 1, "levels are whole plots");
        let (mut sorted, mut all) = (order, plan.cells());
        sorted.sort_unstable();
        all.sort_unstable();
        assert_eq!(sorted, all);
    }
    let mut other = plan.clone();
    other.backgrounds.reverse();
    assert_eq!(other.order(3), plan.order(3), "the order of arguments does not matter");
    assert!(
        (0..9).any(|block| plan.order(block)[0].background != plan.order(block + 1)[0].background)
    );
}

#[test]
fn background_serves_and_the_copy_waits_for_it() {
    let setting = CellSetting {
        seed: 1,
        token: [9; 16],
        deadline: Span::from_seconds(100),
        scratch: "/scratch".into(),
    };
    let script = plan().script(&cell(Program::Bare, 5, 60), &setting);
    let steps: Vec<(&str, Role, Option<usize>, &str)> = script
        .steps
        .iter()
        .map(|step| (step.host.as_str(), step.role, step.peer, step.order.activity.kind()))
        .collect();
    assert_eq!(
        steps,
        [
            ("receiver", Role::Network, None, "file-receive"),
            ("sender", Role::Network, Some(0), "file-send"),
            ("sink-1", Role::Support, None, "udp-receive"),
            ("background-1", Role::Support, Some(2), "udp-send"),
        ]
    );
    let Activity::FileSend(send) = &script.steps[1].order.activity else { panic!("it sends") };
    assert_eq!(send.wait, Span::from_seconds(1));
    let Activity::UdpSend(send) = &script.steps[3].order.activity else { panic!("it sends") };
    assert_eq!(send.offered, BitRate::from_bits_per_second(5_400_000));
    let quiet = plan().script(&cell(Program::Local, 5, 0), &setting);
    assert_eq!(quiet.steps.len(), 1);
}

/// The host that gets a file connects and keeps the time; its source is warm for the largest file
/// on the quiet network alone.
#[test]
fn directions_are_everywhere_and_warm_sources_where_storage_is_compared() {
    let (directions, caches) = (Direction::ALL.to_vec(), Cache::ALL.to_vec());
    let plan = CopyPlan { directions, caches, ..plan() };
    let cells = plan.cells();
    let names: std::collections::BTreeSet<String> = cells.iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), cells.len(), "a name is the cell's in the store");
    // Local: three sizes, the largest warm and in memory; both others twice as many, and three
    // sizes with the background.
    assert_eq!(cells.len(), 5 + 2 * 2 * 5 + 2 * 2 * 3);
    let warm = || cells.iter().filter(|cell| cell.cache == Cache::Warm);
    assert_eq!(warm().count(), 5);
    assert!(warm().all(|cell| (cell.size.count(), cell.storage) == (5 * MB, Storage::Disk)));
    let got = CopyCell { direction: Direction::Get, ..cell(Program::Bare, 5, 60) };
    assert_eq!(got.to_string(), "bare get 5000000 B disk 60 %");
    let setting = CellSetting {
        seed: 1,
        token: [9; 16],
        deadline: Span::from_seconds(9),
        scratch: "/scratch".into(),
    };
    let script = plan.script(&got, &setting);
    let steps =
        script.steps.iter().map(|step| (step.host.as_str(), step.peer, step.order.activity.kind()));
    assert_eq!(
        steps.take(2).collect::<Vec<_>>(),
        [("sender", None, "file-offer"), ("receiver", Some(0), "file-fetch")]
    );
    let seen = observed(got.size, 900, |_, received| {
        received.marks.durable = Span::from_milliseconds(800);
    });
    assert_eq!(plan.facts(&got, &seen).duration, Some(Span::from_milliseconds(800)));
    assert!(plan.faults(&got, &seen).is_empty());
}

/// A held level begins with the requested rate and follows its receiver's reports; saturation
/// offers a fifth above the capacity.
#[test]
fn modes_are_orders_of_the_background() {
    let setting = CellSetting {
        seed: 1,
        token: [9; 16],
        deadline: Span::from_seconds(9),
        scratch: "/scratch".into(),
    };
    let background = |mode| {
        let plan = CopyPlan { mode, ..plan() };
        let script = plan.script(&cell(Program::Bare, 5, 60), &setting);
        let (Activity::UdpReceive(receive), Activity::UdpSend(send)) =
            (script.steps[2].order.activity.clone(), script.steps[3].order.activity.clone())
        else {
            panic!("{script:?}")
        };
        (receive.tells, send.offered.bits_per_second(), send.hold)
    };
    let full = BitRate::from_megabits_per_second(9);
    assert_eq!(background(Mode::Offered), (false, 5_400_000, None));
    assert_eq!(
        background(Mode::Held),
        (true, 5_400_000, Some(Hold { mode: Mode::Held, asked: 0.6, full }))
    );
    assert_eq!(background(Mode::Saturated), (false, 10_800_000, None));
    let pressed = CopyPlan { mode: Mode::Pressed, ..plan() };
    let of = cell(Program::Bare, 1, 60);
    assert!(
        pressed.faults(&of, &observed(of.size, 900, |_, _| {}))[0]
            .contains("nothing of the background arrived")
    );
}

#[test]
fn accounts_that_do_not_agree_void_a_cell() {
    let of = cell(Program::Bare, 1, 0);
    let faults = |change: fn(&mut FileEnd, &mut FileEnd)| {
        plan().faults(&of, &observed(of.size, 900, change))
    };
    assert!(faults(|_, _| {}).is_empty());
    assert_eq!(
        faults(|_, received| received.bytes = Bytes::new(7)),
        ["of 1000000 bytes 1000000 were sent, and 7 are stored"]
    );
    assert_eq!(
        faults(|_, received| received.digest = "e".to_owned()),
        ["what is stored is not what was sent: another SHA-256"]
    );
    assert_eq!(faults(|sent, _| sent.marks.connected = Span::from_seconds(9)).len(), 1);
    assert_eq!(plan().faults(&of, &Observation::default()), ["an end of the copy has no account"]);
}

/// Local copies of 0.1 s a megabyte, bare ones of 0.9, rcp's of 1.2, all twice as long while
/// background runs: by hand.
#[test]
fn a_verdict_by_hand() {
    let plan = plan();
    let mut records = Vec::new();
    for (position, cell) in (0..).zip(plan.cells()) {
        let megabytes = cell.size.count() / MB;
        let each = match cell.program {
            Program::Local => 100,
            Program::Bare => 900,
            _ => 1200,
        };
        let loaded = if cell.background.is_quiet() { 1 } else { 2 };
        for block in 0..2 {
            let seen = observed(cell.size, each * megabytes * loaded, |_, _| {});
            records.push(plan.record(Slot { cell, block, position }, seen));
        }
    }
    let verdict = plan.judge(&records, &RunFacts::default());
    let near = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < 2e-3, "{found}, not {expected}");
    };
    near(verdict.rate.unwrap().bits_per_second() as f64, 1e7);
    let row = verdict.rows.iter().find(|row| row.cell == cell(Program::Bare, 5, 0)).unwrap();
    near(row.median().unwrap(), 4.5);
    near(row.line_seconds.unwrap(), 4.2486);
    near(1.0 + row.error.unwrap(), 4.5 / 4.2486);
    let loaded = verdict.chains.iter().find(|one| one.cell == cell(Program::Rcp, 5, 60)).unwrap();
    near(loaded.contention_mean.unwrap().value, 2.0);
    let chain = loaded.chain;
    near(chain.hardware.ratio, 4.2486 / 4.0);
    near(chain.software.ratio, 6.0 / 4.2486);
    near(chain.contention.ratio, 2.0);
    near(chain.hardware.ratio * chain.software.ratio * chain.contention.ratio, chain.ratio());
    let fit = verdict
        .fits
        .iter()
        .find(|fit| fit.program == Program::Bare && fit.background.is_quiet())
        .unwrap();
    near(fit.large_seconds, 90.0);
    assert!(fit.is_extrapolated && fit.fixed_seconds.value.abs() < 1e-6, "{fit:?}");
    let effect = verdict.storage[0];
    assert_eq!((effect.program, effect.stages_interact), (Program::Rcp, false));
    near(effect.program_effect, 12.0 / 9.0);
    let contention = verdict.paper.iter().find(|row| row.what.contains("60 to 65")).unwrap();
    let (low, high) = contention.found.unwrap();
    near(low, 2.0);
    near(high, 2.0);
    assert!(verdict.warnings.is_empty(), "{:?}", verdict.warnings);
    // Cells that are measured already are not measured again.
    assert!(plan.missing(0, &records).is_empty());
}

#[test]
fn a_plan_is_read_as_it_is_written() {
    let plan = plan();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<CopyPlan>(&text).unwrap(), plan);
    assert!(serde_json::from_str::<CopyPlan>(&text.replace("[600,0]", "[1600,0]")).is_err());
    let sizes = (1..=CopyPlan::MOST_LEVELS as u64 + 1).map(Bytes::new).collect();
    let many = serde_json::to_string(&CopyPlan { sizes, ..plan }).unwrap();
    let error = serde_json::from_str::<CopyPlan>(&many).unwrap_err().to_string();
    assert!(error.contains("21 levels, and 20 are the most"), "{error}");
}
