//! The host's resources in use by all current work, by session: each piece of work holds its claim
//! until its process has ended or its file is removed, in any way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use btu_contract::activity::Activity;
use btu_contract::needs::{Rate, VolumeLimit};
use btu_units::Bytes;
use tokio::sync::Notify;

use super::sessions::SessionId;

/// The owner of work: a session, or a user of this machine without a session.
pub(super) type WorkOwner = Option<SessionId>;

/// The agent's memory for workers' messages, until they are fetched or removed: a signature of many
/// sizes with every exchange is about a megabyte.
pub(super) const WORDS: Bytes = Bytes::new(64 << 20);

/// The agent's memory for a silent worker, in bytes.
pub(super) const WORKER_BYTES: usize = 4096;

/// The resources that work takes. Sums of 64-bit numbers, of which there are fewer than 2^64, fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(super) workers: u128,
    /// The offered rates, in bits per second.
    pub(super) rate: u128,
    /// Volumes that are known, in bytes.
    pub(super) volume: u128,
    /// The size in the scratch directory, in bytes.
    pub(super) scratch: u128,
    /// The workers' own memory, in bytes.
    pub(super) memory: u128,
    pub(super) open_files: u128,
    /// The workers' messages, in bytes of the agent's memory.
    pub(super) words: u128,
}

impl Demand {
    /// The demand of a worker with this activity.
    pub(super) fn of(activity: &Activity) -> Self {
        let needs = activity.needs();
        let rate = match needs.rate {
            Rate::Paced(rate) => rate.bits_per_second().into(),
            Rate::Silent | Rate::Unpaced => 0,
        };
        let volume = match needs.volume {
            VolumeLimit::Fixed(bytes) => bytes.count().into(),
            VolumeLimit::Unbounded | VolumeLimit::PeersOwn => 0,
        };
        let room = activity.room();
        Self {
            workers: 1,
            rate,
            volume,
            scratch: needs.scratch.count().into(),
            memory: room.memory.count().into(),
            open_files: room.open_files.into(),
            words: 0,
        }
    }

    /// The demand of a file of this size.
    pub(super) fn file(size: Bytes) -> Self {
        Self { scratch: size.count().into(), ..Self::default() }
    }

    /// The demand of stored messages.
    pub(super) fn words(bytes: usize) -> Self {
        Self { words: bytes as u128, ..Self::default() }
    }

    fn map(self, other: Self, each: impl Fn(u128, u128) -> u128) -> Self {
        Self {
            workers: each(self.workers, other.workers),
            rate: each(self.rate, other.rate),
            volume: each(self.volume, other.volume),
            scratch: each(self.scratch, other.scratch),
            memory: each(self.memory, other.memory),
            open_files: each(self.open_files, other.open_files),
            words: each(self.words, other.words),
        }
    }
}

/// The resources in use.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget(Arc<SharedBudget>);

#[derive(Debug, Default)]
struct SharedBudget {
    in_hand: Mutex<BTreeMap<WorkOwner, Demand>>,
    released: Notify,
}

impl Budget {
    /// Claims `demand` for work of `place`, if the resulting sums of the session and of all
    /// sessions are allowed.
    pub(super) fn claim<E>(
        &self,
        place: WorkOwner,
        demand: Demand,
        allowed: impl FnOnce(Demand, Demand) -> Result<(), E>,
    ) -> Result<Claim, E> {
        self.take(place, demand, allowed)?;
        Ok(Claim { budget: self.clone(), place, demand })
    }

    fn take<E>(
        &self,
        place: WorkOwner,
        demand: Demand,
        allowed: impl FnOnce(Demand, Demand) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut in_hand = self.in_hand();
        let own =
            in_hand.get(&place).copied().unwrap_or_default().map(demand, |held, more| held + more);
        let all = in_hand.values().fold(demand, |sum, held| sum.map(*held, |sum, held| sum + held));
        allowed(own, all)?;
        in_hand.insert(place, own);
        Ok(())
    }

    /// Returns when a claim was released after this call.
    pub(super) fn released(&self) -> impl Future<Output = ()> {
        self.0.released.notified()
    }

    fn in_hand(&self) -> MutexGuard<'_, BTreeMap<WorkOwner, Demand>> {
        // Sums are whole between any two calls.
        self.0.in_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker's part of the host.
#[derive(Debug)]
pub(super) struct WorkClaim {
    pub(super) process: ProcessClaim,
    /// As long as its messages are kept.
    pub(super) words: KeptWords,
}

/// The claim of a worker's process, until it has ended.
#[derive(Debug)]
pub(super) struct ProcessClaim {
    _claim: Claim,
    _source: Option<Arc<Claim>>,
}

impl ProcessClaim {
    /// The claim of the process, and that of a source file that it reads.
    pub(super) fn new(claim: Claim, source: Option<Arc<Claim>>) -> Self {
        Self { _claim: claim, _source: source }
    }
}

/// A part of the budget; released when dropped.
#[derive(Debug)]
pub(super) struct Claim {
    budget: Budget,
    place: WorkOwner,
    demand: Demand,
}

impl Claim {
    /// Claims more for that work, as [`Budget::claim`].
    pub(super) fn grow<E>(
        &mut self,
        demand: Demand,
        allowed: impl FnOnce(Demand, Demand) -> Result<(), E>,
    ) -> Result<(), E> {
        self.budget.take(self.place, demand, allowed)?;
        self.demand = self.demand.map(demand, |held, more| held + more);
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut in_hand = self.budget.in_hand();
        let left = in_hand
            .get(&self.place)
            .copied()
            .unwrap_or_default()
            .map(self.demand, u128::saturating_sub);
        if left == Demand::default() {
            in_hand.remove(&self.place);
        } else {
            in_hand.insert(self.place, left);
        }
        drop(in_hand);
        self.budget.0.released.notify_waiters();
    }
}

/// The part of [`WORDS`] for one worker's messages; released when dropped.
#[derive(Debug)]
pub(super) struct KeptWords {
    claim: Claim,
    /// The limit of its session, in bytes.
    share: u128,
}

impl KeptWords {
    /// With the current claims, on a host with this number of simultaneous runs.
    pub(super) fn new(claim: Claim, runs: usize) -> Self {
        Self { claim, share: u128::from(WORDS.count()).div_ceil(runs.max(1) as u128) }
    }

    /// Claims this number of further bytes.
    pub(super) fn keep(&mut self, bytes: usize) -> Result<(), String> {
        let share = self.share;
        let fits =
            |own: Demand, all: Demand| own.words <= share && all.words <= WORDS.count().into();
        self.claim.grow(Demand::words(bytes), |own, all| if fits(own, all) { Ok(()) } else { Err(()) }).map_err(|()| {
            format!("it said more than this agent keeps: {WORDS} of all workers, until they are fetched; fetch and release earlier cells first")
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_refused_takes_nothing() {
        let budget = Budget::default();
        let demand = Demand { workers: 1, rate: 5, volume: 6, scratch: 7, ..Demand::default() };
        budget
            .claim(None, demand, |own, all| if own == all { Err(()) } else { Ok(()) })
            .expect_err("refused");
        assert!(budget.in_hand().is_empty());
    }

    #[test]
    fn words_of_many_workers_are_bounded_together() {
        let budget = Budget::default();
        let worker = |session: u8, runs| {
            let claim = budget
                .claim(Some([session; 16]), Demand::words(WORKER_BYTES), |_, _| Ok::<_, ()>(()))
                .unwrap();
            KeptWords::new(claim, runs)
        };
        let half = WORDS.count() as usize / 2;
        let (mut one, mut other) = (worker(1, 2), worker(1, 2));
        one.keep(half - 2 * WORKER_BYTES).unwrap();
        assert!(
            other.keep(1).unwrap_err().contains(&WORDS.to_string()),
            "the share of its session"
        );
        let mut of_another = worker(2, 2);
        of_another.keep(half - WORKER_BYTES).unwrap();
        assert!(worker(3, 1).keep(1).is_err(), "all that the host has");
        drop(one);
        other.keep(1).unwrap();
    }

    #[test]
    fn a_claim_grows_as_far_as_it_may_and_gives_all_of_it_back() {
        let budget = Budget::default();
        let up_to = |most: u128| {
            move |own: Demand, _: Demand| if own.words > most { Err(own.words) } else { Ok(()) }
        };
        let mut claim = budget.claim(None, Demand::words(3), up_to(8)).unwrap();
        claim.grow(Demand::words(5), up_to(8)).unwrap();
        assert_eq!(claim.grow(Demand::words(1), up_to(8)), Err(9));
        assert_eq!(budget.in_hand().get(&None).map(|held| held.words), Some(8));
        drop(claim);
        assert!(budget.in_hand().is_empty());
    }

    proptest! {
        /// Claims and their ends in any order: the sums are those of the remaining claims.
        #[test]
        fn sums_are_those_of_what_is_in_hand(steps in prop::collection::vec((0u8..3, any::<u64>(), any::<bool>()), 0..40)) {
            let budget = Budget::default();
            let mut live: Vec<(WorkOwner, u128, Claim)> = Vec::new();
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
