//! The far end on another machine: reserved for a run, and its workers by that machine's agent.

use std::cell::{Cell, RefCell};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use btu_control::coordinator::{Counterpart, Stop, crowd};
use btu_store::{Level, Moment, RunId, RunRow};
use btu_suite::activity::Order;
use btu_suite::pipe::{PipePlan, Remote};
use btu_units::Span;
use serde_json::Value;

use super::interruption::Interruption;
use super::journal::Journal;
use crate::cli::Reaching;
use crate::{hosts, resume};

/// A host that is ours.
pub(super) struct Elsewhere {
    counterpart: Arc<Counterpart>,
    remote: Remote,
    /// Workers of this reservation so far.
    workers: Cell<u32>,
    /// What any of them may take.
    limit: Cell<Span>,
    /// What the host was like before.
    before: RefCell<Value>,
}

/// A worker there that is ready.
pub(super) struct There {
    pub(super) counterpart: Arc<Counterpart>,
    pub(super) step: u32,
    /// Where it listens, if it does.
    pub(super) endpoint: Option<SocketAddr>,
}

impl Elsewhere {
    /// Reaches the host, for a run that is resumed or a new one.
    pub(super) fn reach(
        remote: &Remote,
        reaching: &Reaching,
        resumed: Option<RunId>,
        interruption: &Interruption,
    ) -> anyhow::Result<Self> {
        let resumed = resumed.map(|run| run.to_string());
        let interruption = interruption.clone();
        let stop: Stop = Arc::new(move || interruption.error());
        let counterpart = Arc::new(hosts::reach(remote, reaching, resumed.as_deref(), stop)?);
        Ok(Self {
            counterpart,
            remote: remote.clone(),
            workers: Cell::new(0),
            limit: Cell::new(Span::ZERO),
            before: RefCell::default(),
        })
    }

    /// Whether it is still the machine that this run was begun with; see [`resume::same_machine`].
    pub(super) fn same_host(&self, row: &RunRow, force: bool) -> anyhow::Result<Option<String>> {
        let now = serde_json::from_value(self.counterpart.environment()?)
            .with_context(|| format!("reading what {} says of itself", self.remote.name))?;
        Ok(resume::same_machine(row, Some(&self.remote.name), &now, force)?)
    }

    /// Its address on the measured network.
    pub(super) fn address(&self) -> IpAddr {
        self.remote.measured
    }

    /// Has the host for this run, and notes what it is like.
    pub(super) fn begin(&self, run: RunId, plans: &[PipePlan], journal: &Journal<'_>) -> anyhow::Result<()> {
        let longest = plans.iter().map(longest).fold(Duration::ZERO, Duration::saturating_add);
        let expected = plans.iter().map(expected).fold(Duration::ZERO, Duration::saturating_add);
        self.counterpart.reserve(&run.to_string(), expected)?;
        self.workers.set(0);
        self.limit.set(Span::from(longest.min(DAY)));
        journal.note(Level::Info, &format!("the far end is on {}", self.remote))?;
        self.look(Moment::Before, journal)
    }

    /// Notes what the host is like now.
    pub(super) fn look(&self, moment: Moment, journal: &Journal<'_>) -> anyhow::Result<()> {
        let environment = self.counterpart.environment()?;
        journal.host(moment, &environment)?;
        let before = self.before.replace(environment.clone());
        let crowd = crowd(&self.remote.name, &before, &environment).filter(|_| moment == Moment::After);
        crowd.map_or(Ok(()), |pushed| journal.note(Level::Warning, &pushed))
    }

    /// Has a worker made that waits for its start.
    pub(super) fn prepare(&self, order: &Order) -> anyhow::Result<There> {
        let step = self.workers.replace(self.workers.get() + 1);
        // Here a worker ends with this process; there its agent wants to know when it has to be over.
        let order = Order { deadline: self.limit.get(), ..order.clone() };
        let endpoint = self.counterpart.prepare(step, &order).with_context(|| {
            let Remote { name, measured, .. } = &self.remote;
            format!("{name} takes part at {measured}, which is to be its address on the measured network")
        })?;
        Ok(There { counterpart: Arc::clone(&self.counterpart), step, endpoint })
    }
}

/// What an agent's usual policy lets an activity take.
const DAY: Duration = Duration::from_hours(24);

/// How long a signature takes where messages are fast.
fn expected(plan: &PipePlan) -> Duration {
    let trials = plan.precision.trials.saturating_mul(plan.sizes.list().len() as u32);
    Duration::from(plan.precision.target).saturating_mul(trials)
}

/// How long it may take: twenty times that, and the largest few dozen messages as slow as the limit lets them be.
fn longest(plan: &PipePlan) -> Duration {
    let slow = Duration::from(plan.precision.limit).saturating_mul(plan.precision.trials.saturating_mul(40));
    Duration::from_mins(5) + expected(plan).saturating_mul(20).saturating_add(slow)
}
