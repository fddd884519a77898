//! What the machine of the near end does besides: started before a loaded size and ended after it.
//!
//! A load works until it is told to stop, so that it lasts whatever a size takes. Sizes under the same load that follow each
//! other share one stretch of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use btu_load::{DiskSource, FETCH_ROOM};
use btu_store::Level;
use btu_suite::activity::{Activity, Cpu, Disk, FtpFetch, FtpServe, Order, Rounds, Word, Work};
use btu_suite::cell::Load;
use btu_suite::pipe::{End, PipePlan};
use btu_suite::record::{Host, Outcome};
use btu_units::{Bytes, Span};

use super::ends::{Ends, GO, Said, Who};
use super::journal::Journal;
use super::series::Place;
use super::trouble::Trouble;
use crate::exit::Refusal;
use crate::preflight;

/// Longer than any size is measured.
const LONG: Span = Span::from_seconds(24 * 3600);

/// What a load needs to be in full swing: a transfer has its window open by then.
const SWING: Duration = Duration::from_millis(50);

/// How long a load may take to stop: a disk that is busy finishes its block first.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// The file that the disk load copies.
const FILE: Bytes = Bytes::new(64 << 20);

/// The loads of a run.
pub(super) struct Loads<'a> {
    place: &'a Place<'a>,
    scratch: PathBuf,
    seed: u64,
    source: Option<DiskSource>,
    running: Option<(Load, Ends)>,
    /// The transfer's server on another machine, where it goes on between two stretches, and its password.
    server: Option<(SocketAddr, String)>,
    /// What each has done: work and time.
    done: BTreeMap<Load, (u64, Span, String)>,
}

impl<'a> Loads<'a> {
    /// None at work yet; their files will be in `scratch`.
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
    pub(super) fn prepare(&mut self, plans: &[PipePlan]) -> anyhow::Result<()> {
        let needs = |load| plans.iter().any(|plan| plan.load == load);
        let disk = if needs(Load::Disk) { FILE * 2 } else { Bytes::ZERO };
        let needed = disk + if needs(Load::Transfer) { FETCH_ROOM } else { Bytes::ZERO };
        preflight::scratch_room(&self.scratch, needed)?;
        if needs(Load::Disk) {
            let source = DiskSource::make(&self.scratch, FILE, self.seed);
            self.source = Some(source.map_err(|error| Refusal::Machine(error.to_string()))?);
        }
        Ok(())
    }

    /// Sees to it that this load, and no other, is at work where `plan` is measured.
    pub(super) fn turn_to(&mut self, load: Load, plan: &PipePlan) -> anyhow::Result<()> {
        if self.running.as_ref().map_or(Load::Idle, |(running, _)| *running) == load {
            return Ok(());
        }
        self.rest()?;
        if load != Load::Idle {
            let mut ends = Ends::new();
            self.begin(load, plan, &mut ends).with_context(|| format!("beginning the load `{load}`"))?;
            std::thread::sleep(SWING);
            self.running = Some((load, ends));
        }
        Ok(())
    }

    fn begin(&mut self, load: Load, plan: &PipePlan, ends: &mut Ends) -> anyhow::Result<()> {
        let activity = match load {
            Load::Idle => return Ok(()),
            Load::Cpu => Activity::Cpu(Cpu { rounds: Rounds::For(LONG) }),
            Load::Disk => Activity::Disk(Disk {
                directory: self.scratch.clone(),
                source: self.source.as_ref().map(DiskSource::path),
                file: FILE,
                work: Work::For(LONG),
            }),
            Load::Transfer => {
                let (server, password) = match self.server.clone() {
                    Some(kept) => kept,
                    None => self.serve(plan, ends)?,
                };
                let (user, directory) = ("btu".to_owned(), self.scratch.clone());
                Activity::FtpFetch(FtpFetch { server, user, password, file: None, directory, work: Work::For(LONG) })
            }
        };
        self.place.start(ends, Who::Load, plan, &self.order(activity))?;
        ends.tell(Who::Load, GO);
        Ok(())
    }

    /// Starts the transfer's server: where it listens, and its password.
    fn serve(&mut self, plan: &PipePlan, ends: &mut Ends) -> anyhow::Result<(SocketAddr, String)> {
        let password = format!("{:032x}", u128::from_ne_bytes(preflight::random_bytes()?));
        let address = self.place.ground.address_of_far(plan);
        let serve = Activity::FtpServe(FtpServe { address, password: password.clone() });
        let server = self.place.start(ends, Who::Server, plan, &self.order(serve))?;
        let server = server.context("the load's server did not say where it listens")?;
        ends.tell(Who::Server, GO);
        if self.place.ground.elsewhere(plan, End::Far).is_some() {
            self.server = Some((server, password.clone()));
        }
        Ok((server, password))
    }

    fn order(&self, activity: Activity) -> Order {
        Order { seed: self.seed, deadline: LONG, activity }
    }

    /// An error if the load has ended of itself: then what was measured was not under it.
    pub(super) fn still_at_work(&mut self) -> anyhow::Result<()> {
        let Some((_, ends)) = &self.running else { return Ok(()) };
        match ends.already_said() {
            None => Ok(()),
            Some((who, said)) => bail!(Trouble::of(who, said)),
        }
    }

    /// Ends the load that is at work, and keeps what it did.
    pub(super) fn rest(&mut self) -> anyhow::Result<()> {
        let Some((load, mut ends)) = self.running.take() else { return Ok(()) };
        ends.tell(Who::Load, "stop");
        match ends.next(STOP_LIMIT, || self.place.trouble())? {
            (Who::Load, Said::Word(Word::Done(report))) => {
                if let Outcome::Host(Host { work, method }) = &report.outcome {
                    let done = self.done.entry(load).or_insert((0, Span::ZERO, method.clone()));
                    (done.0, done.1) = (done.0 + work, done.1 + report.duration());
                }
                // The server is killed with the others when they are dropped.
                Ok(())
            }
            (who, said) => bail!(Trouble::of(who, said)),
        }
    }

    /// Notes what each load did.
    pub(super) fn note(&self, journal: &Journal<'_>) -> anyhow::Result<()> {
        for (load, (work, time, method)) in &self.done {
            let unit = if *load == Load::Cpu { "rounds" } else { "bytes" };
            let rate = *work as f64 / time.seconds().max(1e-9);
            let text = format!("the load `{load}` did {work} {unit} in {time}, {rate:.0} a second ({method})");
            journal.note(Level::Info, &text)?;
        }
        Ok(())
    }
}
