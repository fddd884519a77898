//! A worker's life: read one order, set up, say ready, wait for `go`, perform, account, exit. One that measures in turns
//! waits for another `go` after each point.
//!
//! The worker dies with its agent: a thread watches standard input and ends the process when it closes.

use std::io::{self, BufRead, BufReader, Stdin, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};

use btu_suite::activity::{Activity, Order, Performance, Word};

/// The longest order accepted on standard input, in bytes.
const ORDER_LIMIT_BYTES: u64 = 1 << 20;

/// Why a worker cannot do its order.
type Trouble = Box<dyn std::error::Error + Send + Sync>;

/// Runs the worker on standard input and output; the exit code says whether the activity was performed. The kernel lets none
/// of its files become longer than `file_bytes` (setrlimit(2), `RLIMIT_FSIZE`).
pub fn run(file_bytes: Option<u64>) -> ExitCode {
    match bound(file_bytes).and_then(|()| perform()) {
        Ok(word) => finish(&word, ExitCode::SUCCESS),
        Err(trouble) => finish(&Word::Failed { message: trouble.to_string() }, ExitCode::FAILURE),
    }
}

fn bound(file_bytes: Option<u64>) -> Result<(), Trouble> {
    let Some(bytes) = file_bytes else { return Ok(()) };
    setrlimit(Resource::RLIMIT_FSIZE, bytes, bytes)
        .map_err(|error| format!("limiting its files to {bytes} bytes: {error}").into())
}

fn finish(word: &Word, code: ExitCode) -> ExitCode {
    // When the agent is gone there is nobody left to tell.
    if say(word).is_err() { ExitCode::FAILURE } else { code }
}

fn perform() -> Result<Word, Trouble> {
    let mut input = BufReader::new(io::stdin());
    let order = read_order(&mut input)?;
    let stop = Arc::new(AtomicBool::new(false));
    let started = watch_input(input, Arc::clone(&stop))?;
    own_files();
    let performance = prepare(&order)?;
    say(&Word::Ready { endpoint: performance.endpoint() })?;
    let wait = || started.recv().map_err(|_| io::Error::other("waiting for `go`: the agent closed the connection"));
    wait()?;
    let in_turns = matches!(&order.activity, Activity::Pipe(end) if end.turns);
    let mut tell = |word| {
        say(&word)?;
        if in_turns { wait() } else { Ok(()) }
    };
    Ok(Word::Done(Box::new(performance.perform_telling(&stop, &mut tell)?)))
}

/// Gives the calling thread a table of open files of its own, before it opens any: of a table that threads share, the kernel
/// counts in atomic operations who uses a file, in every call of the loops, and the thread that watches standard input would
/// make it shared. (`fdget` in the kernel's include/linux/file.h.)
fn own_files() {
    // A sandbox may forbid it, and then every call takes a few nanoseconds longer.
    unshare(CloneFlags::CLONE_FILES).ok();
}

fn read_order(input: &mut BufReader<Stdin>) -> Result<Order, Trouble> {
    let mut line = String::new();
    io::Read::take(&mut *input, ORDER_LIMIT_BYTES).read_line(&mut line)?;
    serde_json::from_str(&line).map_err(|error| format!("reading the order: {error}").into())
}

/// Finds the room that performs this activity and lets it set up.
fn prepare(order: &Order) -> Result<Box<dyn Performance>, Trouble> {
    if order.activity == Activity::Null {
        return Ok(Box::new(crate::null::Null));
    }
    if let Some(performance) = btu_traffic::prepare(order)? {
        return Ok(performance);
    }
    if let Some(performance) = btu_load::prepare(order)? {
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

/// Follows the agent's lines: `go` starts, `stop` asks a server to end, the end of input ends the process.
fn watch_input(input: BufReader<Stdin>, stop: Arc<AtomicBool>) -> io::Result<Receiver<()>> {
    let (go, started) = mpsc::channel();
    std::thread::Builder::new().name("orders".to_owned()).spawn(move || follow(input, &go, &stop))?;
    Ok(started)
}

fn follow(input: BufReader<Stdin>, go: &Sender<()>, stop: &AtomicBool) {
    for line in input.lines().map_while(Result::ok) {
        match line.as_str() {
            // The receiver is only gone when the activity has already failed.
            "go" => drop(go.send(())),
            "stop" => stop.store(true, Ordering::Relaxed),
            other => eprintln!("worker: ignoring unknown word `{other}`"),
        }
    }
    // The agent is gone, and with it everybody who could use a result.
    std::process::exit(1);
}
