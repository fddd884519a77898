//! What is kept of public runs: by readers and proxies, who ask whether it is still there, and reports by the board.

use std::future::Future;

use axum::http::header::{CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use btu_publication::Visibility;

use super::BoardResult;
use crate::actions::existing;
use crate::board::{Board, now};
use crate::database::{Connection, DatabaseValue};
use crate::runs::{PublishedRun, lasting_name};

/// All kept pages together have so many bytes.
const MOST_BYTES: i64 = 64 << 20;

/// A larger page would take the place of too many others.
const LARGEST_BYTES: i64 = MOST_BYTES / 8;

/// The name of what is always the same, as long as its runs are there.
#[derive(Clone)]
pub(super) struct Tag(String);

impl Tag {
    /// The name of something about these runs; `None` if they are not public, or a token was shown.
    pub(super) fn of(what: &str, runs: &[&PublishedRun], token: &str) -> Option<Self> {
        if !token.is_empty() || !runs.iter().all(|run| is_kept(run)) {
            return None;
        }
        let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        Some(Self(lasting_name(what, &ids)))
    }

    fn text(&self) -> String {
        format!("\"{}\"", self.0)
    }

    /// Whether the caller has it (RFC 9110, section 13.1.2): proxies that pack an answer make its name a weak one.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let known = headers.get_all(IF_NONE_MATCH).into_iter().filter_map(|one| one.to_str().ok());
        let mut known = known.flat_map(|one| one.split(',')).map(str::trim);
        known.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == self.text())
    }
}

fn is_kept(run: &PublishedRun) -> bool {
    run.visibility == Visibility::Public && run.withdrawn.is_none()
}

/// What is made, or that the caller has it already. It may be kept, and is asked for each time: the run may be deleted.
pub(super) async fn unless_known(
    tag: Option<&Tag>,
    headers: &HeaderMap,
    make: impl Future<Output = BoardResult<Response>>,
) -> BoardResult<Response> {
    let Some(tag) = tag else { return make.await };
    let mut answer =
        if tag.is_known(headers) { StatusCode::NOT_MODIFIED.into_response() } else { make.await? };
    let name = HeaderValue::from_str(&tag.text());
    answer.headers_mut().extend(name.map(|name| (ETAG, name)));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
    Ok(answer)
}

/// How many bytes the page of this name has, if it is kept.
pub(super) fn bytes(board: &Board, Tag(name): &Tag) -> BoardResult<Option<usize>> {
    let sql = "SELECT bytes FROM kept_pages WHERE name = $1";
    let bytes = board.database.read(|connection| connection.first(sql, &[name.into()]))?;
    Ok(bytes.and_then(|mut row| usize::try_from(row.integer()).ok()))
}

/// The page of this name, if it is kept.
pub(super) fn page(board: &Board, Tag(name): &Tag) -> BoardResult<Option<Vec<u8>>> {
    let sql = "SELECT page FROM kept_pages WHERE name = $1";
    let page = board.database.read(|connection| connection.first(sql, &[name.into()]))?;
    Ok(page.map(|mut row| row.octets()))
}

/// Keeps a page of these runs, of which the first and the last are all; the oldest pages make room.
pub(super) fn keep(board: &Board, Tag(name): &Tag, runs: &[PublishedRun], page: &[u8]) {
    let bytes = i64::try_from(page.len()).unwrap_or(i64::MAX);
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return };
    if bytes > LARGEST_BYTES {
        return;
    }
    let values: [DatabaseValue; 6] = [
        name.into(),
        (&first.id).into(),
        (&last.id).into(),
        now().into(),
        bytes.into(),
        page.to_vec().into(),
    ];
    let kept = board.database.write_unlisted(|connection| {
        for run in [first, last] {
            // It may be deleted or withdrawn by now.
            if !existing(connection, &run.id).is_ok_and(|run| is_kept(&run)) {
                return Ok(());
            }
        }
        make_room(connection, bytes)?;
        let sql = "INSERT INTO kept_pages (name, run, other, made, bytes, page) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT DO NOTHING";
        connection.execute(sql, &values)?;
        Ok(())
    });
    // The page can be made again.
    let _ = kept.map_err(crate::error::BoardError::noted);
}

fn make_room(connection: &mut dyn Connection, bytes: i64) -> BoardResult<()> {
    let sql = "DELETE FROM kept_pages WHERE name IN (SELECT name FROM kept_pages ORDER BY made, name LIMIT 1)";
    loop {
        let sum = "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM kept_pages";
        let sum = connection.first(sum, &[])?.map_or(0, |mut row| row.integer());
        if sum + bytes <= MOST_BYTES || connection.execute(sql, &[])? == 0 {
            return Ok(());
        }
    }
}
