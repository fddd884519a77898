//! The tasks themselves: their operations on files in any place.

use btu_contract::lan::{BLOCK, Doing, FileSizes, Task, dbf};
use btu_units::Bytes;

use super::pattern::PatternWork;
use crate::LoadError;
use crate::content;
use crate::files::{Files, Open};

/// The first file that a word processor saves.
const NEW: &str = "file-0.new";

/// The file for sorted records and indices.
const RESULT: &str = "result";

/// A task with its files' content and its results.
#[derive(Debug)]
pub(super) struct TaskState {
    task: Task,
    originals: Vec<Vec<u8>>,
    /// The document that a task saves.
    document: Vec<u8>,
    /// The data that were read or found, or that must be left.
    outcome: Vec<u8>,
    /// The files of a task that repeats a pattern.
    pattern: Option<PatternWork>,
    /// Whether every transaction of the pattern read the expected data.
    is_pattern_right: bool,
    read: Bytes,
    written: Bytes,
}

impl TaskState {
    /// The files' content follows from the seed.
    pub(super) fn new(task: Task, sizes: FileSizes, seed: u64) -> Self {
        let random = |(index, length): (u64, usize)| {
            let mut bytes = vec![0; length];
            content::fill(seed.wrapping_add(index), &mut bytes);
            bytes
        };
        let made = |one| if task.has_table() { dbf::table(&random(one)) } else { random(one) };
        let originals: Vec<Vec<u8>> = (1..).zip(task.files(sizes)).map(made).collect();
        let document =
            if task.doing() == Doing::Save { random((0, originals[0].len())) } else { Vec::new() };
        let outcome = Vec::with_capacity(originals.iter().map(Vec::len).sum());
        let pattern = match task.doing() {
            Doing::Repeat(pattern, _) => Some(PatternWork::new(pattern, "task", BLOCK, seed)),
            _ => None,
        };
        let (read, written) = (Bytes::ZERO, Bytes::ZERO);
        Self { task, originals, document, outcome, pattern, is_pattern_right: true, read, written }
    }

    /// Makes the files and syncs them to the device.
    pub(super) fn lay_out(&mut self, files: &mut impl Files) -> Result<(), LoadError> {
        for (index, original) in self.originals.iter().enumerate() {
            let file = files.open(&name(index), Open::Empty)?;
            files.write_at(&file, 0, original)?;
            files.flush(&file)?;
        }
        if let Some(pattern) = &self.pattern {
            pattern.lay_out(files)?;
        }
        Ok(())
    }

    /// Octets read so far.
    pub(super) fn read(&self) -> Bytes {
        self.read + self.pattern.as_ref().map_or(Bytes::ZERO, |pattern| pattern.read)
    }

    /// Octets written so far.
    pub(super) fn written(&self) -> Bytes {
        self.written + self.pattern.as_ref().map_or(Bytes::ZERO, |pattern| pattern.written)
    }

    /// Does the task once.
    pub(super) fn perform(&mut self, files: &mut impl Files) -> Result<(), LoadError> {
        self.outcome.clear();
        match self.task.doing() {
            Doing::Load => (0..self.originals.len()).try_for_each(|index| self.load(index, files)),
            Doing::Save => self.save(files),
            Doing::Search => self.search(files),
            Doing::Sort => {
                self.load(0, files)?;
                self.outcome = dbf::sorted(&self.outcome);
                self.leave(RESULT, files)
            }
            Doing::Index => {
                self.load(0, files)?;
                self.outcome = dbf::index(&self.outcome);
                self.leave(RESULT, files)
            }
            Doing::Repeat(_, times) => self.repeat(times, files),
        }
    }

    fn repeat(&mut self, times: usize, files: &mut impl Files) -> Result<(), LoadError> {
        let Some(pattern) = &mut self.pattern else { return Ok(()) };
        let mut file = pattern.open(files)?;
        self.is_pattern_right = true;
        for _ in 0..times {
            self.is_pattern_right &= pattern.transact(files, &mut file, false)?;
        }
        self.outcome.extend(pattern.back());
        Ok(())
    }

    /// Reads a file's attributes, opens it, and reads it to its end.
    fn load(&mut self, index: usize, files: &mut impl Files) -> Result<(), LoadError> {
        let name = name(index);
        let size = files.stat(&name)? as usize;
        let file = files.open(&name, Open::Existing)?;
        let (start, mut offset) = (self.outcome.len(), 0);
        // No more than the written size: the content reveals a server that reports another one.
        let size = size.min(self.originals[index].len());
        self.outcome.resize(start + size, 0);
        while offset < size {
            let end = size.min(offset + BLOCK);
            let read = files.read_at(
                &file,
                offset as u64,
                &mut self.outcome[start + offset..start + end],
            )?;
            self.read += Bytes::new(read as u64);
            offset = end;
        }
        Ok(())
    }

    fn save(&mut self, files: &mut impl Files) -> Result<(), LoadError> {
        self.outcome.extend(&self.document);
        self.leave(NEW, files)?;
        files.rename(NEW, &name(0))
    }

    /// Writes the outcome to a file of its own.
    fn leave(&mut self, name: &str, files: &mut impl Files) -> Result<(), LoadError> {
        let file = files.open(name, Open::Empty)?;
        for (index, block) in self.outcome.chunks(BLOCK).enumerate() {
            files.write_at(&file, (index * BLOCK) as u64, block)?;
            self.written += Bytes::new(block.len() as u64);
        }
        files.flush(&file)
    }

    /// Reads the table until a record has the key of the last one; that record is the outcome.
    fn search(&mut self, files: &mut impl Files) -> Result<(), LoadError> {
        let size = files.stat(&name(0))? as usize;
        let file = files.open(&name(0), Open::Existing)?;
        let wanted =
            dbf::records(&self.originals[0]).last().map(|record| dbf::key(record).to_vec());
        let size = size.min(self.originals[0].len());
        let mut table: Vec<u8> = Vec::with_capacity(size + BLOCK);
        let mut searched = 0;
        while table.len() < size {
            let start = table.len();
            table.resize(start + BLOCK, 0);
            let read = files.read_at(&file, start as u64, &mut table[start..])?;
            table.truncate(start + read);
            self.read += Bytes::new(read as u64);
            let records = dbf::records(&table);
            if let Some(record) = records[searched..]
                .iter()
                .find(|record| Some(dbf::key(*record)) == wanted.as_deref())
            {
                self.outcome.extend(record);
                break;
            }
            searched = records.len();
            if read == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Whether the outcome is correct.
    pub(super) fn is_right(&self) -> bool {
        match self.task.doing() {
            Doing::Load => self.outcome == self.originals.concat(),
            Doing::Save => self.outcome == self.document,
            Doing::Search => {
                dbf::records(&self.originals[0]).last().is_some_and(|last| last[..] == self.outcome)
            }
            Doing::Sort => self.outcome == dbf::sorted(&self.originals[0]),
            Doing::Index => self.outcome == dbf::index(&self.originals[0]),
            Doing::Repeat(..) => self.is_pattern_right,
        }
    }

    /// Whether the file that a task leaves, if any, has the expected content.
    pub(super) fn is_left(&self, files: &mut impl Files) -> Result<bool, LoadError> {
        let name = match self.task.doing() {
            Doing::Load | Doing::Search | Doing::Repeat(..) => return Ok(true),
            Doing::Save => name(0),
            Doing::Sort | Doing::Index => RESULT.to_owned(),
        };
        let file = files.open(&name, Open::Existing)?;
        let mut content = vec![0; self.outcome.len() + 1];
        let length = files.read_at(&file, 0, &mut content)?;
        Ok(content[..length] == self.outcome[..])
    }

    pub(super) fn outcome(&self) -> &[u8] {
        &self.outcome
    }
}

fn name(index: usize) -> String {
    format!("file-{index}")
}
