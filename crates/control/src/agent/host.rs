//! The state of an agent for all entrances: sessions, their work, and the timer of leases.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use btu_contract::activity::{Activity, Order};
use btu_contract::bounds::{BoundedOrder, Bounds};
use btu_contract::needs::on_disk;
use btu_contract::network::Impairment;
use btu_contract::path::path_of_text;
use btu_testbed::note;
use btu_units::{Bytes, Span, Time};
use nix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::budget::{
    Budget, Claim, Demand, KeptWords, ProcessClaim, WORKER_BYTES, WorkClaim, WorkOwner,
};
use super::caller::Caller;
use super::cell::Cell;
use super::description::Description;
use super::impair::{ImpairError, Impaired, interface_of};
use super::internal;
use super::journal::Journal;
use super::policy::{Forbidden, Policy};
use super::session_work::SessionWork;
use super::sessions::{Asked, Due, ReservationResult, Rules, SessionId, Sessions, Unusable};
use crate::protocol::{DescribeReply, HelloReply, PROTOCOL, Status};
use crate::{clock, octets};

/// The agent of a host.
pub(super) struct HostAgent {
    name: String,
    /// The program; its `internal worker` performs activities.
    executable: PathBuf,
    /// Whether the kernel's netem works here.
    netem: bool,
    /// Made again at each start.
    instance: SessionId,
    state: Mutex<HostState>,
    /// Notifies the timer that the end of the next lease has changed.
    leases: Notify,
    journal: Journal,
    /// The resources of all current work.
    budget: Budget,
    description: Description,
}

/// The wait for ending work when there is no room for more.
const ROOM_LIMIT: Duration = Duration::from_secs(1);

/// The activity that a source file is made for.
const DISK: &str = "disk";

/// A source file that may be made.
pub(super) struct PreparingDiskFile {
    pub(super) directory: PathBuf,
    pub(super) claim: Claim,
    /// Becomes true when no caller needs the file any more.
    pub(super) stop: Arc<AtomicBool>,
}

/// Why an order is not performed.
struct Refused {
    forbidden: Forbidden,
    /// Whether the end of other work can change it.
    may_pass: bool,
}

impl Refused {
    fn for_good(forbidden: Forbidden) -> Self {
        Self { forbidden, may_pass: false }
    }

    fn for_now(forbidden: Forbidden) -> Self {
        Self { forbidden, may_pass: true }
    }
}

struct HostState {
    /// None for a station of a local testbed: its controller is this machine's own user.
    policy: Option<Policy>,
    sessions: Sessions,
    desks: BTreeMap<WorkOwner, SessionWork>,
    /// Whether the timer of leases runs; without sessions there is none, and nothing ever wakes the
    /// process.
    timer: bool,
}

impl HostState {
    fn carry_out(&mut self, due: Vec<Due>) {
        for due in due {
            match due {
                Due::Settle(session) => {
                    note!("agent: the controller is lost: its workers are ended");
                    self.desks.entry(Some(session)).or_default().settle();
                }
                Due::Forget(session) => drop(self.desks.remove(&Some(session))),
            }
        }
    }
}

fn rules(policy: Option<&Policy>) -> Rules {
    Rules { most: policy.map_or(Rules::USUAL.most, Policy::runs_at_once), ..Rules::USUAL }
}

fn now() -> Result<Time, Status> {
    clock::monotonic().map_err(internal("reading the clock"))
}

fn unusable(unusable: Unusable) -> Status {
    Status::not_found(unusable.to_string())
}

impl HostAgent {
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
            state: Mutex::new(HostState { policy, sessions, desks: BTreeMap::new(), timer: false }),
            leases: Notify::new(),
            journal: Journal::default(),
            budget: Budget::default(),
            description: Description::default(),
        }))
    }

    /// Ends all work: workers are killed, impairments undone.
    pub(super) fn end(&self) {
        self.state().desks.clear();
    }

    /// The order in its local form, and its part of the host. Work may still be ending: without
    /// room, the agent waits for it for a moment.
    pub(super) async fn admit(
        &self,
        caller: &Caller,
        place: WorkOwner,
        order: Order,
    ) -> Result<(BoundedOrder, WorkClaim), Status> {
        let until = Instant::now() + ROOM_LIMIT;
        loop {
            let released = self.budget.released();
            let refused = match self.try_admit(caller, place, order.clone()) {
                Ok(admitted) => return Ok(admitted),
                Err(Refused { forbidden, may_pass: true }) if Instant::now() < until => forbidden,
                Err(Refused { forbidden, .. }) => return Err(self.forbidden(&forbidden)),
            };
            if timeout_at(until, released).await.is_err() {
                return Err(self.forbidden(&refused));
            }
        }
    }

    fn try_admit(
        &self,
        caller: &Caller,
        place: WorkOwner,
        order: Order,
    ) -> Result<(BoundedOrder, WorkClaim), Refused> {
        let state = self.state();
        let kept = state.desks.get(&place).and_then(|work| work.source.as_ref());
        let bounded = match &state.policy {
            None => BoundedOrder { order, bounds: Bounds::default() },
            Some(policy) => {
                let path = kept.map(|kept| kept.file.path());
                policy.admit(order, caller, path.as_deref()).map_err(Refused::for_good)?
            }
        };
        let demand = Demand::of(&bounded.order.activity);
        let kind = bounded.order.activity.kind();
        let claim = self.claim(&state, place, demand, kind).map_err(Refused::for_now)?;
        let words = self
            .claim(&state, place, Demand::words(WORKER_BYTES), kind)
            .map_err(Refused::for_now)?;
        let words = KeptWords::new(words, state.sessions.rules.most);
        // The file that it reads takes its room as long as it has it open.
        let source = kept.map(|kept| Arc::clone(&kept.claim));
        Ok((bounded, WorkClaim { process: ProcessClaim::new(claim, source), words }))
    }

    fn claim(
        &self,
        state: &HostState,
        place: WorkOwner,
        demand: Demand,
        kind: &str,
    ) -> Result<Claim, Forbidden> {
        self.budget.claim(place, demand, |session, all| {
            state.policy.as_ref().map_or(Ok(()), |policy| policy.check_sums(kind, session, all))
        })
    }

    /// Room for a source file of so many bytes, before it is written. `wanted`, its directory,
    /// counts only for this machine's own user.
    pub(super) fn prepare_disk_file(
        &self,
        caller: &Caller,
        place: WorkOwner,
        wanted: &str,
        size: Bytes,
    ) -> Result<PreparingDiskFile, Status> {
        let mut state = self.state();
        let refuse = |forbidden: Forbidden| self.forbidden(&forbidden);
        state.policy.as_ref().map_or(Ok(()), |policy| policy.check_kind(DISK)).map_err(refuse)?;
        let under_way =
            state.desks.get(&place).is_some_and(|work| work.preparing_disk_file.strong_count() > 0);
        if under_way {
            return Err(Status::failed_precondition(
                "a source file is being made for this session already",
            ));
        }
        let claim = self.claim(&state, place, Demand::file(on_disk(size)), DISK).map_err(refuse)?;
        let directory = match &state.policy {
            Some(policy) if !caller.is_local() => policy.scratch_directory().to_owned(),
            _ => path_of_text(wanted),
        };
        let stop = Arc::new(AtomicBool::new(false));
        state.desks.entry(place).or_default().preparing_disk_file = Arc::downgrade(&stop);
        Ok(PreparingDiskFile { directory, claim, stop })
    }

    fn forbidden(&self, forbidden: &Forbidden) -> Status {
        self.journal.refused(forbidden);
        Status::permission_denied(forbidden.to_string())
    }

    /// The description of this host.
    pub(super) async fn describe(&self) -> Result<DescribeReply, Status> {
        self.description.get(self.executable.clone(), self.scratch_directory()).await
    }

    pub(super) fn executable(&self) -> &Path {
        &self.executable
    }

    /// The directory in which host activities may write.
    pub(super) fn scratch_directory(&self) -> PathBuf {
        let state = self.state();
        state
            .policy
            .as_ref()
            .map_or_else(std::env::temp_dir, |policy| policy.scratch_directory().to_owned())
    }

    pub(super) fn lease_ms(&self) -> u64 {
        self.state().sessions.rules.lease.nanoseconds() / 1_000_000
    }

    pub(super) fn introduce(&self, caller: &Caller) -> HelloReply {
        let state = self.state();
        let all = || Activity::KINDS.iter().map(|&kind| kind.to_owned()).collect();
        let may_impair = |policy: &Policy| policy.allows_impairing() && caller.carriers().is_some();
        let netem = self.netem && state.policy.as_ref().is_none_or(may_impair);
        let features = [
            ("kept-accounts", true),
            ("follow", true),
            ("policy", state.policy.is_some()),
            ("netem", netem),
        ];
        HelloReply {
            protocol: PROTOCOL,
            name: self.name.clone(),
            btu_version: env!("CARGO_PKG_VERSION").to_owned(),
            process: std::process::id(),
            instance: self.instance.to_vec(),
            activities: state
                .policy
                .as_ref()
                .map_or_else(all, |policy| policy.activities().to_vec()),
            features: features
                .iter()
                .filter(|(_, has)| *has)
                .map(|(name, _)| (*name).to_owned())
                .collect(),
            lease_ms: state.sessions.rules.lease.nanoseconds() / 1_000_000,
        }
    }

    pub(super) fn reserve(
        self: &Arc<Self>,
        asked: &Asked,
        old: &[u8],
    ) -> Result<ReservationResult, Status> {
        let (now, fresh) =
            (now()?, octets::random().map_err(internal("asking the system for random numbers"))?);
        let answer = {
            let mut state = self.state();
            let (answer, due) = state.sessions.reserve(now, asked, old.try_into().ok(), fresh);
            state.carry_out(due);
            if let ReservationResult::Reserved { session, .. } = answer {
                state.desks.entry(Some(session)).or_default();
                self.journal.reserved(asked);
            }
            answer
        };
        self.watch_leases();
        Ok(answer)
    }

    /// Keeps the lease; this host's monotonic and real-time clocks in nanoseconds.
    pub(super) fn renew(
        &self,
        caller: &Caller,
        session: &[u8],
        left: Span,
    ) -> Result<(u64, u64), Status> {
        let now = now()?;
        if let Some(session) = place(caller, session)? {
            let mut state = self.state();
            let (renewed, due) = state.sessions.renew(now, session, left);
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
            return self.with_work(None, |work| *work = SessionWork::default());
        };
        let now = now()?;
        let mut state = self.state();
        let (released, due) = state.sessions.release(now, session);
        state.carry_out(due);
        released.map_err(unusable)
    }

    /// The place of the caller's work, if its session is held and it may work.
    pub(super) fn working(&self, caller: &Caller, session: &[u8]) -> Result<WorkOwner, Status> {
        let place = place(caller, session)?;
        self.still(place)?;
        Ok(place)
    }

    /// Whether it may still work, after an operation that took time.
    pub(super) fn still(&self, place: WorkOwner) -> Result<(), Status> {
        let Some(session) = place else { return Ok(()) };
        let now = now()?;
        let mut state = self.state();
        let due = state.sessions.pass(now);
        state.carry_out(due);
        state.sessions.held(session).map_err(unusable)
    }

    /// The place of the caller's work, for fetching stored accounts: its session may have lapsed.
    pub(super) fn fetching(&self, caller: &Caller, session: &[u8]) -> Result<WorkOwner, Status> {
        let place = place(caller, session)?;
        if let Some(session) = place {
            self.state().sessions.usable(session).map_err(unusable)?;
        }
        Ok(place)
    }

    /// The work of a session that exists.
    pub(super) fn with_work<T>(
        &self,
        place: WorkOwner,
        act: impl FnOnce(&mut SessionWork) -> T,
    ) -> Result<T, Status> {
        let mut state = self.state();
        if place.is_none() {
            return Ok(act(state.desks.entry(None).or_default()));
        }
        state.desks.get_mut(&place).map(act).ok_or_else(|| unusable(Unusable::Unknown))
    }

    /// The cell `number` of a session; any other that is still there is ended.
    pub(super) fn cell<T>(
        &self,
        place: WorkOwner,
        number: u64,
        act: impl FnOnce(&mut Cell) -> T,
    ) -> Result<T, Status> {
        self.with_work(place, |work| work.cell(number).map(act))?
            .map_err(internal("reading CPU time"))
    }

    /// Impairs the interface with `address`, or removes its impairment.
    pub(super) fn impair(
        &self,
        caller: &Caller,
        place: WorkOwner,
        address: IpAddr,
        wanted: Impairment,
        seed: u64,
    ) -> Result<String, Status> {
        let refused = |error: ImpairError| Status::failed_precondition(error.to_string());
        let interface = if wanted.is_none() {
            String::new()
        } else {
            interface_of(address).map_err(refused)?
        };
        if let (false, Some(policy)) = (wanted.is_none(), &self.state().policy) {
            let checked = policy.check_impair(&interface, wanted, caller.carriers().as_deref());
            checked.map_err(|forbidden| self.forbidden(&forbidden))?;
        }
        self.with_work(place, |work| {
            if wanted.is_none() {
                work.impaired.remove(&address);
                return Ok(String::new());
            }
            if let Some(impaired) = work.impaired.get_mut(&address) {
                impaired.change(wanted).map_err(refused)?;
                return Ok(impaired.how());
            }
            let impaired = Impaired::new(&interface, wanted, seed).map_err(refused)?;
            let how = impaired.how();
            work.impaired.insert(address, impaired);
            Ok(how)
        })?
    }

    /// Ends leases in time. Runs only while there is a session.
    fn watch_leases(self: &Arc<Self>) {
        let mut state = self.state();
        if std::mem::replace(&mut state.timer, true) {
            self.leases.notify_one();
        } else {
            let host = Arc::clone(self);
            tokio::spawn(async move { while host.pass().await {} });
        }
    }

    /// Waits for the next end of a lease; false when there is no lease.
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
        let _ = tokio::time::timeout(wake.since(now).into(), self.leases.notified()).await;
        true
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        // A panic is a bug, and the accounts of sessions are whole between any two calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place(caller: &Caller, session: &[u8]) -> Result<WorkOwner, Status> {
    match <SessionId>::try_from(session) {
        Ok(session) => Ok(Some(session)),
        Err(_) if !session.is_empty() => Err(Status::invalid_argument(format!(
            "a session has {} bytes",
            SessionId::default().len()
        ))),
        Err(_) if !caller.is_local() => Err(Status::failed_precondition(
            "reserve the host first, and name the session in each call",
        )),
        Err(_) => Ok(None),
    }
}
