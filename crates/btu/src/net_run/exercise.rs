//! A stream and requests between two stations of a network, for users who want to see the network
//! at work.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::Context;
use btu_network::Drawing;
use btu_suite::activity::{Order, Word};
use btu_suite::experiment::{CellSetting, Experiment, Field, Frame, Raised};
use btu_suite::network::HostName;
use btu_suite::sample::Intervals;
use btu_suite::script::{Script, Step};
use btu_suite::speed::{Phase, SpeedCell, SpeedPlan};
use btu_testbed::testbed::Signals;
use btu_units::Span;

use super::looking::Notebook;
use crate::preflight;

/// From one sample to the next.
const EVERY: Span = Span::from_milliseconds(200);

/// After its time a queue drains.
const MARGIN: Span = Span::from_seconds(60);

/// Its workers, in the order of the script; they are killed when the thread that began it ends.
pub(super) struct Exercise {
    workers: Vec<Child>,
}

/// A worker that is set up, and the channels of its messages.
struct Ready {
    worker: Child,
    orders: ChildStdin,
    words: BufReader<ChildStdout>,
    endpoint: Option<SocketAddr>,
}

impl Exercise {
    /// Begins: TCP from the first station to the last, and a request every 20 ms; progress is
    /// recorded.
    pub(super) fn begin(
        directory: &Path,
        drawing: &Drawing,
        signals: &Signals,
        (time, notebook): (Span, Notebook),
    ) -> anyhow::Result<Self> {
        let script = script(drawing, time)?;
        let mut ready: Vec<Ready> = Vec::new();
        for step in &script.steps {
            // A step that listens comes before the step that connects to it.
            let order = order(step, drawing, &ready);
            ready.push(prepare(directory, step.host.as_str(), &order, signals)?);
        }
        let intervals = Arc::new(Mutex::new((Intervals::of(&script, EVERY), notebook)));
        let mut workers = Vec::new();
        for one in &mut ready {
            writeln!(one.orders, "go").context("starting a worker")?;
        }
        for (step, Ready { worker, orders, words, .. }) in ready.into_iter().enumerate() {
            let intervals = Arc::clone(&intervals);
            thread::Builder::new().name("listen".to_owned()).spawn(move || {
                listen(step, words, &intervals);
                // A worker ends when no process can give it orders any more.
                drop(orders);
            })?;
            workers.push(worker);
        }
        Ok(Self { workers })
    }

    /// Whether all have ended.
    pub(super) fn is_over(&mut self) -> bool {
        self.workers.iter_mut().all(|worker| matches!(worker.try_wait(), Ok(Some(_)) | Err(_)))
    }

    /// Ends the remaining workers.
    pub(super) fn end(mut self) {
        for worker in &mut self.workers {
            // One that has ended already is only waited for.
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// The phase of `btu speed` in which the first station sends to the last.
fn script(drawing: &Drawing, time: Span) -> anyhow::Result<Script> {
    let ends = drawing
        .stations
        .first()
        .zip(drawing.stations.last())
        .context("a network without stations")?;
    let stations = vec![HostName::from(ends.0), HostName::from(ends.1)];
    anyhow::ensure!(stations[0] != stations[1], "a single station has no other one to send to");
    let (name, text) = (drawing.name.clone(), String::new());
    let frame = Frame {
        version: SpeedPlan::VERSION,
        seed: u64::from_ne_bytes(preflight::random_bytes()?),
        profile: String::new(),
        blocks: 1,
        budget: time + MARGIN,
        deadline: time + MARGIN,
        left_out: Vec::new(),
        network: Field::Drawing(Raised {
            name,
            text,
            stations,
            congestion_control: None,
            ipv6: false,
        }),
    };
    let plan = SpeedPlan {
        phases: vec![Phase::Up],
        time,
        idle: time,
        streams: 1,
        offered: None,
        dscp: None,
        frame,
    };
    let token = preflight::random_bytes()?;
    let setting = CellSetting {
        seed: plan.frame.seed,
        token,
        deadline: time + MARGIN,
        scratch: std::path::PathBuf::new(),
    };
    Ok(plan.script(&SpeedCell { phase: Phase::Up }, &setting))
}

/// The step's order with its addresses filled in.
fn order(step: &Step, drawing: &Drawing, ready: &[Ready]) -> Order {
    let mut order = Order { sample_every: Some(EVERY), ..step.order.clone() };
    let own = drawing.stations.iter().find(|station| HostName::from(*station) == step.host);
    if let Some(station) = own {
        order.activity.listen_on(station.address.into());
    }
    if let Some(endpoint) = step.peer.and_then(|peer| ready.get(peer)?.endpoint) {
        order.activity.connect_to(endpoint);
    }
    order
}

fn prepare(
    directory: &Path,
    station: &str,
    order: &Order,
    signals: &Signals,
) -> anyhow::Result<Ready> {
    let executable = std::env::current_exe()?;
    let mut command = Command::new(&executable);
    command.args(["internal", "enter"]).arg(directory).arg(station).arg("--");
    command
        .arg(&executable)
        .args(["internal", "worker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut worker = signals.start(&mut command).context("starting this program again")?;
    let mut orders = worker.stdin.take().context("the worker's pipe is missing")?;
    let mut words = BufReader::new(worker.stdout.take().context("the worker's pipe is missing")?);
    writeln!(orders, "{}", serde_json::to_string(order)?).context("giving a worker its order")?;
    let mut line = String::new();
    words.read_line(&mut line).context("listening to a worker")?;
    match serde_json::from_str(&line) {
        Ok(Word::Ready { endpoint }) => Ok(Ready { worker, orders, words, endpoint }),
        Ok(Word::Failed { message }) => {
            anyhow::bail!("{} in {station}: {message}", order.activity.kind())
        }
        _ => anyhow::bail!("{} in {station} was not set up", order.activity.kind()),
    }
}

/// Receives a worker's messages until their end.
fn listen(step: usize, words: BufReader<ChildStdout>, intervals: &Mutex<(Intervals, Notebook)>) {
    let told = words.lines().map_while(Result::ok).map(|line| serde_json::from_str::<Word>(&line));
    for word in told {
        let mut both = intervals.lock().unwrap_or_else(PoisonError::into_inner);
        let (intervals, notebook) = &mut *both;
        match word {
            Ok(Word::Sample(sample)) => intervals.add(step, *sample),
            _ => intervals.end(step),
        }
        while let Some(interval) = intervals.ready() {
            notebook.note(&interval);
        }
    }
}
