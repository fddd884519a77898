//! Tasks and stations against a server on this machine.

mod peers;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use btu_conditions::{Conditions, judge};
use btu_contract::activity::{FilesPlace, FilesServe, FilesStation, FilesTask, Performance};
use btu_contract::lan::{
    FileSizes, FilesServed, OperationTrace, Pattern, Pauses, SETUP_CLIENT, StationDone,
    StationProgram, StationWork, Task, TaskDone,
};
use btu_contract::peers::Callers;
use btu_contract::record::Outcome;
use btu_units::{Bytes, Span};
use tempfile::TempDir;

use super::*;
use crate::nfs::NfsClient;

const ROOM: Bytes = Bytes::new(8 << 20);

/// A directory in memory, where a flush takes no time: on a disk to which others write it takes a
/// tenth of a second, and what follows in a trace is late.
fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("tempdir")
}

fn task(task: Task, place: FilesPlace) -> TaskDone {
    let (token, sizes, lead, target) = ([7; 16], FileSizes::Scaled(1), Span::ZERO, Span::ZERO);
    let order = FilesTask { place, token, task, sizes, lead, target };
    let performance = prepare_task(11, &order).expect("prepared");
    match performance.perform(&AtomicBool::new(false)).expect("performed").outcome {
        Outcome::TaskDone(done) => done,
        other => panic!("{other:?}"),
    }
}

/// Runs a server during the work of `clients`, and returns its account.
fn served(service: Span, clients: impl FnOnce(SocketAddr)) -> FilesServed {
    let directory = in_memory();
    let address = Ipv4Addr::LOCALHOST.into();
    let order = FilesServe {
        address,
        token: [7; 16],
        directory: directory.path().to_owned(),
        room: ROOM,
        service,
    };
    let serving = Box::new(ServingFiles::prepare(&order, &Callers::any()).expect("a server"));
    let server = serving.endpoint().expect("it listens");
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let running = thread::spawn(move || serving.perform(&told).expect("served").outcome);
    clients(server);
    stop.store(true, Ordering::Relaxed);
    match running.join().expect("no panic") {
        Outcome::FilesServed(account) => account,
        other => panic!("{other:?}"),
    }
}

/// Each task has equal data and an equal number of operations here, at a server and on a share, and
/// both ends count them.
#[test]
fn every_task_is_the_same_here_at_a_server_and_on_a_share() {
    for which in Task::ALL {
        let directory = tempfile::tempdir().expect("tempdir");
        let own = FilesPlace::Own {
            directory: directory.path().to_owned(),
            room: ROOM,
            service: Span::ZERO,
        };
        let here = task(which, own);
        let mut there = None;
        let served =
            served(Span::ZERO, |server| there = Some(task(which, FilesPlace::Server(server))));
        let there = there.expect("done");
        assert_eq!((here.wrong, there.wrong), (0, 0), "{which}");
        assert_eq!((&here.digest, here.operations), (&there.digest, there.operations), "{which}");
        let share = FilesPlace::Share { directory: directory.path().to_owned() };
        let shared = task(which, share);
        assert_eq!(
            (shared.wrong, &shared.digest, shared.operations),
            (0, &here.digest, here.operations),
            "{which}"
        );
        assert_eq!((shared.read, shared.written), (here.read, here.written), "{which}");
        assert!(
            shared.share.is_some_and(|share| !share.filesystem.is_empty()) && here.share.is_none()
        );
        let client = served.client(0).expect("it was served");
        assert_eq!(
            (client.operations, client.read, client.written),
            (there.operations, there.read, there.written)
        );
        assert_eq!(
            served.client(SETUP_CLIENT).expect("it was served").operations,
            there.setup_operations
        );
    }
}

fn records(program: StationProgram) -> StationWork {
    StationWork::Transactions { pattern: Pattern::Record, program, record: Bytes::new(512) }
}

fn station(server: SocketAddr, number: u32, work: StationWork, time: Duration) -> StationDone {
    station_at(FilesPlace::Server(server), number, work, time)
}

fn station_at(place: FilesPlace, number: u32, work: StationWork, time: Duration) -> StationDone {
    let order = FilesStation { place, token: [7; 16], number, work };
    let station = prepare_station(5, &order).expect("prepared");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let working = scope.spawn(|| station.perform(&stop).expect("performed").outcome);
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        match working.join().expect("no panic") {
            Outcome::StationDone(done) => done,
            other => panic!("{other:?}"),
        }
    })
}

/// At a server of 2 ms an operation, a transaction of two takes 4 ms and a little; with a pause of
/// 20 ms there are fewer.
#[test]
fn stations_do_what_their_program_says() {
    let conditions = Conditions::begin();
    let service = Span::from_milliseconds(2);
    let (mean, deviation) = (Span::from_milliseconds(20), Span::from_milliseconds(5));
    let normal =
        StationProgram::Paced { pauses: Pauses::Normal { mean, deviation }, open_loop: false };
    for (program, operations, most) in [(StationProgram::Constant, 2, 76), (normal, 3, 18)] {
        let mut done = None;
        let served = served(service, |server| {
            done = Some(station(server, 3, records(program), Duration::from_millis(300)));
        });
        let done = done.expect("it was at work");
        assert_eq!(
            done.operations,
            2 + operations * done.transactions,
            "CREATE, WRITE, and transactions"
        );
        assert_eq!(served.client(3).expect("it was served").operations, done.operations);
        judge!(conditions, (1..=most).contains(&done.transactions), "{}", done.transactions);
        assert!(
            done.mean_seconds.expect("some") >= operations as f64 * 0.002,
            "{:?}",
            done.mean_seconds
        );
        assert_eq!((done.wrong, done.samples_ns.len() as u64), (0, done.transactions));
    }
}

/// In an open loop a station that waits for the server is late, and that counts: 5 ms between
/// transactions of 6 ms.
#[test]
fn an_open_loop_counts_the_wait() {
    let conditions = Conditions::begin();
    let program = StationProgram::Paced {
        pauses: Pauses::Fixed { mean: Span::from_milliseconds(5) },
        open_loop: true,
    };
    let service = Span::from_milliseconds(2);
    let mut done = None;
    served(service, |server| {
        done = Some(station(server, 1, records(program), Duration::from_millis(400)));
    });
    let done = done.expect("it was at work");
    let longest = done.times.max().expect("some");
    judge!(conditions, longest > 30_000_000, "{longest} ns after 400 ms");
}

#[test]
fn a_server_that_is_gone_ends_its_clients_with_a_reason() {
    let mut handle = None;
    served(Span::from_milliseconds(2), |server| {
        let client = NfsClient::connect(server, &[7; 16], 0, TIMEOUT).expect("connected");
        handle = Some((server, client));
    });
    let (server, mut client) = handle.expect("there was one");
    let root = client.root();
    assert!(client.attributes(&root).expect_err("gone").to_string().contains("GETATTR failed"));
    let (place, work) = (FilesPlace::Server(server), records(StationProgram::Constant));
    let order = FilesStation { place, token: [7; 16], number: 1, work };
    let gone = prepare_station(5, &order).err().expect("gone").to_string();
    assert!(gone.contains("could not connect"), "{gone}");
}

/// Each pattern performs its documented number of operations, at a server and on a share, and
/// leaves no temporary file behind.
#[test]
fn every_pattern_does_what_it_says() {
    let conditions = Conditions::begin();
    let share = tempfile::tempdir().expect("tempdir");
    for pattern in Pattern::ALL {
        let work = StationWork::Transactions {
            pattern,
            program: StationProgram::Constant,
            record: Bytes::new(300),
        };
        let time = Duration::from_millis(60);
        let mut done = None;
        let served =
            served(Span::ZERO, |server| done = Some(station(server, 2, work.clone(), time)));
        let done = done.expect("it was at work");
        let made = if pattern.records(Bytes::new(300)) > 0 { 2 } else { 0 };
        assert_eq!(done.operations, made + work.operations() * done.transactions, "{pattern}");
        assert_eq!(
            (done.wrong, served.client(2).expect("served").operations),
            (0, done.operations),
            "{pattern}"
        );
        let place = FilesPlace::Share { directory: share.path().to_owned() };
        let shared = station_at(place, 2, work.clone(), time);
        assert_eq!(shared.operations, made + work.operations() * shared.transactions, "{pattern}");
        assert_eq!(shared.wrong, 0, "{pattern}");
        judge!(conditions, shared.transactions > 0, "{pattern}: none in {time:?}");
    }
    assert_eq!(
        std::fs::read_dir(share.path()).expect("readable").count(),
        0,
        "a share is left as it was"
    );
}

/// A trace of one save in 40 ms, replayed for 300 ms: each operation at its due time, and the read
/// data equal the written ones.
#[test]
fn a_trace_is_replayed_in_time() {
    let conditions = Conditions::begin();
    let text = "0 open letter\n0.005 read letter 0 3000\n0.010 make new\n0.012 write new 0 3000\n0.020 flush new\n\
                0.025 rename new letter\n0.030 stat letter\n0.035 read letter 100 2000\n0.036 make log\n";
    let work = StationWork::Replay { trace: OperationTrace::read(text).expect("a trace") };
    let mut done = None;
    let served = served(Span::ZERO, |server| {
        done = Some(station(server, 4, work.clone(), Duration::from_millis(300)));
    });
    let done = done.expect("it was at work");
    // A period of 40.5 ms has nine operations: some 66 in 300 ms, never more than are due until it is told to stop.
    judge!(conditions, done.transactions <= 72, "{}", done.transactions);
    judge!(conditions, done.transactions >= 30, "{}", done.transactions);
    assert_eq!((done.wrong, served.client(4).expect("served").operations), (0, done.operations));
    let share = in_memory();
    let place = FilesPlace::Share { directory: share.path().to_owned() };
    let shared = station_at(place, 4, work, Duration::from_millis(100));
    assert_eq!(shared.wrong, 0);
    judge!(conditions, shared.transactions > 9, "{}", shared.transactions);
}
