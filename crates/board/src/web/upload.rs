//! Uploads: a line that says what comes and who signed it, and the archive. What the line tells is refused before the
//! archive is read.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::rejection::FormRejection;
use axum::extract::{Extension, Form, Path, Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use btu_contract::json;
use btu_traffic::{Share, Shares, host_of};
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::turns::{Tries, Turns};
use super::{Caller, Shared, Site, UPLOADS_PATH, blocking, reading};
use crate::actions;
use crate::error::BoardError;
use crate::log;
use crate::receive::{self, Accepted, Announced, Announcement};

/// As many bytes of archives are in memory.
const ROOM_BYTES: usize = 4 * LARGEST_ARCHIVE_BYTES;

/// Of which one host takes so many.
const ROOM_BYTES_OF_HOST: usize = ROOM_BYTES / 4;

/// Room is taken in steps of so many bytes as an archive comes: what is only announced takes none.
const ROOM_STEP_BYTES: usize = 1 << 20;

/// The largest archive.
const LARGEST_ARCHIVE_BYTES: usize = 64 << 20;

/// The longest first line: a manifest has at most 4096 bytes, a signature and a key less.
const LONGEST_LINE_BYTES: usize = 16 << 10;

/// The longest time in which a publisher sends an archive.
const LONGEST_UPLOAD: Duration = Duration::from_mins(5);

/// An archive comes as fast as that, in seconds for all of it: what takes room gives it back soon.
const LONGEST_ARCHIVE_SECONDS: usize = 120;

/// The slowest upload, over each [`PACED_SECONDS`]: neither a byte now and then nor a fast start holds a connection.
const SLOWEST_BYTES_PER_SECOND: usize = 4 << 10;

/// The time over which an upload has to be fast enough, in seconds.
const PACED_SECONDS: usize = 10;

/// As many archives are computed at once.
const MOST_RECEIVED: usize = 4;

/// As many archives of a host, and of a key, are computed in vain in a day.
const MOST_REFUSED_A_DAY: u32 = 100;

/// Turns at computing archives.
pub(super) fn turns() -> Turns {
    Turns::new(MOST_RECEIVED)
}

/// Archives that were computed in vain.
pub(super) fn refused() -> Tries {
    Tries::new(
        MOST_REFUSED_A_DAY,
        "too many of your archives were refused today: come back tomorrow",
    )
}

/// A host may ask for so many challenges in a day, by whatever keys.
const MOST_CHALLENGES_OF_HOST: u32 = 200;

/// Challenges that were given out.
pub(super) fn challenges() -> Tries {
    Tries::new(
        MOST_CHALLENGES_OF_HOST,
        "too many challenges went to your address today: come back tomorrow",
    )
}

/// The room for archives, which callers share.
pub(super) fn room() -> Shares {
    Shares::new(ROOM_BYTES, ROOM_BYTES_OF_HOST)
}

pub(super) fn routes() -> Router<Arc<Site>> {
    Router::new().route(UPLOADS_PATH, post(publish))
}

/// Forms without an archive.
pub(super) fn small_routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/api/v1/challenges", post(challenge))
        .route("/api/v1/runs/{id}/certificates", post(certify))
}

/// An error as programs read it.
pub(super) struct Refusal(BoardError);

impl From<BoardError> for Refusal {
    fn from(error: BoardError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = self.0.noted();
        (error.status(), Json(json!({"error": error.sentence()}))).into_response()
    }
}

async fn publish(
    State(site): Shared,
    Extension(Caller(from)): Extension<Caller>,
    request: Request,
) -> Result<Response, Refusal> {
    let mut upload = Upload::of(request)?;
    let url = site.board.url.clone();
    let shared = Arc::clone(&site);
    let taken = upload.taken(site, from).await;
    upload.drain().await;
    let Accepted { id, token } = taken?;
    let asked = id.clone();
    let word =
        reading(shared, move |_, connection| Ok(actions::existing(connection, &asked)?.word()));
    // A caller who deletes it meanwhile has its token.
    let word = word.await?;
    let answer = json!({
        "id": id,
        "url": format!("{url}/runs/{id}"),
        "token": token,
        "state": "published",
        "word": word,
    });
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

/// An upload that is on its way.
struct Upload {
    body: BodyDataStream,
    /// What has come of the archive with the first line.
    begun: Bytes,
    /// The whole length; without the line, as soon as that is known.
    length: usize,
    pace: Pace,
    /// Whether nothing more is read: it ended, or it is not heard any more.
    has_ended: bool,
}

impl Upload {
    fn of(request: Request) -> Result<Self, BoardError> {
        let length = length(request.headers())?;
        Ok(Self {
            body: Body::into_data_stream(request.into_body()),
            begun: Bytes::new(),
            length,
            pace: Pace::new(0),
            has_ended: false,
        })
    }

    /// Takes it, in the order of what that costs.
    async fn taken(&mut self, site: Arc<Site>, from: IpAddr) -> Result<Accepted, BoardError> {
        let line = self.line().await?;
        let announced =
            blocking(Arc::clone(&site), move |board| receive::announce(board, line)).await?;
        let announced = match announced {
            Announced::Known(accepted) => {
                log::audit("token", &[("run", &accepted.id)]);
                return Ok(accepted);
            }
            Announced::New(announced) => announced,
        };
        let tries = [host_of(from).to_string(), announced.key()];
        tries.iter().try_for_each(|who| site.refused.check(who))?;
        let (archive, room) = self.archive(&site, from).await?;
        let checked = blocking(Arc::clone(&site), move |_| {
            announced.check_head(&archive).map(|()| (announced, archive))
        });
        let (announced, archive) = checked.await?;
        let turn = site.received.take(from).await;
        // Others of this caller may have been refused meanwhile.
        tries.iter().try_for_each(|who| site.refused.check(who))?;
        let shared = Arc::clone(&site);
        blocking(site, move |board| {
            let accepted = receive::receive(board, &announced, &archive);
            match &accepted {
                Ok(Accepted { id, .. }) => {
                    let fields = [("run", id.as_str()), ("key", &announced.key())];
                    log::CALLER.sync_scope(from, || log::audit("publish", &fields));
                }
                Err(BoardError::Refused(_)) => {
                    for who in &tries {
                        shared.refused.count(who);
                    }
                }
                Err(_) => {}
            }
            drop((archive, room, turn));
            accepted
        })
        .await
    }

    /// The first line.
    async fn line(&mut self) -> Result<Announcement, BoardError> {
        let mut line = Vec::new();
        let end = loop {
            let Some(part) = self.next().await? else {
                return Err(BoardError::refused("the upload ends within its first line"));
            };
            line.extend_from_slice(&part);
            let end = line.iter().take(LONGEST_LINE_BYTES).position(|octet| *octet == b'\n');
            if let Some(end) = end {
                break end;
            }
            if line.len() >= LONGEST_LINE_BYTES {
                let what = format!(
                    "the first line of the upload has more than {LONGEST_LINE_BYTES} bytes"
                );
                return Err(BoardError::Refused(what));
            }
        };
        self.length = self.length.saturating_sub(end + 1);
        self.begun = Bytes::from(line.split_off(end + 1));
        json::from_octets(&line).map_err(|error| {
            BoardError::Refused(format!("the first line of the upload cannot be read ({error})"))
        })
    }

    /// All that follows the line, with the room that it takes.
    async fn archive(
        &mut self,
        site: &Site,
        from: IpAddr,
    ) -> Result<(Vec<u8>, Vec<Share>), BoardError> {
        self.pace = Pace::new(self.length);
        let (mut archive, mut room) = (Vec::new(), Vec::new());
        let mut next = Some(std::mem::take(&mut self.begun));
        while let Some(part) = next {
            while archive.len() + part.len() > room.len() * ROOM_STEP_BYTES {
                room.push(site.room.take(from, ROOM_STEP_BYTES).ok_or_else(many)?);
                archive.reserve_exact(room.len() * ROOM_STEP_BYTES - archive.len());
            }
            archive.extend_from_slice(&part);
            next = self.next().await?;
        }
        Ok((archive, room))
    }

    /// What came next; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, BoardError> {
        let next = self.paced().await;
        self.has_ended = !matches!(next, Ok(Some(_)));
        next
    }

    async fn paced(&mut self) -> Result<Option<Bytes>, BoardError> {
        loop {
            match timeout_at(self.pace.second_ends, self.body.next()).await {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(part))) => {
                    self.pace.count(part.len())?;
                    return Ok(Some(part));
                }
                Ok(Some(Err(error))) => {
                    return Err(BoardError::Refused(format!("reading the upload: {error}")));
                }
                Err(_) => self.pace.count(0)?,
            }
        }
    }

    /// Reads what is left and forgets it: a publisher who still sends would lose the answer.
    async fn drain(&mut self) {
        self.pace = Pace::new(self.length);
        while !self.has_ended {
            let _ = self.next().await;
        }
    }
}

/// Other archives take all the room.
fn many() -> BoardError {
    let what = "the board takes many archives at present: try again in a minute";
    BoardError::TooMany(what.to_owned())
}

/// How long an upload is, which has to be said before it comes.
fn length(headers: &HeaderMap) -> Result<usize, BoardError> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let length: usize = length.ok_or_else(|| {
        BoardError::refused("an upload has to say how long it is: Content-Length")
    })?;
    if length > LARGEST_ARCHIVE_BYTES {
        let what = format!("the upload has more than {LARGEST_ARCHIVE_BYTES} bytes");
        return Err(BoardError::Refused(what));
    }
    Ok(length)
}

/// How fast an upload is, second by second.
struct Pace {
    ends: Instant,
    /// Bytes per second.
    slowest: usize,
    second_ends: Instant,
    /// The bytes of the last seconds, the present one first.
    seconds: [usize; PACED_SECONDS],
    passed: usize,
}

impl Pace {
    /// Of an upload of so many bytes.
    fn new(length: usize) -> Self {
        let now = Instant::now();
        Self {
            ends: now + LONGEST_UPLOAD,
            slowest: SLOWEST_BYTES_PER_SECOND.max(length / LONGEST_ARCHIVE_SECONDS),
            second_ends: now + Duration::from_secs(1),
            seconds: [0; PACED_SECONDS],
            passed: 0,
        }
    }

    /// Counts what came.
    ///
    /// # Errors
    /// It takes too long.
    fn count(&mut self, bytes: usize) -> Result<(), BoardError> {
        let now = Instant::now();
        let too_slow = || Err(BoardError::refused("the upload takes too long"));
        while self.second_ends <= now {
            self.passed += 1;
            let came: usize = self.seconds.iter().sum();
            if self.passed >= PACED_SECONDS && came < PACED_SECONDS * self.slowest {
                return too_slow();
            }
            self.seconds.rotate_right(1);
            self.seconds[0] = 0;
            self.second_ends += Duration::from_secs(1);
        }
        self.seconds[0] += bytes;
        if now < self.ends { Ok(()) } else { too_slow() }
    }
}

/// What a future publisher signs to be given a number.
#[derive(Deserialize)]
struct Asked {
    request: String,
    signature: String,
    key: String,
}

type Sent<T> = Result<Form<T>, FormRejection>;

fn form<T>(sent: Sent<T>) -> Result<T, BoardError> {
    sent.map(|Form(form)| form).map_err(|error| BoardError::Refused(error.body_text()))
}

async fn challenge(
    State(site): Shared,
    Extension(Caller(from)): Extension<Caller>,
    sent: Sent<Asked>,
) -> Result<(StatusCode, String), Refusal> {
    let Asked { request, signature, key } = form(sent)?;
    let (from, signed_by) = (host_of(from).to_string(), key.clone());
    site.challenges.take(&from)?;
    let shared = Arc::clone(&site);
    let challenge =
        blocking(site, move |board| actions::challenge(board, &request, &signature, &key));
    // At once, so that many who ask at a time do not pass each other.
    let challenge = challenge.await.inspect_err(|_| shared.challenges.give_back(&from))?;
    log::audit("challenge", &[("key", &signed_by)]);
    Ok((StatusCode::CREATED, challenge.text()))
}

/// The signature of a laboratory.
#[derive(Deserialize)]
struct Certificate {
    key: String,
    signature: String,
}

async fn certify(
    State(site): Shared,
    Path(id): Path<String>,
    sent: Sent<Certificate>,
) -> Result<StatusCode, Refusal> {
    let Certificate { key, signature } = form(sent)?;
    let (run, by) = (id.clone(), key.clone());
    blocking(site, move |board| actions::certify(board, &run, &key, &signature)).await?;
    log::audit("certify", &[("run", &id), ("key", &by)]);
    Ok(StatusCode::CREATED)
}
