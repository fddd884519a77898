//! Runs of one record: what is measured at once and cannot be resumed.

use btu_contract::experiment::Columns;
use btu_contract::json;
use btu_contract::load::Load;
use btu_store::{Moment, NewRun, RunId, State, Store};
use btu_units::{Bytes, Span};
use serde::Serialize;
use serde_json::Value;

use crate::stored::wall_clock;

/// What is stored of such a run.
pub(crate) struct Single<'a, R> {
    /// The study.
    pub(crate) study: &'a str,
    /// The name of its profile.
    pub(crate) profile: &'a str,
    /// The network in words.
    pub(crate) network: &'a str,
    /// The user's word for the run.
    pub(crate) label: Option<&'a str>,
    /// What was asked for, and its name.
    pub(crate) plan: Value,
    pub(crate) plan_hash: String,
    /// Whether this machine measured: its settings are stored then.
    pub(crate) is_measured_here: bool,
    /// Wall time of the start, RFC 3339.
    pub(crate) created: String,
    /// How long it was measured.
    pub(crate) duration: Option<Span>,
    /// Whether its result counts.
    pub(crate) is_valid: bool,
    /// The result.
    pub(crate) record: &'a R,
}

/// Stores a run, which is complete then.
pub(crate) fn save<R: Serialize>(store: &mut Store, single: &Single<R>) -> anyhow::Result<RunId> {
    let lock = store.create_run(&NewRun {
        study: single.study,
        profile: single.profile,
        network: single.network,
        label: single.label,
        tags: &[],
        created: &single.created,
        seed: 0,
        btu_version: env!("CARGO_PKG_VERSION"),
        plan: &single.plan,
        plan_hash: &single.plan_hash,
        planned_cells: 1,
    })?;
    if single.is_measured_here {
        let environment = json::to_value(&btu_control::environment::collect())?;
        store.save_environment(&lock, Moment::Before, &environment)?;
    }
    let columns = Columns {
        block: 0,
        position: 0,
        component: "NULL".to_owned(),
        message: Bytes::ZERO,
        load: Load::Idle.name(),
        valid: single.is_valid,
        goodput_bits_per_second: None,
        duration: single.duration,
        host_duration: None,
    };
    store.save_record(&lock, &columns, &serde_json::to_string(single.record)?)?;
    store.finish(&lock, State::Complete, &wall_clock())?;
    store.set_spent(&lock, single.duration)?;
    Ok(lock.run())
}
