//! What callers share: turns at what takes long, and a number of tries in a day.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use btu_traffic::{Share, Shares, host_of};
use tokio::sync::oneshot;

use crate::board::moment;
use crate::error::BoardError;

/// Turns for what takes long: so many in all, of which one host has at most half. Hosts that wait have one after the other,
/// however many callers each of them has.
pub(crate) struct Turns(Arc<Queue>);

struct Queue {
    shares: Shares,
    waiting: Mutex<VecDeque<WaitingHost>>,
}

/// A host, and its callers who wait, the first one first.
struct WaitingHost(IpAddr, VecDeque<oneshot::Sender<Turn>>);

/// A turn, until it is dropped.
pub(crate) struct Turn {
    share: Option<Share>,
    queue: Arc<Queue>,
}

impl Turns {
    pub(crate) fn new(most: usize) -> Self {
        let shares = Shares::new(most, most / 2);
        Self(Arc::new(Queue { shares, waiting: Mutex::default() }))
    }

    /// A turn for this caller, when it comes.
    pub(crate) async fn take(&self, from: IpAddr) -> Turn {
        loop {
            let (given, turn) = oneshot::channel();
            self.0.add(host_of(from), given);
            self.0.hand_out();
            if let Ok(turn) = turn.await {
                return turn;
            }
        }
    }
}

impl Queue {
    fn add(&self, host: IpAddr, caller: oneshot::Sender<Turn>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(WaitingHost(_, callers)) = waiting.iter_mut().find(|one| one.0 == host) {
            // Those who went away wait no more.
            callers.retain(|one| !one.is_closed());
            callers.push_back(caller);
        } else {
            waiting.push_back(WaitingHost(host, [caller].into()));
        }
    }

    /// Hands out what is free; a host that had a turn is the last one then.
    fn hand_out(self: &Arc<Self>) {
        while let Some((caller, share)) = self.next() {
            // A caller who has gone meanwhile leaves it to the next one.
            let _ = caller.send(Turn { share: Some(share), queue: Arc::clone(self) });
        }
    }

    fn next(&self) -> Option<(oneshot::Sender<Turn>, Share)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for WaitingHost(_, callers) in waiting.iter_mut() {
            callers.retain(|one| !one.is_closed());
        }
        waiting.retain(|WaitingHost(_, callers)| !callers.is_empty());
        let mut free = waiting.iter().enumerate();
        let (place, share) = free.find_map(|(n, one)| Some((n, self.shares.take(one.0, 1)?)))?;
        let WaitingHost(host, mut callers) = waiting.remove(place)?;
        let caller = callers.pop_front()?;
        waiting.push_back(WaitingHost(host, callers));
        Some((caller, share))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.share = None;
        self.queue.hand_out();
    }
}

/// As many callers are remembered; then all are forgotten.
const MOST_CALLERS: usize = 100_000;

/// How often callers tried something today.
pub(crate) struct Tries {
    most: u32,
    why: &'static str,
    /// The number of the day, and the tries of callers.
    today: Mutex<(i64, HashMap<String, u32>)>,
}

impl Tries {
    /// So many in a day; `why` is what is said of one more.
    pub(crate) fn new(most: u32, why: &'static str) -> Self {
        Self { most, why, today: Mutex::default() }
    }

    /// Counts a try, if this caller may have another one.
    pub(crate) fn take(&self, who: &str) -> Result<(), BoardError> {
        let tries = self.today(|all| {
            let tries = all.entry(who.to_owned()).or_default();
            *tries += 1;
            *tries
        });
        if tries > self.most { Err(BoardError::TooMany(self.why.to_owned())) } else { Ok(()) }
    }

    /// Gives a try back, which came to nothing.
    pub(crate) fn give_back(&self, who: &str) {
        self.today(|all| {
            if let Some(tries) = all.get_mut(who) {
                *tries = tries.saturating_sub(1);
            }
        });
    }

    /// Whether this caller may try again.
    pub(crate) fn check(&self, who: &str) -> Result<(), BoardError> {
        if self.today(|tries| tries.get(who).is_some_and(|tries| *tries >= self.most)) {
            return Err(BoardError::TooMany(self.why.to_owned()));
        }
        Ok(())
    }

    pub(crate) fn count(&self, who: &str) {
        self.today(|tries| *tries.entry(who.to_owned()).or_default() += 1);
    }

    fn today<T>(&self, work: impl FnOnce(&mut HashMap<String, u32>) -> T) -> T {
        let mut kept = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let (day, tries) = &mut *kept;
        let today = moment().as_second() / (24 * 3600);
        if *day != today || tries.len() >= MOST_CALLERS {
            tries.clear();
            *day = today;
        }
        work(tries)
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Asked<'a> = Pin<Box<dyn Future<Output = Turn> + 'a>>;

    fn given(asked: &mut Asked) -> Option<Turn> {
        match asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    fn asked(turns: &Turns, last: u8) -> Asked<'_> {
        Box::pin(turns.take(IpAddr::from([192, 0, 2, last])))
    }

    /// Asks for a turn, which is waited for.
    fn waits(turns: &Turns, last: u8) -> Asked<'_> {
        let mut asked = asked(turns, last);
        assert!(given(&mut asked).is_none(), "{last} waits");
        asked
    }

    #[test]
    fn hosts_have_one_turn_after_the_other_however_many_callers_they_have() {
        let turns = Turns::new(4);
        let first = [1, 1, 2, 2].map(|last| given(&mut asked(&turns, last)));
        assert!(first.iter().all(Option::is_some), "all of them are free");
        let mut callers: Vec<Asked> =
            (0..64).flat_map(|_| 1..=14).map(|last| waits(&turns, last)).collect();
        // Those who go away hold up no other.
        callers.drain(..64);
        let mut healthy = waits(&turns, 20);
        drop(first);
        let mut rounds = 0;
        while given(&mut healthy).is_none() {
            let mut had = Vec::new();
            callers.retain_mut(|one| given(one).map(|turn| had.push(turn)).is_none());
            assert!(rounds < 5 && had.len() <= 4, "round {rounds}: {}", had.len());
            rounds += 1;
        }
    }
}
