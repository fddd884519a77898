//! What programs ask: runs as JSON.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::upload::Refusal;
use super::{RUNS_ON_A_PAGE, Shared, Site, bearer, reading, visible};
use crate::runs::{self, PublishedRun, RunFilter};

pub(super) fn routes() -> Router<Arc<Site>> {
    Router::new().route("/api/v1/runs", get(list)).route("/api/v1/runs/{id}", get(one))
}

/// Which runs a program asks for.
#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    plan: Option<String>,
    words: Option<String>,
    before: Option<i64>,
}

impl From<Wanted> for RunFilter {
    fn from(wanted: Wanted) -> Self {
        Self { plan: wanted.plan, words: wanted.words, before: wanted.before, publisher: None }
    }
}

/// The newest first; `next` is where the rest begins.
async fn list(State(site): Shared, Query(wanted): Query<Wanted>) -> Result<Json<Value>, Refusal> {
    let asked = RunFilter::from(wanted);
    let listed =
        reading(site, move |_, connection| runs::listed(connection, &asked, RUNS_ON_A_PAGE))
            .await?;
    let runs: Vec<Value> = listed.runs.iter().map(run_json).collect();
    Ok(Json(json!({"runs": runs, "next": listed.older})))
}

async fn one(
    State(site): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let token = bearer(&headers);
    let run = reading(site, move |_, connection| visible(connection, &id, &token)).await?;
    Ok(Json(run_json(&run)))
}

/// A run as programs read it: the number, with what has to be said with it.
fn run_json(run: &PublishedRun) -> Value {
    let computed = &run.computed;
    let interval = computed.rating.and_then(|rating| rating.interval);
    json!({
        "id": run.id,
        "uuid": run.uuid,
        "word": run.word(),
        "number": run.number_name(),
        "bits_per_second": computed.rating.map(|rating| rating.value),
        "interval_bits_per_second": interval.map(|interval| [interval.low, interval.high]),
        "low_confidence": computed.low_confidence,
        "why_not_ranked": computed.why_not_ranked,
        "marks": computed.marks,
        "cpu_rounds_per_second": computed.cpu_rounds_per_second,
        "plan": computed.plan_hash,
        "profile": computed.profile,
        "network": computed.network,
        "publisher": run.publisher_name,
        "key": run.signed_by,
        "challenged": run.challenged,
        "certified_by": run.laboratories,
        "objections": run.objections,
        "withdrawn": run.withdrawn.as_ref().map(|withdrawn| &withdrawn.why),
        "system": run.system,
        "price": run.price.as_ref().map(ToString::to_string),
        "processor": computed.processor,
        "processors": computed.cpus,
        "memory_bytes": computed.memory_bytes,
        "virtual_machine": computed.is_virtual,
        "kernel": computed.kernel,
        "measured": computed.created,
        "received": run.received,
        "btu_version": computed.btu_version,
    })
}
