//! The tasks themselves: what each does with files, wherever these are.

use btu_suite::lan::{BLOCK, Doing, KEY, RECORD, Task};
use btu_units::Bytes;

use crate::LoadError;
use crate::content;
use crate::files::{Files, Open};

/// What a word processor saves first.
const NEW: &str = "file-0.new";

/// Where sorted records and indices go.
const RESULT: &str = "result";

/// A task with its files' content and what it has done.
#[derive(Debug)]
pub(super) struct Work {
    task: Task,
    originals: Vec<Vec<u8>>,
    /// What is saved.
    document: Vec<u8>,
    /// What was read, or found, or what was to be left.
    outcome: Vec<u8>,
    pub(super) read: Bytes,
    pub(super) written: Bytes,
}

impl Work {
    /// The files' content follows from the seed.
    pub(super) fn new(task: Task, seed: u64) -> Self {
        let made = |(index, length): (u64, usize)| {
            let mut bytes = vec![0; length];
            content::fill(seed.wrapping_add(index), &mut bytes);
            bytes
        };
        let originals: Vec<Vec<u8>> = (1..).zip(task.files()).map(made).collect();
        let document = if task.doing() == Doing::Save { made((0, originals[0].len())) } else { Vec::new() };
        let outcome = Vec::with_capacity(originals.iter().map(Vec::len).sum());
        Self { task, originals, document, outcome, read: Bytes::ZERO, written: Bytes::ZERO }
    }

    /// Makes the files and has them on the device.
    pub(super) fn lay_out(&self, files: &mut impl Files) -> Result<(), LoadError> {
        for (index, original) in self.originals.iter().enumerate() {
            let file = files.open(&name(index), Open::Empty)?;
            files.write_at(&file, 0, original)?;
            files.flush(&file)?;
        }
        Ok(())
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
                self.outcome = sorted(&self.outcome);
                self.leave(RESULT, files)
            }
            Doing::Index => {
                self.load(0, files)?;
                self.outcome = index(&self.outcome);
                self.leave(RESULT, files)
            }
        }
    }

    /// Looks at a file, opens it, and reads it to its end.
    fn load(&mut self, index: usize, files: &mut impl Files) -> Result<(), LoadError> {
        let name = name(index);
        let size = files.stat(&name)? as usize;
        let file = files.open(&name, Open::Existing)?;
        let (start, mut offset) = (self.outcome.len(), 0);
        // No more than what was written: a server that says otherwise is told by the content.
        let size = size.min(self.originals[index].len());
        self.outcome.resize(start + size, 0);
        while offset < size {
            let end = size.min(offset + BLOCK);
            let read = files.read_at(&file, offset as u64, &mut self.outcome[start + offset..start + end])?;
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

    /// Reads records until one has the key of the last; that one is the outcome.
    fn search(&mut self, files: &mut impl Files) -> Result<(), LoadError> {
        let size = files.stat(&name(0))?;
        let file = files.open(&name(0), Open::Existing)?;
        let mut block = [0; BLOCK];
        let wanted = self.originals[0].rchunks(RECORD).next().map(|record| &record[..KEY]);
        for offset in (0..size).step_by(BLOCK) {
            let read = files.read_at(&file, offset, &mut block)?;
            self.read += Bytes::new(read as u64);
            let found = block[..read].chunks_exact(RECORD).find(|record| Some(&record[..KEY]) == wanted);
            if let Some(record) = found {
                self.outcome.extend(record);
                break;
            }
        }
        Ok(())
    }

    /// Whether what was read, found or to be left is what it must be.
    pub(super) fn is_right(&self) -> bool {
        match self.task.doing() {
            Doing::Load => self.outcome == self.originals.concat(),
            Doing::Save => self.outcome == self.document,
            Doing::Search => self.originals[0].rchunks(RECORD).next() == Some(&self.outcome[..]),
            Doing::Sort => self.outcome == sorted(&self.originals[0]),
            Doing::Index => self.outcome == index(&self.originals[0]),
        }
    }

    /// Whether the file that a task leaves, if it does, has what was to be left.
    pub(super) fn is_left(&self, files: &mut impl Files) -> Result<bool, LoadError> {
        let name = match self.task.doing() {
            Doing::Load | Doing::Search => return Ok(true),
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

/// Records in the order of their keys.
fn sorted(records: &[u8]) -> Vec<u8> {
    let mut all: Vec<&[u8]> = records.chunks(RECORD).collect();
    all.sort_by_key(|record| &record[..KEY.min(record.len())]);
    all.concat()
}

/// Keys in order, each with the number of its record in four octets.
fn index(records: &[u8]) -> Vec<u8> {
    let mut keys: Vec<(&[u8], u32)> =
        records.chunks(RECORD).map(|record| &record[..KEY.min(record.len())]).zip(0..).collect();
    keys.sort_unstable();
    keys.iter().flat_map(|(key, number)| key.iter().copied().chain(number.to_be_bytes())).collect()
}
