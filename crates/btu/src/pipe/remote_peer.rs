//! The far end on another machine. The machine is reserved for a run, and its agent makes the
//! workers.

use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use btu_control::coordinator::{Stop, WorkerHost, crowd};
use btu_store::{Level, Moment, RunId, RunRow};
use btu_suite::pipe::Remote;
use serde_json::Value;

use super::journal::Journal;
use crate::cli::Reaching;
use crate::{hosts, resume};

/// A reserved host.
pub(super) struct RemotePeer {
    host: Arc<WorkerHost>,
    remote: Remote,
    /// The host's environment before.
    before: RefCell<Value>,
}

impl RemotePeer {
    /// Reaches the host, for a run that is resumed or a new one.
    pub(super) fn reach(
        remote: &Remote,
        reaching: &Reaching,
        resumed: Option<RunId>,
        stop: Stop,
    ) -> anyhow::Result<Self> {
        let resumed = resumed.map(|run| run.to_string());
        let host = Arc::new(hosts::reach(remote, reaching, resumed.as_deref(), stop)?);
        Ok(Self { host, remote: remote.clone(), before: RefCell::default() })
    }

    /// Checks that it is still the machine of this run's start; see [`resume::same_machine`].
    pub(super) fn same_host(&self, row: &RunRow, force: bool) -> anyhow::Result<Option<String>> {
        let now = serde_json::from_value(self.host.environment()?)
            .with_context(|| format!("reading what {} says of itself", self.remote.name))?;
        Ok(resume::same_machine(row, Some(&self.remote.name), &now, force)?)
    }

    /// The host on which the far end runs.
    pub(super) fn host(&self) -> &Arc<WorkerHost> {
        &self.host
    }

    /// Its address on the measured network.
    pub(super) fn address(&self) -> IpAddr {
        self.remote.measured
    }

    /// The addition to the error of a worker that could not be made there: its place.
    pub(super) fn place(&self) -> String {
        let Remote { name, measured, .. } = &self.remote;
        format!(
            "{name} takes part at {measured}, which is to be its address on the measured network"
        )
    }

    /// Reserves the host for this run, and stores its environment.
    pub(super) fn begin(
        &self,
        run: RunId,
        expected: Duration,
        journal: &Journal<'_>,
    ) -> anyhow::Result<()> {
        self.host.begin(&run.to_string(), expected)?;
        journal.note(Level::Info, &format!("the far end is on {}", self.remote))?;
        self.look(Moment::Before, journal)
    }

    /// Stores the host's current environment.
    pub(super) fn look(&self, moment: Moment, journal: &Journal<'_>) -> anyhow::Result<()> {
        let environment = self.host.environment()?;
        journal.host(moment, &environment)?;
        let before = self.before.replace(environment.clone());
        let crowd =
            crowd(&self.remote.name, &before, &environment).filter(|_| moment == Moment::After);
        crowd.map_or(Ok(()), |pushed| journal.note(Level::Warning, &pushed))
    }
}
