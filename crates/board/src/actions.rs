//! What happens to a run after it was published: certificates, objections, answers, withdrawal, deletion;
//! and challenges, which come before.

use btu_publication::{Challenge, ChallengeRequest, PublicKey, Visibility, sha256};

use crate::board::{Board, MOST_CLOCK_ERROR, moment, now, random_hexadecimal, yesterday};
use crate::database::{Connection, Database, DatabaseValue};
use crate::error::BoardError;
use crate::receive::{
    FORMER, UNNAMED, check_fewer, check_laboratory_name, check_not_blocked, publisher_id,
};
use crate::runs::{self, PublishedRun};

/// The longest objection, answer and reason, in characters.
const LONGEST_TEXT: usize = 2000;

/// A run may have so many objections.
const MOST_OBJECTIONS: i64 = 50;

/// Of one publisher a run may have so many: they leave room for those of others.
const MOST_OBJECTIONS_OF_ONE: i64 = 3;

/// A publisher may object so often in a day.
const MOST_OBJECTIONS_A_DAY: i64 = 20;

/// A publisher may ask for so many challenges in a day.
const MOST_CHALLENGES_A_DAY: i64 = 100;

/// All together may ask for so many: each is kept.
const MOST_CHALLENGES_OF_ALL: i64 = 100_000;

/// The run of this name.
///
/// # Errors
/// There is none, or its publisher deleted it.
pub fn existing(connection: &mut dyn Connection, id: &str) -> Result<PublishedRun, BoardError> {
    let run = runs::find(connection, id)?;
    let run = run.ok_or_else(|| BoardError::NotFound("there is no such run".to_owned()))?;
    match &run.deleted {
        None => Ok(run),
        Some(at) => Err(BoardError::Gone(format!("this run was deleted at {at}"))),
    }
}

/// The run of this name, for a caller who shows its token.
fn own(connection: &mut dyn Connection, id: &str, token: &str) -> Result<PublishedRun, BoardError> {
    let run = existing(connection, id)?;
    if run.is_opened_by(token) {
        return Ok(run);
    }
    Err(BoardError::Forbidden("this is not the token of the run".to_owned()))
}

/// A text of a few lines that people wrote.
fn checked(what: &str, text: &str) -> Result<String, BoardError> {
    let text = btu_units::plain_lines(&text.replace("\r\n", "\n"));
    let text = text.trim();
    if text.is_empty() || text.chars().count() > LONGEST_TEXT {
        let said = format!("{what} has to have 1 to {LONGEST_TEXT} characters");
        return Err(BoardError::Refused(said));
    }
    Ok(text.to_owned())
}

/// A laboratory signs the manifest of a run, which it has repeated.
pub fn certify(board: &Board, id: &str, key: &str, signature: &str) -> Result<(), BoardError> {
    let key: PublicKey = key.parse().map_err(|error| BoardError::Refused(format!("{error}")))?;
    board.database.write(|connection| {
        let run = existing(connection, id)?;
        let sql = "SELECT is_laboratory FROM publishers WHERE key = $1 AND is_blocked = 0 AND followed_by IS NULL";
        let known = connection.first(sql, &[key.to_string().into()])?;
        if known.is_none_or(|mut row| row.integer() == 0) {
            return Err(BoardError::refused("this is not the key of a laboratory of this board"));
        }
        if run.publisher == key.to_string() {
            return Err(BoardError::refused("a laboratory does not certify its own runs"));
        }
        key.verify(&run.manifest, signature)
            .map_err(|error| BoardError::Refused(error.to_string()))?;
        let sql = "INSERT INTO certificates (run, laboratory, signature, received) VALUES ($1, $2, $3, $4)
            ON CONFLICT DO NOTHING";
        let values = [id.into(), key.to_string().into(), signature.into(), now().into()];
        connection.execute(sql, &values)?;
        Ok(())
    })
}

/// A laboratory's signature under the manifest of a run.
#[derive(Debug)]
pub struct Certificate {
    /// The laboratory's name, as the board's operator wrote it.
    pub laboratory: String,
    /// Its public key.
    pub key: String,
    /// The signature.
    pub signature: String,
    /// When it came.
    pub received: String,
}

/// The signatures of laboratories under a run.
pub fn certificates(
    connection: &mut dyn Connection,
    id: &str,
) -> Result<Vec<Certificate>, BoardError> {
    let sql = "SELECT publishers.name, publishers.key, certificates.signature, certificates.received FROM certificates
        JOIN publishers ON publishers.key = certificates.laboratory WHERE certificates.run = $1 AND publishers.is_blocked = 0
        ORDER BY certificates.received";
    let rows = connection.query(sql, &[id.into()])?.into_iter();
    let certificates = rows.map(|mut row| Certificate {
        laboratory: row.text(),
        key: row.text(),
        signature: row.text(),
        received: row.text(),
    });
    Ok(certificates.collect())
}

/// An objection against a run, with the publisher's answer.
#[derive(Debug)]
pub struct Objection {
    /// Its name.
    pub id: String,
    /// The name of who objects.
    pub by: String,
    /// The objector's own run.
    pub by_run: String,
    /// When it came.
    pub received: String,
    /// What is said against the run.
    pub objection: String,
    /// What the publisher says to it, and when.
    pub answer: Option<(String, String)>,
}

/// Objects to a public run, by the token of a public run of one's own: publishers review each other.
pub fn object(
    board: &Board,
    id: &str,
    by_run: &str,
    token: &str,
    objection: &str,
) -> Result<(), BoardError> {
    let text = checked("an objection", objection)?;
    let name = random_hexadecimal(8)?;
    board.database.write(|connection| {
        let run = existing(connection, id)?;
        let by = own(connection, by_run.trim(), token)?;
        if run.visibility != Visibility::Public || by.visibility != Visibility::Public {
            return Err(BoardError::refused("objections are of public runs, to public runs"));
        }
        if run.publisher == by.publisher {
            return Err(BoardError::refused("this is your own run: withdraw it"));
        }
        if by.withdrawn.is_some() {
            return Err(BoardError::refused("your run is withdrawn: object with another one"));
        }
        check_not_blocked(connection, &by.publisher)?;
        check_objections(connection, &run, &by)?;
        let sql = "INSERT INTO objections (id, run, by_run, received, objection) VALUES ($1, $2, $3, $4, $5)";
        let values =
            [(&name).into(), id.into(), (&by.id).into(), now().into(), (&text).into()];
        connection.execute(sql, &values)?;
        Ok(())
    })
}

/// Whether one more objection is heard.
fn check_objections(
    connection: &mut dyn Connection,
    run: &PublishedRun,
    by: &PublishedRun,
) -> Result<(), BoardError> {
    let sql = "SELECT count(*) FROM objections WHERE run = $1 AND by_run = $2 AND answer IS NULL";
    let open = connection.first(sql, &[(&run.id).into(), (&by.id).into()])?;
    if open.is_some_and(|mut row| row.integer() > 0) {
        return Err(BoardError::refused("your earlier objection waits for its answer"));
    }
    let sql = "SELECT count(*) FROM objections WHERE run = $1";
    let why = "this run has enough objections";
    check_fewer(connection, sql, &[(&run.id).into()], MOST_OBJECTIONS, why)?;
    let of_one = "SELECT count(*) FROM objections JOIN runs ON runs.id = objections.by_run WHERE runs.publisher = $1";
    let values = [(&by.publisher).into(), (&run.id).into()];
    let sql = format!("{of_one} AND objections.run = $2");
    let why = "you objected to this run often enough";
    check_fewer(connection, &sql, &values, MOST_OBJECTIONS_OF_ONE, why)?;
    let sql = format!("{of_one} AND objections.received > $2");
    let values = [(&by.publisher).into(), yesterday().into()];
    let why = "you objected often enough today: come back tomorrow";
    check_fewer(connection, &sql, &values, MOST_OBJECTIONS_A_DAY, why)
}

/// Answers an objection, by the token of the run.
pub fn answer(
    board: &Board,
    id: &str,
    objection: &str,
    token: &str,
    answer: &str,
) -> Result<(), BoardError> {
    let text = checked("an answer", answer)?;
    board.database.write(|connection| {
        let run = own(connection, id, token)?;
        check_not_blocked(connection, &run.publisher)?;
        let sql = "UPDATE objections SET answer = $1, answered = $2 WHERE id = $3 AND run = $4 AND answer IS NULL";
        let values = [(&text).into(), now().into(), objection.into(), id.into()];
        if connection.execute(sql, &values)? == 1 {
            return Ok(());
        }
        Err(BoardError::refused("there is no such objection without an answer"))
    })
}

/// The objections to a run, the oldest first.
pub fn objections(connection: &mut dyn Connection, id: &str) -> Result<Vec<Objection>, BoardError> {
    let sql = "SELECT id, name, by_run, received, objection, answer, answered FROM heard_objections WHERE run = $1
        ORDER BY received, id";
    let rows = connection.query(sql, &[id.into()])?.into_iter();
    let objections = rows.map(|mut row| Objection {
        id: row.text(),
        by: row.text(),
        by_run: row.text(),
        received: row.text(),
        objection: row.text(),
        answer: row.maybe_text().map(|answer| (answer, row.text())),
    });
    Ok(objections.collect())
}

/// Withdraws a run: it stays to be seen, struck through, with the reason.
pub fn withdraw(board: &Board, id: &str, token: &str, why: &str) -> Result<(), BoardError> {
    board.database.write(|connection| {
        let run = own(connection, id, token)?;
        check_not_blocked(connection, &run.publisher)?;
        withdrawn(connection, id, why, "its publisher")
    })
}

/// Withdraws a run on behalf of the board.
pub fn withdraw_by_board(database: &Database, id: &str, why: &str) -> Result<(), BoardError> {
    database.write(|connection| {
        existing(connection, id)?;
        withdrawn(connection, id, why, "the board")
    })
}

fn withdrawn(
    connection: &mut dyn Connection,
    id: &str,
    why: &str,
    by: &str,
) -> Result<(), BoardError> {
    let why = checked("a reason", why)?;
    let sql = "UPDATE runs SET withdrawn = $1, withdrawn_why = $2, withdrawn_by = $3 WHERE id = $4 AND withdrawn IS NULL";
    if connection.execute(sql, &[now().into(), why.into(), by.into(), id.into()])? == 1 {
        return forget_pages(connection, id);
    }
    Err(BoardError::refused("it was withdrawn already"))
}

/// Deletes a run: its archive, its manifest, what was computed, and objections to it and by it. That there was one, and when
/// it came, stays in the chain, and a challenge that it met stays met; so do the keys of its publisher, and the digests by
/// which it is known, should it come again.
pub fn delete(board: &Board, id: &str, token: &str) -> Result<(), BoardError> {
    board.database.write(|connection| {
        let run = own(connection, id, token)?;
        deleted(connection, &run)
    })?;
    board.database.settle()
}

/// Deletes a run on behalf of the board.
pub fn delete_by_board(database: &Database, id: &str) -> Result<(), BoardError> {
    database.write(|connection| {
        let run = existing(connection, id)?;
        deleted(connection, &run)
    })?;
    database.settle()
}

/// What was kept of a run that is public no more.
fn forget_pages(connection: &mut dyn Connection, id: &str) -> Result<(), BoardError> {
    connection.execute("DELETE FROM kept_pages WHERE run = $1 OR other = $1", &[id.into()])?;
    Ok(())
}

fn deleted(connection: &mut dyn Connection, run: &PublishedRun) -> Result<(), BoardError> {
    let id = run.id.as_str();
    forget_pages(connection, id)?;
    connection.execute("DELETE FROM archive_pieces WHERE run = $1", &[id.into()])?;
    connection.execute("DELETE FROM certificates WHERE run = $1", &[id.into()])?;
    connection.execute("DELETE FROM objections WHERE run = $1 OR by_run = $1", &[id.into()])?;
    let sql = "UPDATE runs SET uuid = NULL, manifest = NULL, signature = NULL, deleted = $1, rate_bits_per_second = NULL,
            low_bits_per_second = NULL, high_bits_per_second = NULL, cpu_rounds_per_second = NULL, why_not_ranked = 'deleted',
            marks = '', machine = '', system = '', processor = '', cpus = 0, memory_bytes = NULL, kernel = '',
            price_hundredths = NULL, currency = NULL, seed = '', created = '', spent_seconds = NULL, network = '',
            particulars = '', title = '', plan_hash = '', profile = '', btu_version = '', cells = 0, is_virtual = 0,
            is_low_confidence = 0, withdrawn_why = NULL WHERE id = $2";
    connection.execute(sql, &[now().into(), id.into()])?;
    forget_name(connection, run)
}

/// A publisher has no name here any more that only a deleted run has.
fn forget_name(connection: &mut dyn Connection, run: &PublishedRun) -> Result<(), BoardError> {
    if runs::public_names(connection, &run.publisher)?.contains(&run.publisher_name) {
        return Ok(());
    }
    let left = "SELECT 1 FROM runs WHERE publisher = $1 AND deleted IS NULL LIMIT 1";
    let has_runs = connection.first(left, &[(&run.publisher).into()])?.is_some();
    let name = if has_runs { UNNAMED } else { FORMER };
    let sql = "UPDATE publishers SET name = $1 WHERE is_laboratory = 0 AND key = $2";
    connection.execute(sql, &[name.into(), (&run.publisher).into()])?;
    Ok(())
}

/// Gives out a number that a run must have as its seed.
pub fn challenge(
    board: &Board,
    request: &str,
    signature: &str,
    key: &str,
) -> Result<Challenge, BoardError> {
    let refuse = |error: &dyn std::fmt::Display| BoardError::Refused(error.to_string());
    let key: PublicKey = key.parse().map_err(|error| refuse(&error))?;
    key.verify(request, signature).map_err(|error| refuse(&error))?;
    let asked = ChallengeRequest::read(request).map_err(|error| refuse(&error))?;
    if asked.board != board.url {
        let what = format!("it was signed for {}, and this is {}", asked.board, board.url);
        return Err(BoardError::Refused(what));
    }
    let signed = asked.signed.parse::<jiff::Timestamp>().map_err(|error| refuse(&error))?;
    if signed.duration_until(moment()).abs() > MOST_CLOCK_ERROR {
        let what = format!(
            "it was signed at {signed}, and it is {} here: one of the two clocks is wrong",
            now()
        );
        return Err(BoardError::Refused(what));
    }
    let seed = random_hexadecimal(8)?;
    let seed = u64::from_str_radix(&seed, 16).map_err(|error| refuse(&error))?;
    board.database.write_unlisted(|connection| {
        check_not_blocked(connection, &key.to_string())?;
        let request = sha256(format!("{key} {request}").as_bytes());
        give_out(connection, &key.to_string(), &request, seed)
    })?;
    Ok(Challenge { seed })
}

fn give_out(
    connection: &mut dyn Connection,
    key: &str,
    request: &str,
    seed: u64,
) -> Result<(), BoardError> {
    let sql = "SELECT count(*) FROM challenges WHERE issued > $1";
    let why = "too many challenges today: come back tomorrow";
    check_fewer(connection, sql, &[yesterday().into()], MOST_CHALLENGES_OF_ALL, why)?;
    let sql = "SELECT count(*) FROM challenges WHERE publisher = $1 AND issued > $2";
    let why = "you asked for enough challenges today";
    check_fewer(connection, sql, &[key.into(), yesterday().into()], MOST_CHALLENGES_A_DAY, why)?;
    let sql =
        "INSERT INTO challenges (seed, publisher, request_sha256, issued) VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING";
    let values = [seed.to_string().into(), key.into(), request.into(), now().into()];
    if connection.execute(sql, &values)? == 1 {
        return Ok(());
    }
    Err(BoardError::refused("this request was answered already: sign another"))
}

/// A publisher's challenges: how many were given out, and how many came back.
pub fn challenges(connection: &mut dyn Connection, key: &str) -> Result<(i64, i64), BoardError> {
    let sql = "SELECT count(*), count(run) FROM challenges WHERE publisher = $1";
    let row = connection.first(sql, &[key.into()])?;
    Ok(row.map_or((0, 0), |mut row| (row.integer(), row.integer())))
}

/// Makes a key that of a laboratory under this name.
pub fn appoint(database: &Database, key: &PublicKey, name: &str) -> Result<(), BoardError> {
    let name = btu_publication::plain(name).map_err(BoardError::Refused)?;
    database.write(|connection| {
        check_not_blocked(connection, &key.to_string())?;
        check_laboratory_name(connection, &key.to_string(), &name)?;
        let sql = "INSERT INTO publishers (key, id, name, is_laboratory, is_blocked, added)
            VALUES ($1, $2, $3, 1, 0, $4)
            ON CONFLICT (key) DO UPDATE SET name = excluded.name, is_laboratory = 1";
        let values =
            [key.to_string().into(), publisher_id(key).into(), (&name).into(), now().into()];
        connection.execute(sql, &values)?;
        Ok(())
    })
}

/// Takes no runs of a key any more, and hears nothing from it: its objections and certificates do not count. The key may be
/// one that has not come yet.
pub fn block(database: &Database, key: &PublicKey) -> Result<(), BoardError> {
    database.write(|connection| {
        let last = last_key(connection, &key.to_string())?;
        if last != key.to_string() {
            return Err(BoardError::Refused(format!(
                "{last} follows this key, and has its runs and words: block that one"
            )));
        }
        let sql = "INSERT INTO publishers (key, id, name, is_laboratory, is_blocked, added) VALUES ($1, $2, $3, 0, 1, $4)
            ON CONFLICT (key) DO UPDATE SET is_blocked = 1";
        let values =
            [key.to_string().into(), publisher_id(key).into(), UNNAMED.into(), now().into()];
        connection.execute(sql, &values)?;
        Ok(())
    })
}

/// Takes runs of a blocked key again, and hears it.
pub fn unblock(database: &Database, key: &PublicKey) -> Result<(), BoardError> {
    let sql = "UPDATE publishers SET is_blocked = 0 WHERE key = $1 AND is_blocked = 1";
    change_one(database, sql, &[key.to_string().into()], "this key is not blocked")
}

/// Has a key follow another one: runs, challenges and the laboratory's name of `old` are those of `new` from now on, and `old`
/// says nothing more, nor does who has a token of its runs. What it has certified stays certified.
pub fn follow(database: &Database, old: &PublicKey, new: &PublicKey) -> Result<(), BoardError> {
    let (old, id, new) = (old.to_string(), publisher_id(new), new.to_string());
    database.write(|connection| {
        check_not_blocked(connection, &new)?;
        if old == new || last_key(connection, &old)? != old {
            return Err(BoardError::refused("another key follows this one already, or it is the same"));
        }
        // What a blocked key said would be heard again.
        check_not_blocked(connection, &old)?;
        check_strangers(connection, &old, &new)?;
        let is_laboratory = "SELECT 1 FROM publishers WHERE key = $1 AND is_laboratory = 1";
        if connection.first(is_laboratory, &[(&new).into()])?.is_some() {
            return Err(BoardError::refused("a laboratory's key follows no other one: its name would change"));
        }
        let sql = "INSERT INTO publishers (key, id, name, is_laboratory, is_blocked, added)
            SELECT $1, $2, name, is_laboratory, 0, added FROM publishers WHERE key = $3
            ON CONFLICT (key) DO UPDATE SET name = excluded.name, is_laboratory = excluded.is_laboratory";
        if connection.execute(sql, &[(&new).into(), id.as_str().into(), (&old).into()])? == 0 {
            return Err(BoardError::refused(
                "this board does not know the key: it has published nothing here, so that there is nothing to follow; `btu-board block` it, and ask for challenges with the new one",
            ));
        }
        // A laboratory's name stays next to what it certified.
        let named = format!("CASE is_laboratory WHEN 1 THEN name ELSE '{UNNAMED}' END");
        let followed = format!("UPDATE publishers SET followed_by = $1, name = {named} WHERE key = $2");
        for sql in [
            followed.as_str(),
            "UPDATE runs SET publisher = $1, token_sha256 = '' WHERE publisher = $2",
            "UPDATE challenges SET publisher = $1 WHERE publisher = $2",
        ] {
            connection.execute(sql, &[(&new).into(), (&old).into()])?;
        }
        Ok(())
    })
}

/// Whether neither key certified or objected to a run of the other one: as one publisher it would speak of itself.
fn check_strangers(
    connection: &mut dyn Connection,
    old: &str,
    new: &str,
) -> Result<(), BoardError> {
    let sql = "SELECT 1 FROM certificates JOIN runs ON runs.id = certificates.run
            WHERE (certificates.laboratory = $1 AND runs.publisher = $2) OR (certificates.laboratory = $2 AND runs.publisher = $1)
        UNION ALL SELECT 1 FROM objections JOIN runs ON runs.id = objections.run JOIN runs AS own ON own.id = objections.by_run
            WHERE (own.publisher = $1 AND runs.publisher = $2) OR (own.publisher = $2 AND runs.publisher = $1)";
    if connection.first(sql, &[old.into(), new.into()])?.is_none() {
        return Ok(());
    }
    Err(BoardError::refused(
        "one of the keys has certified a run of the other one, or objected to one",
    ))
}

/// The last key that follows a key, or the key itself.
pub(crate) fn last_key(connection: &mut dyn Connection, key: &str) -> Result<String, BoardError> {
    let mut last = key.to_owned();
    let sql = "SELECT followed_by FROM publishers WHERE key = $1";
    while let Some(next) =
        connection.first(sql, &[(&last).into()])?.and_then(|mut row| row.maybe_text())
    {
        last = next;
    }
    Ok(last)
}

/// A text that the operator takes away.
#[derive(Debug)]
pub enum RemovedText<'a> {
    /// An objection, with its answer.
    Objection(&'a str),
    /// The answer to this objection; its publisher may write another one.
    Answer(&'a str),
    /// The name of a publisher, until the next run.
    Name(&'a PublicKey),
}

/// Takes away a text.
pub fn remove(database: &Database, text: &RemovedText<'_>) -> Result<(), BoardError> {
    let none = "there is no such objection, and no such answer";
    match text {
        RemovedText::Objection(id) => {
            change_one(database, "DELETE FROM objections WHERE id = $1", &[(*id).into()], none)
        }
        RemovedText::Answer(id) => {
            let sql = "UPDATE objections SET answer = NULL, answered = NULL WHERE id = $1 AND answer IS NOT NULL";
            change_one(database, sql, &[(*id).into()], none)
        }
        RemovedText::Name(key) => {
            let sql = "UPDATE publishers SET name = $1 WHERE key = $2";
            let values = [UNNAMED.into(), key.to_string().into()];
            change_one(database, sql, &values, "this board does not know the key")
        }
    }?;
    database.settle()
}

/// Gives the publisher of a run a new token for it; the old one opens nothing any more.
pub fn give_token(database: &Database, id: &str) -> Result<String, BoardError> {
    let token = random_hexadecimal(16)?;
    database.write(|connection| {
        existing(connection, id)?;
        let sql = "UPDATE runs SET token_sha256 = $1 WHERE id = $2";
        connection.execute(sql, &[sha256(token.as_bytes()).into(), id.into()])
    })?;
    Ok(token)
}

fn change_one(
    database: &Database,
    sql: &str,
    values: &[DatabaseValue],
    none: &str,
) -> Result<(), BoardError> {
    database.write(|connection| {
        if connection.execute(sql, values)? == 1 { Ok(()) } else { Err(BoardError::refused(none)) }
    })
}
