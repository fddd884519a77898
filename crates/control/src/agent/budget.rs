//! What all work in hand takes of the host together, by session: each piece of work holds its claim until its process has
//! ended or its file is gone, however that came about.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use btu_suite::needs::{Needs, Rate, Volume};
use btu_units::Bytes;
use tokio::sync::Notify;

use super::host::Place;

/// What work takes. Sums of 64-bit numbers, of which there are fewer than 2^64, fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) workers: u128,
    /// Offered, in bit/s.
    pub(super) rate: u128,
    /// Volumes that are known, in bytes.
    pub(super) volume: u128,
    /// In bytes.
    pub(super) scratch: u128,
}

impl Demand {
    /// Of a worker that does this.
    pub(super) fn of(needs: &Needs<'_>) -> Self {
        let rate = match needs.rate {
            Rate::Paced(rate) => rate.bits_per_second().into(),
            Rate::Silent | Rate::Unpaced => 0,
        };
        let volume = match needs.volume {
            Volume::Fixed(bytes) => bytes.count().into(),
            Volume::Unbounded | Volume::PeersOwn => 0,
        };
        Self { workers: 1, rate, volume, scratch: needs.scratch.count().into() }
    }

    /// Of a file.
    pub(super) fn file(size: Bytes) -> Self {
        Self { scratch: size.count().into(), ..Self::default() }
    }

    fn map(self, other: Self, each: impl Fn(u128, u128) -> u128) -> Self {
        Self {
            workers: each(self.workers, other.workers),
            rate: each(self.rate, other.rate),
            volume: each(self.volume, other.volume),
            scratch: each(self.scratch, other.scratch),
        }
    }
}

/// What is in hand.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    in_hand: Mutex<BTreeMap<Place, Demand>>,
    released: Notify,
}

impl Budget {
    /// Takes `demand` for work of `place`, if that is allowed: what the session, and what all of them together, would then
    /// have in hand.
    pub(super) fn claim<E>(
        &self,
        place: Place,
        demand: Demand,
        allowed: impl FnOnce(Demand, Demand) -> Result<(), E>,
    ) -> Result<Claim, E> {
        let mut in_hand = self.in_hand();
        let own = in_hand.get(&place).copied().unwrap_or_default().map(demand, |held, more| held + more);
        let all = in_hand.values().fold(demand, |sum, held| sum.map(*held, |sum, held| sum + held));
        allowed(own, all)?;
        in_hand.insert(place, own);
        Ok(Claim { budget: self.clone(), place, demand })
    }

    /// Returns when something was given back after this was called.
    pub(super) fn released(&self) -> impl Future<Output = ()> {
        self.0.released.notified()
    }

    fn in_hand(&self) -> MutexGuard<'_, BTreeMap<Place, Demand>> {
        // Sums are whole between any two calls.
        self.0.in_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of the budget; given back when dropped.
#[derive(Debug)]
pub(super) struct Claim {
    budget: Budget,
    place: Place,
    demand: Demand,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut in_hand = self.budget.in_hand();
        let left = in_hand.get(&self.place).copied().unwrap_or_default().map(self.demand, u128::saturating_sub);
        if left == Demand::default() {
            in_hand.remove(&self.place);
        } else {
            in_hand.insert(self.place, left);
        }
        drop(in_hand);
        self.budget.0.released.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_refused_takes_nothing() {
        let budget = Budget::default();
        let demand = Demand { workers: 1, rate: 5, volume: 6, scratch: 7 };
        budget.claim(None, demand, |own, all| if own == all { Err(()) } else { Ok(()) }).expect_err("refused");
        assert!(budget.in_hand().is_empty());
    }

    proptest! {
        /// Claims and their ends in any order: the sums are those of what lives.
        #[test]
        fn sums_are_those_of_what_is_in_hand(steps in prop::collection::vec((0u8..3, any::<u64>(), any::<bool>()), 0..40)) {
            let budget = Budget::default();
            let mut live: Vec<(Place, u128, Claim)> = Vec::new();
            for (session, size, ends) in steps {
                let place = (session > 0).then_some([session; 16]);
                if ends && !live.is_empty() {
                    live.remove(size as usize % live.len());
                    continue;
                }
                let demand = Demand::file(Bytes::new(size));
                let claim = budget.claim(place, demand, |own, all| {
                    let sum = |mine: bool| {
                        let held = live.iter().filter(|(other, ..)| !mine || *other == place);
                        held.map(|(_, size, _)| size).sum::<u128>() + u128::from(size)
                    };
                    if (own.scratch, all.scratch) == (sum(true), sum(false)) { Ok(()) } else { Err(own.scratch) }
                });
                prop_assert!(claim.is_ok(), "{:?}", claim);
                live.extend(claim.ok().map(|claim| (place, u128::from(size), claim)));
            }
            live.clear();
            prop_assert!(budget.in_hand().is_empty());
        }
    }
}
