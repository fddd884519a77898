//! Receives a publication: checks it, has it computed, and stores all of it or nothing.

pub mod again;

use std::io::{BufRead as _, Read as _};

use btu_contract::json;
use btu_publication::{Manifest, PublicKey, Visibility, sha256};
use btu_stats::Estimate;
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::board::{Board, MOST_CLOCK_ERROR, moment, now, random_hexadecimal, yesterday};
use crate::chain;
use crate::database::{Connection, DatabaseValue};
use crate::error::BoardError;
use crate::program::ArchiveVerdict;
use crate::runs::{self, Computed};

/// What comes before an archive: what was signed, the signature, and the public key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Announcement {
    manifest: String,
    signature: String,
    key: String,
}

/// What is known of an announcement before its archive comes.
#[derive(Debug)]
pub enum Announced {
    /// The run is here, and its publisher has a new token for it.
    Known(Accepted),
    /// The archive is waited for.
    New(Box<NewPublication>),
}

/// A publication of which only the archive is to be checked.
#[derive(Debug)]
pub struct NewPublication {
    text: String,
    signature: String,
    key: PublicKey,
    manifest: Manifest,
}

/// What the publisher is told.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The run's name in addresses.
    pub id: String,
    /// Opens the run to a reader who shows it.
    pub token: String,
}

/// What a publisher is called without a name.
pub(crate) const UNNAMED: &str = "without a name";

/// What a publisher is called who has deleted all runs.
pub(crate) const FORMER: &str = "a former publisher";

/// A publisher may publish so many runs in a day.
const MOST_RUNS_A_DAY: i64 = 100;

/// So many keys that the board does not know may begin to publish in a day.
const MOST_NEW_PUBLISHERS_A_DAY: i64 = 500;

/// A challenge is met by a run that begins in this time.
const LONGEST_UNTIL_BEGUN: SignedDuration = SignedDuration::from_mins(10);

/// And that is back in this time, and in twice the time that its plan allows.
const LONGEST_BACK: SignedDuration = SignedDuration::from_mins(30);

/// No plan measures for longer.
const LONGEST_MEASURING: SignedDuration = SignedDuration::from_hours(48);

/// What was signed longer ago is not taken: who signs is there, and wants it published.
const LONGEST_SINCE_SIGNED: SignedDuration = SignedDuration::from_hours(24);

/// Refuses a publication for everything that can be known without its archive. One that is here already is not taken again;
/// but its publisher, who signs the same once more, gets a new token for it.
///
/// # Errors
/// It is refused, with the reason, or a token could not be stored.
pub fn announce(board: &Board, announcement: Announcement) -> Result<Announced, BoardError> {
    let Announcement { manifest: text, signature, key } = announcement;
    let key: PublicKey = key.parse().map_err(refuse)?;
    key.verify(&text, &signature).map_err(refuse)?;
    let manifest = Manifest::read(&text).map_err(refuse)?;
    check_manifest(board, &manifest)?;
    let publication = NewPublication { text, signature, key, manifest };
    let is_known = board.database.read(|connection| publication.is_known(connection))?;
    if !is_known {
        return Ok(Announced::New(Box::new(publication)));
    }
    let token = random_hexadecimal(16)?;
    let renewed = board
        .database
        .write(|connection| renew(connection, &publication.key, &publication.manifest, &token));
    renewed.map(Announced::Known)
}

impl NewPublication {
    /// Whether the run is here; if not, it may come.
    fn is_known(&self, connection: &mut dyn Connection) -> Result<bool, BoardError> {
        check_not_blocked(connection, &self.key.to_string())?;
        if published_before(connection, &self.key, &self.manifest)?.is_some() {
            return Ok(true);
        }
        check_quota(connection, &self.key)?;
        check_publisher(connection, &self.key, &self.manifest)?;
        check_challenge(connection, &self.key, &self.manifest)?;
        Ok(false)
    }
}

impl NewPublication {
    /// The key that signed it.
    pub fn key(&self) -> String {
        self.key.to_string()
    }

    /// Refuses an archive for what its first lines say.
    ///
    /// # Errors
    /// They are not what was signed.
    pub fn check_head(&self, archive: &[u8]) -> Result<(), BoardError> {
        check_head(&self.manifest, archive)
    }
}

/// Takes a publication that was announced, with its archive.
///
/// # Errors
/// It is refused, with the reason, or could not be stored; then nothing of it is.
pub fn receive(
    board: &Board,
    publication: &NewPublication,
    archive: &[u8],
) -> Result<Accepted, BoardError> {
    let NewPublication { text, key, manifest, .. } = publication;
    let verdict = board.program.verdict(archive, &board.url)?;
    let computed = computed(&verdict)?;
    let accepted = Accepted { id: random_hexadecimal(8)?, token: random_hexadecimal(16)? };
    board.database.write(|connection| {
        if publication.is_known(connection)? {
            return renew(connection, key, manifest, &accepted.token);
        }
        check_new_cells(connection, &verdict.cells_sha256)?;
        introduce(connection, key, manifest)?;
        let allowed = allowed_time(&verdict.shown["run"]);
        meet_challenge(connection, &computed, allowed, manifest.seed, &accepted.id)?;
        let received = now();
        let place = chain::add(connection, &sha256(text.as_bytes()), &received)?;
        let cells_sha256 = &verdict.cells_sha256;
        let stored = CheckedPublication { publication, archive, computed: &computed, cells_sha256 };
        stored.insert(connection, &accepted, place, &received)?;
        Ok(accepted.clone())
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is the end of every `map_err`")]
fn refuse(error: impl ToString) -> BoardError {
    BoardError::refused(error.to_string())
}

/// What can be known of a manifest without its run.
fn check_manifest(board: &Board, manifest: &Manifest) -> Result<(), BoardError> {
    if manifest.board != board.url {
        let what = format!("it was signed for {}, and this is {}", manifest.board, board.url);
        return Err(BoardError::Refused(what));
    }
    let signed = manifest.signed.parse::<jiff::Timestamp>();
    let signed = signed.map_err(|_| BoardError::refused("it was signed at no time"))?;
    let latest = moment() + MOST_CLOCK_ERROR;
    if signed > latest {
        return Err(BoardError::refused("it was signed in the future: set your clock"));
    }
    let created = manifest.created.parse::<jiff::Timestamp>();
    if !created.is_ok_and(|created| created <= latest.min(signed + MOST_CLOCK_ERROR)) {
        return Err(BoardError::refused("its run began after it was signed"));
    }
    if signed + LONGEST_SINCE_SIGNED < moment() {
        return Err(BoardError::refused("it was signed more than a day ago: sign it again"));
    }
    Ok(())
}

/// A key that the operator blocked, or that another one follows, publishes nothing, and says nothing here.
pub(crate) fn check_not_blocked(
    connection: &mut dyn Connection,
    key: &str,
) -> Result<(), BoardError> {
    let sql = "SELECT is_blocked, followed_by FROM publishers WHERE key = $1";
    let Some(mut row) = connection.first(sql, &[key.into()])? else { return Ok(()) };
    if row.integer() != 0 {
        return Err(BoardError::refused(
            "the key is blocked: this board takes no runs of it, and no words",
        ));
    }
    let next = row.maybe_text();
    next.map_or(Ok(()), |next| {
        Err(BoardError::Refused(format!("the key {next} follows this one: sign with that")))
    })
}

fn check_quota(connection: &mut dyn Connection, key: &PublicKey) -> Result<(), BoardError> {
    let key = key.to_string();
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

/// Whether a publisher may be made known, under this name. Those who never published are not counted, nor are
/// laboratories, which the operator appoints.
fn check_publisher(
    connection: &mut dyn Connection,
    key: &PublicKey,
    manifest: &Manifest,
) -> Result<(), BoardError> {
    let key = key.to_string();
    if manifest.visibility == Visibility::Public {
        check_name(connection, &key, &manifest.name)?;
    }
    let known = connection.first("SELECT 1 FROM publishers WHERE key = $1", &[key.into()])?;
    if known.is_some() {
        return Ok(());
    }
    let sql = "SELECT count(*) FROM publishers WHERE added > $1 AND is_laboratory = 0";
    let why = "too many new publishers today: come back tomorrow";
    check_fewer(connection, sql, &[yesterday().into()], MOST_NEW_PUBLISHERS_A_DAY, why)
}

/// Makes a publisher known, under the name that the newest public manifest has: what is private stays so.
fn introduce(
    connection: &mut dyn Connection,
    key: &PublicKey,
    manifest: &Manifest,
) -> Result<(), BoardError> {
    let (key, id) = (key.to_string(), publisher_id(key));
    let sql = "INSERT INTO publishers (key, id, name, is_laboratory, is_blocked, added) VALUES ($1, $2, $3, 0, 0, $4)
        ON CONFLICT DO NOTHING";
    let values = [(&key).into(), id.into(), UNNAMED.into(), now().into()];
    connection.execute(sql, &values)?;
    if manifest.visibility == Visibility::Public {
        let sql = "UPDATE publishers SET name = $1 WHERE key = $2 AND is_laboratory = 0";
        connection.execute(sql, &[(&manifest.name).into(), key.into()])?;
    }
    Ok(())
}

/// Whether a name is not that of a laboratory of another key, as readers see it.
fn check_name(connection: &mut dyn Connection, key: &str, name: &str) -> Result<(), BoardError> {
    let sql =
        "SELECT name FROM publishers WHERE is_laboratory = 1 AND key <> $1 AND followed_by IS NULL";
    let mut laboratories = connection.query(sql, &[key.into()])?.into_iter();
    let seen = as_seen(name);
    if laboratories.any(|mut row| seen.contains(&as_seen(&row.text()))) {
        return Err(BoardError::refused(
            "the name is that of a laboratory of this board: take another one",
        ));
    }
    Ok(())
}

/// Whether a laboratory may have this name: it is in no name of another key, as readers see it.
pub(crate) fn check_laboratory_name(
    connection: &mut dyn Connection,
    key: &str,
    name: &str,
) -> Result<(), BoardError> {
    let seen = as_seen(name);
    if seen.is_empty() {
        return Err(BoardError::refused("the name of a laboratory has letters or digits"));
    }
    let sql = "SELECT name, key FROM publishers WHERE key <> $1 AND followed_by IS NULL";
    let all = connection.query(sql, &[key.into()])?.into_iter();
    let mut all = all.map(|mut row| (row.text(), row.text()));
    all.find(|(known, _)| as_seen(known).contains(&seen)).map_or(Ok(()), |(known, other)| {
        Err(BoardError::Refused(format!(
            "readers would take it for {known:?}, the name of the key {other}: choose another name, or take that one away with `btu-board remove --name {other}`"
        )))
    })
}

/// The letters and digits of a name as a reader sees them: without case, and those of other scripts and widths that look
/// like Latin ones as these.
fn as_seen(name: &str) -> String {
    const LOOK_ALIKES: &[(&str, char)] = &[
        ("аαɑ", 'a'),
        ("вβ", 'b'),
        ("сϲ", 'c'),
        ("ԁ", 'd'),
        ("еєε", 'e'),
        ("нһη", 'h'),
        ("іιı1lӏ|", 'i'),
        ("јϳ", 'j'),
        ("кκ", 'k'),
        ("мμ", 'm'),
        ("пνո", 'n'),
        ("оοσ0", 'o'),
        ("рρ", 'p'),
        ("ѕ5", 's'),
        ("тτ", 't'),
        ("υս", 'u'),
        ("ѵ", 'v'),
        ("ѡω", 'w'),
        ("хχ", 'x'),
        ("уγ", 'y'),
        ("ᴢζ", 'z'),
    ];
    let narrow = |letter: char| match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(letter as u32 - 0xfee0).unwrap_or(letter),
        _ => letter,
    };
    let latin = |letter: char| {
        LOOK_ALIKES
            .iter()
            .find(|(others, _)| others.contains(letter))
            .map_or(letter, |(_, one)| *one)
    };
    let letters = name.chars().map(narrow).flat_map(char::to_lowercase).map(latin);
    letters.filter(|letter| letter.is_alphanumeric()).collect()
}

/// A publisher's name in addresses, in which a key cannot stand.
pub(crate) fn publisher_id(key: &PublicKey) -> String {
    sha256(key.to_string().as_bytes()).chars().take(16).collect()
}

/// The run of a manifest that was published before, if its publisher has signed it once more: who reads the board has
/// everything that was signed the first time, and may not have its token.
fn published_before(
    connection: &mut dyn Connection,
    key: &PublicKey,
    manifest: &Manifest,
) -> Result<Option<String>, BoardError> {
    let uuid_sha256 = sha256(manifest.run.as_bytes());
    let sql = "SELECT id, publisher, manifest, signed FROM runs WHERE uuid_sha256 = $1";
    let Some(mut row) = connection.first(sql, &[uuid_sha256.into()])? else { return Ok(None) };
    let (id, publisher, stored, signed) = (row.text(), row.text(), row.maybe_text(), row.text());
    let Some(stored) = stored else {
        return Err(BoardError::refused(
            "the run was here, and was deleted: a run is published once",
        ));
    };
    if publisher != key.to_string() {
        return Err(BoardError::refused("the run is here already: a run is published once"));
    }
    let stored = Manifest::read(&stored).map_err(|error| BoardError::Failed(error.to_string()))?;
    let is_newer = instant(&manifest.signed) > instant(&signed);
    if is_newer && (Manifest { signed: stored.signed.clone(), ..manifest.clone() }) == stored {
        return Ok(Some(id));
    }
    let what = format!(
        "the run is here already, as {id}: a run is published once; who signs the same again, later than {signed}, gets a new token"
    );
    Err(BoardError::Refused(what))
}

/// Gives a run that is here another token, for a publisher who never got the first one, or lost it.
fn renew(
    connection: &mut dyn Connection,
    key: &PublicKey,
    manifest: &Manifest,
    token: &str,
) -> Result<Accepted, BoardError> {
    let known = published_before(connection, key, manifest)?;
    let id = known.ok_or_else(|| BoardError::Again("the run was stored meanwhile".to_owned()))?;
    let sql = "UPDATE runs SET token_sha256 = $1, signed = $2 WHERE id = $3";
    let values = [sha256(token.as_bytes()).into(), (&manifest.signed).into(), (&id).into()];
    connection.execute(sql, &values)?;
    Ok(Accepted { id, token: token.to_owned() })
}

/// Whether nothing of what was measured is here already: a run that counts twice would make its machine look certain.
fn check_new_cells(connection: &mut dyn Connection, cells_sha256: &str) -> Result<(), BoardError> {
    let sql = "SELECT 1 FROM runs WHERE cells_sha256 = $1";
    if connection.first(sql, &[cells_sha256.into()])?.is_none() {
        return Ok(());
    }
    Err(BoardError::refused(
        "what it measured is here already, or was: cells count once, whatever their run is called",
    ))
}

/// The second line of an archive, as far as it is signed for.
#[derive(Deserialize)]
struct HeadLine {
    run: RunHead,
}

#[derive(Deserialize)]
struct RunHead {
    uuid: String,
    plan_hash: String,
    seed: String,
    created: String,
    finished: Option<String>,
}

/// The line is within so many octets of an archive: those behind them are not unpacked to find it.
const LONGEST_HEAD_BYTES: usize = 1 << 20;

/// The line has at most so many octets: a network file is in it.
const LONGEST_LINE_BYTES: u64 = 8 << 20;

fn head(archive: &[u8]) -> Result<RunHead, BoardError> {
    let packed = archive.get(..LONGEST_HEAD_BYTES).unwrap_or(archive);
    let text = flate2::bufread::GzDecoder::new(packed);
    if text.header().is_some_and(has_words) {
        return Err(BoardError::refused(
            "the head of the archive has the name of a file, a comment or other fields of gzip: make it with `btu publish`",
        ));
    }
    let second = std::io::BufReader::new(text.take(2 * LONGEST_LINE_BYTES)).lines().nth(1);
    let line = second.and_then(Result::ok).unwrap_or_default();
    let head: Result<HeadLine, _> = serde_json::from_str(&line);
    head.map(|head| head.run).map_err(|error| {
        BoardError::Refused(format!("the archive does not begin with its run ({error})"))
    })
}

/// Whether a program of gzip wrote more than the text: publishers may not know of it, and readers would have it.
fn has_words(head: &flate2::GzHeader) -> bool {
    head.filename().is_some() || head.comment().is_some() || head.extra().is_some()
}

/// Whether the signed lines are true of the archive, as its head has them: nothing is computed yet. That the head is that of
/// the cells is for the program to find out.
fn check_head(manifest: &Manifest, archive: &[u8]) -> Result<(), BoardError> {
    if sha256(archive) != manifest.archive_sha256 {
        return Err(BoardError::refused(
            "the archive is not the one that was signed: its digest differs",
        ));
    }
    let run = head(archive)?;
    let facts = [
        ("run", &manifest.run, &run.uuid),
        ("plan", &manifest.plan_hash, &run.plan_hash),
        ("seed", &manifest.seed.to_string(), &run.seed),
        ("created", &manifest.created, &run.created),
    ];
    let wrong = facts.into_iter().find(|(_, signed, found)| signed != found);
    if let Some((what, ..)) = wrong {
        return Err(BoardError::Refused(format!(
            "the manifest's line `{what}` is not that of the archive"
        )));
    }
    let (began, ended) = (instant(&run.created), run.finished.as_deref().and_then(instant));
    if began.zip(ended).is_some_and(|(began, ended)| ended < began) {
        return Err(BoardError::refused("the run ended before it began"));
    }
    if ended
        .zip(instant(&manifest.signed))
        .is_some_and(|(ended, signed)| ended > signed + MOST_CLOCK_ERROR)
    {
        return Err(BoardError::refused("the run ended after it was signed"));
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
    let ranking: Ranking = json::from_value(&verdict.ranking).map_err(unread)?;
    // A run that is not ranked has a number all the same, and the number is shown with the reason.
    let rated: Option<Rated> = json::from_value(&result["rating"]).map_err(unread)?;
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

/// Whether the challenge whose number is the run's seed, if there is one, is this publisher's to meet.
fn check_challenge(
    connection: &mut dyn Connection,
    key: &PublicKey,
    manifest: &Manifest,
) -> Result<(), BoardError> {
    let seed = manifest.seed.to_string();
    let sql = "SELECT publisher, issued, run FROM challenges WHERE seed = $1";
    let Some(mut row) = connection.first(sql, &[seed.into()])? else { return Ok(()) };
    let (publisher, issued, run) = (row.text(), row.text(), row.maybe_text());
    if let Some(run) = run {
        let what = format!("its challenge was met by {run} already: a challenge is met once");
        return Err(BoardError::Refused(what));
    }
    if publisher != key.to_string() {
        return Err(BoardError::refused("its seed is a challenge to another publisher"));
    }
    if instant(&manifest.created)
        .zip(instant(&issued))
        .is_none_or(|(created, issued)| created + MOST_CLOCK_ERROR < issued)
    {
        return Err(BoardError::refused("the run began before its challenge was given out"));
    }
    Ok(())
}

/// Marks the challenge whose number is the run's seed as met, if the run comes back in time: one that comes later may be the
/// best of many.
fn meet_challenge(
    connection: &mut dyn Connection,
    computed: &Computed,
    allowed: SignedDuration,
    seed: u64,
    id: &str,
) -> Result<(), BoardError> {
    let seed = seed.to_string();
    let sql = "SELECT issued FROM challenges WHERE seed = $1";
    let issued = connection.first(sql, &[(&seed).into()])?;
    let issued = issued.and_then(|mut row| instant(&row.text()));
    if issued.is_some_and(|issued| is_in_time(issued, computed, allowed, moment())) {
        let sql = "UPDATE challenges SET run = $1 WHERE seed = $2";
        connection.execute(sql, &[id.into(), seed.into()])?;
    }
    Ok(())
}

/// The time that the plan of a run allows for its cells: what the run says of itself is the publisher's word.
fn allowed_time(run: &Json) -> SignedDuration {
    let nanoseconds = run["plan"]["profile"]["budget_ns"].as_i64().unwrap_or_default();
    SignedDuration::from_nanos(nanoseconds.max(0)).min(LONGEST_MEASURING)
}

/// Whether a run began soon after its challenge was given out, and came back when it had ended.
fn is_in_time(
    issued: jiff::Timestamp,
    computed: &Computed,
    allowed: SignedDuration,
    received: jiff::Timestamp,
) -> bool {
    let began = instant(&computed.created);
    began.is_some_and(|began| began <= issued + LONGEST_UNTIL_BEGUN)
        && received <= issued + LONGEST_BACK + allowed * 2
}

fn instant(text: &str) -> Option<jiff::Timestamp> {
    text.parse().ok()
}

/// A publication with everything that was found out about it.
struct CheckedPublication<'a> {
    publication: &'a NewPublication,
    archive: &'a [u8],
    computed: &'a Computed,
    cells_sha256: &'a str,
}

impl CheckedPublication<'_> {
    fn insert(
        &self,
        connection: &mut dyn Connection,
        accepted: &Accepted,
        place: i64,
        received: &str,
    ) -> Result<(), BoardError> {
        let columns = self.columns(accepted, place, received);
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("${place}")).collect();
        let sql = format!("INSERT INTO runs ({}) VALUES ({})", names.join(", "), places.join(", "));
        let values: Vec<DatabaseValue> = columns.into_iter().map(|(_, value)| value).collect();
        connection.execute(&sql, &values)?;
        runs::keep_archive(connection, &accepted.id, self.archive)
    }

    fn columns(
        &self,
        accepted: &Accepted,
        place: i64,
        received: &str,
    ) -> Vec<(&'static str, DatabaseValue)> {
        let Self { publication, computed, cells_sha256, .. } = self;
        let NewPublication { text, signature, key, manifest } = publication;
        let interval = computed.rating.and_then(|rating| rating.interval);
        let price = manifest.price.as_ref();
        let hundredths = price.map(|price| i64::try_from(price.hundredths).unwrap_or(i64::MAX));
        vec![
            ("id", (&accepted.id).into()),
            ("place", place.into()),
            ("uuid", (&manifest.run).into()),
            ("uuid_sha256", sha256(manifest.run.as_bytes()).into()),
            ("cells_sha256", (*cells_sha256).into()),
            ("signed", (&manifest.signed).into()),
            ("signed_by", key.to_string().into()),
            ("publisher", key.to_string().into()),
            ("visibility", manifest.visibility.name().into()),
            ("received", received.into()),
            ("token_sha256", sha256(accepted.token.as_bytes()).into()),
            ("manifest", text.into()),
            ("signature", signature.into()),
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
