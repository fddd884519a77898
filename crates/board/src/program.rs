//! The program `btu`, which computes everything that the board says of a run.
//!
//! It runs as a process of its own, in a directory of its own and with bounds on time, memory and files:
//! what a hostile archive breaks is that process, and a reader of the board sees exactly what `btu`
//! says to a user who imports the same archive.

use std::fs::{self, File};
use std::io::{BufRead, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use btu_contract::json;
use btu_publication::sha256;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;

use crate::error::BoardError;
use crate::metrics::METRICS;
use crate::scratch::Scratch;

/// The longest time that the program may take for one step.
const LONGEST_STEP: Duration = Duration::from_mins(2);

/// The processor time that it may take for one step, in seconds.
const MOST_CPU_SECONDS: u64 = 60;

/// The address space that it may have.
const MOST_MEMORY_BYTES: u64 = 4 << 30;

/// The largest file that it may write.
const LARGEST_FILE_BYTES: u64 = 1 << 30;

/// The most that is read of what it prints.
const MOST_PRINTED_BYTES: u64 = 64 << 20;

/// The exit code by which it refuses what it was given.
const REFUSAL: i32 = 2;

/// The program.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    /// `setpriv`, by which the program ends with this one, should it be killed.
    ends_with: Option<PathBuf>,
    scratch: Scratch,
}

/// What the program says of the one run of an archive.
#[derive(Debug)]
pub struct ArchiveVerdict {
    /// `btu rank --all --json`.
    pub ranking: Value,
    /// `btu show --json`.
    pub shown: Value,
    /// The digest of what was measured.
    pub cells_sha256: String,
}

impl Program {
    /// The program at `path`, or the one next to this program, or the one that the shell finds.
    ///
    /// # Errors
    /// There is none, or it has another version than this board.
    pub fn find(path: Option<PathBuf>) -> Result<Self, BoardError> {
        let next = std::env::current_exe().ok().map(|own| own.with_file_name("btu"));
        let next = next.filter(|path| path.is_file());
        let path = path.or(next).unwrap_or_else(|| PathBuf::from("btu"));
        let said = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
        let said = said.map_err(|error| {
            let what = format!("starting {}: {error}; name it with --program", path.display());
            BoardError::Failed(what)
        })?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let version = env!("CARGO_PKG_VERSION");
        if said.split_whitespace().nth(1) != Some(version) {
            let what = format!(
                "{} is `{}`, and this board needs btu {version}",
                path.display(),
                said.trim()
            );
            return Err(BoardError::Failed(what));
        }
        let ends_with = std::env::var_os("PATH").and_then(|all| {
            std::env::split_paths(&all).map(|path| path.join("setpriv")).find(|path| path.is_file())
        });
        Ok(Self { path, ends_with, scratch: Scratch::new()? })
    }

    /// Removes where it computes, as the last that this process does: what a caller still waits for fails.
    pub fn remove_scratch(&self) {
        // What is left, the next server removes.
        let _ = std::fs::remove_dir_all(self.scratch.path());
    }

    /// A command of the program, which does not survive this process.
    fn command(&self) -> Command {
        let Some(setpriv) = &self.ends_with else { return Command::new(&self.path) };
        let mut command = Command::new(setpriv);
        command.args(["--pdeathsig", "KILL", "--"]).arg(&self.path);
        command
    }

    /// What is to be said of an archive, which has to be one run in its form for `board`.
    pub fn verdict(&self, archive: &[u8], board: &str) -> Result<ArchiveVerdict, BoardError> {
        let place = QuestionDirectory::new(self)?;
        let archive = place.written("archive", archive)?;
        place.import(&archive)?;
        let again = place.file("again");
        place.call(&["runs", "export", "r1", "--published", board, "-o", &text(&again)])?;
        check_padding(&archive, &again)
            .map_err(|error| failed("reading the archive", &error))??;
        if !is_same_text(&archive, &again)? {
            return Err(BoardError::refused(
                "the archive is not in the form in which runs are published: make it with `btu publish`",
            ));
        }
        let cells_sha256 = cells_digest(&again);
        Ok(ArchiveVerdict {
            cells_sha256: cells_sha256.map_err(|error| failed("reading the cells", &error))?,
            ranking: place.json(&["rank", "--all", "--json"])?,
            shown: place.json(&["show", "r1", "--json"])?,
        })
    }

    /// The report of an archive, a page of HTML.
    pub fn report(&self, archive: impl ArchiveSource) -> Result<PrintedText, BoardError> {
        let place = QuestionDirectory::new(self)?;
        place.import(&place.copied("archive", archive)?)?;
        place.printed(&["report", "r1", "-o", "-"])
    }

    /// Two archives side by side, a page of HTML.
    pub fn comparison(
        &self,
        base: impl ArchiveSource,
        other: impl ArchiveSource,
    ) -> Result<PrintedText, BoardError> {
        let place = QuestionDirectory::new(self)?;
        place.import(&place.copied("base", base)?)?;
        place.import(&place.copied("other", other)?)?;
        place.printed(&["compare", "r1", "r2", "--format", "html", "-o", "-"])
    }
}

/// What the program printed, which is not in memory yet.
#[derive(Debug)]
pub struct PrintedText {
    file: File,
    bytes: u64,
}

impl PrintedText {
    fn of(file: File) -> std::io::Result<Self> {
        let bytes = file.metadata()?.len().min(MOST_PRINTED_BYTES);
        Ok(Self { file, bytes })
    }

    /// How much memory it takes when it is read.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX)
    }

    /// All of it.
    pub fn read(self) -> Result<Vec<u8>, BoardError> {
        let mut content = Vec::with_capacity(self.bytes());
        let read = self.file.take(self.bytes).read_to_end(&mut content);
        read.map_err(|error| failed("reading what btu says", &error))?;
        Ok(content)
    }
}

/// The piece of an archive with this number, from 0; `None` behind the last one.
pub trait ArchiveSource: Fn(i64) -> Result<Option<Vec<u8>>, BoardError> {}

impl<T: Fn(i64) -> Result<Option<Vec<u8>>, BoardError>> ArchiveSource for T {}

/// An archive may have so many times the octets of the same text as the program packs it.
const MOST_PADDING: u64 = 2;

/// And so many more: other programs pack short texts otherwise.
const HARMLESS_PADDING_BYTES: u64 = 64 << 10;

/// Refuses an archive that is much larger than its text needs: the octets of a publisher's rubbish would be kept.
fn check_padding(archive: &Path, again: &Path) -> std::io::Result<Result<(), BoardError>> {
    let bytes = |path| Ok::<_, std::io::Error>(fs::metadata(path)?.len());
    let (sent, needed) = (bytes(archive)?, bytes(again)?);
    if sent <= MOST_PADDING * needed + HARMLESS_PADDING_BYTES {
        return Ok(Ok(()));
    }
    let what = format!(
        "the archive has {sent} bytes, and {needed} hold the same text: make it with `btu publish`"
    );
    Ok(Err(BoardError::Refused(what)))
}

/// What failed for which reason; a full disk is one that callers are told.
fn failed(what: &str, error: &std::io::Error) -> BoardError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => BoardError::Full,
        _ => BoardError::Failed(format!("{what}: {error}")),
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Whether two files of gzip hold the same text; other versions may compress it otherwise.
fn is_same_text(one: &Path, other: &Path) -> Result<bool, BoardError> {
    let unpacked = |path: &Path| -> std::io::Result<_> {
        Ok(flate2::read::MultiGzDecoder::new(std::io::BufReader::new(File::open(path)?)))
    };
    let compared = unpacked(one).and_then(|one| is_same(one, unpacked(other)?));
    compared.map_err(|error| BoardError::Refused(format!("reading the archive: {error}")))
}

fn is_same(mut one: impl Read, mut other: impl Read) -> std::io::Result<bool> {
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let (count, others) = (filled(&mut one, &mut left)?, filled(&mut other, &mut right)?);
        if left[..count] != right[..others] {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or nothing is left; returns how much.
fn filled(from: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match from.read(&mut buffer[count..])? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}

/// The line of a cell in an archive: what was measured, without the accounts that it follows from.
#[derive(Serialize, Deserialize)]
struct MeasuredCell {
    block: u32,
    position: u32,
    component: String,
    message_bytes: i64,
    load: String,
    valid: bool,
    goodput_bits_per_second: Option<f64>,
    duration_ns: Option<i64>,
    host_duration_ns: Option<i64>,
}

#[derive(Deserialize)]
struct CellLine {
    cell: MeasuredCell,
}

/// A digest of the results of all cells of an archive, in whatever order they are there, and whatever the run, its
/// machine and its publisher are called.
fn cells_digest(archive: &Path) -> std::io::Result<String> {
    let file = std::io::BufReader::new(File::open(archive)?);
    let text = std::io::BufReader::new(flate2::read::MultiGzDecoder::new(file));
    let mut digests = Vec::new();
    for line in text.lines() {
        if let Ok(CellLine { cell }) = serde_json::from_str(&line?) {
            digests.push(sha256(serde_json::to_string(&cell)?.as_bytes()));
        }
    }
    digests.sort_unstable();
    Ok(sha256(digests.concat().as_bytes()))
}

/// A directory for one question, with a database of runs; it is removed with this value.
struct QuestionDirectory<'a> {
    program: &'a Program,
    directory: TempDir,
}

impl<'a> QuestionDirectory<'a> {
    fn new(program: &'a Program) -> Result<Self, BoardError> {
        let directory = TempDir::new_in(program.scratch.path());
        let directory =
            directory.map_err(|error| failed("making a directory to compute in", &error))?;
        Ok(Self { program, directory })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn written(&self, name: &str, content: &[u8]) -> Result<PathBuf, BoardError> {
        let path = self.file(name);
        let written = fs::write(&path, content);
        written.map_err(|error| failed("writing an archive", &error))?;
        Ok(path)
    }

    fn copied(&self, name: &str, archive: impl ArchiveSource) -> Result<PathBuf, BoardError> {
        let path = self.file(name);
        let unwritten = |error: &std::io::Error| failed("writing an archive", error);
        let mut file = File::create(&path).map_err(|error| unwritten(&error))?;
        let mut number = 0;
        while let Some(piece) = archive(number)? {
            file.write_all(&piece).map_err(|error| unwritten(&error))?;
            number += 1;
        }
        Ok(path)
    }

    /// Imports an archive of one run.
    fn import(&self, archive: &Path) -> Result<(), BoardError> {
        let imported: Vec<Value> = self.json(&["runs", "import", "--json", &text(archive)])?;
        if imported.len() == 1 {
            return Ok(());
        }
        let what = format!("the archive has {} runs, and has to have 1", imported.len());
        Err(BoardError::Refused(what))
    }

    /// What the program prints as JSON.
    fn json<T: DeserializeOwned>(&self, arguments: &[&str]) -> Result<T, BoardError> {
        json::from_octets(&self.call(arguments)?).map_err(|error| {
            BoardError::Failed(format!("reading what btu {} says: {error}", arguments[0]))
        })
    }

    fn call(&self, arguments: &[&str]) -> Result<Vec<u8>, BoardError> {
        self.printed(arguments)?.read()
    }

    /// What the program prints.
    ///
    /// # Errors
    /// It refuses what it was given, or it fails, or it exceeds a bound.
    fn printed(&self, arguments: &[&str]) -> Result<PrintedText, BoardError> {
        let failed =
            |error: &std::io::Error| failed(&format!("running btu {}", arguments[0]), error);
        let (out, said) = (self.file("out"), self.file("said"));
        let mut command = self.program.command();
        command
            .args(arguments)
            .env_clear()
            // Below the directory here: a report names it, and is the same wherever it is made.
            .env("BTU_DATA", "data")
            .env("NO_COLOR", "1")
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stdout(File::create(&out).map_err(|error| failed(&error))?)
            .stderr(File::create(&said).map_err(|error| failed(&error))?);
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let _counted = METRICS.programs.one();
        bound(&child);
        let ended = waited(&mut child).map_err(|error| failed(&error))?;
        let read = |path: &Path| {
            let file = File::open(path).and_then(PrintedText::of);
            file.map_err(|error| failed(&error))
        };
        match ended {
            Some(status) if status.success() => read(&out),
            Some(status) => Err(self.explained(arguments, status, &read(&said)?.read()?)),
            None => Err(BoardError::refused("the archive takes too long to be read")),
        }
    }

    /// What the program said on standard error, without the names of files here.
    fn explained(&self, arguments: &[&str], status: ExitStatus, said: &[u8]) -> BoardError {
        let said = String::from_utf8_lossy(said);
        let own = format!("{}/", self.directory.path().display());
        let said = said.trim().trim_start_matches("btu: ").replace(&own, "");
        let said: String = btu_units::plain(&said).chars().take(1000).collect();
        match status.code() {
            Some(REFUSAL) => BoardError::Refused(said),
            Some(_) => BoardError::Failed(format!("btu {}: {said}", arguments[0])),
            None => {
                BoardError::refused("the archive takes more time or memory than the board gives")
            }
        }
    }
}

/// Bounds a process that has just begun. Should it end meanwhile, nothing is to be bounded.
fn bound(child: &Child) {
    let Some(process) = Pid::from_raw(child.id().cast_signed()) else { return };
    for (resource, most) in [
        (Resource::Cpu, MOST_CPU_SECONDS),
        (Resource::As, MOST_MEMORY_BYTES),
        (Resource::Fsize, LARGEST_FILE_BYTES),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        let _ = prlimit(Some(process), resource, limit);
    }
}

/// How a process ended; `None` if it took too long and was ended.
fn waited(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + LONGEST_STEP;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(2));
    }
}
