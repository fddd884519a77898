//! The hosts of a run, gathered before there is a run: their features decide the plan.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use btu_contract::experiment::Observation;
use btu_contract::network::{HostName, Impairments, Machines};
use btu_contract::script::Script;
use futures_util::future::try_join_all;
use tokio::runtime::Runtime;

use super::super::Processors;
use super::super::error::ControllerError;
use super::super::stage::Stage;
use super::here::Here;
use super::reach;
use super::remote_host::{Purpose, RemoteHost};
use super::{Access, HostCall};
use crate::environment::Environment;
use crate::protocol::DescribeReply;

/// The expected time of gathering and surveying, for other controllers.
const SURVEY_MS: u64 = 60_000;

/// Reserved hosts, with the runtime that renews their leases.
pub struct HostSet {
    /// The runtime, dropped after the stage because it drives its tasks.
    pub(crate) stage: Stage,
    pub(crate) runtime: Runtime,
    /// This machine's agent, which is killed last.
    pub(crate) here: Option<Here>,
    /// The use of this machine's processors, if it takes part.
    pub(crate) processors: Processors,
}

impl HostSet {
    /// Reaches and reserves the hosts, for this run or to find out their features; no measurement
    /// yet.
    ///
    /// # Errors
    /// The first host that cannot be reached, trusted, understood or reserved.
    pub fn connect_all(
        machines: &Machines,
        access: &Access,
        run: Option<&str>,
    ) -> Result<Self, ControllerError> {
        let runtime = runtime()?;
        let stage = runtime.block_on(connect_all(machines, access, run.unwrap_or("a survey")))?;
        Ok(Self { stage, runtime, here: None, processors: Processors::default() })
    }

    /// Adds this machine itself, with an agent that has its socket in `directory`, a private one.
    ///
    /// # Errors
    /// The agent does not start.
    pub fn and_here(
        mut self,
        name: HostName,
        executable: &Path,
        directory: &Path,
    ) -> Result<Self, ControllerError> {
        let here = Here::start(&name, executable, directory)?;
        self.runtime.block_on(self.stage.add_here(name, &here.socket))?;
        Ok(Self { here: Some(here), ..self })
    }

    /// Uses this machine's processors so; they are not divided.
    #[must_use]
    pub fn using(self, processors: Processors) -> Self {
        Self { processors, ..self }
    }

    /// What the reserved hosts were like when they were reached, each after its name.
    ///
    /// # Errors
    /// A host that cannot be described.
    pub fn environments(&mut self) -> Result<Vec<(String, Environment)>, ControllerError> {
        let described = self.runtime.block_on(self.stage.describe(false))?;
        let of = |(_, name, reply): (HostName, String, DescribeReply)| {
            let environment = reply.environment.read();
            Ok((name, environment.map_err(ControllerError::Document)?))
        };
        described.into_iter().map(of).collect()
    }

    /// Checks that each caller reaches its peer, (caller, called), on the measured network.
    ///
    /// # Errors
    /// The first pair that does not, both named.
    pub fn reach(&mut self, calls: &[[HostName; 2]]) -> Result<(), ControllerError> {
        self.runtime.block_on(reach::reach(&mut self.stage, calls))
    }

    /// Plays `script`, and reads from it what the first host of `way` gets to the second.
    ///
    /// # Errors
    /// It could not be played, or `read` finds in a sentence why nothing got there.
    pub fn probe<T>(
        &mut self,
        script: &Script,
        way: [&HostName; 2],
        read: impl FnOnce(&Observation) -> Result<T, String>,
    ) -> Result<T, ControllerError> {
        let seen = self.runtime.block_on(self.stage.play(script))?;
        read(&seen).map_err(|why| self.stage.unreachable(way, why))
    }

    /// Why hosts cannot impair packets so, a sentence for each; empty if they can.
    ///
    /// # Errors
    /// A host that was lost.
    pub fn unimpaired(
        &mut self,
        wanted: &Impairments,
        seed: u64,
    ) -> Result<Vec<String>, ControllerError> {
        self.runtime.block_on(self.stage.try_impairments(wanted, seed))
    }
}

/// The measuring thread does all the work: no other thread takes processor time from the
/// measurement here.
pub(crate) fn runtime() -> Result<Runtime, ControllerError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|source| {
        ControllerError::System { operation: "starting the controller's runtime", source }
    })
}

async fn connect_all(
    machines: &Machines,
    access: &Access,
    run: &str,
) -> Result<Stage, ControllerError> {
    let purpose = Purpose {
        run: run.to_owned(),
        controller: access.controller.clone(),
        left_ms: Arc::new(AtomicU64::new(SURVEY_MS)),
    };
    let reached = machines.hosts.iter().map(|host| async {
        access.check_address(host)?;
        let call = HostCall { name: host.name.clone(), reached: host.reached.clone() };
        let mut remote_host = RemoteHost::call(&call, access).await?;
        remote_host.reserve(&purpose).await?;
        remote_host.describe().await?;
        Ok::<(HostName, RemoteHost), ControllerError>((host.station.clone(), remote_host))
    });
    let remote_hosts = try_join_all(reached).await?;
    Ok(Stage::on_hosts(machines.clone(), remote_hosts, purpose, access.timeout))
}
