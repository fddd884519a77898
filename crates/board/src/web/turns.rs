//! What callers share: turns at what takes long, and a number of tries in a day.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use btu_traffic::{Share, Shares};
use tokio::sync::Notify;

use crate::board::moment;
use crate::error::BoardError;

/// Turns for what takes long: so many in all, of which one host has at most half.
pub(crate) struct Turns {
    shares: Shares,
    freed: Arc<Notify>,
}

/// A turn, until it is dropped.
pub(crate) struct Turn {
    share: Option<Share>,
    freed: Arc<Notify>,
}

impl Turns {
    pub(crate) fn new(most: usize) -> Self {
        Self { shares: Shares::new(most, most / 2), freed: Arc::default() }
    }

    /// A turn for this caller, when one is free.
    pub(crate) async fn take(&self, from: IpAddr) -> Turn {
        loop {
            // What is freed from here on wakes this caller.
            let freed = self.freed.notified();
            if let Some(share) = self.shares.take(from, 1) {
                return Turn { share: Some(share), freed: Arc::clone(&self.freed) };
            }
            freed.await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.share = None;
        self.freed.notify_waiters();
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
