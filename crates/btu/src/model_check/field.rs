//! The emulated network that is up while points are measured, and the process in it that sends
//! packets.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use btu_network::Drawing;
use btu_suite::protocol_work::ProtocolWork;
use btu_suite::record::WireAccount;
use btu_testbed::testbed::{
    self, KeepAlive, NetworkRequest, RaisedNetwork, RaisingNetwork, Registry, Signals,
};

use super::words::{Order, Record};
use crate::rate;

/// How long a replication may take in addition to its own duration: for the last packets, for the
/// start, and for a busy machine.
const FURTHER: Duration = Duration::from_secs(30);

/// The wait for frames that are still on the wire before the accounts are closed.
const DRAINING: Duration = Duration::from_secs(2);

/// The interval of checks.
const GLANCE: Duration = Duration::from_millis(250);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Lets a thread that waits for signals end another thread's work.
#[derive(Default)]
pub(super) struct Stop(Mutex<(bool, Option<KeepAlive>)>);

impl Stop {
    /// Takes the current network down, and any that is raised afterwards.
    pub(super) fn now(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        state.1.iter().for_each(KeepAlive::cut);
    }

    fn guard(&self, keep_alive: KeepAlive) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 {
            keep_alive.cut();
        }
        state.1 = Some(keep_alive);
    }
}

/// The place where points are measured: one network after the other, each as long as it is needed.
pub(super) struct Field<'a> {
    signals: &'a Signals,
    stop: &'a Stop,
    source: &'a str,
    seed: u64,
    executable: PathBuf,
    standing: Option<Standing>,
}

struct Standing {
    raised: RaisedNetwork,
    /// The drawing without its traffic.
    drawing: Drawing,
}

impl<'a> Field<'a> {
    /// No network is up yet. `source` is the origin of the network.
    pub(super) fn new(
        signals: &'a Signals,
        stop: &'a Stop,
        source: &'a str,
        seed: u64,
    ) -> anyhow::Result<Self> {
        let executable = std::env::current_exe().context("finding this program's own file")?;
        Ok(Self { signals, stop, source, seed, executable, standing: None })
    }

    /// Measures one replication. Returns its record together with the accounts of the network
    /// itself. `report_progress` is called at intervals.
    pub(super) fn measure(
        &mut self,
        order: &Order,
        report_progress: impl Fn(),
    ) -> anyhow::Result<(Record, WireAccount)> {
        let directory = self.stand(&order.drawing)?;
        testbed::reset_accounts(&directory)?;
        let child = self.start(&directory, order)?;
        let record =
            await_record(child, Duration::from(order.duration) + FURTHER, report_progress)?;
        let account = drained(&directory)?;
        if held(&account) > 0 {
            // Frames that are still inside would be in the next accounts.
            self.lower()?;
        }
        Ok((record, account))
    }

    /// Takes the current network down.
    pub(super) fn lower(&mut self) -> anyhow::Result<()> {
        let Some(standing) = self.standing.take() else { return Ok(()) };
        let fallen = standing.raised.fallen();
        standing.raised.lower()?;
        match fallen {
            Some(event) => bail!("{event} under way, so the network stopped"),
            None => Ok(()),
        }
    }

    /// Raises the network, if it is not the current one. Traffic is ignored.
    fn stand(&mut self, drawing: &Drawing) -> anyhow::Result<PathBuf> {
        let bare = Drawing { traffic: Vec::new(), ..drawing.clone() };
        if let Some(standing) = self.standing.as_ref().filter(|standing| standing.drawing == bare) {
            return Ok(standing.raised.directory().to_owned());
        }
        self.lower()?;
        let rising = RaisingNetwork::begin(self.request(&bare)?)?;
        self.stop.guard(rising.keep_alive());
        let raised = rising.finish()?;
        let directory = raised.directory().to_owned();
        self.standing = Some(Standing { raised, drawing: bare });
        Ok(directory)
    }

    fn request(&self, drawing: &Drawing) -> anyhow::Result<NetworkRequest> {
        let name = format!("check-{}", std::process::id());
        Ok(NetworkRequest {
            runtime_directory: Registry::of_user()?.place(&name)?,
            name,
            drawing: drawing.clone(),
            seed: self.seed,
            executable: self.executable.clone(),
            capture: None,
            source: self.source.to_owned(),
            since: rate::wall_clock(),
            agents: Vec::new(),
            inputs: Vec::new(),
            processors: Vec::new(),
            protocol_work: ProtocolWork::Sender,
            congestion_control: None,
            ipv6: false,
        })
    }

    /// The process in the network; it ends with it.
    fn start(&self, directory: &std::path::Path, order: &Order) -> anyhow::Result<Child> {
        let Some(first) = order.drawing.stations.first() else {
            bail!("a network without stations was started")
        };
        let mut command = Command::new(&self.executable);
        command.args(["internal", "enter"]).arg(directory).arg(&first.name).arg("--");
        command.arg(&self.executable).args(["internal", "offer"]).arg(directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = self.signals.start(&mut command).context("starting this program again")?;
        let order = serde_json::to_vec(order)?;
        let mut input = child.stdin.take().context("a pipe is missing")?;
        input.write_all(&order).context("telling the stations what to send")?;
        Ok(child)
    }
}

/// The final message of the process in the network.
fn await_record(
    mut child: Child,
    timeout: Duration,
    report_progress: impl Fn(),
) -> anyhow::Result<Record> {
    let output = child.stdout.take().context("a pipe is missing")?;
    let said = listen(output, timeout, report_progress);
    if said.is_err() {
        // It may have ended by itself.
        let _ = child.kill();
    }
    let status = child.wait().context("waiting for the stations")?;
    let said = said?;
    if !status.success() {
        bail!("the stations could not offer their packets ({status}); see the line before");
    }
    serde_json::from_str(&said).context("understanding the stations' record")
}

fn listen(
    mut output: ChildStdout,
    timeout: Duration,
    report_progress: impl Fn(),
) -> anyhow::Result<String> {
    let (tell, told) = mpsc::channel();
    let read = move || {
        let mut said = String::new();
        // No thread receives this any more if it took too long.
        let _ = tell.send(output.read_to_string(&mut said).map(|_| said));
    };
    thread::Builder::new().name("record".to_owned()).spawn(read)?;
    let deadline = Instant::now() + timeout;
    loop {
        match told.recv_timeout(GLANCE) {
            Ok(said) => return said.context("hearing the stations"),
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => report_progress(),
            Err(_) => bail!("the stations did not answer within {} s", timeout.as_secs()),
        }
    }
}

/// The wire's accounts when it holds no frame any more, or after a timeout.
fn drained(directory: &std::path::Path) -> anyhow::Result<WireAccount> {
    let deadline = Instant::now() + DRAINING;
    loop {
        let account = testbed::account(directory)?;
        if held(&account) == 0 || Instant::now() > deadline {
            return Ok(account);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Frames on the wire.
pub(super) fn held(account: &WireAccount) -> u64 {
    account.elements.iter().map(|element| element.held).sum()
}
