//! The chain over accepted manifests: each link holds the digest of the one before, so that a reader who
//! noted a link sees when something before it is changed or left out later.

use btu_publication::{Manifest, PublicKey, sha256};
use ring::digest::{Context, SHA256};

use crate::database::{Connection, Database, Row};
use crate::error::BoardError;
use crate::runs;

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
/// A link, or the manifest, signature or archive of a run, is not what it was.
pub fn check(database: &Database) -> Result<i64, BoardError> {
    let (mut place, mut previous) = (0, START.to_owned());
    loop {
        let (next, end) = database.read(|connection| {
            let links = links(connection, place, AT_ONCE)?;
            for link in &links {
                check_manifest(connection, link)?;
            }
            Ok((links, end(connection)?))
        })?;
        if next.is_empty() {
            check_end(&end, &(place, previous))?;
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
    database.read(check_links_of_runs)?;
    database.read(check_pieces)?;
    Ok(place)
}

fn check_end(said: &(i64, String), found: &(i64, String)) -> Result<(), BoardError> {
    if said == found {
        return Ok(());
    }
    let what = format!("the chain ends at {}, and its end says {}", found.0, said.0);
    Err(BoardError::Failed(what))
}

/// Whether the chain has a link for each run: those at its end may have been taken off.
fn check_links_of_runs(connection: &mut dyn Connection) -> Result<(), BoardError> {
    let sql = "SELECT id, place FROM runs WHERE NOT EXISTS (SELECT 1 FROM chain WHERE chain.place = runs.place)
        ORDER BY place LIMIT 1";
    let Some(mut row) = connection.first(sql, &[])? else { return Ok(()) };
    let (run, place) = (row.text(), row.integer());
    Err(BoardError::Failed(format!("run {run} has no link: link {place} was taken off the chain")))
}

/// Whether each piece of an archive is of a run that is there.
fn check_pieces(connection: &mut dyn Connection) -> Result<(), BoardError> {
    let sql = "SELECT run, number FROM archive_pieces WHERE NOT EXISTS
        (SELECT 1 FROM runs WHERE runs.id = archive_pieces.run AND runs.deleted IS NULL) LIMIT 1";
    let Some(mut row) = connection.first(sql, &[])? else { return Ok(()) };
    let (run, number) = (row.text(), row.integer());
    let what = format!("piece {number} of the archive of run {run} is there, and that run is not");
    Err(BoardError::Failed(what))
}

/// Whether the run at a link's place still has the time and the manifest that were accepted, its signature, and the archive
/// that was signed, and whether laboratories signed that manifest. A deleted one has the time alone.
fn check_manifest(connection: &mut dyn Connection, link: &Link) -> Result<(), BoardError> {
    let sql =
        "SELECT manifest, deleted, signed_by, signature, id, received FROM runs WHERE place = $1";
    let changed = |what: &str| {
        let what = format!("the {what} at link {} is not the accepted one", link.place);
        Err(BoardError::Failed(what))
    };
    let Some(mut row) = connection.first(sql, &[link.place.into()])? else {
        return changed("manifest");
    };
    let (manifest, deleted) = (row.maybe_text(), row.maybe_text());
    let (signed_by, signature, id) = (row.text(), row.text(), row.text());
    if row.text() != link.received {
        return changed("time");
    }
    let Some(manifest) = manifest else {
        return if deleted.is_some() { Ok(()) } else { changed("manifest") };
    };
    if sha256(manifest.as_bytes()) != link.manifest_sha256 || deleted.is_some() {
        return changed("manifest");
    }
    let key = signed_by.parse::<PublicKey>();
    if !key.is_ok_and(|key| key.verify(&manifest, &signature).is_ok()) {
        return changed("signature");
    }
    let archive = archive_sha256(connection, &id)?;
    if !Manifest::read(&manifest).is_ok_and(|read| read.archive_sha256 == archive) {
        return changed("archive");
    }
    let sql = "SELECT laboratory, signature FROM certificates WHERE run = $1";
    let is_signed = |mut row: Row| {
        let key = row.text().parse::<PublicKey>();
        key.is_ok_and(|key| key.verify(&manifest, &row.text()).is_ok())
    };
    if !connection.query(sql, &[id.into()])?.into_iter().all(is_signed) {
        return changed("certificate");
    }
    Ok(())
}

/// The digest of the archive of a run, of which one piece is in memory at a time; none if there are other pieces.
fn archive_sha256(connection: &mut dyn Connection, run: &str) -> Result<String, BoardError> {
    let (mut digest, mut number) = (Context::new(&SHA256), 0);
    while let Some(piece) = runs::archive_piece(connection, run, number)? {
        digest.update(&piece);
        number += 1;
    }
    let sql = "SELECT count(*) FROM archive_pieces WHERE run = $1";
    let pieces = connection.first(sql, &[run.into()])?.map_or(0, |mut row| row.integer());
    if pieces != number {
        return Ok(format!("{pieces} pieces, of which {number} are the archive"));
    }
    Ok(btu_units::hexadecimal(digest.finish().as_ref()))
}
