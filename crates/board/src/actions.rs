//! What happens to a run after it was published: certificates, objections, answers, withdrawal, deletion;
//! and challenges, which come before.

use btu_publication::{Challenge, ChallengeRequest, PublicKey, Visibility, sha256};

use crate::board::{Board, MOST_CLOCK_ERROR, moment, now, random_hexadecimal, yesterday};
use crate::database::{Connection, Database};
use crate::error::BoardError;
use crate::receive::{check_fewer, introduce};
use crate::runs::{self, PublishedRun};

/// The longest objection, answer and reason, in characters.
const LONGEST_TEXT: usize = 2000;

/// A run may have so many objections.
const MOST_OBJECTIONS: i64 = 50;

/// A publisher may ask for so many challenges in a day.
const MOST_CHALLENGES_A_DAY: i64 = 100;

/// The run of this name.
///
/// # Errors
/// There is none, or its publisher deleted it.
pub fn existing(connection: &mut dyn Connection, id: &str) -> Result<PublishedRun, BoardError> {
    let run = runs::find(connection, id)?;
    let run = run.ok_or_else(|| BoardError::NotFound("there is no such run".to_owned()))?;
    match &run.deleted {
        None => Ok(run),
        Some(at) => Err(BoardError::Gone(format!("its publisher deleted this run at {at}"))),
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
        let sql = "SELECT is_laboratory FROM publishers WHERE key = $1 AND is_blocked = 0";
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
        JOIN publishers ON publishers.key = certificates.laboratory WHERE certificates.run = $1 ORDER BY certificates.received";
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
        if run.objections >= MOST_OBJECTIONS {
            return Err(BoardError::TooMany("this run has enough objections".to_owned()));
        }
        let sql = "SELECT count(*) FROM objections WHERE run = $1 AND by_run = $2 AND answer IS NULL";
        let open = connection.first(sql, &[id.into(), (&by.id).into()])?;
        if open.is_some_and(|mut row| row.integer() > 0) {
            return Err(BoardError::refused("your earlier objection waits for its answer"));
        }
        let sql = "INSERT INTO objections (id, run, by_run, received, objection) VALUES ($1, $2, $3, $4, $5)";
        let values =
            [(&name).into(), id.into(), (&by.id).into(), now().into(), (&text).into()];
        connection.execute(sql, &values)?;
        Ok(())
    })
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
        own(connection, id, token)?;
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
    let sql = "SELECT objections.id, publishers.name, objections.by_run, objections.received, objections.objection,
        objections.answer, objections.answered FROM objections JOIN runs ON runs.id = objections.by_run
        JOIN publishers ON publishers.key = runs.publisher WHERE objections.run = $1 ORDER BY objections.received, objections.id";
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
        own(connection, id, token)?;
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
        return Ok(());
    }
    Err(BoardError::refused("it was withdrawn already"))
}

/// Deletes a run: its archive, its manifest and what was computed. That there was one, and when it came,
/// stays in the chain, and a challenge that it met stays met.
pub fn delete(board: &Board, id: &str, token: &str) -> Result<(), BoardError> {
    board.database.write(|connection| {
        own(connection, id, token)?;
        connection.execute("DELETE FROM archives WHERE run = $1", &[id.into()])?;
        connection.execute("DELETE FROM certificates WHERE run = $1", &[id.into()])?;
        connection.execute("DELETE FROM objections WHERE run = $1", &[id.into()])?;
        let sql = "UPDATE runs SET uuid = NULL, manifest = NULL, signature = NULL, deleted = $1, rate_bits_per_second = NULL,
            low_bits_per_second = NULL, high_bits_per_second = NULL, cpu_rounds_per_second = NULL, why_not_ranked = 'deleted',
            marks = '', machine = '', system = '', processor = '', cpus = 0, memory_bytes = NULL, kernel = '',
            price_hundredths = NULL, currency = NULL, seed = '', created = '', spent_seconds = NULL, network = '',
            particulars = '', withdrawn_why = NULL WHERE id = $2";
        connection.execute(sql, &[now().into(), id.into()])?;
        forget(connection, id)
    })
}

/// A publisher who has deleted all runs has no name here any more.
fn forget(connection: &mut dyn Connection, id: &str) -> Result<(), BoardError> {
    let sql = "UPDATE publishers SET name = $1 WHERE is_laboratory = 0
        AND key = (SELECT publisher FROM runs WHERE id = $2)
        AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.publisher = publishers.key AND runs.deleted IS NULL)";
    connection.execute(sql, &["a former publisher".into(), id.into()])?;
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
        return Err(BoardError::refused("it was signed more than ten minutes ago: set your clock"));
    }
    let seed = random_hexadecimal(8)?;
    let seed = u64::from_str_radix(&seed, 16).map_err(|error| refuse(&error))?;
    board.database.write(|connection| {
        introduce(connection, &key, None)?;
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
    let name = checked("a name", name)?;
    database.write(|connection| {
        introduce(connection, key, None)?;
        let sql =
            "UPDATE publishers SET name = $1, is_laboratory = 1, is_blocked = 0 WHERE key = $2";
        connection.execute(sql, &[(&name).into(), key.to_string().into()])?;
        Ok(())
    })
}

/// Takes no runs of a key any more, and no signatures.
pub fn block(database: &Database, key: &PublicKey) -> Result<(), BoardError> {
    database.write(|connection| {
        let sql = "UPDATE publishers SET is_blocked = 1 WHERE key = $1";
        if connection.execute(sql, &[key.to_string().into()])? == 1 {
            return Ok(());
        }
        Err(BoardError::refused("this board does not know the key"))
    })
}
