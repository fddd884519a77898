//! A worker's life: read one order and apply its bounds, set up, report ready, wait for `go`,
//! perform, account, exit. One that measures in turns waits for another `go` after each point.
//!
//! The worker dies with its agent: a thread watches standard input and ends the process when it
//! closes.

use std::io::{self, BufRead, BufReader, Stdin, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use btu_testbed::note;
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use btu_contract::activity::{Activity, Order, Performance, Performed, Tell, Word};
use btu_contract::bounds::{BoundedOrder, Bounds};
use btu_contract::peers::Callers;
use btu_contract::pipe::Kind;
use btu_contract::record::{CpuTime, Outcome, Report};
use btu_testbed::privilege::{Capabilities, give_up_all_but};
use btu_units::Bytes;

use crate::clock;
use crate::lines::{Lines, write};

/// The longest order accepted on standard input, in bytes.
const ORDER_LIMIT_BYTES: u64 = 1 << 20;

/// Why a worker cannot perform its order.
type Trouble = Box<dyn std::error::Error + Send + Sync>;

/// Runs the worker on standard input and output; the exit code says whether the activity was
/// performed.
pub fn run() -> ExitCode {
    match perform() {
        Ok(word) => finish(&word, ExitCode::SUCCESS),
        Err(trouble) => finish(&Word::Failed { message: trouble.to_string() }, ExitCode::FAILURE),
    }
}

/// Has the kernel enforce the agent's limits on this process (setrlimit(2)).
fn bind(bounds: &Bounds) -> Result<(), Trouble> {
    let limits = [
        ("its files to", Resource::RLIMIT_FSIZE, bounds.file.map(Bytes::count)),
        ("its memory to", Resource::RLIMIT_DATA, bounds.memory.map(Bytes::count)),
        ("its open files and sockets to", Resource::RLIMIT_NOFILE, bounds.open_files),
    ];
    for (what, resource, most) in limits {
        if let Some(most) = most {
            // Never more than the current limit: raising it needs a privilege.
            let most = most.min(getrlimit(resource)?.1);
            setrlimit(resource, most, most)
                .map_err(|error| format!("limiting {what} {most}: {error}"))?;
        }
    }
    Ok(())
}

/// The addresses that may call this worker's ports. Refused callers are logged, at most one line a
/// second.
fn callers(bounds: Bounds) -> Callers {
    let refused = Mutex::new(Lines::default());
    Callers::only(bounds.callers, move |address, why| {
        write(&refused, "worker", &format!("refused a caller from {address}: {why}"));
    })
}

fn finish(word: &Word, code: ExitCode) -> ExitCode {
    // When the agent is gone, no process receives the message.
    if say(word).is_err() { ExitCode::FAILURE } else { code }
}

fn perform() -> Result<Word, Trouble> {
    let mut input = BufReader::new(io::stdin());
    let BoundedOrder { order, bounds } = read_order(&mut input)?;
    bind(&bounds)?;
    give_up_all_but(needed(&order.activity))
        .map_err(|error| format!("giving up the agent's privileges: {error}"))?;
    let stop = Arc::new(AtomicBool::new(false));
    let started = watch_input(input, Arc::clone(&stop))?;
    own_files();
    let performance = prepare(&order, &callers(bounds))?;
    say(&Word::Ready { endpoint: performance.endpoint() })?;
    let wait = move || {
        started
            .recv()
            .map_err(|_| io::Error::other("waiting for `go`: the agent closed the connection"))
    };
    wait()?;
    let in_turns = matches!(&order.activity, Activity::Pipe(end) if end.turns);
    let mut tell = move |word| {
        say(&word)?;
        if in_turns { wait() } else { Ok(()) }
    };
    Ok(Word::Done(Box::new(performance.perform_telling(&stop, &mut tell)?)))
}

/// The privileges of the agent that any activity, or a program that it starts, can use.
pub(crate) const CAPABILITIES: Capabilities = Capabilities::FILES
    .and(Capabilities::IPC_LOCK)
    .and(Capabilities::NET_ADMIN)
    .and(Capabilities::SYS_PTRACE)
    .and(Capabilities::SETFCAP);

/// The privileges of the agent that an activity can use, if the agent has them: as the superuser,
/// or from its service manager. They affect only the sockets, files and memory of this user's
/// workers.
fn needed(activity: &Activity) -> Capabilities {
    let always = Capabilities::FILES.and(Capabilities::IPC_LOCK);
    let pipe = match activity {
        Activity::DrawInside(drawing) if drawing.is_kept_to_a_share() => {
            return always.and(Capabilities::SYS_NICE);
        }
        Activity::Pipe(end) => &end.plan,
        Activity::Hint(end) => &end.pipe,
        Activity::Draw(end) | Activity::DrawOverSsh(end) | Activity::DrawOverX11(end) => &end.pipe,
        _ => return always,
    };
    let polls =
        if pipe.socket.busy_poll.is_some() { Capabilities::NET_ADMIN } else { Capabilities::NONE };
    // An MPI library copies from the other process's memory.
    let copies = if pipe.kind == Kind::Mpi { Capabilities::SYS_PTRACE } else { Capabilities::NONE };
    let is_slowed = matches!(activity, Activity::Draw(end) | Activity::DrawOverSsh(end) | Activity::DrawOverX11(end) if end.drawing.is_kept_to_a_share());
    let shares = if is_slowed { Capabilities::SYS_NICE } else { Capabilities::NONE };
    always.and(polls).and(copies).and(shares)
}

/// Gives the calling thread a table of open files of its own, before it opens any: for a table that
/// threads share, the kernel counts references to a file in atomic operations, in every call of the
/// loops, and the thread that watches standard input would make it shared. (`fdget` in the kernel's
/// include/linux/file.h.)
fn own_files() {
    // A sandbox may forbid it, and then every call takes a few nanoseconds longer.
    let _ = unshare(CloneFlags::CLONE_FILES);
}

fn read_order(input: &mut BufReader<Stdin>) -> Result<BoundedOrder, Trouble> {
    let mut line = String::new();
    io::Read::take(&mut *input, ORDER_LIMIT_BYTES).read_line(&mut line)?;
    serde_json::from_str(&line).map_err(|error| format!("reading the order: {error}").into())
}

/// Finds the crate that performs this activity and sets it up.
fn prepare(order: &Order, callers: &Callers) -> Result<Box<dyn Performance>, Trouble> {
    if order.activity == Activity::Null {
        return Ok(Box::new(Null));
    }
    if let Some(performance) = btu_traffic::prepare(order, callers)? {
        return Ok(performance);
    }
    if let Some(performance) = btu_load::prepare(order, callers)? {
        return Ok(performance);
    }
    Err(format!("this program has no activity `{}`", order.activity.kind()).into())
}

fn say(word: &Word) -> io::Result<()> {
    let mut line = serde_json::to_string(word)?;
    line.push('\n');
    let mut output = io::stdout().lock();
    output.write_all(line.as_bytes())?;
    output.flush()
}

/// Follows the agent's lines: `go` starts, `stop` asks a server to end, the end of input ends the
/// process.
fn watch_input(input: BufReader<Stdin>, stop: Arc<AtomicBool>) -> io::Result<Receiver<()>> {
    let (go, started) = mpsc::channel();
    std::thread::Builder::new()
        .name("orders".to_owned())
        .spawn(move || follow(input, &go, &stop))?;
    Ok(started)
}

fn follow(input: BufReader<Stdin>, go: &Sender<()>, stop: &AtomicBool) {
    for line in input.lines().map_while(Result::ok) {
        match line.as_str() {
            // The receiver is only gone when the activity has already failed.
            "go" => {
                let _ = go.send(());
            }
            "stop" => stop.store(true, Ordering::Relaxed),
            other => note!("worker: ignoring unknown message `{other}`"),
        }
    }
    // The agent is gone, and with it every process that could use a result.
    std::process::exit(1);
}

/// An activity that does nothing: a cell of it measures the tool's own cost.
struct Null;

impl Performance for Null {
    fn perform_telling(self: Box<Self>, _stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let now = clock::monotonic()?;
        Ok(Report { started: now, finished: now, cpu: CpuTime::default(), outcome: Outcome::Null })
    }
}
