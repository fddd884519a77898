//! Published runs as they are stored, and the questions that pages ask about them.

use btu_contract::price::Price;
use btu_publication::{Manifest, Visibility, sha256};
use btu_stats::{Estimate, Interval};
use btu_studies::rank::RatedRun;

use crate::database::{Connection, DatabaseValue, Row};
use crate::error::BoardError;

/// A published run without its archive.
#[derive(Debug, Clone)]
pub struct PublishedRun {
    /// Its name in addresses.
    pub id: String,
    /// Its place in the chain, from 1.
    pub place: i64,
    /// Its UUID; absent when it was deleted.
    pub uuid: Option<String>,
    /// The key of its signature.
    pub signed_by: String,
    /// The publisher's public key: that of the signature, or the last one that follows it.
    pub publisher: String,
    /// The publisher's name in addresses.
    pub publisher_id: String,
    /// The publisher's name.
    pub publisher_name: String,
    /// Who may see it.
    pub visibility: Visibility,
    /// When it came, RFC 3339.
    pub received: String,
    /// The SHA-256 of its token.
    pub token_sha256: String,
    /// The text that the publisher signed.
    pub manifest: String,
    /// The publisher's signature.
    pub signature: String,
    /// What was computed from its cells.
    pub computed: Computed,
    /// The machine in the publisher's words.
    pub system: String,
    /// The price of the machine.
    pub price: Option<Price>,
    /// The seed of its plan.
    pub seed: String,
    /// When the challenge was given out that it met; absent if its seed is none.
    pub challenged: Option<String>,
    /// When, by whom and why it was withdrawn.
    pub withdrawn: Option<Withdrawn>,
    /// When its publisher deleted it.
    pub deleted: Option<String>,
    /// The names of the laboratories that signed its manifest.
    pub laboratories: Vec<String>,
    /// The number of objections.
    pub objections: i64,
}

/// Why a run does not count any more.
#[derive(Debug, Clone)]
pub struct Withdrawn {
    /// When, RFC 3339.
    pub at: String,
    /// The reason, in the words of the publisher or the operator.
    pub why: String,
    /// The publisher, or the board.
    pub by: String,
}

/// What the board computed from the cells of a run.
#[derive(Debug, Clone)]
pub struct Computed {
    /// `btu-rating`, `part` or `none`.
    pub title: String,
    /// The hash of its plan without the seed.
    pub plan_hash: String,
    /// The name of the plan's profile.
    pub profile: String,
    /// The network.
    pub network: String,
    /// Settings of the plan that differ from the whole rating.
    pub particulars: String,
    /// The rating, or the part of one, in bits per second.
    pub rating: Option<Estimate>,
    /// Whether it has low confidence.
    pub low_confidence: bool,
    /// Rounds per second of the cpu activity alone.
    pub cpu_rounds_per_second: Option<f64>,
    /// Why it is in no ranking.
    pub why_not_ranked: Option<String>,
    /// What has to be said with the number, a sentence each.
    pub marks: Vec<String>,
    /// The key of the machine.
    pub machine: String,
    /// The model of the processor.
    pub processor: String,
    /// How many processors.
    pub cpus: i64,
    /// The memory.
    pub memory_bytes: Option<i64>,
    /// Whether a hypervisor runs the machine.
    pub is_virtual: bool,
    /// The release of the kernel.
    pub kernel: String,
    /// The start of the run, RFC 3339.
    pub created: String,
    /// The measuring time.
    pub spent_seconds: Option<f64>,
    /// The number of cells.
    pub cells: i64,
    /// The version of btu that measured.
    pub btu_version: String,
}

/// The columns that [`read`] reads, with those of its publisher.
const COLUMNS: &str = "runs.id, runs.place, runs.uuid, runs.signed_by, runs.publisher, publishers.id, publishers.name, runs.visibility, runs.received,
    runs.token_sha256, runs.manifest, runs.signature, runs.title, runs.plan_hash, runs.profile, runs.network, runs.particulars,
    runs.rate_bits_per_second, runs.low_bits_per_second, runs.high_bits_per_second, runs.is_low_confidence,
    runs.cpu_rounds_per_second, runs.why_not_ranked, runs.marks, runs.machine, runs.system, runs.processor, runs.cpus,
    runs.memory_bytes, runs.is_virtual, runs.kernel, runs.price_hundredths, runs.currency, runs.seed, runs.created,
    runs.spent_seconds, runs.cells, runs.btu_version, runs.withdrawn, runs.withdrawn_why, runs.withdrawn_by, runs.deleted,
    (SELECT issued FROM challenges WHERE challenges.run = runs.id),
    (SELECT count(*) FROM heard_objections WHERE heard_objections.run = runs.id),
    (SELECT string_agg(publishers.name, '; ') FROM certificates JOIN publishers ON publishers.key = certificates.laboratory
     WHERE certificates.run = runs.id AND publishers.is_blocked = 0)";

fn read(mut row: Row) -> PublishedRun {
    let row = &mut row;
    let (id, place, uuid, signed_by) = (row.text(), row.integer(), row.maybe_text(), row.text());
    let (publisher, publisher_id, publisher_name) = (row.text(), row.text(), row.text());
    let visibility = row.text().parse().unwrap_or(Visibility::Private);
    let (received, token_sha256) = (row.text(), row.text());
    let (manifest, signature) = (row.text(), row.text());
    let (title, plan_hash, profile) = (row.text(), row.text(), row.text());
    let (network, particulars) = (row.text(), row.text());
    let rating = estimate(row.real(), row.real(), row.real());
    let low_confidence = row.integer() != 0;
    let (cpu_rounds_per_second, why_not_ranked) = (row.real(), row.maybe_text());
    let marks = row.text().lines().map(str::to_owned).collect();
    let (machine, system, processor) = (row.text(), row.text(), row.text());
    let (cpus, memory_bytes) = (row.integer(), row.real().map(|bytes| bytes as i64));
    let (is_virtual, kernel) = (row.integer() != 0, row.text());
    let price = price(row.real(), row.maybe_text());
    let (seed, created, spent_seconds) = (row.text(), row.text(), row.real());
    let (cells, btu_version) = (row.integer(), row.text());
    let (at, why, by) = (row.maybe_text(), row.text(), row.text());
    let withdrawn = at.map(|at| Withdrawn { at, why, by });
    let (deleted, challenged) = (row.maybe_text(), row.maybe_text());
    let objections = row.integer();
    let laboratories = row.text();
    let laboratories =
        laboratories.split("; ").filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let computed = Computed {
        title,
        plan_hash,
        profile,
        network,
        particulars,
        rating,
        low_confidence,
        cpu_rounds_per_second,
        why_not_ranked,
        marks,
        machine,
        processor,
        cpus,
        memory_bytes,
        is_virtual,
        kernel,
        created,
        spent_seconds,
        cells,
        btu_version,
    };
    PublishedRun {
        id,
        place,
        uuid,
        signed_by,
        publisher,
        publisher_id,
        publisher_name,
        visibility,
        received,
        token_sha256,
        manifest,
        signature,
        computed,
        system,
        price,
        seed,
        challenged,
        withdrawn,
        deleted,
        laboratories,
        objections,
    }
}

fn estimate(value: Option<f64>, low: Option<f64>, high: Option<f64>) -> Option<Estimate> {
    let interval = low.zip(high).map(|(low, high)| Interval { low, high });
    value.map(|value| Estimate { value, interval })
}

fn price(hundredths: Option<f64>, currency: Option<String>) -> Option<Price> {
    let (hundredths, currency) = hundredths.zip(currency)?;
    Some(Price { hundredths: hundredths as u64, currency })
}

impl PublishedRun {
    /// What stands next to its number, everywhere.
    pub fn word(&self) -> &'static str {
        match self {
            Self { deleted: Some(_), .. } => "deleted",
            Self { withdrawn: Some(_), .. } => "withdrawn",
            Self { objections: 1.., .. } => "objected",
            Self { laboratories, .. } if !laboratories.is_empty() => "certified",
            _ => "unverified",
        }
    }

    /// What its number is called, by the run rules.
    pub fn number_name(&self) -> &'static str {
        match self.computed.title.as_str() {
            "btu-rating" => "BTU rating",
            "none" => "No BTU rating",
            _ => "Part of a BTU rating",
        }
    }

    /// Whether `token` is the one that its publisher was given.
    pub fn is_opened_by(&self, token: &str) -> bool {
        !token.is_empty() && sha256(token.as_bytes()) == self.token_sha256
    }

    /// The machine as it is ranked.
    pub fn machine_key(&self) -> PublisherMachine {
        (self.publisher.clone(), self.computed.machine.clone())
    }

    /// The machine in a line.
    pub fn machine_words(&self) -> String {
        let computed = &self.computed;
        let is_virtual = if computed.is_virtual { ", virtual machine" } else { "" };
        format!("{} x {}{is_virtual}", computed.cpus, computed.processor)
    }
}

/// Which runs are in lists.
const LISTED: &str = "runs.visibility = 'public' AND runs.deleted IS NULL";

/// The run of this name, hidden or not.
pub fn find(connection: &mut dyn Connection, id: &str) -> Result<Option<PublishedRun>, BoardError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM runs JOIN publishers ON publishers.key = runs.publisher WHERE runs.id = $1"
    );
    Ok(connection.first(&sql, &[id.into()])?.map(read))
}

/// The runs of these names, in no order.
pub fn named(
    connection: &mut dyn Connection,
    ids: &[&String],
) -> Result<Vec<PublishedRun>, BoardError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<String> = (1..=ids.len()).map(|place| format!("${place}")).collect();
    let sql = format!(
        "SELECT {COLUMNS} FROM runs JOIN publishers ON publishers.key = runs.publisher WHERE runs.id IN ({})",
        places.join(", ")
    );
    let values: Vec<DatabaseValue> = ids.iter().map(|id| DatabaseValue::from(*id)).collect();
    Ok(connection.query(&sql, &values)?.into_iter().map(read).collect())
}

/// The octets of a piece of an archive: what is in memory for each reader.
const PIECE_BYTES: usize = 256 << 10;

/// Stores the archive of a run, in pieces.
pub fn keep_archive(
    connection: &mut dyn Connection,
    run: &str,
    archive: &[u8],
) -> Result<(), BoardError> {
    let sql = "INSERT INTO archive_pieces (run, number, octets) VALUES ($1, $2, $3)";
    for (number, piece) in (0_i64..).zip(archive.chunks(PIECE_BYTES)) {
        connection.execute(sql, &[run.into(), number.into(), piece.to_vec().into()])?;
    }
    Ok(())
}

/// A piece of the archive of a run, from 0; `None` behind the last one, and if the run was deleted.
pub fn archive_piece(
    connection: &mut dyn Connection,
    run: &str,
    number: i64,
) -> Result<Option<Vec<u8>>, BoardError> {
    let sql = "SELECT octets FROM archive_pieces WHERE run = $1 AND number = $2";
    let found = connection.first(sql, &[run.into(), number.into()])?;
    Ok(found.map(|mut row| row.octets()))
}

/// The length of the archive of a run, of those pieces that [`archive_piece`] finds one after another; zero if it was deleted.
pub fn archive_bytes(connection: &mut dyn Connection, run: &str) -> Result<i64, BoardError> {
    let sql = "SELECT number, octet_length(octets) FROM archive_pieces WHERE run = $1 AND number >= 0 ORDER BY number";
    let rows = connection.query(sql, &[run.into()])?.into_iter();
    let pieces = (0..).zip(rows.map(|mut row| (row.integer(), row.integer())));
    Ok(pieces.take_while(|(next, (number, _))| next == number).map(|(_, (_, bytes))| bytes).sum())
}

/// The name of what is always the same of these runs, with this version of btu.
pub(crate) fn lasting_name(what: &str, ids: &[&str]) -> String {
    let name = format!("{what} {} {}", env!("CARGO_PKG_VERSION"), ids.join(" "));
    sha256(name.as_bytes()).chars().take(32).collect()
}

/// What the public manifests of a publisher call it.
pub(crate) fn public_names(
    connection: &mut dyn Connection,
    publisher: &str,
) -> Result<Vec<String>, BoardError> {
    let sql = format!("SELECT manifest FROM runs WHERE publisher = $1 AND {LISTED}");
    let rows = connection.query(&sql, &[publisher.into()])?.into_iter();
    Ok(rows.filter_map(|mut row| Some(Manifest::read(&row.text()).ok()?.name)).collect())
}

/// Which listed runs.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Only of this plan.
    pub plan: Option<String>,
    /// Only of this publisher.
    pub publisher: Option<String>,
    /// Only those in whose configuration or publisher's name this occurs.
    pub words: Option<String>,
    /// Only those before this place, the newest first.
    pub before: Option<i64>,
}

/// Runs that were asked for, the newest first.
#[derive(Debug, Default)]
pub struct RunList {
    /// The runs.
    pub runs: Vec<PublishedRun>,
    /// Where the rest begins ([`RunFilter::before`]); `None` if it ends here.
    pub older: Option<i64>,
}

/// Words are looked for in so many runs at a time: no index finds parts of words.
const SEARCHED: i64 = 2000;

/// How many runs are not deleted.
pub fn count(connection: &mut dyn Connection) -> Result<i64, BoardError> {
    let row = connection.first("SELECT count(*) FROM runs WHERE deleted IS NULL", &[])?;
    Ok(row.map_or(0, |mut row| row.integer()))
}

/// As many of the asked runs; of a search fewer, if these are all in its part of the runs.
pub fn listed(
    connection: &mut dyn Connection,
    asked: &RunFilter,
    most: usize,
) -> Result<RunList, BoardError> {
    let words: Vec<&str> =
        asked.words.iter().flat_map(|words| words.split_whitespace()).take(8).collect();
    let least = if words.is_empty() { 0 } else { searched_from(connection, asked.before)? };
    let (mut values, mut conditions): (Vec<DatabaseValue>, _) =
        (Vec::new(), vec![LISTED.to_owned()]);
    let mut and = |condition: &dyn Fn(usize) -> String, value: DatabaseValue| {
        values.push(value);
        conditions.push(condition(values.len()));
    };
    if let Some(plan) = &asked.plan {
        and(&|place| format!("runs.plan_hash = ${place}"), plan.into());
    }
    if let Some(publisher) = &asked.publisher {
        and(&|place| format!("runs.publisher = ${place}"), publisher.into());
    }
    if let Some(before) = asked.before {
        and(&|place| format!("runs.place < ${place}"), before.into());
    }
    if least > 0 {
        and(&|place| format!("runs.place >= ${place}"), least.into());
    }
    for word in words {
        let text = "lower(runs.system || ' ' || runs.processor || ' ' || runs.kernel || ' ' || publishers.name)";
        let pattern = format!("%{}%", escaped(&word.to_lowercase()));
        and(&|place| format!("{text} LIKE ${place} ESCAPE '!'"), pattern.into());
    }
    values.push(i64::try_from(most).unwrap_or(i64::MAX).into());
    let (conditions, limit) = (conditions.join(" AND "), values.len());
    let sql = format!(
        "SELECT {COLUMNS} FROM runs JOIN publishers ON publishers.key = runs.publisher WHERE {conditions}
         ORDER BY runs.place DESC LIMIT ${limit}"
    );
    let runs: Vec<PublishedRun> = connection.query(&sql, &values)?.into_iter().map(read).collect();
    let is_full = runs.len() == most;
    let older = if is_full { runs.last().map(|run| run.place) } else { Some(least) };
    Ok(RunList { runs, older: older.filter(|place| *place > 1) })
}

/// The newest place of the chain.
pub(crate) fn newest_place(connection: &mut dyn Connection) -> Result<i64, BoardError> {
    let newest = connection.first("SELECT place FROM chain_end", &[])?;
    Ok(newest.map_or(0, |mut row| row.integer()))
}

/// The oldest place of the part that a search looks through.
fn searched_from(connection: &mut dyn Connection, before: Option<i64>) -> Result<i64, BoardError> {
    let newest = newest_place(connection)?;
    let before = before.unwrap_or(i64::MAX).min(newest + 1);
    Ok((before - SEARCHED).max(0))
}

/// A text in which nothing stands for anything else in `LIKE`.
fn escaped(text: &str) -> String {
    text.replace('!', "!!").replace('%', "!%").replace('_', "!_")
}

/// A machine of a publisher: no run of another publisher counts as one of it.
pub type PublisherMachine = (String, String);

/// The ratings of a plan that are ranked.
pub fn entries(
    connection: &mut dyn Connection,
    plan: &str,
) -> Result<Vec<RatedRun<PublisherMachine>>, BoardError> {
    let sql = format!(
        "SELECT publisher, machine, id, rate_bits_per_second, low_bits_per_second, high_bits_per_second, is_low_confidence,
         cpu_rounds_per_second FROM runs WHERE plan_hash = $1 AND {LISTED} AND why_not_ranked IS NULL AND withdrawn IS NULL
         ORDER BY place"
    );
    let rows = connection.query(&sql, &[plan.into()])?;
    let entries = rows.into_iter().filter_map(|mut row| {
        let (publisher, machine, run) = (row.text(), row.text(), row.text());
        Some(RatedRun {
            machine: (publisher, machine),
            run,
            rating: estimate(row.real(), row.real(), row.real())?,
            low_confidence: row.integer() != 0,
            cpu_rounds_per_second: row.real(),
        })
    });
    Ok(entries.collect())
}

/// A plan with public runs.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Its hash.
    pub hash: String,
    /// `btu-rating`, or `part`.
    pub title: String,
    /// The name of its profile.
    pub profile: String,
    /// Its network.
    pub network: String,
    /// Settings that differ from the whole rating.
    pub particulars: String,
    /// The number of ranked runs.
    pub runs: i64,
}

/// The plans with most runs, ratings first.
pub fn plans(connection: &mut dyn Connection, most: usize) -> Result<Vec<Plan>, BoardError> {
    let sql = format!(
        "SELECT plan_hash, min(title), min(profile), min(network), min(particulars), count(*) FROM runs
         WHERE {LISTED} AND why_not_ranked IS NULL AND withdrawn IS NULL GROUP BY plan_hash
         ORDER BY min(title), count(*) DESC, plan_hash LIMIT $1"
    );
    let rows =
        connection.query(&sql, &[i64::try_from(most).unwrap_or(i64::MAX).into()])?.into_iter();
    let plans = rows.map(|mut row| Plan {
        hash: row.text(),
        title: row.text(),
        profile: row.text(),
        network: row.text(),
        particulars: row.text(),
        runs: row.integer(),
    });
    Ok(plans.collect())
}
