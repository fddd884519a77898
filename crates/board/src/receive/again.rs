//! Computes what is stored again: whether a column of a run says something else than its archive and its manifest.

use btu_publication::{Manifest, PublicKey};

use super::{
    Accepted, CheckedPublication, FORMER, NewPublication, UNNAMED, computed, instant, refuse,
};
use crate::actions;
use crate::board::{MOST_CLOCK_ERROR, moment};
use crate::database::{Connection, Database, DatabaseValue};
use crate::error::BoardError;
use crate::program::Program;
use crate::runs;

/// What changes when a publisher gets another token.
const OF_TOKENS: [&str; 2] = ["token_sha256", "signed"];

/// A run as it is stored.
struct StoredRun {
    place: i64,
    id: String,
    received: String,
    manifest: String,
    signature: String,
    key: String,
    signed: String,
    archive: Vec<u8>,
}

/// Has every run that is not deleted computed again, and every report that is kept; returns how many runs there are.
///
/// # Errors
/// Something that is stored is not what was computed: a line each.
pub fn check(database: &Database, program: &Program) -> Result<i64, BoardError> {
    let (mut place, mut runs, mut wrong) = (0, 0, Vec::new());
    while let Some(stored) = database.read(|connection| StoredRun::behind(connection, place))? {
        wrong.extend(stored.differences(database, program)?);
        place = stored.place;
        runs += 1;
    }
    wrong.extend(database.read(wrong_names)?);
    wrong.extend(wrong_pages(database, program)?);
    if wrong.is_empty() { Ok(runs) } else { Err(BoardError::Failed(wrong.join("\n"))) }
}

/// Names of publishers that no public manifest of theirs has, a line each. Those of laboratories are the operator's.
fn wrong_names(connection: &mut dyn Connection) -> Result<Vec<String>, BoardError> {
    let sql = "SELECT key, name FROM publishers WHERE is_laboratory = 0 AND name NOT IN ($1, $2)";
    let mut wrong = Vec::new();
    for mut row in connection.query(sql, &[UNNAMED.into(), FORMER.into()])? {
        let (key, name) = (row.text(), row.text());
        if !runs::public_names(connection, &key)?.contains(&name) {
            wrong.push(format!(
                "publisher {key}: the name is {name:?}, which no public run of it has; `btu-board remove --name {key}` takes it away"
            ));
        }
    }
    Ok(wrong)
}

/// Reports and comparisons that are kept, and are not those of their archives, a line each. Those of another version of btu
/// are in no answer, and are removed.
fn wrong_pages(database: &Database, program: &Program) -> Result<Vec<String>, BoardError> {
    let sql = "SELECT name, run, other FROM kept_pages ORDER BY name";
    let mut wrong = Vec::new();
    for mut row in database.read(|connection| connection.query(sql, &[]))? {
        let (name, run, other) = (row.text(), row.text(), row.text());
        let kept = KeptPage { name, run, other };
        if !kept.is_of_this_version() {
            let sql = "DELETE FROM kept_pages WHERE name = $1";
            database
                .write_unlisted(|connection| connection.execute(sql, &[(&kept.name).into()]))?;
        } else if !kept.is_so(database, program)? {
            let KeptPage { run, other, .. } = kept;
            wrong.push(format!(
                "runs {run}, {other}: the page that is kept is not that of the archives"
            ));
        }
    }
    Ok(wrong)
}

/// The report of a run, which is then both of them, or a comparison of two.
struct KeptPage {
    name: String,
    run: String,
    other: String,
}

impl KeptPage {
    fn is_report(&self) -> bool {
        self.run == self.other
    }

    fn is_of_this_version(&self) -> bool {
        let Self { name, run, other } = self;
        *name
            == if self.is_report() {
                runs::lasting_name("report", &[run])
            } else {
                runs::lasting_name("comparison", &[run, other])
            }
    }

    /// Whether the program makes it of what is stored, or it was deleted meanwhile.
    fn is_so(&self, database: &Database, program: &Program) -> Result<bool, BoardError> {
        let archive = |run: &str| {
            let run = run.to_owned();
            move |number| database.read(|connection| runs::archive_piece(connection, &run, number))
        };
        let made = if self.is_report() {
            program.report(archive(&self.run))
        } else {
            program.comparison(archive(&self.run), archive(&self.other))
        };
        let made = match made {
            Err(BoardError::Refused(_)) => None,
            made => Some(made?.read()?),
        };
        let sql = "SELECT page, bytes FROM kept_pages WHERE name = $1";
        let kept = database.read(|connection| connection.first(sql, &[(&self.name).into()]))?;
        Ok(kept.is_none_or(|mut row| {
            made.is_some_and(|made| {
                made == row.octets() && i64::try_from(made.len()) == Ok(row.integer())
            })
        }))
    }
}

impl StoredRun {
    fn behind(connection: &mut dyn Connection, place: i64) -> Result<Option<Self>, BoardError> {
        let sql = "SELECT place, id, received, manifest, signature, signed_by, signed FROM runs
            WHERE place > $1 AND deleted IS NULL ORDER BY place LIMIT 1";
        let Some(mut row) = connection.first(sql, &[place.into()])? else { return Ok(None) };
        let mut found = Self {
            place: row.integer(),
            id: row.text(),
            received: row.text(),
            manifest: row.text(),
            signature: row.text(),
            key: row.text(),
            signed: row.text(),
            archive: Vec::new(),
        };
        let mut number = 0;
        while let Some(piece) = runs::archive_piece(connection, &found.id, number)? {
            found.archive.extend(piece);
            number += 1;
        }
        Ok(Some(found))
    }

    /// What is stored and is not computed, a line each.
    fn differences(
        &self,
        database: &Database,
        program: &Program,
    ) -> Result<Vec<String>, BoardError> {
        let publisher = database.read(|connection| actions::last_key(connection, &self.key))?;
        let computed = match self.computed(program, &publisher) {
            Ok(columns) => columns,
            Err(BoardError::Refused(why)) => return Ok(vec![format!("run {}: {why}", self.id)]),
            Err(error) => return Err(error),
        };
        let names: Vec<&str> = computed.iter().map(|(name, _)| *name).collect();
        let sql = format!("SELECT {} FROM runs WHERE id = $1", names.join(", "));
        let stored = database.read(|connection| connection.first(&sql, &[(&self.id).into()]))?;
        // It was deleted meanwhile.
        let Some(mut stored) = stored else { return Ok(Vec::new()) };
        let compared = computed.iter().map(|(name, computed)| (name, computed, stored.value()));
        let wrong = compared.filter(|(_, computed, stored)| *computed != stored);
        Ok(wrong.map(|(name, computed, stored)| self.line(name, computed, &stored)).collect())
    }

    fn line(&self, name: &str, computed: &DatabaseValue, stored: &DatabaseValue) -> String {
        format!("run {}: {name} is {stored:?}, and {computed:?} is computed", self.id)
    }

    fn computed(
        &self,
        program: &Program,
        publisher: &str,
    ) -> Result<Vec<(&'static str, DatabaseValue)>, BoardError> {
        let key: PublicKey = self.key.parse().map_err(refuse)?;
        let manifest = Manifest::read(&self.manifest).map_err(refuse)?;
        let verdict = program.verdict(&self.archive, &manifest.board)?;
        let (text, signature) = (self.manifest.clone(), self.signature.clone());
        let publication = NewPublication { text, signature, key, manifest };
        let checked = CheckedPublication {
            publication: &publication,
            archive: &self.archive,
            computed: &computed(&verdict)?,
            cells_sha256: &verdict.cells_sha256,
        };
        let accepted = Accepted { id: self.id.clone(), token: String::new() };
        let mut columns = checked.columns(&accepted, self.place, &self.received);
        columns.retain(|(name, _)| !OF_TOKENS.contains(name) && *name != "publisher");
        columns.push(("publisher", publisher.into()));
        // Later texts that asked for a token are not kept: of their time only the bounds are known.
        let signed = &publication.manifest.signed;
        let possible = instant(signed)..=Some(moment() + MOST_CLOCK_ERROR);
        if !possible.contains(&instant(&self.signed)) {
            columns.push(("signed", signed.into()));
        }
        Ok(columns)
    }
}
