//! What an agent holds together, whichever way its callers come in: sessions, their work, and the timer of leases.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use btu_load::DiskSource;
use btu_suite::activity::{Activity, Order};
use btu_suite::network::Impairment;
use btu_units::{Bytes, Span, Time};
use nix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;
use tonic::Status;

use super::caller::Caller;
use super::cell::Cell;
use super::desk::Desk;
use super::impair::Impaired;
use super::journal::Journal;
use super::policy::{Forbidden, Policy};
use super::sessions::{Answer, Asked, Due, Rules, SessionId, Sessions, Unusable};
use crate::protocol::{HelloReply, PROTOCOL};
use crate::{clock, octets};

/// Whose work: a session's, or that of this machine's own who need none.
pub(super) type Place = Option<SessionId>;

/// The agent of a host.
pub(super) struct Host {
    name: String,
    /// The program whose `internal worker` performs activities.
    executable: PathBuf,
    /// Whether the kernel's netem works here.
    netem: bool,
    /// Made anew at each start.
    instance: SessionId,
    state: Mutex<State>,
    /// Tells the timer that the next lease ends at another time.
    leases: Notify,
    journal: Journal,
}

struct State {
    /// None for a station of a local testbed: its coordinator is this machine's own user.
    policy: Option<Policy>,
    sessions: Sessions,
    desks: BTreeMap<Place, Desk>,
    /// Whether the timer of leases runs; without sessions there is none, and nothing ever wakes the process.
    timer: bool,
}

impl State {
    fn carry_out(&mut self, due: Vec<Due>) {
        for due in due {
            match due {
                Due::Settle(session) => {
                    eprintln!("agent: the controller is lost: its workers are ended");
                    self.desks.entry(Some(session)).or_default().settle();
                }
                Due::Forget(session) => drop(self.desks.remove(&Some(session))),
            }
        }
    }
}

/// An error of ours, named by the operation.
pub(super) fn internal<E: std::fmt::Display>(operation: &'static str) -> impl Fn(E) -> Status {
    move |error| Status::internal(format!("{operation}: {error}"))
}

fn rules(policy: Option<&Policy>) -> Rules {
    Rules { most: policy.map_or(Rules::USUAL.most, Policy::runs_at_once), ..Rules::USUAL }
}

fn now() -> Result<Time, Status> {
    clock::monotonic().map_err(internal("reading the clock"))
}

fn unusable(unusable: Unusable) -> Status {
    match unusable {
        Unusable::Unknown | Unusable::Lapsed => Status::not_found(unusable.to_string()),
        Unusable::Foreign => Status::permission_denied(unusable.to_string()),
    }
}

impl Host {
    pub(super) fn new(
        name: &str,
        executable: &Path,
        policy: Option<Policy>,
        netem: bool,
    ) -> std::io::Result<Arc<Self>> {
        let sessions = Sessions::new(rules(policy.as_ref()));
        Ok(Arc::new(Self {
            name: name.to_owned(),
            executable: executable.to_owned(),
            netem,
            instance: octets::random()?,
            state: Mutex::new(State { policy, sessions, desks: BTreeMap::new(), timer: false }),
            leases: Notify::new(),
            journal: Journal::default(),
        }))
    }

    /// Another policy from now on. What works already goes on by the old one.
    pub(super) fn set_policy(&self, policy: Policy) {
        let mut state = self.state();
        state.sessions.rules = rules(Some(&policy));
        state.policy = Some(policy);
    }

    /// Ends all work: workers are killed, impairments undone.
    pub(super) fn end(&self) {
        self.state().desks.clear();
    }

    /// Whether the caller may do anything at all.
    pub(super) fn welcome(&self, caller: &Caller) -> Result<(), Status> {
        let state = self.state();
        match (&state.policy, caller) {
            (_, Caller::Nobody) => Err(Status::unauthenticated("this connection shows no certificate")),
            (Some(policy), Caller::Named(name)) => {
                policy.check_controller(name).map_err(|error| self.forbidden(caller, &error))
            }
            _ => Ok(()),
        }
    }

    /// The order as it is carried out here.
    pub(super) fn admit(&self, caller: &Caller, place: Place, order: Order) -> Result<Order, Status> {
        let state = self.state();
        let Some(policy) = &state.policy else { return Ok(order) };
        let source = state.desks.get(&place).and_then(|desk| desk.source.as_ref()).map(DiskSource::path);
        policy.admit(order, caller.is_local(), source.as_deref()).map_err(|error| self.forbidden(caller, &error))
    }

    /// Where a source file of so many bytes is made; `wanted` counts only for this machine's own user.
    pub(super) fn scratch(&self, caller: &Caller, wanted: String, file_bytes: u64) -> Result<PathBuf, Status> {
        let state = self.state();
        let Some(policy) = &state.policy else { return Ok(wanted.into()) };
        // As much again for the copy.
        let room = policy.check_room("disk", Bytes::new(file_bytes.saturating_mul(2)));
        room.map_err(|error| self.forbidden(caller, &error))?;
        Ok(if caller.is_local() { wanted.into() } else { policy.scratch_directory().to_owned() })
    }

    fn forbidden(&self, caller: &Caller, forbidden: &Forbidden) -> Status {
        self.journal.refused(caller.name(), forbidden);
        Status::permission_denied(forbidden.to_string())
    }

    pub(super) fn executable(&self) -> &Path {
        &self.executable
    }

    /// The longest file that a worker may write.
    pub(super) fn longest_file(&self) -> Option<Bytes> {
        self.state().policy.as_ref().map(Policy::scratch_bytes)
    }

    /// Where host activities may write.
    pub(super) fn scratch_directory(&self) -> PathBuf {
        let state = self.state();
        state.policy.as_ref().map_or_else(std::env::temp_dir, |policy| policy.scratch_directory().to_owned())
    }

    pub(super) fn lease_ms(&self) -> u64 {
        self.state().sessions.rules.lease.nanoseconds() / 1_000_000
    }

    pub(super) fn introduce(&self) -> HelloReply {
        let state = self.state();
        let all = || Activity::KINDS.iter().map(|&kind| kind.to_owned()).collect();
        let features =
            [("kept-accounts", true), ("follow", true), ("policy", state.policy.is_some()), ("netem", self.netem)];
        HelloReply {
            protocol: PROTOCOL,
            name: self.name.clone(),
            btu_version: env!("CARGO_PKG_VERSION").to_owned(),
            process: std::process::id(),
            instance: self.instance.to_vec(),
            activities: state.policy.as_ref().map_or_else(all, |policy| policy.activities().to_vec()),
            features: features.iter().filter(|(_, has)| *has).map(|(name, _)| (*name).to_owned()).collect(),
            lease_ms: state.sessions.rules.lease.nanoseconds() / 1_000_000,
        }
    }

    pub(super) fn reserve(self: &Arc<Self>, asked: &Asked, old: &[u8]) -> Result<Answer, Status> {
        let (now, fresh) = (now()?, octets::random().map_err(internal("asking the system for random numbers"))?);
        let answer = {
            let mut state = self.state();
            let (answer, due) = state.sessions.reserve(now, asked, old.try_into().ok(), fresh);
            state.carry_out(due);
            if let Answer::Reserved { session, .. } = answer {
                state.desks.entry(Some(session)).or_default();
                self.journal.reserved(asked);
            }
            answer
        };
        self.watch_leases();
        Ok(answer)
    }

    /// Keeps the lease; this host's monotonic and real-time clocks in nanoseconds.
    pub(super) fn renew(&self, caller: &Caller, session: &[u8], left: Span) -> Result<(u64, u64), Status> {
        let now = now()?;
        if let Some(session) = place(caller, session)? {
            let mut state = self.state();
            let (renewed, due) = state.sessions.renew(now, session, caller.name(), left);
            state.carry_out(due);
            renewed.map_err(unusable)?;
        }
        // Read as late as can be: the caller compares them with its own.
        let real = clock_gettime(ClockId::CLOCK_REALTIME).map_err(internal("reading the clock"))?;
        let real = Duration::new(real.tv_sec().unsigned_abs(), real.tv_nsec() as u32);
        Ok((now.nanoseconds(), real.as_nanos() as u64))
    }

    pub(super) fn release(&self, caller: &Caller, session: &[u8]) -> Result<(), Status> {
        let Some(session) = place(caller, session)? else {
            return self.with_desk(None, |desk| *desk = Desk::default());
        };
        let now = now()?;
        let mut state = self.state();
        let (released, due) = state.sessions.release(now, session, caller.name());
        state.carry_out(due);
        released.map_err(unusable)
    }

    /// Where the caller's work is, when it may work: its session is held.
    pub(super) fn working(&self, caller: &Caller, session: &[u8]) -> Result<Place, Status> {
        let place = place(caller, session)?;
        self.still(caller, place)?;
        Ok(place)
    }

    /// Whether it may still work, after something took its time.
    pub(super) fn still(&self, caller: &Caller, place: Place) -> Result<(), Status> {
        let Some(session) = place else { return Ok(()) };
        let now = now()?;
        let mut state = self.state();
        let due = state.sessions.pass(now);
        state.carry_out(due);
        state.sessions.held(session, caller.name()).map_err(unusable)
    }

    /// Where the caller's work is, when it may fetch what is kept: its session may have lapsed.
    pub(super) fn fetching(&self, caller: &Caller, session: &[u8]) -> Result<Place, Status> {
        let place = place(caller, session)?;
        if let Some(session) = place {
            self.state().sessions.usable(session, caller.name()).map_err(unusable)?;
        }
        Ok(place)
    }

    /// The work of a session that exists.
    pub(super) fn with_desk<T>(&self, place: Place, act: impl FnOnce(&mut Desk) -> T) -> Result<T, Status> {
        let mut state = self.state();
        if place.is_none() {
            return Ok(act(state.desks.entry(None).or_default()));
        }
        state.desks.get_mut(&place).map(act).ok_or_else(|| unusable(Unusable::Unknown))
    }

    /// The cell `number` of a session; any other that is still there is ended.
    pub(super) fn cell<T>(&self, place: Place, number: u64, act: impl FnOnce(&mut Cell) -> T) -> Result<T, Status> {
        self.with_desk(place, |desk| desk.cell(number).map(act))?.map_err(internal("reading CPU time"))
    }

    /// Impairs the interface with `address`, or no more.
    pub(super) fn impair(
        &self,
        place: Place,
        address: IpAddr,
        wanted: Impairment,
        seed: u64,
    ) -> Result<String, Status> {
        let refused = |error: super::impair::ImpairError| Status::failed_precondition(error.to_string());
        self.with_desk(place, |desk| {
            if wanted.is_none() {
                desk.impaired.remove(&address);
                return Ok(String::new());
            }
            if let Some(impaired) = desk.impaired.get_mut(&address) {
                impaired.change(wanted).map_err(refused)?;
                return Ok(impaired.how());
            }
            let impaired = Impaired::new(address, wanted, seed).map_err(refused)?;
            let how = impaired.how();
            desk.impaired.insert(address, impaired);
            Ok(how)
        })?
    }

    /// Sees to it that leases end in time. Runs only while there is a session.
    fn watch_leases(self: &Arc<Self>) {
        let mut state = self.state();
        if std::mem::replace(&mut state.timer, true) {
            self.leases.notify_one();
        } else {
            let host = Arc::clone(self);
            tokio::spawn(async move { while host.pass().await {} });
        }
    }

    /// Waits for the next end of a lease; false when there is none to wait for.
    async fn pass(&self) -> bool {
        let Ok(now) = clock::monotonic() else { return true };
        let wake = {
            let mut state = self.state();
            let due = state.sessions.pass(now);
            state.carry_out(due);
            let wake = state.sessions.next_wake();
            state.timer = wake.is_some();
            wake
        };
        let Some(wake) = wake else { return false };
        tokio::time::timeout(wake.since(now).into(), self.leases.notified()).await.ok();
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic is a bug, and the books of sessions are whole between any two calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place(caller: &Caller, session: &[u8]) -> Result<Place, Status> {
    match <SessionId>::try_from(session) {
        Ok(session) => Ok(Some(session)),
        Err(_) if !session.is_empty() => {
            Err(Status::invalid_argument(format!("a session has {} bytes", SessionId::default().len())))
        }
        Err(_) if !caller.is_local() => {
            Err(Status::failed_precondition("reserve the host first, and name the session in each call"))
        }
        Err(_) => Ok(None),
    }
}
