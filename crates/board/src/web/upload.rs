//! Uploads: forms with several parts, of which the archive is large.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::Router;
use axum::extract::multipart::{Field, Multipart, MultipartError, MultipartRejection};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::{Shared, Site, blocking, one_of};
use crate::actions;
use crate::error::BoardError;
use crate::receive::{Publication, receive};

/// As many archives are computed at once.
pub(super) const MOST_RECEIVED: usize = 4;

/// As many bytes of archives are in memory: as many as came, so that a publisher who sends slowly takes no
/// other's place.
pub(super) const ROOM_BYTES: usize = 4 * LARGEST_ARCHIVE_BYTES;

/// The largest archive.
const LARGEST_ARCHIVE_BYTES: usize = 64 << 20;

/// The largest other part of a form.
const LARGEST_PART_BYTES: usize = 16 << 10;

/// The longest time in which a publisher sends an archive.
const LONGEST_UPLOAD: Duration = Duration::from_mins(5);

/// The longest time in which nothing of an upload comes.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The slowest upload, in bytes per second from then on: connections are not held by a byte now and then.
const SLOWEST_BYTES_PER_SECOND: u64 = 4 << 10;

pub(super) fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/api/v1/runs", post(publish))
        .layer(DefaultBodyLimit::max(LARGEST_ARCHIVE_BYTES + 4 * LARGEST_PART_BYTES))
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

type Sent = Result<Multipart, MultipartRejection>;

/// The parts of a form by name.
#[derive(Default)]
struct FormParts {
    texts: Vec<(String, String)>,
    archive: Option<Archive>,
}

/// An archive, which takes room until it is dropped.
struct Archive {
    octets: Vec<u8>,
    room: Option<OwnedSemaphorePermit>,
}

impl FormParts {
    async fn read(sent: Sent, site: &Site) -> Result<Self, BoardError> {
        let form = sent.map_err(|error| BoardError::Refused(error.body_text()))?;
        let read = timeout(LONGEST_UPLOAD, Self::all(form, site)).await;
        read.unwrap_or_else(|_| Err(too_slow()))
    }

    async fn all(mut form: Multipart, site: &Site) -> Result<Self, BoardError> {
        let mut parts = Self::default();
        loop {
            let next = timeout(LONGEST_PAUSE, form.next_field()).await.map_err(|_| too_slow())?;
            let Some(field) = next.map_err(broken)? else { return Ok(parts) };
            let name = field.name().unwrap_or_default().to_owned();
            let is_known = parts.texts.iter().any(|(known, _)| *known == name);
            if parts.texts.len() > 4 || is_known || name == "archive" && parts.archive.is_some() {
                return Err(BoardError::refused("the upload has more parts than are known"));
            }
            if name == "archive" {
                parts.archive = Some(octets(field, LARGEST_ARCHIVE_BYTES, site).await?);
            } else {
                let text = octets(field, LARGEST_PART_BYTES, site).await?.octets;
                let text = String::from_utf8(text);
                let text = text.map_err(|_| BoardError::refused("a part of it is no text"))?;
                parts.texts.push((name, text));
            }
        }
    }

    fn text(&self, name: &str) -> Result<&str, BoardError> {
        let found = self.texts.iter().find(|(known, _)| known == name);
        let found = found.map(|(_, text)| text.as_str());
        found.ok_or_else(|| BoardError::Refused(format!("the upload has no part `{name}`")))
    }

    fn archive(&self) -> &[u8] {
        self.archive.as_ref().map_or(&[], |archive| &archive.octets)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is the end of every `map_err`")]
fn broken(error: MultipartError) -> BoardError {
    BoardError::Refused(format!("reading the upload: {}", error.body_text()))
}

fn too_slow() -> BoardError {
    BoardError::refused("the upload takes too long")
}

/// The content of a part, if it comes in time, and as long as there is room for it.
async fn octets(mut field: Field<'_>, most: usize, site: &Site) -> Result<Archive, BoardError> {
    let mut archive = Archive { octets: Vec::new(), room: None };
    let began = Instant::now();
    loop {
        let next = timeout(LONGEST_PAUSE, field.chunk()).await.map_err(|_| too_slow())?;
        let Some(next) = next.map_err(broken)? else { return Ok(archive) };
        let length = archive.octets.len() + next.len();
        if length > most {
            return Err(BoardError::Refused(format!("a part of it has more than {most} bytes")));
        }
        let paced = began.elapsed().saturating_sub(LONGEST_PAUSE).as_secs();
        if (length as u64) < paced * SLOWEST_BYTES_PER_SECOND {
            return Err(too_slow());
        }
        archive.take(&next, site)?;
    }
}

impl Archive {
    fn take(&mut self, next: &[u8], site: &Site) -> Result<(), BoardError> {
        let bytes = u32::try_from(next.len()).unwrap_or(u32::MAX);
        let Ok(room) = Arc::clone(&site.room).try_acquire_many_owned(bytes) else {
            let what = "the board takes many archives at present: try again in a minute";
            return Err(BoardError::TooMany(what.to_owned()));
        };
        match self.room.as_mut() {
            Some(all) => all.merge(room),
            None => self.room = Some(room),
        }
        self.octets.extend_from_slice(next);
        Ok(())
    }
}

async fn publish(State(site): Shared, sent: Sent) -> Result<Response, Refusal> {
    let parts = FormParts::read(sent, &site).await?;
    let received = Arc::clone(&site.received);
    let taken = one_of(&received, site, move |board| {
        let accepted = receive(
            board,
            &Publication {
                manifest: parts.text("manifest")?,
                signature: parts.text("signature")?,
                key: parts.text("key")?,
                archive: parts.archive(),
            },
        )?;
        let url = format!("{}/runs/{}", board.url, accepted.id);
        Ok(json!({
            "id": accepted.id,
            "url": url,
            "token": accepted.token,
            "state": "published",
            "word": "unverified",
        }))
    });
    Ok((StatusCode::CREATED, Json(taken.await?)).into_response())
}

async fn challenge(State(site): Shared, sent: Sent) -> Result<(StatusCode, String), Refusal> {
    let parts = FormParts::read(sent, &site).await?;
    let challenge = blocking(site, move |board| {
        let (request, signature) = (parts.text("request")?, parts.text("signature")?);
        actions::challenge(board, request, signature, parts.text("key")?)
    });
    Ok((StatusCode::CREATED, challenge.await?.text()))
}

async fn certify(
    State(site): Shared,
    Path(id): Path<String>,
    sent: Sent,
) -> Result<StatusCode, Refusal> {
    let parts = FormParts::read(sent, &site).await?;
    let work = move |board: &crate::Board| {
        actions::certify(board, &id, parts.text("key")?, parts.text("signature")?)
    };
    blocking(site, work).await?;
    Ok(StatusCode::CREATED)
}
