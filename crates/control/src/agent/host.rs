//! What an agent holds together, whichever way its callers come in: sessions, their work, and the timer of leases.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use btu_suite::activity::Activity;
use btu_suite::network::Impairment;
use btu_suite::rank::host_digest;
use btu_units::{Span, Time};
use nix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;
use tonic::{Request, Status};

use super::AgentSettings;
use super::cell::Cell;
use super::desk::Desk;
use super::impair::Impaired;
use super::sessions::{Answer, Asked, Due, Rules, SessionId, Sessions, Unusable};
use crate::clock;
use crate::protocol::{HelloReply, PROTOCOL};

/// Whose work: a session's, or that of this machine's own who need none.
pub(super) type Place = Option<SessionId>;

/// How a controller came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By a Unix socket: whoever can open it may use this machine anyway.
    Unix,
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Caller {
    /// Somebody on this machine.
    Local,
}

impl Way {
    pub(super) fn caller<T>(self, _request: &Request<T>) -> Caller {
        match self {
            Self::Unix => Caller::Local,
        }
    }
}

impl Caller {
    /// The name that was proved; empty when none was asked for.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Local => "",
        }
    }

    fn needs_session(&self) -> bool {
        match self {
            Self::Local => false,
        }
    }
}

/// The agent of a host.
pub(super) struct Host {
    settings: AgentSettings,
    /// Made anew at each start.
    instance: SessionId,
    state: Mutex<State>,
    /// Tells the timer that the next lease ends at another time.
    leases: Notify,
}

struct State {
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
    pub(super) fn new(settings: AgentSettings) -> std::io::Result<Arc<Self>> {
        let state = State { sessions: Sessions::new(Rules::USUAL), desks: BTreeMap::new(), timer: false };
        Ok(Arc::new(Self { settings, instance: random()?, state: Mutex::new(state), leases: Notify::new() }))
    }

    pub(super) fn executable(&self) -> &Path {
        &self.settings.executable
    }

    pub(super) fn lease_ms(&self) -> u64 {
        self.state().sessions.rules.lease.nanoseconds() / 1_000_000
    }

    pub(super) fn introduce(&self) -> HelloReply {
        let identity = std::fs::read_to_string("/etc/machine-id").ok();
        HelloReply {
            protocol: PROTOCOL,
            name: self.settings.station.clone(),
            btu_version: env!("CARGO_PKG_VERSION").to_owned(),
            process: std::process::id(),
            instance: self.instance.to_vec(),
            activities: Activity::KINDS.iter().map(|&kind| kind.to_owned()).collect(),
            features: ["kept-accounts", "follow"].map(str::to_owned).to_vec(),
            lease_ms: self.lease_ms(),
            host_digest: identity.map(|identity| host_digest(&identity)).unwrap_or_default(),
        }
    }

    pub(super) fn reserve(self: &Arc<Self>, asked: &Asked, old: &[u8]) -> Result<Answer, Status> {
        let (now, fresh) = (now()?, random().map_err(internal("reading /dev/urandom"))?);
        let answer = {
            let mut state = self.state();
            let (answer, due) = state.sessions.reserve(now, asked, old.try_into().ok(), fresh);
            state.carry_out(due);
            if let Answer::Reserved { session, .. } = answer {
                state.desks.entry(Some(session)).or_default();
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
        Err(_) if caller.needs_session() => {
            Err(Status::failed_precondition("reserve the host first, and name the session in each call"))
        }
        Err(_) => Ok(None),
    }
}

/// 128 random bits.
fn random() -> std::io::Result<SessionId> {
    let mut bytes = SessionId::default();
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes))?;
    Ok(bytes)
}
