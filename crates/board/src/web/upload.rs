//! Uploads: forms with several parts, of which the archive is large.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::extract::multipart::{Field, Multipart, MultipartRejection};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::json;
use tokio::time::timeout;

use super::{Shared, Site, blocking};
use crate::actions;
use crate::error::BoardError;
use crate::receive::{Publication, receive};

/// As many uploads are taken at once; the memory of the board bounds them.
pub(super) const MOST_UPLOADS: usize = 4;

/// The largest archive.
const LARGEST_ARCHIVE_BYTES: usize = 64 << 20;

/// The largest other part of a form.
const LARGEST_PART_BYTES: usize = 16 << 10;

/// The longest time in which a publisher sends an archive.
const LONGEST_UPLOAD: Duration = Duration::from_mins(5);

pub(super) fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/api/v1/runs", post(publish))
        .route("/api/v1/challenges", post(challenge))
        .route("/api/v1/runs/{id}/certificates", post(certify))
        .layer(DefaultBodyLimit::max(LARGEST_ARCHIVE_BYTES + 4 * LARGEST_PART_BYTES))
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
struct Parts {
    texts: Vec<(String, String)>,
    archive: Vec<u8>,
}

impl Parts {
    async fn read(sent: Sent) -> Result<Self, BoardError> {
        let form = sent.map_err(|error| BoardError::Refused(error.body_text()))?;
        let read = timeout(LONGEST_UPLOAD, Self::all(form)).await;
        read.unwrap_or_else(|_| Err(BoardError::refused("the upload takes too long")))
    }

    async fn all(mut form: Multipart) -> Result<Self, BoardError> {
        let mut parts = Self { texts: Vec::new(), archive: Vec::new() };
        let broken = |error: axum::extract::multipart::MultipartError| {
            BoardError::Refused(format!("reading the upload: {}", error.body_text()))
        };
        while let Some(field) = form.next_field().await.map_err(broken)? {
            let name = field.name().unwrap_or_default().to_owned();
            if parts.texts.len() > 4 || parts.texts.iter().any(|(known, _)| *known == name) {
                return Err(BoardError::refused("the upload has more parts than are known"));
            }
            if name == "archive" {
                parts.archive = octets(field, LARGEST_ARCHIVE_BYTES).await?;
            } else {
                let text = String::from_utf8(octets(field, LARGEST_PART_BYTES).await?);
                let text = text.map_err(|_| BoardError::refused("a part of it is no text"))?;
                parts.texts.push((name, text));
            }
        }
        Ok(parts)
    }

    fn text(&self, name: &str) -> Result<&str, BoardError> {
        let found = self.texts.iter().find(|(known, _)| known == name);
        let found = found.map(|(_, text)| text.as_str());
        found.ok_or_else(|| BoardError::Refused(format!("the upload has no part `{name}`")))
    }
}

async fn octets(mut field: Field<'_>, most: usize) -> Result<Vec<u8>, BoardError> {
    let mut octets = Vec::new();
    loop {
        let next = field.chunk().await;
        let next = next.map_err(|error| {
            BoardError::Refused(format!("reading the upload: {}", error.body_text()))
        })?;
        let Some(next) = next else { return Ok(octets) };
        if octets.len() + next.len() > most {
            return Err(BoardError::Refused(format!("a part of it has more than {most} bytes")));
        }
        octets.extend_from_slice(&next);
    }
}

async fn publish(State(site): Shared, sent: Sent) -> Result<Response, Refusal> {
    let shared = Arc::clone(&site);
    let Ok(permit) = shared.uploads.acquire().await else {
        return Err(BoardError::Failed("the board ends".to_owned()).into());
    };
    let parts = Parts::read(sent).await?;
    let taken = blocking(site, move |board| {
        let accepted = receive(
            board,
            &Publication {
                manifest: parts.text("manifest")?,
                signature: parts.text("signature")?,
                key: parts.text("key")?,
                archive: &parts.archive,
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
    let taken = taken.await;
    drop(permit);
    Ok((StatusCode::CREATED, Json(taken?)).into_response())
}

async fn challenge(State(site): Shared, sent: Sent) -> Result<(StatusCode, String), Refusal> {
    let parts = Parts::read(sent).await?;
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
    let parts = Parts::read(sent).await?;
    let work = move |board: &crate::Board| {
        actions::certify(board, &id, parts.text("key")?, parts.text("signature")?)
    };
    blocking(site, work).await?;
    Ok(StatusCode::CREATED)
}
