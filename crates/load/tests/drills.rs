//! Fault drills: a full disk and killed processes. The full disk is a small tmpfs in a mount
//! namespace of the test's own.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests print what they leave out"
)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{
    Activity, Disk, FileClient, FileServer, FtpFetch, FtpServe, Order, Performance, Work,
};
use btu_contract::copy::{Cache, FilePlace, Program, Storage};
use btu_contract::peers::Callers;
use btu_load::{DiskSource, LoadError, missing_for, prepare, scratch_check};
use btu_units::{Bytes, Span};

/// Names the directory for a copy of this program that a test has started.
const STAGE: &str = "BTU_LOAD_DRILL_DIRECTORY";

const MIB: u64 = 1 << 20;

/// Size of the small tmpfs.
const SMALL: u64 = 64 * MIB;

fn order(activity: Activity) -> Order {
    Order::new(1, Span::from_seconds(30), activity)
}

fn disk(directory: &Path, file: u64, work: u64) -> Order {
    order(Activity::Disk(Disk {
        directory: directory.to_owned(),
        source: None,
        file: Bytes::new(file),
        work: Work::Bytes(Bytes::new(work)),
    }))
}

fn ready(order: &Order) -> Box<dyn Performance> {
    prepare(order, &Callers::any()).expect("there is room").expect("a host activity")
}

fn failure(performance: Box<dyn Performance>) -> String {
    performance.perform(&AtomicBool::new(false)).expect_err("there is no room").to_string()
}

/// This program again, running one test only, as told by `STAGE`.
fn myself(test: &str) -> Vec<String> {
    let program = std::env::current_exe().expect("this program").to_string_lossy().into_owned();
    [&program, "--exact", test, "--nocapture"].map(str::to_owned).to_vec()
}

fn skip(why: &str) {
    assert!(
        std::env::var_os("BTU_LAB").is_none_or(|lab| lab != "required"),
        "the lab must exist here: {why}"
    );
    println!("LAB SKIPPED: {why}");
    eprintln!("LAB SKIPPED: {why}");
}

/// Runs `script` with the given arguments in a mount namespace of its own; none when that cannot be
/// had.
fn in_own_mounts(script: &str, arguments: &[String], stage: &Path) -> Option<Output> {
    // Root needs no user namespace, and may be forbidden one; every other user needs one.
    ["-m", "-Urm"].iter().find_map(|flags| {
        let possible = Command::new("unshare")
            .args([flags, "mount", "-t", "tmpfs", "none"])
            .arg(stage)
            .output()
            .ok()?;
        let mut run = Command::new("unshare");
        run.args([flags, "sh", "-c", script]).args(arguments).env(STAGE, stage);
        possible.status.success().then(|| run.output().expect("it could be run just now"))
    })
}

#[test]
fn a_full_disk_is_one_clear_error() {
    if let Some(stage) = std::env::var_os(STAGE) {
        return on_the_small_disk(Path::new(&stage));
    }
    let stage = tempfile::tempdir().expect("tempdir");
    let script = format!("mount -t tmpfs -o size={SMALL} none \"${STAGE}\" && exec \"$0\" \"$@\"");
    match in_own_mounts(&script, &myself("a_full_disk_is_one_clear_error"), stage.path()) {
        None => {
            skip("no mount namespace: unshare(1) is missing, or user namespaces are not allowed");
        }
        Some(output) => {
            let text =
                String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && text.contains("1 passed"), "{text}");
        }
    }
}

fn on_the_small_disk(directory: &Path) {
    let free = || scratch_check(directory, Bytes::ZERO).expect("a usable directory").free.count();
    let before = free();
    assert!(before > SMALL / 2 && before <= SMALL, "this is not the small disk: {before}");
    refused_before_anything_is_written(directory);
    full_while_copying(directory);
    full_while_fetching(directory);
    full_at_the_end_of_a_copy(directory);
    assert_eq!(free(), before, "something was left behind");
}

fn refused_before_anything_is_written(directory: &Path) {
    let error = prepare(&disk(directory, SMALL / 2, 1), &Callers::any())
        .err()
        .expect("two of these do not fit");
    assert!(matches!(error, LoadError::NoSpace { .. }), "{error}");
    let error = DiskSource::make(directory, Bytes::new(SMALL), 1).expect_err("it does not fit");
    assert!(matches!(error, LoadError::NoSpace { .. }), "{error}");
}

/// Takes all room there is, until it is removed.
fn fill(directory: &Path) -> impl FnOnce() {
    let path = directory.join("filler");
    let mut file = File::create(&path).expect("created");
    while file.write_all(&[0; 4096]).is_ok() {}
    let error = scratch_check(directory, Bytes::new(1)).expect_err("it is full");
    assert!(matches!(error, LoadError::NoSpace { .. }), "{error}");
    move || fs::remove_file(path).expect("removed")
}

fn assert_full(message: &str, directory: &Path) {
    for part in ["became full", "--scratch", &directory.to_string_lossy()] {
        assert!(message.contains(part), "{message}");
    }
}

fn full_while_copying(directory: &Path) {
    let copying = ready(&disk(directory, 4 * MIB, 20 * MIB));
    let empty = fill(directory);
    assert_full(&failure(copying), directory);
    empty();
}

fn full_while_fetching(directory: &Path) {
    let address = "127.0.0.1".parse().expect("an address");
    let server =
        ready(&order(Activity::FtpServe(FtpServe { address, password: "secret".to_owned() })));
    let fetching = ready(&order(Activity::FtpFetch(FtpFetch {
        server: server.endpoint().expect("it listens"),
        password: "secret".to_owned(),
        directory: directory.to_owned(),
        work: Work::Bytes(Bytes::new(40 * MIB)),
    })));
    let empty = fill(directory);
    assert_full(&failure(fetching), directory);
    empty();
}

/// By every program: the end with the full disk reports it, the other reports that the file was
/// refused, and the written part is removed.
fn full_at_the_end_of_a_copy(directory: &Path) {
    for program in ["bare", "rcp", "ftp", "http", "nfs", "scp", "sftp", "rsync", "vsftpd"] {
        let program: Program = program.parse().expect("a program");
        if let Some(missing) = missing_for(program) {
            skip(&format!("there is no {missing}"));
            continue;
        }
        let (size, cache) = (Bytes::new(4 * MIB), Cache::Cold);
        let file = |storage| FilePlace { size, storage, cache, directory: directory.to_owned() };
        let (on, token, wait) = ("127.0.0.1".parse().expect("an address"), [7; 16], Span::ZERO);
        let server = FileServer { program, on, token, file: file(Storage::Disk) };
        let server = ready(&order(Activity::FileReceive(server)));
        let to = server.endpoint().expect("it listens");
        let client = FileClient { program, to, token, file: file(Storage::Memory), wait };
        let client = ready(&order(Activity::FileSend(client)));
        let empty = fill(directory);
        let stop = AtomicBool::new(false);
        let (here, there) = std::thread::scope(|scope| {
            let there =
                scope.spawn(|| server.perform(&stop).map(drop).map_err(|error| error.to_string()));
            let here = failure(client);
            // A file server does not know that its only client has gone.
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            (here, there.join().expect("no panic").expect_err("there is no room"))
        });
        empty();
        println!("{program}: {here} | {there}");
        assert!(here.contains(&to.ip().to_string()), "{program}: {here}");
        assert_eq!(there.lines().count() + here.lines().count(), 2, "{program}: {here}; {there}");
        if program.to_string() == "nfs" {
            assert!(here.contains("WRITE was refused: no room"), "{here}");
        } else {
            assert_full(&there, directory);
        }
    }
}

#[test]
fn sudden_death_leaves_nothing() {
    if let Some(stage) = std::env::var_os(STAGE) {
        return hold_files(Path::new(&stage));
    }
    let stage = tempfile::tempdir().expect("tempdir");
    let mut holder = start_holder(stage.path());
    assert_eq!(
        fs::read_dir(stage.path()).expect("readable").count(),
        0,
        "a file has a name while it is used"
    );
    holder.kill().expect("killed");
    assert_eq!(holder.wait().expect("gone").signal(), Some(9));
    assert_eq!(fs::read_dir(stage.path()).expect("readable").count(), 0);
}

/// Opens all the files of activities, until it is killed.
fn hold_files(directory: &Path) {
    let kept = DiskSource::make(directory, Bytes::new(MIB), 1).expect("there is room");
    let copying = ready(&disk(directory, MIB, 1));
    println!("holding {}", kept.path().display());
    std::io::stdin().read_to_end(&mut Vec::new()).expect("the parent is there");
    drop((kept, copying));
}

fn start_holder(stage: &Path) -> Child {
    let command = myself("sudden_death_leaves_nothing");
    let mut holder = Command::new(&command[0])
        .args(&command[1..])
        .env(STAGE, stage)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program can be run");
    let output = BufReader::new(holder.stdout.take().expect("piped"));
    let held = output.lines().map_while(Result::ok).any(|line| line.contains("holding /proc/"));
    assert!(held, "the holder ended early: {:?}", holder.wait());
    holder
}
