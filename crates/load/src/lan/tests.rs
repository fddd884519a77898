//! Tasks and stations against a server on this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use btu_suite::activity::{FilesPlace, FilesServe, FilesStation, FilesTask, Performance};
use btu_suite::lan::{FilesServed, SETUP_CLIENT, StationDone, StationProgram, Task, TaskDone};
use btu_suite::peers::Callers;
use btu_suite::record::Outcome;
use btu_units::{Bytes, Span};

use super::*;
use crate::nfs::Client;

const ROOM: Bytes = Bytes::new(8 << 20);

fn task(task: Task, place: FilesPlace) -> TaskDone {
    let order = FilesTask { place, token: [7; 16], task, lead: Span::ZERO, target: Span::ZERO };
    let performance = prepare_task(11, &order).expect("prepared");
    match performance.perform(&AtomicBool::new(false)).expect("performed").outcome {
        Outcome::TaskDone(done) => done,
        other => panic!("{other:?}"),
    }
}

/// A server while `clients` are at work, and its account.
fn served(service: Span, clients: impl FnOnce(SocketAddr)) -> FilesServed {
    let directory = tempfile::tempdir().expect("tempdir");
    let address = Ipv4Addr::LOCALHOST.into();
    let order = FilesServe { address, token: [7; 16], directory: directory.path().to_owned(), room: ROOM, service };
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

/// Whatever is read, sorted or saved is the same here and at a server, by as many operations, and both ends count them.
#[test]
fn every_task_is_the_same_here_and_at_a_server() {
    for which in Task::ALL {
        let directory = tempfile::tempdir().expect("tempdir");
        let own = FilesPlace::Own { directory: directory.path().to_owned(), room: ROOM, service: Span::ZERO };
        let here = task(which, own);
        let mut there = None;
        let served = served(Span::ZERO, |server| there = Some(task(which, FilesPlace::Server(server))));
        let there = there.expect("done");
        assert_eq!((here.wrong, there.wrong), (0, 0), "{which}");
        assert_eq!((&here.digest, here.operations), (&there.digest, there.operations), "{which}");
        let client = served.client(0).expect("it was served");
        assert_eq!((client.operations, client.read, client.written), (there.operations, there.read, there.written));
        assert_eq!(served.client(SETUP_CLIENT).expect("it was served").operations, there.setup_operations);
    }
}

fn station(server: SocketAddr, number: u32, program: StationProgram, time: Duration) -> StationDone {
    let order = FilesStation { server, token: [7; 16], number, program, record: Bytes::new(512) };
    let station = Box::new(Station::prepare(5, &order).expect("prepared"));
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

/// At a server of 2 ms an operation, a transaction of two takes 4 ms and a little; with a pause of 20 ms there are fewer.
#[test]
fn stations_do_what_their_program_says() {
    let service = Span::from_milliseconds(2);
    let (mean, deviation) = (Span::from_milliseconds(20), Span::from_milliseconds(5));
    let normal = StationProgram::Normal { mean, deviation, open_loop: false };
    for (program, operations, most) in [(StationProgram::Constant, 2, 76), (normal, 3, 18)] {
        let mut done = None;
        let served = served(service, |server| done = Some(station(server, 3, program, Duration::from_millis(300))));
        let done = done.expect("it was at work");
        assert_eq!(done.operations, 2 + operations * done.transactions, "CREATE, WRITE, and transactions");
        assert_eq!(served.client(3).expect("it was served").operations, done.operations);
        assert!((1..=most).contains(&done.transactions), "{}", done.transactions);
        assert!(done.mean_seconds.expect("some") >= operations as f64 * 0.002, "{:?}", done.mean_seconds);
        assert_eq!((done.wrong, done.samples_ns.len() as u64), (0, done.transactions));
    }
}

/// In an open loop who waits for the server is late, and that counts: 5 ms between transactions of 6 ms.
#[test]
fn an_open_loop_counts_the_wait() {
    let program = StationProgram::Normal { mean: Span::from_milliseconds(5), deviation: Span::ZERO, open_loop: true };
    let service = Span::from_milliseconds(2);
    let mut done = None;
    served(service, |server| done = Some(station(server, 1, program, Duration::from_millis(400))));
    let done = done.expect("it was at work");
    let longest = done.times.max().expect("some");
    assert!(longest > 30_000_000, "{longest} ns after 400 ms");
}

#[test]
fn a_server_that_is_gone_ends_its_clients_with_a_reason() {
    let mut handle = None;
    served(Span::from_milliseconds(2), |server| {
        let client = Client::connect(server, &[7; 16], 0, PATIENCE).expect("connected");
        handle = Some((server, client));
    });
    let (server, mut client) = handle.expect("there was one");
    let root = client.root();
    assert!(client.attributes(&root).expect_err("gone").to_string().contains("GETATTR failed"));
    let order =
        FilesStation { server, token: [7; 16], number: 1, program: StationProgram::Constant, record: Bytes::new(512) };
    assert!(Station::prepare(5, &order).expect_err("gone").to_string().contains("could not connect"));
}
