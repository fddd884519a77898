//! Rankings, kept until something changes: ten thousand runs take longer to be ranked than to be shown.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use btu_studies::rank::{Place, places};

use crate::database::{self, Connection};
use crate::error::BoardError;
use crate::runs::{self, Plan, PublisherMachine};

/// The machines of a plan, the fastest first.
pub(crate) type Ranked = Vec<Place<PublisherMachine>>;

/// The rankings that were asked for. A run is in one of them at most, so that all together are no larger than the
/// database.
#[derive(Debug, Default)]
pub(crate) struct Rankings {
    kept: Mutex<Kept>,
    /// Held by the one reader for whom a list is computed at present.
    computing: Mutex<()>,
}

/// The last lists, each with the number of changes when it was computed.
#[derive(Debug, Default)]
struct Kept {
    of_plans: BTreeMap<String, (i64, Arc<Ranked>)>,
    plans: Option<(i64, Arc<Vec<Plan>>)>,
}

/// As many plans are listed.
const MOST_PLANS: usize = 100;

impl Rankings {
    /// The plans with most runs, ratings first.
    pub(crate) fn plans(
        &self,
        connection: &mut dyn Connection,
    ) -> Result<Arc<Vec<Plan>>, BoardError> {
        let changes = database::changes(connection)?;
        self.list(
            changes,
            |kept| kept.plans.clone(),
            || runs::plans(connection, MOST_PLANS),
            |kept, list| kept.plans = Some(list),
        )
    }

    /// The ranking of a plan.
    pub(crate) fn of(
        &self,
        connection: &mut dyn Connection,
        plan: &str,
    ) -> Result<Arc<Ranked>, BoardError> {
        // Asked for first: what is read after it is not older.
        let changes = database::changes(connection)?;
        self.list(
            changes,
            |kept| kept.of_plans.get(plan).cloned(),
            || Ok(places(runs::entries(connection, plan)?)),
            |kept, list| {
                if list.1.is_empty() {
                    kept.of_plans.remove(plan);
                } else {
                    kept.of_plans.insert(plan.to_owned(), list);
                }
            },
        )
    }

    /// A list that is as new as `changes`. While one is computed for another reader, the last one has to do: computed for
    /// all readers at once, lists would take all processors after each change.
    fn list<T>(
        &self,
        changes: i64,
        find: impl Fn(&Kept) -> Option<(i64, Arc<T>)>,
        compute: impl FnOnce() -> Result<T, BoardError>,
        keep: impl FnOnce(&mut Kept, (i64, Arc<T>)),
    ) -> Result<Arc<T>, BoardError> {
        let before = find(&self.kept());
        if let Some((_, found)) = before.as_ref().filter(|(at, _)| *at >= changes) {
            return Ok(Arc::clone(found));
        }
        let _turn = match self.computing.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => match before {
                Some((_, older)) => return Ok(older),
                None => self.computing.lock().unwrap_or_else(PoisonError::into_inner),
            },
        };
        // It may have been computed while this reader waited.
        if let Some((_, found)) = find(&self.kept()).filter(|(at, _)| *at >= changes) {
            return Ok(found);
        }
        let computed = Arc::new(compute()?);
        keep(&mut self.kept(), (changes, Arc::clone(&computed)));
        Ok(computed)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::Duration;

    use super::*;

    /// After each of ten changes, eight readers ask at once.
    #[test]
    fn one_list_is_computed_at_a_time_and_others_get_the_last_one() {
        let rankings = Rankings::default();
        let (at_once, computed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let read = |changes: i64| {
            let compute = || {
                assert_eq!(at_once.fetch_add(1, SeqCst), 0, "two at once");
                std::thread::sleep(Duration::from_millis(20));
                at_once.fetch_sub(1, SeqCst);
                computed.fetch_add(1, SeqCst);
                Ok(Vec::new())
            };
            let keep = |kept: &mut Kept, list| kept.plans = Some(list);
            rankings.list(changes, |kept| kept.plans.clone(), compute, keep).expect("a list");
        };
        for changes in 1..=10 {
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| read(changes));
                }
            });
        }
        assert_eq!(computed.load(SeqCst), 10, "once for each change");
        read(10);
        read(9);
        assert_eq!(computed.load(SeqCst), 10, "what is newer than what was asked for is shown");
        read(11);
        assert_eq!(
            computed.load(SeqCst),
            11,
            "without another reader the list is as new as it can be"
        );
    }
}
