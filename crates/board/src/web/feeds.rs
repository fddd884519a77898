//! Lists for other programs: CSV, Atom, badges, the chain.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::{self, Stream, StreamExt as _};
use maud::{PreEscaped, html};
use serde::Deserialize;

use super::api::Wanted;
use super::{BoardResult, Shared, Site, chain_text, reading, visible};
use crate::board::Board;
use crate::database::Connection;
use crate::error::BoardError;
use crate::pages::rate_words;
use crate::runs::{self, PublishedRun, RunFilter};

/// As many rows of a table are in memory at a time.
const ROWS_AT_ONCE: usize = 500;

/// As many runs are in a feed.
const RUNS_IN_A_FEED: usize = 50;

/// As many links of the chain are in an answer.
const LINKS_AT_ONCE: i64 = 10_000;

pub(super) fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/runs.csv", get(csv))
        .route("/feed.atom", get(atom))
        .route("/badge/{id}", get(badge))
        .route("/chain", get(chain))
}

const HEAD: &str = "id,word,number,bits_per_second,low_bits_per_second,high_bits_per_second,low_confidence,why_not_ranked,\
                    cpu_rounds_per_second,plan,profile,network,publisher,system,price,processor,processors,memory_bytes,\
                    virtual_machine,kernel,measured,received,btu_version\n";

async fn csv(State(site): Shared, Query(wanted): Query<Wanted>) -> BoardResult<Response> {
    let first = part(&site, RunFilter::from(wanted)).await?;
    let rows = rows(site, first);
    Ok(([(CONTENT_TYPE, "text/csv; charset=utf-8")], Body::from_stream(rows)).into_response())
}

/// Some rows, and where the rest begins.
async fn part(site: &Arc<Site>, asked: RunFilter) -> BoardResult<(String, Option<RunFilter>)> {
    let rest = asked.clone();
    let read = move |_: &Board, connection: &mut dyn Connection| {
        runs::listed(connection, &asked, ROWS_AT_ONCE)
    };
    let part = reading(Arc::clone(site), read).await?;
    let rest = part.older.map(|place| RunFilter { before: Some(place), ..rest });
    Ok((part.runs.iter().map(row).collect(), rest))
}

/// The table, a part at a time. Should the database fail, the answer breaks off, which a caller does not take for its end.
fn rows(
    site: Arc<Site>,
    (first, rest): (String, Option<RunFilter>),
) -> impl Stream<Item = BoardResult<String>> {
    let rest = stream::try_unfold(rest, move |next| {
        let site = Arc::clone(&site);
        async move {
            let Some(next) = next else { return Ok(None) };
            part(&site, next).await.map(Some).map_err(BoardError::noted)
        }
    });
    stream::iter([Ok(HEAD.to_owned() + &first)]).chain(rest)
}

fn row(run: &PublishedRun) -> String {
    let computed = &run.computed;
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let interval = computed.rating.and_then(|rating| rating.interval);
    let fields = [
        run.id.clone(),
        run.word().to_owned(),
        run.number_name().to_owned(),
        number(computed.rating.map(|rating| rating.value)),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
        computed.low_confidence.to_string(),
        computed.why_not_ranked.clone().unwrap_or_default(),
        number(computed.cpu_rounds_per_second),
        computed.plan_hash.clone(),
        computed.profile.clone(),
        computed.network.clone(),
        run.publisher_name.clone(),
        run.system.clone(),
        run.price.as_ref().map(ToString::to_string).unwrap_or_default(),
        computed.processor.clone(),
        computed.cpus.to_string(),
        computed.memory_bytes.map(|bytes| bytes.to_string()).unwrap_or_default(),
        computed.is_virtual.to_string(),
        computed.kernel.clone(),
        computed.created.clone(),
        run.received.clone(),
        computed.btu_version.clone(),
    ];
    fields.map(|field| quoted(&field)).join(",") + "\n"
}

/// A field (RFC 4180), which no spreadsheet takes for a formula.
fn quoted(field: &str) -> String {
    let guard = if btu_units::begins_formula(field) { "'" } else { "" };
    format!("\"{guard}{}\"", field.replace('"', "\"\""))
}

async fn atom(State(site): Shared, Query(wanted): Query<Wanted>) -> BoardResult<Response> {
    let asked = RunFilter::from(wanted);
    let feed = reading(site, move |board, connection| {
        let newest = runs::listed(connection, &asked, RUNS_IN_A_FEED)?;
        Ok(feed(&board.url, &newest.runs))
    });
    Ok(([(CONTENT_TYPE, "application/atom+xml; charset=utf-8")], feed.await?).into_response())
}

/// RFC 4287.
fn feed(url: &str, newest: &[PublishedRun]) -> String {
    let updated = newest.first().map_or("1970-01-01T00:00:00Z", |run| run.received.as_str());
    let entries = html! {
        title { "Published runs of btu" }
        id { (url) "/" }
        link href=(format!("{url}/")) {}
        link rel="self" href=(format!("{url}/feed.atom")) {}
        updated { (updated) }
        @for run in newest {
            entry {
                title { (run.number_name()) " " (rate_words(run)) ", " (run.word()) ": " (run.machine_words()) }
                id { (url) "/runs/" (run.id) }
                link href=(format!("{url}/runs/{}", run.id)) {}
                updated { (run.received) }
                author { name { (run.publisher_name) } }
                summary { (run.computed.profile) " profile, network " (run.computed.network) }
            }
        }
    };
    let entries = entries.into_string();
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">{entries}</feed>\n"
    )
}

async fn badge(State(site): Shared, Path(name): Path<String>) -> BoardResult<Response> {
    let badge = reading(site, move |_, connection| {
        let id = name.strip_suffix(".svg").unwrap_or(&name);
        Ok(drawn(&visible(connection, id, "")?))
    });
    Ok(([(CONTENT_TYPE, "image/svg+xml")], badge.await?).into_response())
}

/// The width of a letter, in pixels: the badge has no font of its own.
const LETTER: usize = 7;

/// The number with the word that belongs to it: neither is shown without the other.
fn drawn(run: &PublishedRun) -> String {
    let (name, value) = (run.number_name(), format!("{}, {}", rate_words(run), run.word()));
    let (left, right) = (name.len() * LETTER + 12, value.len() * LETTER + 12);
    let colour = match run.word() {
        "certified" => "#00755a",
        "unverified" => "#0067a8",
        _ => "#b3263e",
    };
    let width = left + right;
    let label = format!("{name}: {value}");
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height="20" role="img" aria-label=(label) {
            (PreEscaped("<rect width=\"100%\" height=\"20\" rx=\"3\" fill=\"#4f5965\"/>"))
            rect x=(left) width=(right) height="20" fill=(colour) {}
            g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" {
                text x="6" y="14" { (name) }
                text x=(left + 6) y="14" { (value) }
            }
        }
    }
    .into_string()
}

/// Where in the chain to begin.
#[derive(Debug, Deserialize)]
struct From {
    after: Option<i64>,
}

async fn chain(State(site): Shared, Query(from): Query<From>) -> BoardResult<String> {
    chain_text(site, from.after, LINKS_AT_ONCE).await
}
