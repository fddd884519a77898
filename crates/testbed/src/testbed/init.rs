//! Process 1 of a testbed (`btu internal init`): raises it, reaps its processes, and ends it when
//! process 1 ends.

use std::io::{self, Read};
use std::process::{ExitCode, exit};
use std::thread;
use std::time::{Duration, Instant};

use btu_contract::protocol_work::ProtocolWork;
use nix::mount::{MsFlags, mount};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpid};

use super::error::TestbedError;
use super::layout::Layout;
use super::messages::{Message, Order, TestbedSpec, receive, send};
use super::namespaces::{Namespaces, can_receive_on, rehearse};
use super::outer::die_with_parent;
use super::processes::TestbedProcesses;
use super::registry::reset_accounts;
use super::{design, entry_server, hosts, probe};
use crate::note;

/// The time for processes to end after SIGTERM. Processes that take longer end with process 1.
const GRACE_PERIOD: Duration = Duration::from_millis(700);

/// The work of `btu internal init`. It takes no arguments: its order is the first line of standard
/// input, which is the outer process's keep-alive pipe afterwards; its messages go to standard
/// output.
///
/// It refuses to run as anything but process 1 of a process namespace, because at its end it ends
/// all processes there.
pub fn init() -> ExitCode {
    match live() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without the outer process there is no receiver.
            drop(send(io::stdout(), &Message::Refused { error }));
            ExitCode::FAILURE
        }
    }
}

fn live() -> Result<(), TestbedError> {
    if getpid() != Pid::from_raw(1) {
        return Err(TestbedError::protocol(
            "start the testbed's first process",
            "it is not process 1",
        ));
    }
    die_with_parent()?;
    let order = receive(io::stdin().lock())
        .map_err(|error| TestbedError::protocol("read the order", error))?;
    let watch = thread::Builder::new().spawn(watch_keep_alive);
    watch.map_err(|error| TestbedError::process("watch the keep-alive pipe", &error))?;
    // The first of all steps, when it is only a test, too: the system's own mount may be read-only.
    let private = mount_own_proc();
    match order {
        Order::Try { receivers } => rehearse().and_then(|()| {
            answer(&Message::Ready { own_protocol_work: can_receive_on(&receivers) })
        }),
        Order::Raise(spec) => {
            raise(&spec, private).and_then(|processes| keep(&processes, spec.design.protocol_work))
        }
    }
}

/// The steps of raising, each of which needs the ones before it.
fn raise(spec: &TestbedSpec, private: bool) -> Result<TestbedProcesses, TestbedError> {
    let deadline = Instant::now() + spec.design.timeout();
    let layout = Layout::of(&spec.design);
    prepare(spec, private)?;
    let namespaces = Namespaces::open(&layout)?;
    namespaces.configure(&layout, &spec.design)?;
    let processes = TestbedProcesses::spawn(&namespaces, spec)?;
    processes.await_listening(deadline)?;
    let calls = probe::Calls::of(&spec.design);
    probe::prove(&namespaces, &layout, &calls, || processes.check_alive(), deadline)?;
    if spec.design.has_wire() {
        // The accounts must not contain the testbed's own packets.
        reset_accounts(&spec.runtime_directory)?;
    }
    entry_server::open(namespaces, layout.stations, &spec.runtime_directory)?;
    Ok(processes)
}

/// The preparations of a testbed before its first namespace.
fn prepare(spec: &TestbedSpec, private: bool) -> Result<(), TestbedError> {
    let drawing = &spec.design.drawing;
    design::allow_files(drawing)?;
    let named = if private {
        hosts::name_stations(drawing, &spec.runtime_directory)
    } else {
        Err(io::Error::other("this system refuses private mounts"))
    };
    if let Err(error) = named {
        note!(
            "btu: stations are known by their addresses only, not by name: putting a file over /etc/hosts: {error}"
        );
    }
    Ok(())
}

fn keep(processes: &TestbedProcesses, work: ProtocolWork) -> Result<(), TestbedError> {
    answer(&Message::Ready { own_protocol_work: work.is_receiver() })?;
    let kept = processes.reap(|event| send(io::stdout(), &Message::Ended { event }));
    kept.map_err(|error| TestbedError::protocol("look after the testbed's processes", error))
}

fn answer(message: &Message) -> Result<(), TestbedError> {
    send(io::stdout(), message)
        .map_err(|error| TestbedError::protocol("answer the outer process", error))
}

/// Shows the processes their own processes. If the system refuses (a container with a masked
/// /proc), they see the host's list, and the testbed itself still works. Nothing is mounted unless
/// the mounts were made private first: a mount must not reach the host. Returns whether they were.
pub(super) fn mount_own_proc() -> bool {
    let nothing = None::<&str>;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let private = mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing);
    if private.is_ok() {
        let _ = mount(Some("proc"), "/proc", Some("proc"), flags, nothing);
    }
    private.is_ok()
}

/// Waits for the end of standard input, and ends the testbed with it.
fn watch_keep_alive() {
    let mut keep_alive = io::stdin().lock();
    loop {
        match keep_alive.read(&mut [0; 64]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            // A keep-alive pipe carries no further data, so anything but its end is read and
            // ignored.
            Ok(1..) => (),
            Ok(0) | Err(_) => shut_down(),
        }
    }
}

/// Asks all processes to end, waits a little, and ends: then the kernel kills those that are left.
fn shut_down() -> ! {
    let deadline = Instant::now() + GRACE_PERIOD;
    // -1 means all processes in this process namespace except process 1.
    let _ = kill(Pid::from_raw(-1), Signal::SIGTERM);
    // A stopped process cannot act on it.
    let _ = kill(Pid::from_raw(-1), Signal::SIGCONT);
    // Commands that users run in stations are not process 1's children, so it is not enough to have
    // no children left.
    while kill(Pid::from_raw(-1), None).is_ok() && Instant::now() < deadline {
        let _ = waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG));
        thread::sleep(Duration::from_millis(2));
    }
    exit(0)
}
