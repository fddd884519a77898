//! Addresses, and what is answered there.

mod api;
mod feeds;
mod kept;
mod outgoing;
mod turns;
mod upload;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{DefaultBodyLimit, Extension, Form, FromRequest, Path, Query, Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, HeaderValue, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use btu_publication::Visibility;
use btu_traffic::Shares;
use futures_util::stream::{self, Stream};
use maud::Markup;
use serde::Deserialize;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::actions;
use crate::board::Board;
use crate::chain;
use crate::database::Connection;
use crate::error::BoardError;
use crate::log;
use crate::metrics::METRICS;
use crate::pages;
use crate::program::ArchiveSource;
use crate::runs::{self, PublishedRun, RunFilter};

use kept::Tag;
pub(crate) use outgoing::Reader;
use outgoing::{Outgoing, Room};
use turns::{Tries, Turns};

/// A form, or what is asked for in an address, is no larger.
const LARGEST_FORM_BYTES: usize = 64 << 10;

/// As many pages are computed at once.
const MOST_COMPUTED: usize = 4;

/// As many runs are on a page.
const RUNS_ON_A_PAGE: usize = 100;

/// A page goes in such parts.
const PART_BYTES: usize = 64 << 10;

/// What a reader of an archive keeps in memory: a piece that is sent, and one that is read.
const ARCHIVE_BYTES: usize = 512 << 10;

/// What every answer needs.
pub(crate) struct Site {
    pub(crate) board: Arc<Board>,
    /// The bytes of archives that may be in memory.
    pub(crate) room: Shares,
    /// Archives that are being checked.
    pub(crate) received: Turns,
    /// Archives that were refused after they were computed.
    pub(crate) refused: Tries,
    /// Challenges that were given out.
    pub(crate) challenges: Tries,
    /// Archives, reports and comparisons on their way.
    outgoing: Outgoing,
    /// Pages that are being computed.
    computed: Turns,
}

pub(crate) type Shared = State<Arc<Site>>;

/// Where a request comes from, by which callers have their shares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller(pub(crate) IpAddr);

/// Where publications are sent.
pub(crate) const UPLOADS_PATH: &str = "/api/v1/runs";

/// Where the operator's programs read what a server counts.
pub(crate) const METRICS_PATH: &str = "/metrics";

/// What a server counts, for the operator's programs alone.
pub fn metrics_router(board: Arc<Board>) -> Router {
    let text = async move || {
        let (connections, asked) = (board.database.connections(), Arc::clone(&board));
        let runs = tokio::task::spawn_blocking(move || asked.database.read(runs::count).ok());
        let runs = timeout(LONGEST_READINESS, runs).await.ok().and_then(Result::ok).flatten();
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        ([(CONTENT_TYPE, kind)], METRICS.text(connections, runs))
    };
    Router::new().route(METRICS_PATH, get(text))
}

/// All addresses of a board.
pub fn router(board: Arc<Board>) -> Router {
    let site = Arc::new(Site {
        board,
        room: upload::room(),
        received: upload::turns(),
        refused: upload::refused(),
        challenges: upload::challenges(),
        outgoing: Outgoing::default(),
        computed: Turns::new(MOST_COMPUTED),
    });
    Router::new()
        .route("/", get(front))
        .route("/plans/{hash}", get(plan))
        .route("/publishers/{id}", get(publisher))
        .route("/search", get(search))
        .route("/compare", get(compare))
        .route("/rules", get(async || pages::rules()))
        .route("/publish", get(publish))
        .route("/runs/{id}", get(run).post(run))
        .route("/runs/{id}/report", get(report).post(report))
        .route("/runs/{id}/archive", get(archive).post(archive))
        .route("/runs/{id}/manifest", get(manifest).post(manifest))
        .route("/runs/{id}/manifest.minisig", get(signature).post(signature))
        .route("/runs/{id}/objections", post(object))
        .route("/runs/{id}/answers", post(answer))
        .route("/runs/{id}/withdrawal", post(withdraw))
        .route("/runs/{id}/deletion", post(delete))
        .route("/style.css", get(style))
        .route("/health", get(async || "The server answers.\n"))
        .route("/ready", get(ready))
        .merge(feeds::routes())
        .merge(api::routes())
        .merge(upload::small_routes())
        .layer(axum::middleware::from_fn(soon))
        .layer(DefaultBodyLimit::max(LARGEST_FORM_BYTES))
        .merge(upload::routes())
        .fallback(async || BoardError::NotFound("there is nothing at this address".to_owned()))
        .layer(axum::middleware::from_fn(with_policy))
        .with_state(site)
}

/// The longest time in which a caller sends a form.
const LONGEST_FORM: Duration = Duration::from_secs(10);

/// Takes in what a caller sends before anything is done with it.
async fn soon(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match timeout(LONGEST_FORM, to_bytes(body, LARGEST_FORM_BYTES)).await {
        Ok(Ok(form)) => next.run(Request::from_parts(head, Body::from(form))).await,
        Ok(Err(_)) => BoardError::refused("the form is too large, or does not end").into_response(),
        Err(_) => BoardError::refused("the form takes too long").into_response(),
    }
}

/// A browser loads nothing for these pages but their style, runs no script, and tells no site where the
/// reader came from.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

async fn with_policy(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

impl BoardError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Refused(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Gone(_) => StatusCode::GONE,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Full => StatusCode::INSUFFICIENT_STORAGE,
            Self::Again(_) | Self::Failed(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// What strangers are told: what failed inside is for the operator.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Again(_) | Self::Failed(_) => {
                "the board cannot answer at present: nothing was changed; try again".to_owned()
            }
            other => other.to_string(),
        }
    }

    /// What failed inside, on standard error.
    pub(crate) fn noted(self) -> Self {
        if let Self::Again(_) | Self::Failed(_) | Self::Full = &self {
            log::error(&self.to_string());
        }
        self
    }
}

impl IntoResponse for BoardError {
    fn into_response(self) -> Response {
        let error = self.noted();
        (error.status(), pages::error(&error)).into_response()
    }
}

/// Does what waits for the database or for a program.
pub(crate) async fn blocking<T: Send + 'static>(
    site: Arc<Site>,
    work: impl FnOnce(&Board) -> Result<T, BoardError> + Send + 'static,
) -> Result<T, BoardError> {
    let done = tokio::task::spawn_blocking(move || work(&site.board)).await;
    done.unwrap_or_else(|error| Err(BoardError::Failed(format!("a request failed: {error}"))))
}

/// What waits for longer is told that the database does not answer: one that is stopped keeps its connections.
const LONGEST_READING: Duration = Duration::from_secs(20);

/// Reads what is stored.
pub(crate) async fn reading<T: Send + 'static>(
    site: Arc<Site>,
    work: impl Fn(&Board, &mut dyn Connection) -> Result<T, BoardError> + Send + 'static,
) -> Result<T, BoardError> {
    let read =
        blocking(site, move |board| board.database.read(|connection| work(board, connection)));
    timeout(LONGEST_READING, read).await.unwrap_or_else(late)
}

fn late<T>(_: Elapsed) -> Result<T, BoardError> {
    Err(BoardError::Failed("the database does not answer".to_owned()))
}

type BoardResult<T> = Result<T, BoardError>;

async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css"), (CACHE_CONTROL, "max-age=3600")], pages::STYLE)
}

/// A database that takes longer does not answer.
const LONGEST_READINESS: Duration = Duration::from_secs(5);

/// Whether the database answers.
async fn ready(State(site): Shared) -> BoardResult<&'static str> {
    let asked = reading(site, |_, connection| connection.first("SELECT 1", &[]));
    timeout(LONGEST_READINESS, asked).await.unwrap_or_else(late)?;
    Ok("The database answers.\n")
}

async fn publish(State(site): Shared) -> Markup {
    pages::publish(&site.board.url)
}

async fn front(State(site): Shared) -> BoardResult<Markup> {
    reading(site, |board, connection| {
        let plans = board.rankings.plans(connection)?;
        let newest = runs::listed(connection, &RunFilter::default(), 10)?.runs;
        let best = match plans.first() {
            Some(plan) => {
                Some(pages::RankingPage::of(&board.rankings, connection, &plan.hash, 0, 10)?)
            }
            None => None,
        };
        Ok(pages::front(&plans, best.as_ref(), &newest))
    })
    .await
}

/// Which part of a list is asked for.
#[derive(Debug, Deserialize)]
struct ListStart {
    #[serde(default)]
    from: u32,
}

async fn plan(
    State(site): Shared,
    Path(hash): Path<String>,
    Query(part): Query<ListStart>,
) -> BoardResult<Markup> {
    reading(site, move |board, connection| {
        let from = part.from as usize;
        let list =
            pages::RankingPage::of(&board.rankings, connection, &hash, from, RUNS_ON_A_PAGE)?;
        let asked = RunFilter { plan: Some(hash.clone()), ..RunFilter::default() };
        let newest = runs::listed(connection, &asked, RUNS_ON_A_PAGE)?.runs;
        if newest.is_empty() {
            return Err(BoardError::NotFound("no public run has this plan".to_owned()));
        }
        Ok(pages::plan(&list, &newest))
    })
    .await
}

/// Where a list of runs goes on, the newest first.
#[derive(Debug, Deserialize)]
struct Older {
    before: Option<i64>,
}

async fn publisher(
    State(site): Shared,
    Path(id): Path<String>,
    Query(part): Query<Older>,
) -> BoardResult<Markup> {
    reading(site, move |_, connection| {
        let found = pages::Publisher::find(connection, &id)?;
        let found =
            found.ok_or_else(|| BoardError::NotFound("there is no such publisher".to_owned()))?;
        let asked = RunFilter {
            publisher: Some(found.key.clone()),
            before: part.before,
            ..RunFilter::default()
        };
        let listed = runs::listed(connection, &asked, RUNS_ON_A_PAGE)?;
        Ok(pages::publisher(&id, &found, &listed))
    })
    .await
}

/// What is looked for.
#[derive(Debug, Deserialize)]
struct Words {
    #[serde(default)]
    words: String,
    before: Option<i64>,
}

async fn search(State(site): Shared, Query(asked): Query<Words>) -> BoardResult<Markup> {
    reading(site, move |_, connection| {
        let words: String = asked.words.chars().take(200).collect();
        let asked =
            RunFilter { words: Some(words.clone()), before: asked.before, ..RunFilter::default() };
        let found = runs::listed(connection, &asked, RUNS_ON_A_PAGE)?;
        Ok(pages::found(&words, &found))
    })
    .await
}

/// What opens a private run: in a form, or in the header of a program's request.
#[derive(Debug, Default, Deserialize)]
struct Opened {
    #[serde(default)]
    token: String,
}

/// The token that a request shows.
pub(crate) fn bearer(headers: &HeaderMap) -> String {
    let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    value.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default().to_owned()
}

/// The token that a request shows in one of the two ways; empty if it shows none.
pub(crate) struct ShownToken(String);

impl<S: Send + Sync> FromRequest<S> for ShownToken {
    type Rejection = BoardError;

    async fn from_request(request: Request, state: &S) -> Result<Self, BoardError> {
        let of_header = bearer(request.headers());
        if request.method() != Method::POST || !of_header.is_empty() {
            return Ok(Self(of_header));
        }
        let form = Form::<Opened>::from_request(request, state).await;
        let Form(opened) = form.map_err(|error| BoardError::Refused(error.body_text()))?;
        Ok(Self(opened.token.trim().to_owned()))
    }
}

/// The run, if a reader who shows this token may see it.
pub(crate) fn visible(
    connection: &mut dyn Connection,
    id: &str,
    token: &str,
) -> Result<PublishedRun, BoardError> {
    let run = actions::existing(connection, id)?;
    if run.visibility != Visibility::Private || run.is_opened_by(token) {
        return Ok(run);
    }
    Err(BoardError::Forbidden("this run is private: show its token".to_owned()))
}

async fn run(
    State(site): Shared,
    Path(id): Path<String>,
    ShownToken(token): ShownToken,
) -> Response {
    let (asked, is_tried) = (id.clone(), !token.is_empty());
    let shown = reading(site, move |board, connection| {
        let run = visible(connection, &id, &token)?;
        let certificates = actions::certificates(connection, &id)?;
        let objections = actions::objections(connection, &id)?;
        let place = pages::place_of(&board.rankings, connection, &run)?;
        Ok(pages::run(&run, &certificates, &objections, place.as_ref(), &token))
    });
    match shown.await {
        Ok(page) => page.into_response(),
        Err(BoardError::Forbidden(_)) => {
            (StatusCode::FORBIDDEN, pages::closed(&asked, is_tried)).into_response()
        }
        Err(error) => error.into_response(),
    }
}

/// Finds the run if the caller may see it: its address has a name, of which nothing is known before.
async fn seen(site: &Arc<Site>, id: &str, token: &str) -> BoardResult<PublishedRun> {
    let (id, token) = (id.trim().to_owned(), token.to_owned());
    reading(Arc::clone(site), move |_, connection| visible(connection, &id, &token)).await
}

/// The archive of a run, for the program.
fn archive_of(board: &Board, run: &PublishedRun) -> impl ArchiveSource {
    move |number| {
        let piece =
            |connection: &mut dyn Connection| runs::archive_piece(connection, &run.id, number);
        match board.database.read(piece)? {
            None if number == 0 => Err(BoardError::Gone("this run was deleted".to_owned())),
            piece => Ok(piece),
        }
    }
}

async fn report(
    State(site): Shared,
    Extension(reader): Extension<Reader>,
    Path(id): Path<String>,
    headers: HeaderMap,
    ShownToken(token): ShownToken,
) -> BoardResult<Response> {
    let run = seen(&site, &id, &token).await?;
    let tag = Tag::of("report", &[&run], &token);
    let page = program_page(site, reader, tag.clone(), vec![run]);
    kept::unless_known(tag.as_ref(), &headers, page).await
}

/// The report of a run, or the comparison of two, which is made if it is not kept.
async fn program_page(
    site: Arc<Site>,
    reader: Reader,
    tag: Option<Tag>,
    runs: Vec<PublishedRun>,
) -> BoardResult<Response> {
    if let Some(page) = kept_page(&site, &reader, tag.as_ref()).await? {
        return Ok(page_of_program(page));
    }
    let turn = site.computed.take(reader.address).await;
    // Another caller may have had it made meanwhile.
    if let Some(page) = kept_page(&site, &reader, tag.as_ref()).await? {
        return Ok(page_of_program(page));
    }
    // A caller who goes away frees no turn before it is done.
    let made = blocking(Arc::clone(&site), move |board| {
        let text = match &runs[..] {
            [base, other] => {
                board.program.comparison(archive_of(board, base), archive_of(board, other))
            }
            [run, ..] => board.program.report(archive_of(board, run)),
            [] => Err(BoardError::Failed("a page of no run was asked for".to_owned())),
        };
        Ok((text?, runs, turn))
    });
    let (text, runs, turn) = made.await?;
    let room = site.room(&reader, text.bytes()).await?;
    let read = blocking(site, move |board| {
        let page = text.read()?;
        if let Some(tag) = tag {
            kept::keep(board, &tag, &runs, &page);
        }
        drop(turn);
        Ok(room.hold(page))
    });
    Ok(page_of_program(read.await?))
}

/// The page of this name, if it is kept, in its room, which is taken before.
async fn kept_page(
    site: &Arc<Site>,
    reader: &Reader,
    tag: Option<&Tag>,
) -> BoardResult<Option<Bytes>> {
    let Some(tag) = tag else { return Ok(None) };
    let asked = tag.clone();
    let bytes = blocking(Arc::clone(site), move |board| kept::bytes(board, &asked)).await?;
    let Some(bytes) = bytes else { return Ok(None) };
    let (asked, room) = (tag.clone(), site.room(reader, bytes).await?);
    let page = blocking(Arc::clone(site), move |board| {
        Ok(kept::page(board, &asked)?.map(|page| room.hold(page)))
    });
    page.await
}

impl Site {
    /// Room for so many bytes of an answer.
    async fn room(&self, reader: &Reader, bytes: usize) -> BoardResult<Arc<Room>> {
        self.outgoing.take(reader, bytes).await.ok_or_else(|| {
            let what = "the board sends much at present: try again in a minute";
            BoardError::TooMany(what.to_owned())
        })
    }
}

/// A page that the program wrote, with its own policy also as a header, in an origin of its own.
fn page_of_program(page: Bytes) -> Response {
    let head = String::from_utf8_lossy(page.get(..4096).unwrap_or(&page)).into_owned();
    let policy = head
        .split_once("http-equiv=\"Content-Security-Policy\" content=\"")
        .and_then(|(_, rest)| Some(rest.split_once('"')?.0))
        .unwrap_or("default-src 'none'");
    let policy = format!("{policy}; frame-ancestors 'none'; sandbox allow-scripts allow-downloads");
    let policy =
        HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let headers = [
        (CONTENT_TYPE, html),
        (CONTENT_SECURITY_POLICY, policy),
        (CONTENT_LENGTH, page.len().into()),
    ];
    (headers, Body::from_stream(parts(page))).into_response()
}

/// A page in parts: the request is being answered until the last one goes.
fn parts(page: Bytes) -> impl Stream<Item = BoardResult<Bytes>> {
    stream::unfold(page, async |mut rest| {
        let part = rest.split_to(rest.len().min(PART_BYTES));
        (!part.is_empty()).then_some((Ok(part), rest))
    })
}

async fn archive(
    State(site): Shared,
    Extension(reader): Extension<Reader>,
    Path(id): Path<String>,
    headers: HeaderMap,
    ShownToken(token): ShownToken,
) -> BoardResult<Response> {
    let run = seen(&site, &id, &token).await?;
    let tag = Tag::of("archive", &[&run], &token);
    kept::unless_known(tag.as_ref(), &headers, whole_archive(site, &reader, run.id)).await
}

async fn whole_archive(site: Arc<Site>, reader: &Reader, run: String) -> BoardResult<Response> {
    let room = site.room(reader, ARCHIVE_BYTES).await?;
    let (asked, name) = (run.clone(), format!("attachment; filename=\"{run}.btu\""));
    let length =
        reading(Arc::clone(&site), move |_, connection| runs::archive_bytes(connection, &asked));
    let headers = [
        (CONTENT_TYPE, "application/gzip".to_owned()),
        (CONTENT_DISPOSITION, name),
        (CONTENT_LENGTH, length.await?.to_string()),
    ];
    Ok((headers, Body::from_stream(pieces(site, run, room))).into_response())
}

/// The archive of a run, a piece at a time, each of which is read when the one before it has gone.
fn pieces(site: Arc<Site>, run: String, room: Arc<Room>) -> impl Stream<Item = BoardResult<Bytes>> {
    stream::try_unfold((0, room), move |(number, room)| {
        let (site, run) = (Arc::clone(&site), run.clone());
        async move {
            let piece =
                reading(site, move |_, connection| runs::archive_piece(connection, &run, number));
            Ok(piece.await?.map(|piece| (room.hold(piece), (number + 1, room))))
        }
    })
}

async fn manifest(
    State(site): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    ShownToken(token): ShownToken,
) -> BoardResult<Response> {
    let run = seen(&site, &id, &token).await?;
    let tag = Tag::of("manifest", &[&run], &token);
    kept::unless_known(tag.as_ref(), &headers, async { Ok(run.manifest.into_response()) }).await
}

async fn signature(
    State(site): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    ShownToken(token): ShownToken,
) -> BoardResult<Response> {
    let run = seen(&site, &id, &token).await?;
    let tag = Tag::of("signature", &[&run], &token);
    kept::unless_known(tag.as_ref(), &headers, async { Ok(run.signature.into_response()) }).await
}

/// Two runs.
#[derive(Debug, Deserialize)]
struct RunPair {
    base: String,
    other: String,
}

async fn compare(
    State(site): Shared,
    Extension(reader): Extension<Reader>,
    headers: HeaderMap,
    Query(pair): Query<RunPair>,
) -> BoardResult<Response> {
    let base = seen(&site, &pair.base, "").await?;
    let other = seen(&site, &pair.other, "").await?;
    let tag = Tag::of("comparison", &[&base, &other], "");
    let page = program_page(site, reader, tag.clone(), vec![base, other]);
    kept::unless_known(tag.as_ref(), &headers, page).await
}

/// Back to a run's page after a change.
fn back_to(id: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, pages::below(&format!("/runs/{id}")))]).into_response()
}

/// What is written in the forms of a run's page.
#[derive(Debug, Deserialize)]
struct Written {
    #[serde(default)]
    token: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    by_run: String,
    #[serde(default)]
    objection: String,
}

/// Changes a run, and leads back to its page.
async fn changed(
    site: Arc<Site>,
    id: String,
    what: &str,
    change: impl FnOnce(&Board, &str) -> Result<(), BoardError> + Send + 'static,
) -> BoardResult<Response> {
    let run = id.clone();
    blocking(site, move |board| change(board, &run)).await?;
    log::audit(what, &[("run", &id)]);
    Ok(back_to(&id))
}

async fn object(
    State(site): Shared,
    Path(id): Path<String>,
    Form(Written { token, text, by_run, .. }): Form<Written>,
) -> BoardResult<Response> {
    let change =
        move |board: &Board, id: &str| actions::object(board, id, &by_run, token.trim(), &text);
    changed(site, id, "object", change).await
}

async fn answer(
    State(site): Shared,
    Path(id): Path<String>,
    Form(Written { token, text, objection, .. }): Form<Written>,
) -> BoardResult<Response> {
    let change =
        move |board: &Board, id: &str| actions::answer(board, id, &objection, token.trim(), &text);
    changed(site, id, "answer", change).await
}

async fn withdraw(
    State(site): Shared,
    Path(id): Path<String>,
    Form(Written { token, text, .. }): Form<Written>,
) -> BoardResult<Response> {
    let change = move |board: &Board, id: &str| actions::withdraw(board, id, token.trim(), &text);
    changed(site, id, "withdraw", change).await
}

async fn delete(
    State(site): Shared,
    Path(id): Path<String>,
    Form(Written { token, .. }): Form<Written>,
) -> BoardResult<Response> {
    changed(site, id, "delete", move |board, id| actions::delete(board, id, token.trim())).await
}

/// The chain's links, a line each: what a reader who notes a line can hold against the board later.
pub(crate) async fn chain_text(
    site: Arc<Site>,
    after: Option<i64>,
    most: i64,
) -> BoardResult<String> {
    reading(site, move |_, connection| {
        let after = match after {
            Some(after) => after,
            None => runs::newest_place(connection)? - most,
        };
        let found = chain::links(connection, after, most)?;
        let lines = found.iter().map(|link| {
            format!("{} {} {} {}\n", link.place, link.manifest_sha256, link.received, link.link)
        });
        Ok(lines.collect())
    })
    .await
}
