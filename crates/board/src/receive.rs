//! Receives a publication: checks it, has it computed, and stores all of it or nothing.

use btu_publication::{Manifest, PublicKey, sha256};
use btu_stats::Estimate;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::board::{Board, MOST_CLOCK_ERROR, moment, now, random_hexadecimal, yesterday};
use crate::chain;
use crate::database::{Connection, DatabaseValue};
use crate::error::BoardError;
use crate::program::ArchiveVerdict;
use crate::runs::{self, Computed};

/// A publication as it came.
#[derive(Debug)]
pub struct Publication<'a> {
    /// What was signed.
    pub manifest: &'a str,
    /// The signature.
    pub signature: &'a str,
    /// The public key.
    pub key: &'a str,
    /// The archive.
    pub archive: &'a [u8],
}

/// What the publisher is told.
#[derive(Debug)]
pub struct Accepted {
    /// The run's name in addresses.
    pub id: String,
    /// Opens the run to a reader who shows it.
    pub token: String,
}

/// A publisher may publish so many runs in a day.
const MOST_RUNS_A_DAY: i64 = 100;

/// So many keys that the board does not know may begin to publish in a day.
const MOST_NEW_PUBLISHERS_A_DAY: i64 = 500;

/// Takes a publication.
///
/// # Errors
/// It is refused, with the reason, or could not be stored; then nothing of it is.
pub fn receive(board: &Board, publication: &Publication<'_>) -> Result<Accepted, BoardError> {
    let key: PublicKey = publication.key.parse().map_err(refuse)?;
    key.verify(publication.manifest, publication.signature).map_err(refuse)?;
    let manifest = Manifest::read(publication.manifest).map_err(refuse)?;
    check_manifest(board, &manifest, publication)?;
    board.database.read(|connection| {
        check_publisher(connection, &key)?;
        check_new(connection, &manifest)
    })?;
    let verdict = board.program.verdict(publication.archive)?;
    let computed = computed(&verdict)?;
    check_run(&manifest, &verdict, &computed)?;
    let accepted = Accepted { id: random_hexadecimal(8)?, token: random_hexadecimal(16)? };
    board.database.write(|connection| {
        check_new(connection, &manifest)?;
        introduce(connection, &key, Some(&manifest.name))?;
        check_publisher(connection, &key)?;
        meet_challenge(connection, &key, &manifest, &accepted.id)?;
        let received = now();
        let place = chain::add(connection, &sha256(publication.manifest.as_bytes()), &received)?;
        let stored = CheckedPublication { publication, manifest: &manifest, computed: &computed };
        stored.insert(connection, &key, &accepted, place, &received)
    })?;
    Ok(accepted)
}

#[expect(clippy::needless_pass_by_value, reason = "it is the end of every `map_err`")]
fn refuse(error: impl ToString) -> BoardError {
    BoardError::refused(error.to_string())
}

/// What can be known of a manifest without its run.
fn check_manifest(
    board: &Board,
    manifest: &Manifest,
    publication: &Publication<'_>,
) -> Result<(), BoardError> {
    if manifest.board != board.url {
        let what = format!("it was signed for {}, and this is {}", manifest.board, board.url);
        return Err(BoardError::Refused(what));
    }
    if sha256(publication.archive) != manifest.archive_sha256 {
        return Err(BoardError::refused(
            "the archive is not the one that was signed: its digest differs",
        ));
    }
    let signed = manifest.signed.parse::<jiff::Timestamp>();
    let signed = signed.map_err(|_| BoardError::refused("it was signed at no time"))?;
    if signed > moment() + MOST_CLOCK_ERROR {
        return Err(BoardError::refused("it was signed in the future: set your clock"));
    }
    Ok(())
}

fn check_publisher(connection: &mut dyn Connection, key: &PublicKey) -> Result<(), BoardError> {
    let key = key.to_string();
    let sql = "SELECT is_blocked FROM publishers WHERE key = $1";
    if connection.first(sql, &[(&key).into()])?.is_some_and(|mut row| row.integer() != 0) {
        return Err(BoardError::refused("this board takes no runs of this key any more"));
    }
    let sql = "SELECT count(*) FROM runs WHERE publisher = $1 AND received > $2";
    let why = format!("you published {MOST_RUNS_A_DAY} runs in a day: come back tomorrow");
    check_fewer(connection, sql, &[key.into(), yesterday().into()], MOST_RUNS_A_DAY, &why)
}

/// Whether `sql` counts fewer than `most`; `why` is what the caller is told if not.
pub(crate) fn check_fewer(
    connection: &mut dyn Connection,
    sql: &str,
    values: &[DatabaseValue],
    most: i64,
    why: &str,
) -> Result<(), BoardError> {
    let counted = connection.first(sql, values)?;
    if counted.is_some_and(|mut row| row.integer() >= most) {
        return Err(BoardError::TooMany(why.to_owned()));
    }
    Ok(())
}

/// Makes a publisher known, under the name that the newest manifest has.
pub(crate) fn introduce(
    connection: &mut dyn Connection,
    key: &PublicKey,
    name: Option<&str>,
) -> Result<(), BoardError> {
    let (key, id) = (key.to_string(), publisher_id(key));
    let known = connection.first("SELECT 1 FROM publishers WHERE key = $1", &[(&key).into()])?;
    if known.is_none() {
        let sql = "SELECT count(*) FROM publishers WHERE added > $1";
        let why = "too many new publishers today: come back tomorrow";
        check_fewer(connection, sql, &[yesterday().into()], MOST_NEW_PUBLISHERS_A_DAY, why)?;
        let sql = "INSERT INTO publishers (key, id, name, is_laboratory, is_blocked, added) VALUES ($1, $2, $3, 0, 0, $4)";
        let unnamed = name.unwrap_or("not yet named");
        connection.execute(sql, &[(&key).into(), id.into(), unnamed.into(), now().into()])?;
    }
    let Some(name) = name else { return Ok(()) };
    let sql = "UPDATE publishers SET name = $1 WHERE key = $2 AND is_laboratory = 0";
    connection.execute(sql, &[name.into(), key.into()])?;
    Ok(())
}

/// A publisher's name in addresses, in which a key cannot stand.
pub(crate) fn publisher_id(key: &PublicKey) -> String {
    sha256(key.to_string().as_bytes()).chars().take(16).collect()
}

fn check_new(connection: &mut dyn Connection, manifest: &Manifest) -> Result<(), BoardError> {
    match runs::is_known(connection, &manifest.run)? {
        None => Ok(()),
        Some(id) => {
            let what = format!("the run is here already, as {id}: a run is published once");
            Err(BoardError::Refused(what))
        }
    }
}

/// Whether the signed lines are true of the archive.
fn check_run(
    manifest: &Manifest,
    verdict: &ArchiveVerdict,
    computed: &Computed,
) -> Result<(), BoardError> {
    let run = &verdict.shown["run"];
    let facts = [
        ("run", Some(manifest.run.as_str()), run["uuid"].as_str()),
        ("plan", Some(&manifest.plan_hash), run["plan_hash"].as_str()),
        ("created", Some(&manifest.created), Some(computed.created.as_str())),
    ];
    let wrong = facts.into_iter().find(|(_, signed, found)| signed != found);
    if let Some((what, ..)) = wrong {
        return Err(BoardError::Refused(format!(
            "the manifest's line `{what}` is not that of the archive"
        )));
    }
    if run["seed"].as_u64() != Some(manifest.seed) {
        return Err(BoardError::refused("the manifest's line `seed` is not that of the archive"));
    }
    Ok(())
}

/// The parts of `btu rank --json` that are read: what `btu show` does not say.
#[derive(Deserialize)]
struct Ranking {
    lists: Vec<RankingList>,
    left_out: Vec<LeftOut>,
}

#[derive(Deserialize)]
struct RankingList {
    particulars: Vec<String>,
    places: Vec<RankingPlace>,
}

#[derive(Deserialize)]
struct RankingPlace {
    machine: String,
    cpu_rounds_per_second: Option<f64>,
}

#[derive(Deserialize)]
struct LeftOut {
    reason: String,
}

/// The part of the rating in `btu show --json` that is read.
#[derive(Deserialize)]
struct Rated {
    btu_bits_per_second: Estimate,
    low_confidence: bool,
}

/// The longest text of an archive that is shown, in characters.
const LONGEST_SHOWN: usize = 200;

/// A text of an archive, as it can be shown in a line: its publisher may have written what it likes there.
fn shown(text: &str) -> String {
    btu_units::plain(text).chars().take(LONGEST_SHOWN).collect()
}

/// What lists say of a run, from what the program says of it.
fn computed(verdict: &ArchiveVerdict) -> Result<Computed, BoardError> {
    let unread =
        |error: serde_json::Error| BoardError::Failed(format!("reading what btu says: {error}"));
    let (run, result) = (&verdict.shown["run"], &verdict.shown["result"]);
    let ranking: Ranking = serde_json::from_value(verdict.ranking.clone()).map_err(unread)?;
    // A run that is not ranked has a number all the same, and the number is shown with the reason.
    let rated: Option<Rated> = serde_json::from_value(result["rating"].clone()).map_err(unread)?;
    let text = |value: &Json| shown(value.as_str().unwrap_or_default());
    let list = ranking.lists.first();
    let place = list.and_then(|list| list.places.first());
    let left_out = ranking.left_out.into_iter().next().map(|one| one.reason);
    let machine = before(run);
    let processor = &machine["processor"];
    Ok(Computed {
        title: text(&result["title"]),
        plan_hash: text(&run["plan_hash"]),
        profile: text(&run["profile"]),
        network: text(&run["network"]),
        particulars: list.map(|list| shown(&list.particulars.join("; "))).unwrap_or_default(),
        rating: rated.as_ref().map(|rated| rated.btu_bits_per_second),
        low_confidence: rated.is_none_or(|rated| rated.low_confidence),
        cpu_rounds_per_second: place.and_then(|place| place.cpu_rounds_per_second),
        why_not_ranked: left_out.or_else(|| place.is_none().then(|| "it has no rating".to_owned())),
        marks: marks(run, result),
        machine: place.map_or_else(|| "unknown".to_owned(), |place| place.machine.clone()),
        processor: shown(processor["model"].as_str().unwrap_or("unknown processor")),
        cpus: processor["online"].as_i64().unwrap_or_default(),
        memory_bytes: machine["memory"]["total_bytes"].as_i64(),
        is_virtual: processor["virtual_machine"].as_bool().unwrap_or_default(),
        kernel: text(&machine["kernel"]["release"]),
        created: text(&run["created"]),
        spent_seconds: run["spent_ns"].as_f64().map(|nanoseconds| nanoseconds * 1e-9),
        cells: run["cells"].as_i64().unwrap_or_default(),
        btu_version: text(&run["btu_version"]),
    })
}

/// The machine before the first session of a run; null if it was never looked at.
fn before(run: &Json) -> &Json {
    let all = run["environments"].as_array().into_iter().flatten();
    let mut before = all.filter(|one| one[0] == "before");
    before.next().map_or(&Json::Null, |one| &one[1])
}

/// What has to be said with the number: the profile if it is the quick one, cells that do not count,
/// and all warnings.
fn marks(run: &Json, result: &Json) -> Vec<String> {
    let mut marks = Vec::new();
    if run["profile"] == "quick" {
        marks.push("a first look only: the quick profile".to_owned());
    }
    let invalid = result["invalid_cells"].as_u64().unwrap_or_default();
    if invalid > 0 {
        marks.push(format!("cells that do not count: {invalid}"));
    }
    let warnings = result["warnings"].as_array().into_iter().flatten();
    let observed = warnings.filter_map(|warning| warning["observed"].as_str());
    marks.extend(observed.map(shown));
    marks
}

/// Marks the challenge whose number is the run's seed as met.
fn meet_challenge(
    connection: &mut dyn Connection,
    key: &PublicKey,
    manifest: &Manifest,
    id: &str,
) -> Result<(), BoardError> {
    let seed = manifest.seed.to_string();
    let sql = "SELECT publisher, issued, run FROM challenges WHERE seed = $1";
    let Some(mut row) = connection.first(sql, &[(&seed).into()])? else { return Ok(()) };
    let (publisher, issued, run) = (row.text(), row.text(), row.maybe_text());
    if let Some(run) = run {
        let what = format!("its challenge was met by {run} already: a challenge is met once");
        return Err(BoardError::Refused(what));
    }
    if publisher != key.to_string() {
        return Err(BoardError::refused("its seed is a challenge to another publisher"));
    }
    let instant = |text: &str| text.parse::<jiff::Timestamp>().ok();
    let began = instant(&manifest.created).zip(instant(&issued));
    if began.is_none_or(|(created, issued)| created + MOST_CLOCK_ERROR < issued) {
        return Err(BoardError::refused("the run began before its challenge was given out"));
    }
    let sql = "UPDATE challenges SET run = $1 WHERE seed = $2";
    connection.execute(sql, &[id.into(), seed.into()])?;
    Ok(())
}

/// A publication with everything that was found out about it.
struct CheckedPublication<'a> {
    publication: &'a Publication<'a>,
    manifest: &'a Manifest,
    computed: &'a Computed,
}

impl CheckedPublication<'_> {
    fn insert(
        &self,
        connection: &mut dyn Connection,
        key: &PublicKey,
        accepted: &Accepted,
        place: i64,
        received: &str,
    ) -> Result<(), BoardError> {
        let columns = self.columns(key, accepted, place, received);
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("${place}")).collect();
        let sql = format!("INSERT INTO runs ({}) VALUES ({})", names.join(", "), places.join(", "));
        let values: Vec<DatabaseValue> = columns.into_iter().map(|(_, value)| value).collect();
        connection.execute(&sql, &values)?;
        let archive = DatabaseValue::from(self.publication.archive.to_vec());
        let sql = "INSERT INTO archives (run, archive) VALUES ($1, $2)";
        connection.execute(sql, &[(&accepted.id).into(), archive])?;
        Ok(())
    }

    fn columns(
        &self,
        key: &PublicKey,
        accepted: &Accepted,
        place: i64,
        received: &str,
    ) -> Vec<(&'static str, DatabaseValue)> {
        let Self { publication, manifest, computed } = self;
        let interval = computed.rating.and_then(|rating| rating.interval);
        let price = manifest.price.as_ref();
        let hundredths = price.map(|price| i64::try_from(price.hundredths).unwrap_or(i64::MAX));
        vec![
            ("id", (&accepted.id).into()),
            ("place", place.into()),
            ("uuid", (&manifest.run).into()),
            ("publisher", key.to_string().into()),
            ("visibility", manifest.visibility.name().into()),
            ("received", received.into()),
            ("token_sha256", sha256(accepted.token.as_bytes()).into()),
            ("manifest", publication.manifest.into()),
            ("signature", publication.signature.into()),
            ("title", (&computed.title).into()),
            ("plan_hash", (&computed.plan_hash).into()),
            ("profile", (&computed.profile).into()),
            ("network", (&computed.network).into()),
            ("particulars", (&computed.particulars).into()),
            ("rate_bits_per_second", computed.rating.map(|rating| rating.value).into()),
            ("low_bits_per_second", interval.map(|interval| interval.low).into()),
            ("high_bits_per_second", interval.map(|interval| interval.high).into()),
            ("is_low_confidence", computed.low_confidence.into()),
            ("cpu_rounds_per_second", computed.cpu_rounds_per_second.into()),
            ("why_not_ranked", computed.why_not_ranked.as_ref().into()),
            ("marks", computed.marks.join("\n").into()),
            ("machine", (&computed.machine).into()),
            ("system", manifest.system.clone().unwrap_or_default().into()),
            ("processor", (&computed.processor).into()),
            ("cpus", computed.cpus.into()),
            ("memory_bytes", computed.memory_bytes.into()),
            ("is_virtual", computed.is_virtual.into()),
            ("kernel", (&computed.kernel).into()),
            ("price_hundredths", hundredths.into()),
            ("currency", price.map(|price| price.currency.clone()).into()),
            ("seed", manifest.seed.to_string().into()),
            ("created", (&computed.created).into()),
            ("spent_seconds", computed.spent_seconds.into()),
            ("cells", computed.cells.into()),
            ("btu_version", (&computed.btu_version).into()),
        ]
    }
}
