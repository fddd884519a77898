//! Process 1 of a house (`btu internal init`): raises it, reaps what ends in it, and takes it along when it goes.

use std::io::{self, Read};
use std::process::{ExitCode, exit};
use std::thread;
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpid};

use super::error::TestbedError;
use super::furnish::{Rooms, rehearse};
use super::layout::Layout;
use super::outer::die_with_parent;
use super::registry::open_books;
use super::residents::Residents;
use super::words::{Blueprint, Order, Word, hear, tell};
use super::{design, door, hosts, probe};

/// How long residents may take to go after SIGTERM. Whoever takes longer goes with process 1.
const GRACE: Duration = Duration::from_millis(700);

/// What `btu internal init` does. Takes no arguments: its order is the first line of standard input, which is the outer
/// process's lifeline afterwards; its words go to standard output.
///
/// It refuses to run as anything but process 1 of a process namespace, because it ends by ending everybody.
pub fn init() -> ExitCode {
    match live() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without the outer process there is nobody to tell.
            drop(tell(io::stdout(), &Word::Refused { error }));
            ExitCode::FAILURE
        }
    }
}

fn live() -> Result<(), TestbedError> {
    if getpid() != Pid::from_raw(1) {
        return Err(TestbedError::protocol("start the testbed's first process", "it is not process 1"));
    }
    die_with_parent()?;
    let order = hear(io::stdin().lock()).map_err(|error| TestbedError::protocol("read the order", error))?;
    let watch = thread::Builder::new().spawn(watch_lifeline);
    watch.map_err(|error| TestbedError::process("watch the lifeline", &error))?;
    match order {
        Order::Try => rehearse().and_then(|()| answer(&Word::Ready)),
        Order::Raise(blueprint) => raise(&blueprint).and_then(|residents| keep(&residents)),
    }
}

/// The steps of raising, each of which needs the ones before it.
fn raise(blueprint: &Blueprint) -> Result<Residents, TestbedError> {
    let deadline = Instant::now() + blueprint.design.patience();
    let private = mount_own_proc();
    let layout = Layout::of(&blueprint.design);
    prepare(blueprint, private)?;
    let rooms = Rooms::open(&layout)?;
    rooms.furnish(&layout, blueprint.design.congestion_control.as_ref())?;
    let residents = Residents::move_in(&rooms, blueprint)?;
    residents.await_listening(deadline)?;
    let calls = probe::Calls::of(&blueprint.design);
    probe::prove(&rooms, &layout, &calls, || residents.check_alive(), deadline)?;
    if blueprint.design.has_wire() {
        // Nobody's books begin with the house's own packets.
        open_books(&blueprint.runtime_directory)?;
    }
    door::open(rooms, layout.stations, &blueprint.runtime_directory)?;
    Ok(residents)
}

/// What a house needs before its first namespace.
fn prepare(blueprint: &Blueprint, private: bool) -> Result<(), TestbedError> {
    let drawing = &blueprint.design.drawing;
    design::allow_files(drawing)?;
    let named = if private {
        hosts::name_stations(drawing, &blueprint.runtime_directory)
    } else {
        Err(io::Error::other("this system refuses private mounts"))
    };
    if let Err(error) = named {
        eprintln!(
            "btu: stations are known by their addresses only, not by name: putting a file over /etc/hosts: {error}"
        );
    }
    Ok(())
}

fn keep(residents: &Residents) -> Result<(), TestbedError> {
    answer(&Word::Ready)?;
    let kept = residents.reap(|event| tell(io::stdout(), &Word::Ended { event }));
    kept.map_err(|error| TestbedError::protocol("look after the house's processes", error))
}

fn answer(word: &Word) -> Result<(), TestbedError> {
    tell(io::stdout(), word).map_err(|error| TestbedError::protocol("answer the outer process", error))
}

/// Shows the residents their own processes. Where the system refuses (a container with a masked /proc), they see the
/// host's list, and everything the house itself needs still works. Nothing is mounted unless the mounts were made
/// private first: a mount must not reach the host. Says whether they were.
pub(super) fn mount_own_proc() -> bool {
    let nothing = None::<&str>;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let private = mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing);
    if private.is_ok() {
        mount(Some("proc"), "/proc", Some("proc"), flags, nothing).ok();
    }
    private.is_ok()
}

/// Waits for the end of standard input, and ends the house with it.
fn watch_lifeline() {
    let mut lifeline = io::stdin().lock();
    loop {
        match lifeline.read(&mut [0; 64]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            // Nothing more is said through a lifeline, so anything but its end is read and forgotten.
            Ok(1..) => (),
            Ok(0) | Err(_) => go_down(),
        }
    }
}

/// Asks everybody to go, waits a little, and goes: the kernel ends whoever is left.
fn go_down() -> ! {
    let deadline = Instant::now() + GRACE;
    // -1 is everybody in this process namespace but process 1.
    kill(Pid::from_raw(-1), Signal::SIGTERM).ok();
    // Whoever was stopped cannot hear it.
    kill(Pid::from_raw(-1), Signal::SIGCONT).ok();
    // Commands that came in by the door are not process 1's children, so it is not enough to have none left.
    while kill(Pid::from_raw(-1), None).is_ok() && Instant::now() < deadline {
        waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)).ok();
        thread::sleep(Duration::from_millis(2));
    }
    exit(0)
}
