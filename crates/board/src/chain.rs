//! The chain over accepted manifests: each link holds the digest of the one before, so that a reader who
//! noted a link sees when something before it is changed or left out later.

use btu_publication::sha256;

use crate::database::{Connection, Database};
use crate::error::BoardError;

/// A link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its place, from 1.
    pub place: i64,
    /// The SHA-256 of the manifest.
    pub manifest_sha256: String,
    /// When the manifest was accepted, RFC 3339.
    pub received: String,
    /// The SHA-256 of the line `PREVIOUS MANIFEST RECEIVED`.
    pub link: String,
}

/// What the first link holds in the place of one before it.
const START: &str = "btu-board";

fn link(previous: &str, manifest_sha256: &str, received: &str) -> String {
    sha256(format!("{previous} {manifest_sha256} {received}\n").as_bytes())
}

/// Adds a link; returns its place. Until the transaction ends, no other is added.
pub(crate) fn add(
    connection: &mut dyn Connection,
    manifest_sha256: &str,
    received: &str,
) -> Result<i64, BoardError> {
    // The transaction that changes the row holds it.
    connection.execute("UPDATE chain_end SET place = place + 1 WHERE one = 1", &[])?;
    let (place, previous) = end(connection)?;
    let link = link(&previous, manifest_sha256, received);
    connection.execute("UPDATE chain_end SET link = $1 WHERE one = 1", &[(&link).into()])?;
    let sql = "INSERT INTO chain (place, manifest_sha256, received, link) VALUES ($1, $2, $3, $4)";
    connection
        .execute(sql, &[place.into(), manifest_sha256.into(), received.into(), link.into()])?;
    Ok(place)
}

/// The number of links, and the last one.
pub fn end(connection: &mut dyn Connection) -> Result<(i64, String), BoardError> {
    let row = connection.first("SELECT place, link FROM chain_end WHERE one = 1", &[])?;
    let row = row.map(|mut row| (row.integer(), row.text()));
    row.ok_or_else(|| BoardError::Failed("the board's database has no end of its chain".to_owned()))
}

/// As many links behind `after`.
pub fn links(
    connection: &mut dyn Connection,
    after: i64,
    most: i64,
) -> Result<Vec<Link>, BoardError> {
    let sql = "SELECT place, manifest_sha256, received, link FROM chain WHERE place > $1 ORDER BY place LIMIT $2";
    let rows = connection.query(sql, &[after.into(), most.into()])?.into_iter();
    let links = rows.map(|mut row| Link {
        place: row.integer(),
        manifest_sha256: row.text(),
        received: row.text(),
        link: row.text(),
    });
    Ok(links.collect())
}

/// How many links are read at a time.
const AT_ONCE: i64 = 1000;

/// Computes all links again; returns how many there are.
///
/// # Errors
/// A link, or the manifest of a run, is not what it was.
pub fn check(database: &Database) -> Result<i64, BoardError> {
    let (mut place, mut previous) = (0, START.to_owned());
    loop {
        let next = database.read(|connection| {
            let links = links(connection, place, AT_ONCE)?;
            for link in &links {
                check_manifest(connection, link)?;
            }
            Ok(links)
        })?;
        if next.is_empty() {
            break;
        }
        for found in next {
            let expected = link(&previous, &found.manifest_sha256, &found.received);
            if found.place != place + 1 || found.link != expected {
                let what = format!("the chain is broken at link {}", place + 1);
                return Err(BoardError::Failed(what));
            }
            (place, previous) = (found.place, found.link);
        }
    }
    let (last, link) = database.read(end)?;
    if (last, &link) == (place, &previous) {
        return Ok(place);
    }
    Err(BoardError::Failed(format!("the chain ends at {place}, and its end says {last}")))
}

/// Whether the run at a link's place still has the manifest that was accepted. A deleted one has none.
fn check_manifest(connection: &mut dyn Connection, link: &Link) -> Result<(), BoardError> {
    let sql = "SELECT manifest, deleted FROM runs WHERE place = $1";
    let row = connection.first(sql, &[link.place.into()])?;
    let is_same = row.is_some_and(|mut row| match (row.maybe_text(), row.maybe_text()) {
        (Some(manifest), _) => sha256(manifest.as_bytes()) == link.manifest_sha256,
        (None, deleted) => deleted.is_some(),
    });
    if is_same {
        return Ok(());
    }
    Err(BoardError::Failed(format!("the manifest at link {} is not the accepted one", link.place)))
}
