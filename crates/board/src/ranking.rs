//! Rankings, kept until something changes: ten thousand runs take longer to be ranked than to be shown.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use btu_studies::rank::{Place, places};

use crate::database::{self, Connection};
use crate::error::BoardError;
use crate::runs::{self, Plan, PublisherMachine};

/// The machines of a plan, the fastest first.
pub(crate) type Ranked = Vec<Place<PublisherMachine>>;

/// The rankings that were asked for since the last change. A run is in one of them at most, so that all
/// together are no larger than the database.
#[derive(Debug, Default)]
pub(crate) struct Rankings(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The number of changes when they were computed.
    changes: i64,
    of_plans: BTreeMap<String, Arc<Ranked>>,
    plans: Option<Vec<Plan>>,
}

/// As many plans are listed.
const MOST_PLANS: usize = 100;

impl Rankings {
    /// The plans with most runs, ratings first.
    pub(crate) fn plans(&self, connection: &mut dyn Connection) -> Result<Vec<Plan>, BoardError> {
        let changes = database::changes(connection)?;
        if let Some(plans) = self.since(changes).plans.clone() {
            return Ok(plans);
        }
        let plans = runs::plans(connection, MOST_PLANS)?;
        self.since(changes).plans = Some(plans.clone());
        Ok(plans)
    }

    /// The ranking of a plan.
    pub(crate) fn of(
        &self,
        connection: &mut dyn Connection,
        plan: &str,
    ) -> Result<Arc<Ranked>, BoardError> {
        // Asked for first: what is read after it is not older.
        let changes = database::changes(connection)?;
        if let Some(ranked) = self.since(changes).of_plans.get(plan) {
            return Ok(Arc::clone(ranked));
        }
        let ranked = Arc::new(places(runs::entries(connection, plan)?));
        if !ranked.is_empty() {
            self.since(changes).of_plans.insert(plan.to_owned(), Arc::clone(&ranked));
        }
        Ok(ranked)
    }

    /// What is kept and as new as `changes`.
    fn since(&self, changes: i64) -> MutexGuard<'_, Kept> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.changes != changes {
            *kept = Kept { changes, ..Kept::default() };
        }
        kept
    }
}
