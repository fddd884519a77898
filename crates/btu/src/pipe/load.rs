//! The load on the machine of the near end. It starts before a loaded size and ends after it.
//!
//! A load works until it gets a `stop`, so that it covers the whole time of a size. Consecutive
//! sizes under one load share one period of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use btu_load::FETCH_ROOM;
use btu_store::Level;
use btu_suite::activity::{Activity, Cpu, Disk, FtpFetch, FtpServe, Order, Rounds, Word, Work};
use btu_suite::cell::Load;
use btu_suite::pipe::{End, PipePlan};
use btu_suite::record::{Host, Outcome};
use btu_units::{Bytes, Span};

use super::journal::Journal;
use super::series::Place;
use super::worker_error::WorkerError;
use super::workers::{WorkerEvent, WorkerId, Workers};
use crate::preflight;

/// The time limit of a load, longer than that of any size.
const LONG: Span = Span::from_seconds(24 * 3600);

/// The start-up time of a load: after it a transfer has its window open.
const SWING: Duration = Duration::from_millis(50);

/// The time for a load to stop: its agent kills it after 10 s, and reports it.
const STOP_LIMIT: Duration = Duration::from_secs(12);

/// The file that the disk load copies.
const FILE: Bytes = Bytes::new(64 << 20);

/// The loads of a run.
pub(super) struct Loads<'a> {
    place: &'a Place<'a>,
    scratch: PathBuf,
    seed: u64,
    /// The disk activity's source file, by the path under which its workers open it.
    source: Option<PathBuf>,
    running: Option<(Load, Workers)>,
    /// The transfer's server, which runs between two periods and ends with the run.
    server: Option<Server>,
    /// The work and time of each.
    done: BTreeMap<Load, (u64, Span, String)>,
}

/// A worker serves the transfer.
struct Server {
    worker: Workers,
    address: SocketAddr,
    password: String,
}

impl<'a> Loads<'a> {
    /// No load runs yet; their files will be in `scratch`.
    pub(super) fn new(place: &'a Place<'a>, scratch: &Path, seed: u64) -> Self {
        Self {
            place,
            scratch: scratch.to_owned(),
            seed,
            source: None,
            running: None,
            server: None,
            done: BTreeMap::new(),
        }
    }

    /// Makes ready for what these plans need.
    pub(super) fn prepare(&self, plans: &[PipePlan]) -> anyhow::Result<()> {
        let needs = |load| plans.iter().any(|plan| plan.load == load);
        let disk = if needs(Load::Disk) { FILE * 2 } else { Bytes::ZERO };
        let needed = disk + if needs(Load::Transfer) { FETCH_ROOM } else { Bytes::ZERO };
        Ok(preflight::scratch_room(&self.scratch, needed)?)
    }

    /// Makes this load, and no other, run at the place of `plan`.
    pub(super) fn turn_to(&mut self, load: Load, plan: &PipePlan) -> anyhow::Result<()> {
        if self.running.as_ref().map_or(Load::Idle, |(running, _)| *running) == load {
            return Ok(());
        }
        self.rest()?;
        if load != Load::Idle {
            let mut ends = Workers::new();
            self.begin(load, plan, &mut ends)
                .with_context(|| format!("beginning the load `{load}`"))?;
            std::thread::sleep(SWING);
            self.running = Some((load, ends));
        }
        Ok(())
    }

    fn begin(&mut self, load: Load, plan: &PipePlan, ends: &mut Workers) -> anyhow::Result<()> {
        let activity = match load {
            Load::Idle => return Ok(()),
            Load::Cpu => Activity::Cpu(Cpu { rounds: Rounds::For(LONG) }),
            Load::Disk => Activity::Disk(Disk {
                directory: self.scratch.clone(),
                source: Some(self.source(plan)?),
                file: FILE,
                work: Work::For(LONG),
            }),
            Load::Transfer => {
                let Server { address, password, .. } = self.server(plan)?;
                let (server, password) = (*address, password.clone());
                let (user, directory) = ("btu".to_owned(), self.scratch.clone());
                Activity::FtpFetch(FtpFetch {
                    server,
                    user,
                    password,
                    file: None,
                    directory,
                    work: Work::For(LONG),
                })
            }
        };
        self.place.prepare(ends, WorkerId::Load, plan, &self.order(activity))?;
        ends.go(WorkerId::Load);
        Ok(())
    }

    /// The disk activity's source file, made when it is needed first.
    fn source(&mut self, plan: &PipePlan) -> anyhow::Result<PathBuf> {
        if self.source.is_none() {
            let host = self.place.ground.host(plan, End::Near)?;
            self.source = Some(host.prepare_disk_file(&self.scratch, FILE, self.seed)?);
        }
        self.source.clone().context("the disk load has no source file")
    }

    /// The transfer's server, started when it is needed first.
    fn server(&mut self, plan: &PipePlan) -> anyhow::Result<&Server> {
        if self.server.is_none() {
            let password = format!("{:032x}", u128::from_ne_bytes(preflight::random_bytes()?));
            let address = self.place.ground.address_of_far(plan);
            let serve = Activity::FtpServe(FtpServe { address, password: password.clone() });
            let mut worker = Workers::new();
            let address =
                self.place.prepare(&mut worker, WorkerId::Server, plan, &self.order(serve))?;
            let address = address.context("the load's server did not say where it listens")?;
            worker.go(WorkerId::Server);
            self.server = Some(Server { worker, address, password });
        }
        self.server.as_ref().context("the load has no server")
    }

    fn order(&self, activity: Activity) -> Order {
        Order::new(self.seed, LONG, activity)
    }

    /// An error if the load, or its server, has ended by itself: then the measurement was not under
    /// load.
    pub(super) fn still_at_work(&mut self) -> anyhow::Result<()> {
        let load = self.running.as_ref().map(|(_, ends)| ends);
        let server = self.server.as_ref().map(|server| &server.worker);
        match load.into_iter().chain(server).find_map(Workers::already_said) {
            None => Ok(()),
            Some((who, said)) => bail!(WorkerError::of(who, said)),
        }
    }

    /// Ends the running load, and stores its result.
    pub(super) fn rest(&mut self) -> anyhow::Result<()> {
        let Some((load, mut ends)) = self.running.take() else { return Ok(()) };
        ends.stop(WorkerId::Load);
        match ends.next(STOP_LIMIT, || self.place.trouble())? {
            (WorkerId::Load, WorkerEvent::Word(Word::Done(report))) => {
                if let Outcome::Host(Host { work, method }) = &report.outcome {
                    let done = self.done.entry(load).or_insert((0, Span::ZERO, method.clone()));
                    (done.0, done.1) = (done.0 + work, done.1 + report.duration());
                }
                Ok(())
            }
            (who, said) => bail!(WorkerError::of(who, said)),
        }
    }

    /// Stores the result of each load.
    pub(super) fn note(&self, journal: &Journal<'_>) -> anyhow::Result<()> {
        for (load, (work, time, method)) in &self.done {
            let unit = if *load == Load::Cpu { "rounds" } else { "bytes" };
            let rate = *work as f64 / time.seconds().max(1e-9);
            let text = format!(
                "the load `{load}` did {work} {unit} in {time}, {rate:.0} a second ({method})"
            );
            journal.note(Level::Info, &text)?;
        }
        Ok(())
    }
}
