//! Reads a file into the database: checks it first, then stores all of it or nothing.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::ops::RangeInclusive;

use btu_contract::experiment::{FindStudy, Head};
use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::value::RawValue;

use super::line::{ArchiveLine, CellLine, EnvironmentLine, EventLine, RunLine};
use super::readable::Readable;
use super::reader::{parse, read};
use super::{ArchiveError, check_document};
use crate::keep::check_tag;
use crate::packed::pack;
use crate::plain::{hides_controls, is_plain};
use crate::readings::processor_columns;
use crate::run::{Level, Moment, NewRun, RunId, State};
use crate::{Store, StoreError};

/// The longest name or label, in bytes: the network of a run on many hosts names them all.
const LONGEST_WORD: usize = 4096;

/// The size limit of a run, in bytes: a full one has a hundred megabytes.
const MOST_OF_A_RUN: u64 = 1 << 30;

const OPERATION: &str = "import runs";

/// The result for one run of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The UUID of the run, which it keeps in every database.
    pub uuid: String,
    /// The number of the run in this database.
    pub run: RunId,
    /// Whether the import stored it; else the database had it already, and it did not change.
    pub new: bool,
}

impl Store {
    /// Stores the runs of the archive in `file`, all or none of them; those that the database has
    /// already (by their uuid) do not change. The file is read twice: once to check everything, so
    /// that no process has to wait for the database's lock because of a bad file. Runs of a study
    /// that `find_study` does not find are stored unchanged.
    pub fn import(
        &mut self,
        mut file: impl Read + Seek,
        find_study: FindStudy,
    ) -> Result<Vec<Imported>, ArchiveError> {
        let mut check = Check::new(find_study);
        let head = read(&mut file, |number, text| check.line(number, text))?;
        check.all_there(head.runs)?;
        file.seek(SeekFrom::Start(0))?;
        let Self { path, connection, .. } = self;
        let explain = |error| StoreError::from_sqlite(path, OPERATION, error);
        let transaction = connection.transaction().map_err(explain)?;
        let mut insert = Insert { transaction: &transaction, run: None, imported: Vec::new() };
        read(&mut file, |number, text| {
            // The file may have changed since it was checked.
            let line = check_line(number, text, find_study)?;
            Ok(insert.line(line).map_err(explain)?)
        })?;
        let imported = insert.imported;
        transaction.commit().map_err(explain)?;
        Ok(imported)
    }
}

/// The checks that need more than one line.
#[derive(Debug)]
struct Check {
    uuids: BTreeSet<String>,
    run: Option<Readable>,
    /// Block, component, message size and load of the run's cells so far.
    cells: BTreeSet<(u32, String, i64, String)>,
    line: u64,
    /// The contents of the run so far.
    bytes: u64,
    /// The allowed contents.
    most_bytes: u64,
    find_study: FindStudy,
}

impl Check {
    fn new(find_study: FindStudy) -> Self {
        let (uuids, most_bytes) = (BTreeSet::new(), MOST_OF_A_RUN);
        let cells = BTreeSet::new();
        Self { uuids, run: None, cells, line: 0, bytes: 0, most_bytes, find_study }
    }

    fn line(&mut self, number: u64, text: &str) -> Result<(), ArchiveError> {
        self.line = number;
        let line = check_line(number, text, self.find_study)?;
        self.measure(&line, text)?;
        match line {
            ArchiveLine::Run(run) => {
                self.run_ends()?;
                // The check of the single line has read it already.
                let run_of = Readable::of(&run, self.find_study);
                self.run = Some(run_of.map_err(|what| damaged(number, &what))?);
                self.cells.clear();
                if !self.uuids.insert(run.uuid) {
                    return Err(damaged(number, "the run is in it twice"));
                }
            }
            ArchiveLine::Cell(cell) => match &mut self.run {
                Some(run) => {
                    run.check(&cell).map_err(|what| damaged(number, &what))?;
                    let CellLine { block, component, message_bytes, load, .. } = *cell;
                    if !self.cells.insert((block, component, message_bytes, load)) {
                        return Err(damaged(number, "the cell is in it twice"));
                    }
                }
                None => return Err(damaged(number, "it belongs to no run")),
            },
            _ if self.run.is_none() => return Err(damaged(number, "it belongs to no run")),
            _ => {}
        }
        Ok(())
    }

    /// A run is read whole when it is shown.
    fn measure(&mut self, line: &ArchiveLine, text: &str) -> Result<(), ArchiveError> {
        let before = if matches!(line, ArchiveLine::Run(_)) { 0 } else { self.bytes };
        self.bytes = before + text.len() as u64;
        if self.bytes <= self.most_bytes {
            return Ok(());
        }
        Err(ArchiveError::TooLarge {
            line: self.line,
            what: format!("more than {} bytes in a run", self.most_bytes),
        })
    }

    /// What can only be told of a run when all its lines have been read.
    fn run_ends(&mut self) -> Result<(), ArchiveError> {
        let Some(mut run) = self.run.take() else { return Ok(()) };
        run.check_whole().map_err(|what| damaged(self.line, &what))
    }

    fn all_there(&mut self, runs: usize) -> Result<(), ArchiveError> {
        self.run_ends()?;
        let found = self.uuids.len();
        if found == runs {
            return Ok(());
        }
        Err(damaged(self.line, &format!("it has {found} runs and says that it has {runs}")))
    }
}

fn damaged(line: u64, what: &str) -> ArchiveError {
    ArchiveError::Damaged { line, what: what.to_owned() }
}

/// A line that passed the checks of a single line.
fn check_line(number: u64, text: &str, find_study: FindStudy) -> Result<ArchiveLine, ArchiveError> {
    let line = parse(number, text)?;
    let problem = match &line {
        ArchiveLine::Archive(_) | ArchiveLine::End(_) => Some("it does not belong here".to_owned()),
        ArchiveLine::Run(run) => run_problem(run, find_study),
        ArchiveLine::Environment(environment) => match Moment::from_name(&environment.moment) {
            Some(_) => check_document("environment", environment.document.get()).err(),
            None => Some(format!("`{}` is not a moment", environment.moment)),
        },
        ArchiveLine::Event(event) => {
            let known = Level::from_name(&event.level).is_some() && is_time(&event.at);
            (!known).then(|| "an event is not one".to_owned())
        }
        ArchiveLine::Cell(cell) => (!(is_word(&cell.load) && is_short(&cell.component)))
            .then(|| "a cell has an impossible name".to_owned()),
    };
    problem.map_or(Ok(line), |what| Err(ArchiveError::Damaged { line: number, what }))
}

fn run_problem(run: &RunLine, find_study: FindStudy) -> Option<String> {
    run_fault(run).or_else(|| {
        Readable::of(run, find_study).map_or_else(Some, |readable| contradiction(run, &readable))
    })
}

/// What keeps a run that is to be made from being imported once it has been exported.
pub(crate) fn check_new(new: &NewRun<'_>) -> Result<(), String> {
    let plan = RawValue::from_string(new.plan.to_string()).map_err(|error| error.to_string())?;
    if hides_controls(plan.get()) {
        return Err("its plan holds characters that would control a terminal".to_owned());
    }
    let line = RunLine {
        uuid: "00000000-0000-4000-8000-000000000000".to_owned(),
        study: new.study.to_owned(),
        profile: new.profile.to_owned(),
        network: new.network.to_owned(),
        label: new.label.map(str::to_owned),
        tags: new.tags.to_vec(),
        state: State::Complete.name().to_owned(),
        created: new.created.to_owned(),
        finished: None,
        seed: new.seed.to_string(),
        btu_version: new.btu_version.to_owned(),
        planned_cells: new.planned_cells,
        plan,
        plan_hash: new.plan_hash.to_owned(),
        calibration: None,
        spent_ns: None,
    };
    run_fault(&line).map_or(Ok(()), Err)
}

/// What is wrong with a run whatever its plan says.
pub(super) fn run_fault(run: &RunLine) -> Option<String> {
    let words = [&run.profile, &run.network, &run.btu_version, &run.plan_hash];
    let odd = words.into_iter().find(|word| !is_word(word));
    let odd = odd.or(run.label.iter().find(|label| !is_short(label)));
    if let Some(word) = odd.or(Some(&run.study).filter(|study| !is_name(study))) {
        return Some(format!("{word:?} is not a name"));
    }
    if let Some(time) = [&run.created].into_iter().chain(&run.finished).find(|at| !is_time(at)) {
        return Some(format!("{time:?} is not a time"));
    }
    if !is_uuid(&run.uuid) {
        return Some(format!("{:?} is not a uuid", run.uuid));
    }
    if !matches!(State::from_name(&run.state), Some(state) if state != State::Running) {
        return Some(format!("{:?} is not a state of a run that has ended", run.state));
    }
    if let Some(error) = run.tags.iter().find_map(|tag| check_tag(tag).err()) {
        return Some(error.to_string());
    }
    if !run.btu_version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')) {
        return Some(format!("{:?} is not a version", run.btu_version));
    }
    if run.spent_ns.is_some_and(i64::is_negative) {
        return Some("it was measured for less than no time".to_owned());
    }
    if let Err(error) = run.seed.parse::<u64>() {
        return Some(format!("the seed is {:?} ({error})", run.seed));
    }
    let documents = [("plan", Some(&run.plan)), ("calibration", run.calibration.as_ref())];
    documents.into_iter().find_map(|(what, one)| check_document(what, one?.get()).err())
}

/// What lists would show of a run that its plan does not say.
fn contradiction(run: &RunLine, readable: &Readable) -> Option<String> {
    let Head { profile, network, seed } = readable.head()?;
    let said = [&run.profile, &run.network, &run.seed].into_iter();
    let planned = [profile, network, seed.to_string()];
    let odd = said.zip(&planned).find(|(said, planned)| said != planned);
    odd.map(|(said, planned)| format!("it says {said:?}, and its plan says {planned:?}"))
}

/// The name of a study.
fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    is_word(text) && text.chars().all(is_letter)
}

/// RFC 3339, section 5.6, as far as lists need it: no month has 32 days.
fn is_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once('T') else { return false };
    let time = time.strip_suffix('Z').or_else(|| {
        let at = time.rfind(['+', '-'])?;
        numbers(&time[at + 1..], ':', &[(2, 0..=23), (2, 0..=59)]).then(|| &time[..at])
    });
    let Some(time) = time else { return false };
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    numbers(date, '-', &[(4, 0..=9999), (2, 1..=12), (2, 1..=31)])
        && numbers(time, ':', &[(2, 0..=23), (2, 0..=59), (2, 0..=60)])
        && (1..=9).contains(&fraction.len())
        && fraction.bytes().all(|digit| digit.is_ascii_digit())
}

/// Whether a text has numbers of so many digits within these bounds, with `between` between them.
fn numbers(text: &str, between: char, bounds: &[(usize, RangeInclusive<u32>)]) -> bool {
    let fits = |(part, (digits, bounds)): (&str, &(usize, RangeInclusive<u32>))| {
        let number = part.parse().ok().filter(|_| part.bytes().all(|one| one.is_ascii_digit()));
        part.len() == *digits && number.is_some_and(|number| bounds.contains(&number))
    };
    text.split(between).count() == bounds.len() && text.split(between).zip(bounds).all(fits)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && is_short(text)
}

fn is_short(text: &str) -> bool {
    text.len() <= LONGEST_WORD && is_plain(text)
}

/// RFC 9562, section 4, in lower case.
fn is_uuid(text: &str) -> bool {
    let dash = |index| matches!(index, 8 | 13 | 18 | 23);
    let fits = |(index, c): (usize, char)| {
        if dash(index) { c == '-' } else { matches!(c, '0'..='9' | 'a'..='f') }
    };
    text.len() == 36 && text.chars().enumerate().all(fits)
}

/// Stores lines within a transaction.
struct Insert<'a> {
    transaction: &'a Transaction<'a>,
    /// The run that gets the lines; `None` while they belong to a run that the database has
    /// already.
    run: Option<RunId>,
    imported: Vec<Imported>,
}

impl Insert<'_> {
    fn line(&mut self, line: ArchiveLine) -> rusqlite::Result<()> {
        match (line, self.run) {
            (ArchiveLine::Run(run), _) => self.run(*run),
            (ArchiveLine::Environment(environment), Some(run)) => {
                self.environment(run, &environment)
            }
            (ArchiveLine::Event(event), Some(run)) => self.event(run, &event),
            (ArchiveLine::Cell(cell), Some(run)) => self.cell(run, &cell),
            _ => Ok(()),
        }
    }

    fn run(&mut self, line: RunLine) -> rusqlite::Result<()> {
        let here = "SELECT id FROM runs WHERE uuid = ?1";
        let here = self.transaction.query_row(here, [&line.uuid], |row| row.get(0)).optional()?;
        let (run, new) = match here {
            Some(number) => (RunId::new(number), false),
            None => (self.new_run(&line)?, true),
        };
        self.run = new.then_some(run);
        self.imported.push(Imported { uuid: line.uuid, run, new });
        Ok(())
    }

    fn new_run(&self, line: &RunLine) -> rusqlite::Result<RunId> {
        self.transaction.execute(
            "INSERT INTO runs (uuid, study, profile, network, label, state, created, finished, seed, btu_version,
                               planned_cells, plan, plan_hash, calibration, spent_ns, imported)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 1)",
            params![
                line.uuid,
                line.study,
                line.profile,
                line.network,
                line.label,
                line.state,
                line.created,
                line.finished,
                line.seed,
                line.btu_version,
                line.planned_cells,
                line.plan.get(),
                line.plan_hash,
                line.calibration.as_deref().map(RawValue::get),
                line.spent_ns
            ],
        )?;
        let run = RunId::new(self.transaction.last_insert_rowid());
        for tag in &line.tags {
            self.transaction.execute(
                "INSERT OR IGNORE INTO tags (run, tag) VALUES (?1, ?2)",
                params![run, tag],
            )?;
        }
        Ok(run)
    }

    fn environment(&self, run: RunId, line: &EnvironmentLine) -> rusqlite::Result<()> {
        let insert = "INSERT INTO environments (run, moment, document) VALUES (?1, ?2, ?3)";
        self.execute(insert, params![run, line.moment, line.document.get()])
    }

    fn event(&self, run: RunId, line: &EventLine) -> rusqlite::Result<()> {
        let insert = "INSERT INTO events (run, at, level, text) VALUES (?1, ?2, ?3, ?4)";
        self.execute(insert, params![run, line.at, line.level, line.text])
    }

    fn cell(&self, run: RunId, line: &CellLine) -> rusqlite::Result<()> {
        let [core_to_core_ns, arithmetic_ns] = processor_columns(line.record.get());
        let values = params![
            run,
            line.block,
            line.position,
            line.component,
            line.message_bytes,
            line.load,
            line.valid,
            line.goodput_bits_per_second,
            line.duration_ns,
            line.host_duration_ns,
            pack(line.record.get()),
            core_to_core_ns,
            arithmetic_ns
        ];
        self.execute(crate::cells::INSERT, values)
    }

    fn execute(&self, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<()> {
        self.transaction.prepare_cached(sql)?.execute(values).map(drop)
    }
}

/// For fuzzers: any octets as an archive, and as the lines of one.
#[doc(hidden)]
pub fn fuzz_import(octets: &[u8], find_study: FindStudy) {
    let mut check = Check::new(find_study);
    let _ = read(octets, |number, text| check.line(number, text));
    let mut check = Check::new(find_study);
    let text = String::from_utf8_lossy(octets);
    let mut lines = (2..).zip(text.lines());
    // Behind the compression and the checksum, which no fuzzer can produce.
    let _ = lines.try_for_each(|(number, line)| check.line(number, line));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    #[test]
    fn a_run_holds_no_more_than_can_be_read_again() {
        let mut check = super::Check { most_bytes: 1100, ..super::Check::new(|_| None) };
        let run = r#"{"run":{"uuid":"UUID","study":"other","profile":"p","network":"n","label":null,"tags":[],
            "state":"complete","created":"2026-11-21T04:31:08Z","finished":null,"seed":"7","btu_version":"1","planned_cells":1,"plan":{},
            "plan_hash":"h","calibration":null}}"#;
        let event = format!(
            r#"{{"event":{{"at":"2026-11-21T04:31:08Z","level":"info","text":"{}"}}}}"#,
            "a".repeat(300)
        );
        for (number, uuid) in (1..).step_by(10).zip(["0", "1"]) {
            let uuid = format!("00000000-0000-4000-8000-{uuid:0>12}");
            check.line(number, &run.replace("UUID", &uuid)).unwrap();
            check.line(number + 1, &event).unwrap();
        }
        let refused = check.line(13, &event).and_then(|()| check.line(14, &event)).unwrap_err();
        assert!(
            refused.to_string().ends_with("line 14: more than 1100 bytes in a run"),
            "{refused}"
        );
    }

    #[test]
    fn times_are_those_of_rfc_3339() {
        for time in
            ["2026-11-21T04:31:08Z", "2026-11-21T04:31:60.123Z", "2026-11-21T04:31:08+01:00"]
        {
            assert!(super::is_time(time), "{time}");
        }
        for other in [
            "",
            "now",
            "9999-99-99",
            "9999-99-99T00:00:00Z",
            "2026-11-21",
            "2026-11-21T04:31:08",
            "2026-11-21T04:31Z",
            "2026-11-21T04:31:08ZZ",
            "2026-11-21T04:31:08.Z",
            "2026-11-21T24:31:08Z",
            "+026-11-21T04:31:08Z",
            "2026-11-21T04:31:08+1:00",
            "2026-11-21T04:31:08Z<img src=x>",
        ] {
            assert!(!super::is_time(other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_survived(octets in prop::collection::vec(any::<u8>(), 0..300), text in "[{\\[\"a-z0-9:,.\\]} \n]{0,80}") {
            super::fuzz_import(&octets, |_| None);
            super::fuzz_import(text.as_bytes(), |_| None);
        }
    }
}
