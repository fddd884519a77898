//! Copies over loopback by every program, and ends that misbehave.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use btu_contract::activity::{
    Activity, FileClient, FileCopy, FileServer, Order, Performance, Token,
};
use btu_contract::copy::{Cache, Direction, FileCopied, FileEnd, FilePlace, Program, Storage};
use btu_contract::peers::Callers;
use btu_contract::record::{Outcome, Report};
use btu_units::{Bytes, Span};

use super::*;

mod independent;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const TOKEN: Token = *b"sixteen byte key";
const REMOTE: [Program; 4] = [Program::Bare, Program::Rcp, Program::Ftp, Program::Http];

/// A server works until `stop`: this sets it.
static STOPPED: AtomicBool = AtomicBool::new(true);

fn place(size: u64, storage: Storage, directory: &Path) -> FilePlace {
    FilePlace {
        size: Bytes::new(size),
        storage,
        cache: Cache::Cold,
        directory: directory.to_owned(),
    }
}

/// A copy on one host.
fn local(file: FilePlace) -> FileCopy {
    FileCopy { file, share: None, direction: Direction::Put }
}

pub(super) fn order(activity: Activity) -> Order {
    Order::new(7, Span::from_seconds(180), activity)
}

fn prepared(activity: Activity) -> Box<dyn Performance> {
    crate::prepare(&order(activity), &Callers::any())
        .expect("prepared")
        .expect("one of this room's")
}

/// The end that listens, at work in a thread.
fn server(
    direction: Direction,
    program: Program,
    file: FilePlace,
) -> (SocketAddr, thread::JoinHandle<Result<Report, String>>) {
    let server = prepared(serving(direction, program, file));
    let address = server.endpoint().expect("it listens");
    let performed =
        move || server.perform(&AtomicBool::new(false)).map_err(|error| error.to_string());
    (address, thread::spawn(performed))
}

fn serving(direction: Direction, program: Program, file: FilePlace) -> Activity {
    let server = FileServer { program, on: HERE, token: TOKEN, file };
    match direction {
        Direction::Put => Activity::FileReceive(server),
        Direction::Get => Activity::FileOffer(server),
    }
}

fn receiver(
    program: Program,
    file: FilePlace,
) -> (SocketAddr, thread::JoinHandle<Result<Report, String>>) {
    server(Direction::Put, program, file)
}

/// The end that connects.
fn client(
    direction: Direction,
    program: Program,
    to: SocketAddr,
    token: Token,
    file: FilePlace,
) -> Result<Report, String> {
    let client = FileClient { program, to, token, file, wait: Span::ZERO };
    let client = prepared(match direction {
        Direction::Put => Activity::FileSend(client),
        Direction::Get => Activity::FileFetch(client),
    });
    client.perform(&AtomicBool::new(false)).map_err(|error| error.to_string())
}

fn send(program: Program, to: SocketAddr, token: Token, file: FilePlace) -> Result<Report, String> {
    client(Direction::Put, program, to, token, file)
}

fn ends(sent: Report, received: Report) -> [FileEnd; 2] {
    match (sent.outcome, received.outcome) {
        (Outcome::FileSent(sent), Outcome::FileReceived(received)) => [sent, received],
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_program_brings_the_same_file_and_both_ends_account_for_it() {
    let directory = tempfile::tempdir().expect("tempdir");
    for program in REMOTE {
        for (size, storage) in
            [(1, Storage::Memory), (3_000_001, Storage::Memory), (3_000_001, Storage::Disk)]
        {
            let file = place(size, storage, directory.path());
            let (address, taking) = receiver(program, file.clone());
            let sent = send(program, address, TOKEN, file)
                .unwrap_or_else(|error| panic!("{program}: {error}"));
            let duration = sent.duration();
            let [sent, received] = ends(sent, taking.join().expect("no panic").expect("received"));
            assert_eq!(
                (sent.bytes, received.bytes),
                (Bytes::new(size), Bytes::new(size)),
                "{program}"
            );
            assert_eq!(sent.digest, received.digest, "{program} {storage}");
            assert!(
                sent.marks.ascend() && received.marks.ascend(),
                "{program}: {sent:?} {received:?}"
            );
            assert!(
                sent.marks.connected > Span::ZERO && sent.marks.durable <= duration,
                "{program}: {sent:?}"
            );
            // The receiver was done before the sender heard of it.
            let (there, here) = (received.marks.durable, sent.marks.durable);
            assert!(there <= here, "{program}: {there} at the receiver, {here} at the sender");
            assert_eq!(sent.tcp.is_some(), program != Program::Ftp);
        }
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
}

/// The end that gets a file measures the time.
#[test]
fn every_program_gets_the_same_file_cold_or_warm() {
    let directory = tempfile::tempdir().expect("tempdir");
    for program in REMOTE {
        for (size, storage, cache) in
            [(1, Storage::Memory, Cache::Cold), (3_000_001, Storage::Disk, Cache::Warm)]
        {
            let file = FilePlace { cache, ..place(size, storage, directory.path()) };
            let (address, giving) = server(Direction::Get, program, file.clone());
            let stranger =
                client(Direction::Get, program, address, *b"another byte key", file.clone());
            stranger.expect_err("a stranger");
            let got = client(Direction::Get, program, address, TOKEN, file);
            let got = got.unwrap_or_else(|error| panic!("{program}: {error}"));
            let duration = got.duration();
            let [sent, received] = ends(giving.join().expect("no panic").expect("given"), got);
            assert_eq!(
                (sent.bytes, received.bytes),
                (Bytes::new(size), Bytes::new(size)),
                "{program}"
            );
            assert_eq!(sent.digest, received.digest, "{program} {storage}");
            assert!(
                sent.marks.ascend() && received.marks.ascend(),
                "{program}: {sent:?} {received:?}"
            );
            assert!(
                received.marks.connected > Span::ZERO && received.marks.durable <= duration,
                "{program}: {received:?}"
            );
            assert_eq!(sent.method.contains(", cached"), cache == Cache::Warm, "{}", sent.method);
        }
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
}

/// The system's own programs, both ways; a stranger does not end the server. Neither keys nor files
/// are left, and those of ssh and FTP have no name on any disk.
#[test]
fn programs_of_the_system_bring_the_same_file() {
    let directory = tempfile::tempdir().expect("tempdir");
    for (program, direction) in [Program::Scp, Program::Sftp, Program::Rsync, Program::Vsftpd]
        .into_iter()
        .filter(|&program| is_here(program))
        .flat_map(|program| Direction::ALL.iter().map(move |&direction| (program, direction)))
    {
        for storage in Storage::ALL {
            let file = place(1_000_001, storage, directory.path());
            let (address, serving) = server(direction, program, file.clone());
            let stranger = client(direction, program, address, *b"another byte key", file.clone())
                .expect_err("a stranger");
            assert!(stranger.contains(&address.to_string()), "{stranger}");
            let told = client(direction, program, address, TOKEN, file);
            let here = told.unwrap_or_else(|error| panic!("{program} {direction}: {error}"));
            let there = serving
                .join()
                .expect("no panic")
                .unwrap_or_else(|error| panic!("{program} {direction}: {error}"));
            let [sent, received] =
                if direction == Direction::Put { ends(here, there) } else { ends(there, here) };
            assert_eq!(sent.digest, received.digest, "{program} {direction} {storage}");
            assert!(
                sent.marks.ascend() && received.marks.ascend(),
                "{program}: {sent:?} {received:?}"
            );
        }
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
}

/// Whether this system has the requirements of `program`; prints loudly if not.
fn is_here(program: Program) -> bool {
    let Some(missing) = missing_for(program) else { return true };
    assert!(
        std::env::var("BTU_LAB").as_deref() != Ok("required"),
        "LAB REQUIRED but there is no {missing}"
    );
    eprintln!("LAB SKIPPED: {program} is not tested: there is no {missing}");
    false
}

/// A file of another size than the order's, and a server that dies: a sentence at each end.
#[test]
fn faults_of_programs_of_the_system_are_told_in_a_sentence() {
    let directory = tempfile::tempdir().expect("tempdir");
    for program in [Program::Scp, Program::Rsync, Program::Vsftpd] {
        if !is_here(program) {
            continue;
        }
        for told in [100_000, 300_001] {
            let (address, taking) =
                receiver(program, place(200_000, Storage::Memory, directory.path()));
            send(program, address, TOKEN, place(told, Storage::Memory, directory.path()))
                .expect_err("nobody says that it is durable");
            let error = taking.join().expect("no panic").expect_err("another size");
            assert!(error.contains("a file of 200000 bytes"), "{program} {told}: {error}");
            let (address, giving) =
                server(Direction::Get, program, place(told, Storage::Memory, directory.path()));
            let file = place(200_000, Storage::Memory, directory.path());
            let error = client(Direction::Get, program, address, TOKEN, file).expect_err("lied to");
            assert!(
                error.contains("200000") && error.lines().count() == 1,
                "{program} {told}: {error}"
            );
            // It has given what it has.
            let _ = giving.join().expect("no panic");
        }
        let file = place(1_000, Storage::Memory, directory.path());
        let closed = TcpListener::bind((HERE, 0)).expect("bound").local_addr().expect("bound");
        let error = client(Direction::Put, program, closed, TOKEN, file.clone()).expect_err("gone");
        assert!(
            error.contains(&closed.port().to_string()) && error.lines().count() == 1,
            "{program}: {error}"
        );
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
}

/// By every mode of writing; the server gets a `stop` when the client has ended, as in a run.
#[test]
fn nfs_brings_the_same_file_by_every_way_of_writing() {
    let directory = tempfile::tempdir().expect("tempdir");
    for writes in ["nfs", "nfs-16", "nfs-sync", "nfs-4-64k-sync", "nfs-1024k"] {
        let program: Program = writes.parse().expect(writes);
        for storage in Storage::ALL {
            let file = place(700_001, storage, directory.path());
            let server = prepared(serving(Direction::Put, program, file.clone()));
            let address = server.endpoint().expect("it listens");
            send(program, address, *b"another byte key", file.clone()).expect_err("a stranger");
            let sent = send(program, address, TOKEN, file)
                .unwrap_or_else(|error| panic!("{program}: {error}"));
            let received =
                server.perform(&STOPPED).unwrap_or_else(|error| panic!("{program}: {error}"));
            let [sent, received] = ends(sent, received);
            assert_eq!(sent.digest, received.digest, "{program} {storage}");
            assert!(
                sent.marks.ascend() && received.marks.ascend(),
                "{program}: {sent:?} {received:?}"
            );
            assert!(
                received.marks.durable <= sent.marks.durable,
                "{program}: {sent:?} {received:?}"
            );
            let file = place(700_001, storage, directory.path());
            let server = prepared(serving(Direction::Get, program, file.clone()));
            let address = server.endpoint().expect("it listens");
            let got = client(Direction::Get, program, address, TOKEN, file);
            let received = got.unwrap_or_else(|error| panic!("{program}: {error}"));
            let sent =
                server.perform(&STOPPED).unwrap_or_else(|error| panic!("{program}: {error}"));
            let [sent, received] = ends(sent, received);
            assert_eq!(sent.digest, received.digest, "{program} {storage}, got");
            assert!(
                sent.marks.ascend() && received.marks.ascend(),
                "{program}: {sent:?} {received:?}"
            );
        }
    }
}

#[test]
fn a_file_over_nfs_that_is_not_whole_is_told() {
    let directory = tempfile::tempdir().expect("tempdir");
    let program: Program = "nfs".parse().expect("a program");
    for (told, wanted) in [(0, "no file was made"), (90_000, "90000 came"), (300_000, "")] {
        let file = place(200_000, Storage::Memory, directory.path());
        let server = prepared(serving(Direction::Put, program, file));
        let address = server.endpoint().expect("it listens");
        if told > 0 {
            let sent =
                send(program, address, TOKEN, place(told, Storage::Memory, directory.path()));
            assert_eq!(sent.is_ok(), told < 200_000, "there is room for one file: {sent:?}");
        }
        let error = server.perform(&STOPPED).expect_err("another size").to_string();
        assert!(
            error.contains("a file of 200000 bytes") && error.contains(wanted),
            "{told}: {error}"
        );
    }
}

#[test]
fn a_local_copy_is_the_same_file() {
    let directory = tempfile::tempdir().expect("tempdir");
    for storage in Storage::ALL {
        let copying =
            prepared(Activity::FileCopy(local(place(700_000, storage, directory.path()))));
        let report = copying.perform(&AtomicBool::new(false)).expect("copied");
        let Outcome::FileCopied(FileCopied { source_digest, copy }) = report.outcome else {
            panic!("{report:?}")
        };
        assert_eq!((copy.digest == source_digest, copy.bytes), (true, Bytes::new(700_000)));
        assert!(copy.marks.ascend(), "{copy:?}");
    }
}

/// Into a share and out of it, from and to disk or memory; without `BTU_NFS_SHARE`, any directory
/// is one. No file stays there, and an invalid share gives an error with its name.
#[test]
fn a_file_goes_to_a_share_and_comes_from_it() {
    let directory = tempfile::tempdir().expect("tempdir");
    // Others may be at work in the share.
    let share = match std::env::var_os("BTU_NFS_SHARE") {
        Some(share) => tempfile::tempdir_in(share),
        None => tempfile::tempdir(),
    };
    let share = share.expect("a directory").keep();
    for (&direction, storage) in Direction::ALL.iter().zip(Storage::ALL) {
        let file = place(700_001, storage, directory.path());
        let copying =
            prepared(Activity::FileCopy(FileCopy { file, share: Some(share.clone()), direction }));
        let report = copying.perform(&AtomicBool::new(false)).expect("copied");
        let Outcome::FileCopied(FileCopied { source_digest, copy }) = report.outcome else {
            panic!("{report:?}")
        };
        assert_eq!((copy.digest == source_digest, copy.bytes), (true, Bytes::new(700_001)));
        assert!(copy.marks.ascend(), "{copy:?}");
        println!("{direction}: {}", copy.method);
    }
    // It is removed if nothing is in it.
    std::fs::remove_dir(&share).expect("nothing stays");
    let file = place(1, Storage::Disk, directory.path());
    let missing = FileCopy { file, share: Some("/nonexistent".into()), direction: Direction::Put };
    let error = crate::prepare(&order(Activity::FileCopy(missing)), &Callers::any())
        .err()
        .expect("refused")
        .to_string();
    assert!(error.contains("share") && error.contains("/nonexistent"), "{error}");
}

#[test]
fn what_cannot_be_copied_is_known_before_the_clock_starts() {
    let refused = |activity| {
        let prepared = crate::prepare(&order(activity), &Callers::any());
        prepared.err().expect("refused").to_string()
    };
    let file = |size, storage| place(size, storage, Path::new("/nonexistent"));
    assert!(refused(Activity::FileCopy(local(file(0, Storage::Memory)))).contains("0 B"));
    assert!(refused(Activity::FileCopy(local(file(1, Storage::Disk)))).contains("/nonexistent"));
    let on = serving(Direction::Put, Program::Local, file(1, Storage::Memory));
    assert!(refused(on).contains("no other end"));
    let directory = tempfile::tempdir().expect("tempdir");
    let endless = place(1 << 60, Storage::Disk, directory.path());
    assert!(refused(Activity::FileCopy(local(endless))).contains("less than the"));
}

/// Another size than the order's is one sentence at the receiver, and one at the sender.
#[test]
fn a_file_of_another_size_is_found_out() {
    let directory = tempfile::tempdir().expect("tempdir");
    for program in REMOTE {
        for (told, wanted) in [(100_000, "100000"), (300_001, "")] {
            let (address, taking) =
                receiver(program, place(200_000, Storage::Memory, directory.path()));
            let sent =
                send(program, address, TOKEN, place(told, Storage::Memory, directory.path()));
            let error = taking.join().expect("no panic").expect_err("another size");
            assert!(
                error.contains("a file of 200000 bytes") && error.contains(wanted),
                "{program} {told}: {error}"
            );
            // Of a file that is too long, bare's sender may have heard before that all is well.
            assert!(
                sent.is_err() || (program == Program::Bare && told > 200_000),
                "{program} {told}: {sent:?}"
            );
        }
    }
}

#[test]
fn nobody_without_the_token_is_heard_and_the_file_still_comes() {
    let directory = tempfile::tempdir().expect("tempdir");
    for program in REMOTE {
        let file = place(50_000, Storage::Memory, directory.path());
        let (address, taking) = receiver(program, file.clone());
        send(program, address, *b"another byte key", file.clone()).expect_err("a stranger");
        send(program, address, TOKEN, file).expect("the sender");
        taking.join().expect("no panic").expect("received");
    }
}

/// Callers that hold connections and say nothing, or the beginning of a request, keep no client
/// waiting: all are heard at the same time.
#[test]
fn silent_callers_keep_no_client_waiting() {
    let directory = tempfile::tempdir().expect("tempdir");
    for program in [Program::Bare, Program::Http] {
        let file = place(50_000, Storage::Memory, directory.path());
        let (address, taking) = receiver(program, file.clone());
        let silent: Vec<TcpStream> = (0..40)
            .map(|number| {
                let mut caller = TcpStream::connect(address).expect("connected");
                caller.write_all(&b"PUT /copy HTTP/1.1\r\n"[..number % 15]).expect("said");
                caller
            })
            .collect();
        // One after the other, they would be heard for more than a minute.
        let began = std::time::Instant::now();
        send(program, address, TOKEN, file).expect("the sender");
        taking.join().expect("no panic").expect("received");
        assert!(began.elapsed() < Duration::from_secs(30), "{program}");
        drop(silent);
    }
}

/// A peer that dies, or sends other data, at every step: an error that names it, at once.
#[test]
fn peers_that_die_or_talk_nonsense_are_named() {
    let directory = tempfile::tempdir().expect("tempdir");
    for program in [Program::Bare, Program::Rcp] {
        for said in [
            &b""[..],
            b"C",
            b"C0644 9999 x\n",
            b"D0755 0 x\n",
            &[b'x'; 400],
            b"\x01no\n",
            b"\xff\xff",
        ] {
            let (address, taking) =
                receiver(program, place(9_000, Storage::Memory, directory.path()));
            let mut stranger = TcpStream::connect(address).expect("connected");
            stranger.write_all(&[&TOKEN[..], said].concat()).expect("said");
            // A receiver that has heard enough has hung up.
            let _ = stranger.shutdown(Shutdown::Write);
            let error = taking.join().expect("no panic").expect_err("no file");
            assert!(error.contains("127.0.0.1"), "{program}: {error}");
        }
        for answer in [&b""[..], b"\x00", b"\x00\x00", b"\x01no space\n", b"x"] {
            let listener = TcpListener::bind((HERE, 0)).expect("bound");
            let address = listener.local_addr().expect("bound");
            let peer = thread::spawn(move || {
                let mut sender = listener.accept().expect("a sender").0;
                sender.write_all(answer).expect("said");
                // Reads what comes, so that the connection is not reset, and then is gone.
                sender.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
                while sender.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {}
            });
            let sent =
                send(program, address, TOKEN, place(100_000, Storage::Memory, directory.path()));
            let right = program == Program::Bare && answer.starts_with(b"\x00");
            assert_eq!(sent.is_ok(), right, "{program} {answer:?}: {sent:?}");
            if let Err(error) = sent {
                assert!(error.contains(&address.to_string()), "{error}");
            }
            peer.join().expect("no panic");
        }
    }
}

#[test]
fn a_source_that_changes_is_told() {
    let directory = tempfile::tempdir().expect("tempdir");
    let made = |seed| {
        let empty = Stored::empty(&place(10_000, Storage::Disk, directory.path())).expect("made");
        empty.filled(Cache::Cold, seed).expect("filled")
    };
    let (source, digest) = made(1);
    source.check(&digest).expect("as it was");
    source.write(b"other words", 500).expect("written");
    let error = source.check(&digest).expect_err("changed").to_string();
    assert!(error.contains("changed while it was read: it has another content"), "{error}");
    assert_ne!(digest, made(2).1, "the seed decides");
}

/// The file that this process holds in `directory`.
fn held_in(directory: &Path) -> std::path::PathBuf {
    let open = std::fs::read_dir("/proc/self/fd").expect("readable");
    let mut open = open.map(|entry| entry.expect("an entry").path());
    let is_it = |path: &std::path::PathBuf| {
        // A directory is held for its lock.
        std::fs::read_link(path).is_ok_and(|link| link.starts_with(directory)) && path.is_file()
    };
    open.find(is_it).expect("a file")
}

/// Another process writes to the source, or cuts it, when it is ready to be copied: the end that
/// has it says so, whichever program copies, and whichever end connects.
#[test]
fn a_source_that_changes_is_told_by_every_program() {
    let nfs = "nfs".parse().expect("a program");
    let systems = [Program::Scp, Program::Sftp, Program::Rsync, Program::Vsftpd];
    let systems = systems.into_iter().filter(|&program| is_here(program));
    for (program, &direction, cut) in REMOTE
        .into_iter()
        .chain([nfs])
        .chain(systems)
        .flat_map(|program| Direction::ALL.iter().map(move |direction| (program, direction)))
        .flat_map(|(program, direction)| [false, true].map(|cut| (program, direction, cut)))
    {
        let [here, there] = [(); 2].map(|()| tempfile::tempdir().expect("tempdir"));
        let source = if direction == Direction::Put { &here } else { &there };
        let file =
            |directory: &tempfile::TempDir| place(2_000_000, Storage::Disk, directory.path());
        let serving = prepared(serving(direction, program, file(&there)));
        let to = serving.endpoint().expect("it listens");
        let part = FileClient { program, to, token: TOKEN, file: file(&here), wait: Span::ZERO };
        let client = prepared(match direction {
            Direction::Put => Activity::FileSend(part),
            Direction::Get => Activity::FileFetch(part),
        });
        let changed = std::fs::OpenOptions::new().write(true).open(held_in(source.path()));
        let mut changed = changed.expect("opened");
        if cut {
            changed.set_len(1_000_000).expect("cut");
        } else {
            changed.write_all(b"other words").expect("written");
        }
        let stop = AtomicBool::new(false);
        let (told, other) = thread::scope(|scope| {
            let serving = scope.spawn(|| serving.perform(&stop).map_err(|error| error.to_string()));
            let told = client.perform(&AtomicBool::new(false)).map_err(|error| error.to_string());
            // A file server does not know that its only client has gone, and a receiver waits for
            // a client that says that all is well.
            let waits = program == nfs || (told.is_err() && direction == Direction::Put);
            stop.store(waits, std::sync::atomic::Ordering::Relaxed);
            (told, serving.join().expect("no panic"))
        });
        let (owner, other) =
            if direction == Direction::Put { (told, other) } else { (other, told) };
        let other = other.map(drop);
        let error = owner.map(drop).expect_err("changed");
        assert!(
            error.contains("changed while it was read"),
            "{program} {direction} {cut}: {error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
        // The file is as long as it was, but another one: the digests differ.
        assert!(!cut || other.is_err(), "{program} {direction}: the copy is not whole");
    }
}

/// An activity that waits for a peer that never comes ends at the deadline, and when `stop` turns
/// true.
#[test]
fn nobody_waits_for_ever() {
    let directory = tempfile::tempdir().expect("tempdir");
    for program in REMOTE {
        let file = place(100, Storage::Memory, directory.path());
        let receive = serving(Direction::Put, program, file);
        let short = Order { deadline: Span::from_milliseconds(100), ..order(receive.clone()) };
        let waiting =
            crate::prepare(&short, &Callers::any()).expect("prepared").expect("one of this room's");
        let error = waiting.perform(&AtomicBool::new(false)).expect_err("nobody came").to_string();
        assert!(error.contains("deadline"), "{program}: {error}");
        let error =
            prepared(receive).perform(&AtomicBool::new(true)).expect_err("stopped").to_string();
        assert!(error.contains("stopped"), "{program}: {error}");
    }
}
