//! The workers of one cell on one host.

use std::collections::BTreeMap;
use std::io;

use btu_contract::record::CpuTime;
use btu_testbed::note;
use btu_units::Span;
use tokio::sync::watch;

use super::worker::{KillHandle, LOAD_STOP_LIMIT, Worker, WorkerOutput};
use crate::clock;
use crate::environment::MachineWatch;
use crate::protocol::{CollectReply, Json, WorkerAccount, WorkerCommand};

/// The workers of one cell; dropping it kills them.
pub(super) struct Cell {
    pub(super) number: u64,
    workers: BTreeMap<u32, Worker>,
    agent_before: CpuTime,
    children_before: CpuTime,
    /// The machine's state, if this agent alone accounts for it; stations of one machine leave it
    /// to their controller.
    machine: Option<MachineWatch>,
    started: bool,
}

impl Cell {
    pub(super) fn new(number: u64) -> nix::Result<Self> {
        let (agent_before, children_before) = (clock::own_cpu()?, clock::children_cpu()?);
        Ok(Self {
            number,
            workers: BTreeMap::new(),
            agent_before,
            children_before,
            machine: None,
            started: false,
        })
    }

    pub(super) fn add(&mut self, step: u32, worker: Worker) {
        self.workers.insert(step, worker);
    }

    /// Starts all that are not started yet; `whole` means that the account includes the machine.
    pub(super) async fn start(&mut self, whole: bool) {
        self.begin(whole);
        for worker in self.workers.values_mut() {
            worker.start().await;
        }
    }

    fn begin(&mut self, whole: bool) {
        if !std::mem::replace(&mut self.started, true) {
            self.machine = whole.then(MachineWatch::begin).and_then(told);
        }
    }

    /// Directs one worker: its CPU time before that in ns, if it has not ended. `None` if there is
    /// no such worker.
    pub(super) async fn direct(
        &mut self,
        step: u32,
        direction: WorkerCommand,
        whole: bool,
    ) -> Option<Option<u64>> {
        if direction == WorkerCommand::Go {
            self.begin(whole);
        }
        let worker = self.workers.get_mut(&step)?;
        let cpu = worker.cpu();
        match direction {
            WorkerCommand::Look => {}
            WorkerCommand::Go => worker.go().await,
            WorkerCommand::Stop => worker.ask_to_stop(LOAD_STOP_LIMIT).await,
            WorkerCommand::Kill => worker.kill_handle().kill(),
        }
        Some(cpu.map(Span::nanoseconds))
    }

    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    pub(super) fn kill_handles(&self) -> Vec<KillHandle> {
        self.workers.values().map(Worker::kill_handle).collect()
    }

    pub(super) fn heard(&self, step: u32) -> Option<watch::Receiver<WorkerOutput>> {
        self.workers.get(&step).map(Worker::heard)
    }

    /// The message receiver of every worker, by step.
    pub(super) fn outputs(&self) -> BTreeMap<u32, watch::Receiver<WorkerOutput>> {
        self.workers.iter().map(|(step, worker)| (*step, worker.heard())).collect()
    }

    /// Waits for those that end by themselves, then stops the others; every worker has ended
    /// afterwards.
    pub(super) async fn collect(mut self, finishing: &[u32]) -> Result<CollectReply, String> {
        let (ending, serving): (Vec<_>, Vec<_>) =
            self.workers.iter_mut().partition(|(step, _)| finishing.contains(step));
        let mut accounts = Vec::with_capacity(ending.len() + serving.len());
        // Each has its own deadline, so waiting one after the other takes no longer than the
        // longest.
        for (step, worker) in ending {
            accounts.push(account(*step, worker.finish().await)?);
        }
        for (step, worker) in serving {
            accounts.push(account(*step, worker.stop().await)?);
        }
        self.reply(accounts).map_err(|error| format!("reading CPU time: {error}"))
    }

    fn reply(&self, accounts: Vec<WorkerAccount>) -> nix::Result<CollectReply> {
        let agent = clock::own_cpu()?.since(self.agent_before);
        let workers = clock::children_cpu()?.since(self.children_before);
        let machine = self.machine.as_ref().and_then(|watch| told(watch.end()));
        Ok(CollectReply {
            accounts,
            agent_user_ns: agent.user.nanoseconds(),
            agent_system_ns: agent.system.nanoseconds(),
            workers_user_ns: workers.user.nanoseconds(),
            workers_system_ns: workers.system.nanoseconds(),
            machine: machine.and_then(|machine| Json::of(&machine).ok()),
        })
    }
}

fn account(step: u32, text: String) -> Result<WorkerAccount, String> {
    let result = Json::from_text(text).map_err(|error| format!("reading an account: {error}"))?;
    Ok(WorkerAccount { step, result })
}

/// The readings of the machine. Without them the controller rejects the cell and refers to this
/// agent's log.
fn told<T>(read: io::Result<T>) -> Option<T> {
    read.inspect_err(|error| note!("agent: reading /proc/stat and the clocks: {error}")).ok()
}
