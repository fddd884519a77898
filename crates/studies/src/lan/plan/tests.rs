use btu_contract::json;
use btu_stats::{Histogram, Welford};
use btu_units::Time;

use super::*;
use crate::Judged;
use btu_contract::experiment::RunFacts;
use btu_contract::experiment::{Field, Raised, Slot};
use btu_contract::lan::{
    FilesServed, Pattern, Pauses, SETUP_CLIENT, ServedClient, StationDone, StationProgram, TaskDone,
};
use btu_contract::record::{CpuTime, Outcome, PlacedReport, Report};

fn plan() -> LanPlan {
    let stations = ["server", "bench", "s1", "s2", "s3"]
        .map(|name| HostName::try_from(name).unwrap())
        .to_vec();
    LanPlan {
        frame: Frame {
            version: LanPlan::VERSION,
            seed: 7,
            profile: "quick".to_owned(),
            blocks: 2,
            budget: Span::from_seconds(60),
            deadline: DEADLINE,
            left_out: Vec::new(),
            network: Field::Drawing(Raised {
                name: "office".to_owned(),
                text: String::new(),
                stations,
                congestion_control: None,
                ipv6: false,
            }),
        },
        tasks: vec![Task::WpLoadProgram, Task::FmSort],
        levels: vec![0, 1, 3],
        work: records(StationProgram::Constant),
        sizes: FileSizes::Scaled(1),
        at: None,
        service: Span::from_milliseconds(2),
        lead: Span::from_milliseconds(300),
        target: Span::from_milliseconds(50),
        limit: Span::from_milliseconds(10),
    }
}

fn records(program: StationProgram) -> StationWork {
    StationWork::Transactions { pattern: Pattern::Record, program, record: Bytes::new(512) }
}

fn setting() -> CellSetting {
    CellSetting { seed: 1, token: [9; 16], deadline: DEADLINE, scratch: "/scratch".into() }
}

const fn cell(level: Level) -> LanCell {
    LanCell { level, task: Task::FmSort }
}

/// A server of exactly 2 ms and nothing else: a task of 100 operations takes 0.2 s alone, and as
/// much more for each station.
fn seen(
    level: Level,
    change: impl FnOnce(&mut TaskDone, &mut FilesServed, &mut Vec<StationDone>),
) -> Observation {
    let count = if let Level::Stations(count) = level { count } else { 0 };
    let operation = Span::from_milliseconds(2) * u64::from(count + 1);
    let times = vec![operation * 100];
    let (read, written) = (Bytes::new(131_072), Bytes::new(131_072));
    let mut task = TaskDone {
        times,
        operations: 100,
        setup_operations: 6,
        read,
        written,
        wrong: 0,
        digest: "d".to_owned(),
        share: None,
    };
    let client = |client, operations: u64| ServedClient {
        client,
        operations,
        read,
        written,
        met: 0,
        stayed: operation * operations,
    };
    let mut served = FilesServed { clients: vec![client(0, 100), client(SETUP_CLIENT, 6)] };
    let mut stations = Vec::new();
    for number in 1..=count {
        served.clients.push(client(number, 42));
        stations.push(station(operation * 2));
    }
    change(&mut task, &mut served, &mut stations);
    let mut outcomes = vec![("bench".to_owned(), Outcome::TaskDone(task))];
    if matches!(level, Level::Stations(_)) {
        outcomes.insert(0, ("server".to_owned(), Outcome::FilesServed(served)));
    }
    outcomes.extend(
        (1..)
            .zip(stations)
            .map(|(number, done)| (format!("s{number}"), Outcome::StationDone(done))),
    );
    let (started, finished) = (Time::from_nanoseconds(0), Time::from_nanoseconds(1_000_000_000));
    let report = |outcome| Report { started, finished, cpu: CpuTime::default(), outcome };
    let placed = |(station, outcome): (String, Outcome)| PlacedReport {
        station: HostName::try_from(station.as_str()).unwrap(),
        activity: "files".to_owned(),
        result: Ok(report(outcome)),
    };
    Observation { reports: outcomes.into_iter().map(placed).collect(), ..Observation::default() }
}

fn station(time: Span) -> StationDone {
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
fn levels_are_drawn_first_and_tasks_within_them() {
    let plan = plan();
    for block in 0..20 {
        let order = plan.order(block);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let mut all = plan.cells();
        all.sort_unstable();
        assert_eq!(sorted, all);
        assert!(order.chunks(2).all(|pair| pair[0].level == pair[1].level), "{order:?}");
    }
    assert_ne!(plan.order(0), plan.order(1));
}

#[test]
fn a_script_has_a_server_the_task_and_so_many_stations() {
    let steps = |level| -> Vec<(String, Role, Option<usize>)> {
        let script = plan().script(&cell(level), &setting());
        script.steps.iter().map(|step| (step.host.to_string(), step.role, step.peer)).collect()
    };
    assert_eq!(steps(Level::StandAlone), [("bench".to_owned(), Role::Network, None)]);
    let expected = [
        ("server".to_owned(), Role::Support, None),
        ("bench".to_owned(), Role::Network, Some(0)),
        ("s1".to_owned(), Role::Support, Some(0)),
    ];
    assert_eq!(steps(Level::Stations(1)), expected);
}

/// At a share no step serves files, and a host has several stations if there are fewer hosts.
#[test]
fn at_a_share_stations_are_spread_over_hosts() {
    let plan = LanPlan { at: Some("/mnt/nas".into()), levels: vec![0, 6], ..plan() };
    let steps = plan.script(&cell(Level::Stations(6)), &setting()).steps;
    let hosts: Vec<(&str, Option<usize>)> =
        steps.iter().map(|step| (step.host.as_str(), step.peer)).collect();
    let expected = ["server", "bench", "s1", "s2", "s3", "bench", "s1"].map(|host| (host, None));
    assert_eq!(hosts, expected);
    assert_eq!(steps[0].order.activity.kind(), "files-task");
    let place = FilesPlace::Share { directory: "/mnt/nas".into() };
    for step in &steps {
        let found = match &step.order.activity {
            Activity::FilesTask(task) => &task.place,
            Activity::FilesStation(station) => &station.place,
            other => panic!("{other:?}"),
        };
        assert_eq!(found, &place);
    }
    // At a share only the clients count, so it is no fault that no server counted them.
    let level = Level::Stations(1);
    let unserved = seen(level, |_, served, _| served.clients.clear());
    assert_eq!(plan.faults(&cell(level), &unserved), Vec::<String>::new());
}

/// Room grows with the demand, and no stored number overflows it.
#[test]
fn room_is_for_the_task_and_for_all_stations() {
    let mixed = |record| StationWork::Transactions {
        pattern: Pattern::Mixed,
        program: StationProgram::Constant,
        record,
    };
    let of = |work, levels| LanPlan { levels, work, ..plan() }.room().count();
    let none = of(records(StationProgram::Constant), vec![0]);
    assert_eq!(of(records(StationProgram::Constant), vec![0, 10]), none + 10 * 512);
    assert_eq!(of(mixed(Bytes::new(4096)), vec![10]), none + 10 * (1 << 20));
    assert_eq!(of(mixed(Bytes::new(u64::MAX)), vec![100]), u64::MAX);
}

/// A known bottleneck: the slowdown is k + 1, by the closed form and as measured.
#[test]
fn a_server_without_a_pause_is_judged_by_hand() {
    let plan = plan();
    let record = |cell: LanCell, block| {
        plan.record(Slot { cell, block, position: 0 }, seen(cell.level, |_, _, _| {}))
    };
    let cells: Vec<_> =
        (0..2).flat_map(|block| plan.cells().into_iter().map(move |cell| (cell, block))).collect();
    let records: Vec<_> = cells.into_iter().map(|(cell, block)| record(cell, block)).collect();
    let verdict = plan.judge(&records, &RunFacts::default());
    let near = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found}, not {expected}");
    };
    for count in [1, 3] {
        let row = verdict.rows.iter().find(|row| row.cell == cell(Level::Stations(count))).unwrap();
        let slowdown = f64::from(count) + 1.0;
        near(row.slowdown.unwrap().value, slowdown);
        near(row.normalised.unwrap().value, slowdown);
        near(row.expected.unwrap(), slowdown);
        near(row.regular.unwrap(), slowdown);
        near(row.regular_queue.unwrap(), f64::from(count));
        near(row.queue.unwrap(), f64::from(count));
        near(row.expected_queue.unwrap(), f64::from(count));
    }
    near(verdict.knee.unwrap(), 1.0);
    // The line through 2 at one station and 4 at three reaches 1 at zero stations.
    assert!(verdict.knees.iter().all(|knee| knee.stations.is_none()), "{:?}", verdict.knees);
    let three = verdict.stations.iter().find(|level| level.count == 3).unwrap();
    assert_eq!((three.stations.len(), three.stations[0].transactions), (3, 2 * 2 * 20));
    assert!(!three.spread.unwrap().stations_differ());
    near(three.per_second.unwrap(), 3.0 / 0.016);
    // 8 ms at one station, 16 ms at three, and 10 ms are allowed.
    let users = verdict.users.unwrap();
    assert_eq!((users.most, users.too_many), (Some(1), Some(3)));
}

#[test]
fn a_throttled_station_is_found() {
    let plan = plan();
    let observation = seen(Level::Stations(3), |_, _, stations| {
        stations[1] = station(Span::from_milliseconds(60));
    });
    let slot = Slot { cell: cell(Level::Stations(3)), block: 0, position: 0 };
    let verdict = plan.judge(&[plan.record(slot, observation)], &RunFacts::default());
    let spread = verdict.stations[0].spread.unwrap();
    assert!(spread.stations_differ() && spread.longest_over_shortest > 3.0, "{spread:?}");
}

#[test]
fn accounts_that_do_not_agree_void_a_cell_and_say_why() {
    let level = Level::Stations(1);
    let faults = |change: fn(&mut TaskDone, &mut FilesServed, &mut Vec<StationDone>)| {
        plan().faults(&cell(level), &seen(level, change))
    };
    assert_eq!(faults(|_, _, _| {}), Vec::<String>::new());
    assert_eq!(
        faults(|_, served, _| served.clients[0].operations -= 1),
        ["the task counted 100 operations, and the server counted 99 for it"]
    );
    assert_eq!(
        faults(|_, _, stations| stations[0].operations += 1),
        ["s1 counted 43 operations, and the server counted 42 for it"]
    );
    assert_eq!(
        faults(|_, _, stations| stations[0].transactions = 0),
        ["s1 made no transaction: the background was not at work"]
    );
    assert_eq!(
        faults(|_, _, stations| stations.clear()),
        ["0 of 1 background stations have an account"]
    );
    assert_eq!(
        faults(|task, _, _| task.wrong = 1),
        ["what the task read or left was wrong: 1 of 1 times"]
    );
    assert_eq!(
        faults(|task, _, _| task.read = Bytes::new(1)),
        ["the task read 1 and wrote 131072 octets, and the server counted 131072 and 131072"]
    );
    assert_eq!(plan().faults(&cell(level), &Observation::default()), ["the task has no account"]);
}

#[test]
fn a_plan_comes_back_as_it_was_stored() {
    let mean = Span::from_milliseconds(100);
    let pauses = Pauses::Normal { mean, deviation: mean };
    let plan =
        LanPlan { work: records(StationProgram::Paced { pauses, open_loop: true }), ..plan() };
    assert_eq!(json::from_value::<LanPlan>(&json::to_value(&plan).unwrap()).unwrap(), plan);
    let many = LanPlan { levels: vec![0, MOST_STATIONS + 1], ..plan.clone() };
    let error =
        json::from_value::<LanPlan>(&json::to_value(&many).unwrap()).unwrap_err().to_string();
    assert!(error.contains("101 stations"), "{error}");
    let names: std::collections::BTreeSet<String> =
        plan.cells().iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), plan.cells().len());
}
