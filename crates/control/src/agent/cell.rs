//! The workers of one cell on one station.

use std::collections::BTreeMap;

use btu_suite::record::{CpuTime, Failure, Report};

use super::worker::Worker;
use crate::clock;
use crate::protocol::{Account, CollectReply};

/// The workers of one cell; dropping it kills them.
pub(super) struct Cell {
    pub(super) number: u64,
    workers: BTreeMap<u32, Worker>,
    agent_before: CpuTime,
    children_before: CpuTime,
}

impl Cell {
    pub(super) fn new(number: u64) -> nix::Result<Self> {
        let (agent_before, children_before) = (clock::own_cpu()?, clock::children_cpu()?);
        Ok(Self { number, workers: BTreeMap::new(), agent_before, children_before })
    }

    pub(super) fn add(&mut self, step: u32, worker: Worker) {
        self.workers.insert(step, worker);
    }

    pub(super) async fn start(&mut self) {
        for worker in self.workers.values_mut() {
            worker.start().await;
        }
    }

    /// Waits for those that end by themselves, then stops the others; every worker has ended afterwards.
    pub(super) async fn collect(mut self, finishing: &[u32]) -> Result<CollectReply, String> {
        let (ending, serving): (Vec<_>, Vec<_>) =
            self.workers.iter_mut().partition(|(step, _)| finishing.contains(step));
        let mut accounts = Vec::with_capacity(ending.len() + serving.len());
        // Each has its own deadline, so waiting one after the other takes no longer than the longest.
        for (step, worker) in ending {
            accounts.push(account(*step, &worker.finish().await)?);
        }
        for (step, worker) in serving {
            accounts.push(account(*step, &worker.stop().await)?);
        }
        self.reply(accounts).map_err(|error| format!("reading CPU time: {error}"))
    }

    fn reply(&self, accounts: Vec<Account>) -> nix::Result<CollectReply> {
        let agent = clock::used(self.agent_before, clock::own_cpu()?);
        let workers = clock::used(self.children_before, clock::children_cpu()?);
        Ok(CollectReply {
            accounts,
            agent_user_ns: agent.user.nanoseconds(),
            agent_system_ns: agent.system.nanoseconds(),
            workers_user_ns: workers.user.nanoseconds(),
            workers_system_ns: workers.system.nanoseconds(),
        })
    }
}

fn account(step: u32, result: &Result<Report, Failure>) -> Result<Account, String> {
    let result_json = serde_json::to_string(result).map_err(|error| format!("writing an account: {error}"))?;
    Ok(Account { step, result_json })
}
