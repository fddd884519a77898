//! The hosts of a run, gathered before there is a run: what can be measured on them decides the
//! plan.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use btu_suite::network::{HostName, Machines};
use btu_suite::plan::Plan;
use futures_util::future::try_join_all;
use tokio::runtime::Runtime;

use super::super::error::CoordinatorError;
use super::super::stage::Stage;
use super::remote_host::{Purpose, RemoteHost};
use super::survey::{self, Survey};
use super::{Access, HostCall};

/// How long gathering and surveying take, for those who ask meanwhile.
const SURVEY_MS: u64 = 60_000;

/// Hosts that are ours, with the runtime that keeps them so.
pub struct HostSet {
    /// After the stage, whose tasks it drives.
    pub(crate) stage: Stage,
    pub(crate) runtime: Runtime,
}

impl HostSet {
    /// Reaches and reserves the hosts, for this run or to see what a run can do; nothing is
    /// measured yet.
    ///
    /// # Errors
    /// The first host that cannot be reached, trusted, understood or reserved.
    pub fn connect_all(
        machines: &Machines,
        access: &Access,
        run: Option<&str>,
    ) -> Result<Self, CoordinatorError> {
        let runtime = runtime()?;
        let stage = runtime.block_on(connect_all(machines, access, run.unwrap_or("a survey")))?;
        Ok(Self { stage, runtime })
    }

    /// Whether each caller reaches whom it will call, (caller, called), on the measured network.
    ///
    /// # Errors
    /// The first pair that does not, both named.
    pub fn reach(&mut self, calls: &[[HostName; 2]]) -> Result<(), CoordinatorError> {
        self.runtime.block_on(survey::reach(&mut self.stage, calls))
    }

    /// Whether the hosts reach each other on the measured network, and what of `plan` can be
    /// measured there.
    ///
    /// # Errors
    /// Hosts that do not reach each other, both named.
    pub fn survey(&mut self, plan: &Plan) -> Result<Survey, CoordinatorError> {
        self.runtime.block_on(survey::survey(&mut self.stage, plan))
    }
}

/// The thread that measures does all the work: no other thread takes processor time from what is
/// measured here.
pub(crate) fn runtime() -> Result<Runtime, CoordinatorError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|source| {
        CoordinatorError::System { operation: "starting the coordinator's runtime", source }
    })
}

async fn connect_all(
    machines: &Machines,
    access: &Access,
    run: &str,
) -> Result<Stage, CoordinatorError> {
    let purpose = Purpose {
        run: run.to_owned(),
        controller: access.controller.clone(),
        left_ms: Arc::new(AtomicU64::new(SURVEY_MS)),
    };
    let reached = machines.hosts.iter().map(|host| async {
        let call = HostCall { name: host.name.clone(), reached: host.reached.clone() };
        let mut remote_host = RemoteHost::call(&call, access).await?;
        remote_host.reserve(&purpose).await?;
        remote_host.describe().await?;
        Ok::<(HostName, RemoteHost), CoordinatorError>((host.station.clone(), remote_host))
    });
    let remote_hosts = try_join_all(reached).await?;
    Ok(Stage::on_hosts(machines.clone(), remote_hosts, purpose, access.timeout))
}
