//! Requests that leave on time at random moments, whatever becomes of the answers: several are in
//! flight, and each answer is matched with its request by its number (as irtt does).
//!
//! One thread sends and receives: it waits in `ppoll` until the next request is due or an answer is
//! there. A request's time is from the moment before its system call to the moment after the
//! answer's, so lateness of the sender is no part of it.

mod ledger;

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use btu_contract::activity::OpenLoop;
use btu_contract::record::Requested;
use btu_units::{Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};

use crate::clock::{Limit, PreciseTimers, TICK, now};
use crate::error::TrafficError;

pub(crate) use ledger::{GivenUp, Ledger, Recent};

/// How requests leave, and answers come.
pub(crate) trait Carrier {
    /// Whether an answer may never come. If not, the end waits for all of them.
    const LOSES: bool;

    /// The other end.
    fn peer(&self) -> SocketAddr;

    /// The descriptor to wait on.
    fn socket(&self) -> BorrowedFd<'_>;

    /// Whether a part of a request waits for room in the socket.
    fn has_unsent(&self) -> bool;

    /// Sends the request of this number without waiting; false when there was no room for it.
    fn send(&mut self, number: u64) -> Result<bool, TrafficError>;

    /// The next of what has arrived; `None` when that is all.
    fn receive(&mut self) -> Result<Option<Heard>, TrafficError>;
}

/// What arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The right answer to the request of this number.
    Answer(u64),
    /// An answer that cannot be.
    Wrong,
    /// Nothing that counts.
    Aside,
}

/// Sends requests from `started` on for `duration`, at moments that `seed` draws, and waits for
/// answers. Moments before this call began are left out: the other end was not ready. Without a lead
/// the duration counts from this call, since a full queue may keep the other end unready for longer
/// than that; with one, requests end together with what fills the queue.
pub(crate) fn run<C: Carrier>(
    carrier: &mut C,
    (open_loop, seed): (OpenLoop, u64),
    (started, duration): (Time, Span),
    mut ledger: Ledger<'_>,
    limit: &Limit<'_>,
) -> Result<Requested, TrafficError> {
    let _timers = PreciseTimers::hold();
    let begun = now();
    let counts_from = if open_loop.lead > Span::ZERO { started } else { begun.max(started) };
    let mut end = counts_from + duration;
    let moments = open_loop.moments(seed).map(|moment| started + moment);
    let mut moments = moments.skip_while(|due| *due < begun).peekable();
    loop {
        let time = now();
        if limit.stopped() {
            end = end.min(time);
        }
        match moments.peek().copied().filter(|due| *due < end) {
            Some(due) if due <= time => {
                moments.next();
                let is_sent = carrier.send(ledger.requests())?;
                ledger.sent(is_sent.then_some(time));
            }
            Some(due) => wait(carrier, due.since(time))?,
            None => {
                let until = ledger.waits_until(end);
                let Some(until) = until.filter(|until| !C::LOSES || time < *until) else {
                    return Ok(ledger.close());
                };
                wait(carrier, if C::LOSES { until.since(time) } else { TICK.into() })?;
            }
        }
        while let Some(heard) = carrier.receive()? {
            ledger.hear(heard, now());
        }
        if C::LOSES {
            ledger.give_up(now());
        }
        limit.check_time(now(), "wait for answers", carrier.peer())?;
    }
}

/// Waits until something arrives, has room, or the time is over.
fn wait(carrier: &impl Carrier, span: Span) -> Result<(), TrafficError> {
    let mut flags = PollFlags::POLLIN;
    flags.set(PollFlags::POLLOUT, carrier.has_unsent());
    let longest = std::time::Duration::from(span).min(TICK);
    match ppoll(&mut [PollFd::new(carrier.socket(), flags)], Some(longest.into()), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(TrafficError::socket("poll", carrier.peer())(io::Error::from(error))),
    }
}
