//! btu: two workers, controlled with the messages that its agents use.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context, Result, bail};
use btu_contract::activity::{
    Activity, Order, PipeEnd, PipeMeeting, Receiving, Rendezvous, Request, Respond, TcpReceive,
    TcpSend, Transport, Word, Work,
};
use btu_contract::pipe::{End, PipePlan, Point};
use btu_contract::record;
use btu_units::{Bytes, Span};

use super::{Bench, Ends};
use crate::case::Case;
use crate::lab::FAR;
use crate::outcome::{SizeTime, ToolOutcome};
use crate::pinning;

const TOKEN: [u8; 16] = *b"btu side by side";

/// The program with the measured workers: this one, or the `btu` next to the own program.
pub(crate) fn find(btu: Option<&Path>) -> Result<PathBuf> {
    let own = std::env::current_exe().context("find the own program")?;
    let path = btu.map_or_else(|| own.with_file_name("btu"), Path::to_owned);
    if path.is_file() {
        return Ok(path.canonicalize()?);
    }
    bail!("{} is not a program: build btu, or name it with --btu", path.display())
}

/// `watched`: with looks at the sender's connection, as in `btu speed`.
pub(super) fn run(
    bench: &Bench<'_>,
    case: Case,
    ends: &Ends<'_>,
    watched: bool,
) -> Result<ToolOutcome> {
    let before = pinning::children_cpu_seconds()?;
    let (serving, calling) = perform(bench, case, ends, watched)?;
    let cpu_seconds = pinning::children_cpu_seconds()? - before;
    match (serving.outcome, calling.outcome) {
        (record::Outcome::Received(received), record::Outcome::Sent(sent)) => {
            anyhow::ensure!(
                received.bytes == sent.bytes,
                "sent {} and received {}",
                sent.bytes,
                received.bytes
            );
            anyhow::ensure!(received.samples_wrong == 0, "the payload arrived damaged");
            let (bytes, seconds) = (received.bytes.count() as f64, received.last_byte.seconds());
            Ok(ToolOutcome::Stream {
                bytes,
                seconds,
                cpu_seconds,
                message_bytes: case.message_bytes() as f64,
            })
        }
        (record::Outcome::Responded { .. }, record::Outcome::Requested(requested)) => {
            let quantile = |share| {
                let value =
                    requested.round_trip.quantile(share).context("no request was answered")?;
                anyhow::Ok(value as f64 / 1e3)
            };
            Ok(ToolOutcome::Requests { p50_us: quantile(0.5)?, p99_us: quantile(0.99)? })
        }
        other => bail!("workers performed something else: {other:?}"),
    }
}

fn perform(
    bench: &Bench<'_>,
    case: Case,
    ends: &Ends<'_>,
    watched: bool,
) -> Result<(record::Report, record::Report)> {
    let deadline = Span::from_seconds(u64::from(bench.seconds) + 20);
    let sample_every = watched.then_some(Span::from_seconds(1));
    let order = |activity| Order { sample_every, ..Order::new(bench.seed, deadline, activity) };
    let mut far = WorkerProcess::start(bench, ends.far)?;
    let endpoint = far.prepare(&order(serving(case)))?.context("the far worker does not listen")?;
    let mut near = WorkerProcess::start(bench, ends.near)?;
    near.prepare(&order(calling(case, endpoint, Span::from_seconds(bench.seconds.into()))))?;
    far.go()?;
    near.go()?;
    let calling = near.finish()?;
    Ok((far.finish()?, calling))
}

/// A signature; its points are reported during the measurement.
pub(super) fn signature(
    bench: &Bench<'_>,
    plan: &PipePlan,
    ends: &Ends<'_>,
) -> Result<ToolOutcome> {
    let order = |end, meeting| {
        let part = PipeEnd {
            end,
            meeting: PipeMeeting::Network(meeting),
            token: TOKEN,
            plan: plan.clone(),
            turns: false,
        };
        Order::new(bench.seed, Span::from_seconds(30), Activity::Pipe(Box::new(part)))
    };
    let mut far = WorkerProcess::start(bench, ends.far)?;
    let listening = order(End::Far, Rendezvous::Listen(ends.address.parse()?));
    let endpoint = far.prepare(&listening)?.context("the far worker does not listen")?;
    let mut near = WorkerProcess::start(bench, ends.near)?;
    near.prepare(&order(End::Near, Rendezvous::Connect(endpoint)))?;
    far.go()?;
    near.go()?;
    let mut times = Vec::new();
    near.finish_telling(|point| {
        let best = point.one_way_seconds(plan.pattern).into_iter().fold(f64::INFINITY, f64::min);
        times.push(SizeTime { bytes: point.size.count(), one_way_seconds: best });
    })?;
    far.finish()?;
    Ok(ToolOutcome::Signature { times })
}

fn transport(case: Case) -> Transport {
    if case == Case::UdpRequest { Transport::Udp } else { Transport::Tcp }
}

fn serving(case: Case) -> Activity {
    let on = FAR.parse().expect("a constant address");
    let message = Bytes::new(case.message_bytes());
    if case.is_stream() {
        Activity::TcpReceive(TcpReceive {
            meeting: Rendezvous::Listen(on),
            token: TOKEN,
            message,
            window: None,
            volume: None,
            receiving: Receiving::Plain,
        })
    } else {
        Activity::Respond(Respond { on, transport: transport(case), token: TOKEN, message })
    }
}

fn calling(case: Case, to: SocketAddr, duration: Span) -> Activity {
    let message = Bytes::new(case.message_bytes());
    if case.is_stream() {
        let (meeting, work) = (Rendezvous::Connect(to), Work::For(duration));
        Activity::TcpSend(TcpSend {
            meeting,
            token: TOKEN,
            message,
            work,
            window: None,
            unsent: None,
        })
    } else {
        Activity::Request(Request {
            to,
            transport: transport(case),
            token: TOKEN,
            message,
            duration,
            open_loop: None,
        })
    }
}

/// A worker process and the pipes to it.
struct WorkerProcess {
    child: Child,
    orders: ChildStdin,
    words: BufReader<ChildStdout>,
}

impl WorkerProcess {
    fn start(bench: &Bench<'_>, end: pinning::PathEnd) -> Result<Self> {
        let program = bench.btu.to_str().context("the program's path is not UTF-8")?;
        let mut child = pinning::command_at(end, program)
            .args(["internal", "worker"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start a worker")?;
        let orders = child.stdin.take().context("the worker's standard input")?;
        let words = BufReader::new(child.stdout.take().context("the worker's standard output")?);
        Ok(Self { child, orders, words })
    }

    fn prepare(&mut self, order: &Order) -> Result<Option<SocketAddr>> {
        writeln!(self.orders, "{}", serde_json::to_string(order)?).context("order a worker")?;
        match self.hear()? {
            Word::Ready { endpoint } => Ok(endpoint),
            word => bail!("a worker said {word:?} instead of ready"),
        }
    }

    fn go(&mut self) -> Result<()> {
        self.orders.write_all(b"go\n").context("start a worker")
    }

    fn finish(self) -> Result<record::Report> {
        self.finish_telling(|_| ())
    }

    fn finish_telling(mut self, mut tell: impl FnMut(&Point)) -> Result<record::Report> {
        let report = loop {
            match self.hear()? {
                Word::Point(point) => tell(&point),
                Word::Sample(_) => {}
                Word::Done(report) => break *report,
                word => bail!("a worker said {word:?} instead of done"),
            }
        };
        // Its orders stay open until it has ended: a worker without its agent does not end in
        // order.
        let status = self.child.wait().context("wait for a worker")?;
        drop(self.orders);
        anyhow::ensure!(status.success(), "a worker ended with {status}");
        Ok(report)
    }

    fn hear(&mut self) -> Result<Word> {
        let mut line = String::new();
        self.words.read_line(&mut line).context("hear a worker")?;
        serde_json::from_str(&line).with_context(|| format!("a worker said {line:?}"))
    }
}
