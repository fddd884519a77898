//! Reservations of the host and their leases, as a state machine without a clock.
//!
//! ```text
//!            reserve            not renewed for a lease           an hour, or the next run
//!   (none) ----------> held -------------------------> lapsed ----------------------------> (none)
//!                       ^ |                              |                                    ^
//!                 renew | | release                      | reserve with the old session       |
//!                       +-+------> (none)                +-----> held          release -------+
//! ```
//!
//! Time is an argument that never decreases, and every call first processes the due events: the
//! caller performs the returned [`Due`]s. [`Sessions::next_wake`] gives the time of the next event
//! without a call.

use std::fmt;

use btu_units::{Span, Time};

/// The identifier of a session: 128 random bits, so only its owner can know it.
pub(super) type SessionId = [u8; 16];

/// The limits of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    /// Most runs at once.
    pub(super) most: usize,
    /// The time after which a session without renewal lapses.
    pub(super) lease: Span,
    /// The time for which a lapsed session is remembered.
    pub(super) keep: Span,
}

impl Rules {
    /// One run at once, five seconds, an hour.
    pub(super) const USUAL: Self =
        Self { most: 1, lease: Span::from_seconds(5), keep: Span::from_seconds(3600) };
}

/// The controller that asks for the host, and its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) run: String,
    /// For others to read; it may be anything.
    pub(super) controller: String,
    pub(super) expected: Span,
}

/// An action for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// It has lapsed: end its work, undo its impairment, keep its finished accounts.
    Settle(SessionId),
    /// It is over: remove all its data.
    Forget(SessionId),
}

/// The result of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReservationResult {
    /// The session; whether it is the requested old one.
    Reserved { session: SessionId, resumed: bool },
    /// Another controller has it.
    Busy(Busy),
}

/// The controller that has the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Busy {
    pub(super) run: String,
    pub(super) controller: String,
    /// Zero when it should have been over already.
    pub(super) left: Span,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "busy with {} of {}, ", called(&self.run), self.controller)?;
        match self.left.nanoseconds().div_ceil(1_000_000_000) {
            0 => f.write_str("which takes longer than expected"),
            seconds @ 1..=119 => write!(f, "free in {seconds} s"),
            seconds => write!(f, "free in {} min", seconds.div_ceil(60)),
        }
    }
}

/// What a host is reserved for, in words: `run r12`, or `a survey`, which is no run.
pub(super) fn called(run: &str) -> String {
    if run.starts_with("a ") { run.to_owned() } else { format!("run {run}") }
}

/// Why a session cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    #[error(
        "this agent knows no such session: it was released, it is of another day, or the agent was started again"
    )]
    Unknown,
    #[error(
        "the session has lapsed: it was not renewed in time; reserve the host again and name it to fetch what is kept"
    )]
    Lapsed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionState {
    Held { until: Time, over: Time },
    Lapsed { until: Time },
}

impl SessionState {
    fn held(now: Time, lease: Span, expected: Span) -> Self {
        Self::Held { until: after(now, lease), over: after(now, expected) }
    }
}

#[derive(Debug)]
struct Session {
    id: SessionId,
    run: String,
    controller: String,
    state: SessionState,
}

impl Session {
    fn is_held(&self) -> bool {
        matches!(self.state, SessionState::Held { .. })
    }

    fn wake(&self) -> Time {
        let (SessionState::Held { until, .. } | SessionState::Lapsed { until }) = self.state;
        until
    }
}

/// The sessions of this host.
#[derive(Debug)]
pub(super) struct Sessions {
    pub(super) rules: Rules,
    all: Vec<Session>,
}

impl Sessions {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, all: Vec::new() }
    }

    /// Reserves the host. `fresh` identifies the session if it is a new one; `old` is an earlier
    /// one of that run.
    ///
    /// A controller that has it already, for that run, gets it again: a controller that was killed
    /// need not wait for its own lease.
    pub(super) fn reserve(
        &mut self,
        now: Time,
        asked: &Asked,
        old: Option<SessionId>,
        fresh: SessionId,
    ) -> (ReservationResult, Vec<Due>) {
        let mut due = self.pass(now);
        if old.is_some_and(|old| self.usable(old).is_ok()) {
            let session = old.unwrap_or_default();
            return (self.resume(now, asked, session), due);
        }
        due.extend(
            self.end(|session| session.controller == asked.controller && session.run == asked.run),
        );
        if let Some(busy) = self.busy(now) {
            return (ReservationResult::Busy(busy), due);
        }
        due.extend(self.end(|session| !session.is_held()));
        self.all.push(Session {
            id: fresh,
            run: asked.run.clone(),
            controller: asked.controller.clone(),
            state: SessionState::held(now, self.rules.lease, asked.expected),
        });
        (ReservationResult::Reserved { session: fresh, resumed: false }, due)
    }

    fn resume(&mut self, now: Time, asked: &Asked, id: SessionId) -> ReservationResult {
        let held = self.all.iter().any(|session| session.id == id && session.is_held());
        if !held && let Some(busy) = self.busy(now) {
            return ReservationResult::Busy(busy);
        }
        for session in self.all.iter_mut().filter(|session| session.id == id) {
            session.state = SessionState::held(now, self.rules.lease, asked.expected);
        }
        ReservationResult::Reserved { session: id, resumed: true }
    }

    /// The session that ends first, if no further controller can be admitted.
    fn busy(&self, now: Time) -> Option<Busy> {
        let held = self.all.iter().filter_map(|session| match session.state {
            SessionState::Held { over, .. } => Some((over, session)),
            SessionState::Lapsed { .. } => None,
        });
        if held.clone().count() < self.rules.most {
            return None;
        }
        let (over, first) = held.min_by_key(|(over, _)| *over)?;
        let left = Span::from_nanoseconds(over.nanoseconds().saturating_sub(now.nanoseconds()));
        Some(Busy { run: first.run.clone(), controller: first.controller.clone(), left })
    }

    /// Renews the lease of a session.
    pub(super) fn renew(
        &mut self,
        now: Time,
        id: SessionId,
        expected_left: Span,
    ) -> (Result<(), Unusable>, Vec<Due>) {
        let due = self.pass(now);
        let held = self.held(id);
        if held.is_ok() {
            for session in self.all.iter_mut().filter(|session| session.id == id) {
                session.state = SessionState::held(now, self.rules.lease, expected_left);
            }
        }
        (held, due)
    }

    /// Releases the host.
    pub(super) fn release(&mut self, now: Time, id: SessionId) -> (Result<(), Unusable>, Vec<Due>) {
        let mut due = self.pass(now);
        let usable = self.usable(id);
        if usable.is_ok() {
            due.extend(self.end(|session| session.id == id));
        }
        (usable, due)
    }

    /// Whether work is allowed in a session. Does not renew the lease.
    pub(super) fn held(&self, id: SessionId) -> Result<(), Unusable> {
        self.usable(id)?;
        let held = self.all.iter().any(|session| session.id == id && session.is_held());
        if held { Ok(()) } else { Err(Unusable::Lapsed) }
    }

    /// Whether the stored accounts of a session may be fetched: it may have lapsed.
    pub(super) fn usable(&self, id: SessionId) -> Result<(), Unusable> {
        let is_known = self.all.iter().any(|session| session.id == id);
        if is_known { Ok(()) } else { Err(Unusable::Unknown) }
    }

    /// Lets time pass: returns the events due by `now`, each once.
    pub(super) fn pass(&mut self, now: Time) -> Vec<Due> {
        let keep = self.rules.keep;
        let mut due = Vec::new();
        self.all.retain_mut(|session| {
            if session.is_held() && session.wake() <= now {
                due.push(Due::Settle(session.id));
                session.state = SessionState::Lapsed { until: after(session.wake(), keep) };
            }
            let remembered = session.is_held() || session.wake() > now;
            if !remembered {
                due.push(Due::Forget(session.id));
            }
            remembered
        });
        due
    }

    /// The time of the next event of [`Self::pass`]; `None` while no controller has a session.
    pub(super) fn next_wake(&self) -> Option<Time> {
        self.all.iter().map(Session::wake).min()
    }

    fn end(&mut self, which: impl Fn(&Session) -> bool) -> Vec<Due> {
        let ended = self.all.extract_if(.., |session| which(session));
        ended.map(|session| Due::Forget(session.id)).collect()
    }
}

fn after(time: Time, span: Span) -> Time {
    Time::from_nanoseconds(time.nanoseconds().saturating_add(span.nanoseconds()))
}

#[cfg(test)]
mod tests;
