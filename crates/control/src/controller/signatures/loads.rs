//! The load on the machine of the near end. It starts before a loaded size and ends after it.
//!
//! A load works until it gets a `stop`, so that it covers the whole time of a size. Consecutive
//! sizes under one load share one period of it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use btu_contract::activity::{Activity, Cpu, Disk, FtpFetch, FtpServe, Order, Rounds, Word, Work};
use btu_contract::load::Load;
use btu_contract::network::HostName;
use btu_contract::record::{Host, Outcome, Report};
use btu_contract::study::DiskFile;
use btu_units::{Bytes, Span};

use super::super::error::ControllerError;
use super::super::secret;
use super::super::stage::{Stage, Standing, WorkerId};
use super::failure::{cause, no_address};

/// The time limit of a load, longer than that of any size.
const LONGEST: Span = Span::from_seconds(24 * 3600);

/// The start-up time of a load: after it a transfer has its window open.
const START_UP: Duration = Duration::from_millis(50);

/// The time for a load to stop: its agent kills it after 10 s, and reports it.
const STOP_LIMIT: Duration = Duration::from_secs(12);

/// The size of the file that the disk load copies.
pub const DISK_LOAD_FILE: Bytes = Bytes::new(64 << 20);

/// The hosts of a loaded signature, and the address of the far end.
pub(super) struct Hosts {
    pub(super) near: HostName,
    pub(super) far: HostName,
    pub(super) address: IpAddr,
}

/// The loads of a run.
pub(super) struct Loads {
    scratch: PathBuf,
    seed: u64,
    /// The disk activity's source file, by the path under which its workers open it.
    source: Option<PathBuf>,
    running: Load,
    /// The address and the password of the transfer's server, which runs between two periods and
    /// ends with the run.
    server: Option<(SocketAddr, String)>,
    /// The work and time of each.
    done: BTreeMap<Load, (u64, Span, String)>,
}

impl Loads {
    /// No load runs yet; their files will be in `scratch`.
    pub(super) fn new(scratch: PathBuf, seed: u64) -> Self {
        let done = BTreeMap::new();
        Self { scratch, seed, source: None, running: Load::Idle, server: None, done }
    }

    /// Makes this load, and no other, run at these hosts.
    pub(super) async fn turn_to(
        &mut self,
        load: Load,
        stage: &Stage,
        standing: &mut Standing,
        hosts: &Hosts,
    ) -> Result<(), ControllerError> {
        if self.running == load {
            return Ok(());
        }
        self.stop(stage, standing, &hosts.far).await?;
        if let Some(activity) = self.activity(load, stage, standing, hosts).await? {
            let who = (WorkerId::Load, &hosts.near);
            standing.prepare(stage, who, &self.order(activity)).await?;
            standing.go(stage, WorkerId::Load).await?;
            tokio::time::sleep(START_UP).await;
        }
        self.running = load;
        Ok(())
    }

    async fn activity(
        &mut self,
        load: Load,
        stage: &Stage,
        standing: &mut Standing,
        hosts: &Hosts,
    ) -> Result<Option<Activity>, ControllerError> {
        let directory = self.scratch.clone();
        Ok(Some(match load {
            Load::Idle => return Ok(None),
            Load::Cpu => Activity::Cpu(Cpu::of(Rounds::For(LONGEST))),
            Load::Disk => {
                let source = Some(self.source(stage, hosts).await?);
                let work = Work::For(LONGEST);
                Activity::Disk(Disk { directory, source, file: DISK_LOAD_FILE, work })
            }
            Load::Transfer => {
                let (server, password) = self.server(stage, standing, hosts).await?;
                let work = Work::For(LONGEST);
                Activity::FtpFetch(FtpFetch { server, password, directory, work })
            }
        }))
    }

    /// The disk activity's source file, made when it is needed first.
    async fn source(&mut self, stage: &Stage, hosts: &Hosts) -> Result<PathBuf, ControllerError> {
        if self.source.is_none() {
            let (host, directory) = (hosts.near.clone(), self.scratch.clone());
            let file = DiskFile { host, directory, size: DISK_LOAD_FILE, seed: self.seed };
            self.source = Some(stage.prepare_disk_file(&file).await?);
        }
        Ok(self.source.clone().unwrap_or_default())
    }

    /// The transfer's server, started when it is needed first.
    async fn server(
        &mut self,
        stage: &Stage,
        standing: &mut Standing,
        hosts: &Hosts,
    ) -> Result<(SocketAddr, String), ControllerError> {
        if let Some(server) = &self.server {
            return Ok(server.clone());
        }
        let (address, password) = (hosts.address, secret::password()?);
        let serve = Activity::FtpServe(FtpServe { address, password: password.clone() });
        let who = (WorkerId::Server, &hosts.far);
        let endpoint = standing.prepare(stage, who, &self.order(serve)).await?;
        let endpoint = endpoint.ok_or_else(|| no_address(WorkerId::Server))?;
        standing.go(stage, WorkerId::Server).await?;
        Ok(self.server.insert((endpoint, password)).clone())
    }

    fn order(&self, activity: Activity) -> Order {
        Order::new(self.seed, LONGEST, activity)
    }

    /// Ends the running load, and keeps its result.
    pub(super) async fn stop(
        &mut self,
        stage: &Stage,
        standing: &mut Standing,
        far: &HostName,
    ) -> Result<(), ControllerError> {
        let load = std::mem::replace(&mut self.running, Load::Idle);
        if load == Load::Idle {
            return Ok(());
        }
        standing.stop(stage, WorkerId::Load).await?;
        match standing.next(STOP_LIMIT).await {
            Some((WorkerId::Load, Ok(Some(Word::Done(report))))) => {
                self.keep(load, &report);
                Ok(())
            }
            Some(event) => {
                let is_reserved = stage.is_reserved(far);
                Err(cause(event, standing, is_reserved).await)
            }
            None => Err(ControllerError::silent(STOP_LIMIT)),
        }
    }

    fn keep(&mut self, load: Load, report: &Report) {
        if let Outcome::Host(Host { work, method }) = &report.outcome {
            let done = self.done.entry(load).or_insert((0, Span::ZERO, method.clone()));
            (done.0, done.1) = (done.0 + work, done.1 + report.duration());
        }
    }

    /// The result of each load, in a sentence.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.done.iter().map(|(load, (work, time, method))| {
            let unit = if *load == Load::Cpu { "rounds" } else { "bytes" };
            let rate = *work as f64 / time.seconds().max(1e-9);
            format!("the load `{load}` did {work} {unit} in {time}, {rate:.0} a second ({method})")
        })
    }
}
