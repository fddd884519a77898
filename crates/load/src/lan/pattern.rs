//! Transactions of a pattern, on files of whatever kind.

use std::fmt::Write;

use btu_contract::lan::Pattern;
use btu_medium::Stream;
use btu_units::Bytes;

use crate::LoadError;
use crate::content;
use crate::files::{Files, Open};

/// Octets at a record's beginning with the number of its writing.
const NUMBER: usize = 8;

/// Files that transactions are done with. Nothing is allocated in a transaction.
#[derive(Debug)]
pub(super) struct PatternWork {
    pattern: Pattern,
    /// The prefix of its files' names.
    name: String,
    /// The names of a temporary file, before and after it is renamed.
    passing: [String; 2],
    /// The content of every record, in addition to its number.
    record: Vec<u8>,
    back: Vec<u8>,
    /// The last writing of each record of the file that stays.
    writings: Vec<u64>,
    random: Stream,
    transaction: u64,
    pub(super) read: Bytes,
    pub(super) written: Bytes,
}

impl PatternWork {
    /// Files with names that begin with `name`, and with records of this size and content from the
    /// seed.
    pub(super) fn new(pattern: Pattern, name: &str, record: usize, seed: u64) -> Self {
        let mut octets = vec![0; record.max(NUMBER)];
        content::fill(seed, &mut octets);
        octets[..NUMBER].fill(0);
        let back = vec![0; octets.len()];
        let records = pattern.records(Bytes::new(octets.len() as u64)) as usize;
        let passing = || String::with_capacity(name.len() + 24);
        Self {
            pattern,
            name: name.to_owned(),
            passing: [passing(), passing()],
            record: octets,
            back,
            writings: vec![0; records],
            random: Stream::new(seed, name),
            transaction: 0,
            read: Bytes::ZERO,
            written: Bytes::ZERO,
        }
    }

    /// Makes the file that stays, where there is one, and opens it.
    pub(super) fn lay_out<F: Files>(&self, files: &mut F) -> Result<Option<F::File>, LoadError> {
        if self.writings.is_empty() {
            return Ok(None);
        }
        let file = files.open(&self.name, Open::Empty)?;
        files.write_at(&file, 0, &self.record.repeat(self.writings.len()))?;
        Ok(Some(file))
    }

    /// Opens the file that stays.
    pub(super) fn open<F: Files>(&self, files: &mut F) -> Result<Option<F::File>, LoadError> {
        if self.writings.is_empty() {
            Ok(None)
        } else {
            files.open(&self.name, Open::Existing).map(Some)
        }
    }

    /// Performs one transaction; returns whether the read data equal the written ones. `opens`
    /// opens a record's file again, as NORM.BAS does.
    pub(super) fn transact<F: Files>(
        &mut self,
        files: &mut F,
        file: &mut Option<F::File>,
        opens: bool,
    ) -> Result<bool, LoadError> {
        self.transaction += 1;
        if opens && self.pattern == Pattern::Record {
            *file = self.open(files)?;
        }
        match (self.pattern, &*file) {
            (Pattern::Record, Some(file)) => {
                self.write(files, file, 0)?;
                self.read(files, file, 0)
            }
            (Pattern::Mixed, Some(file)) => self.mixed(files, file),
            (Pattern::Metadata, _) => self.metadata(files),
            (Pattern::SmallFiles, _) => self.small_file(files),
            (Pattern::Record | Pattern::Mixed, None) => Ok(false),
        }
    }

    fn mixed<F: Files>(&mut self, files: &mut F, file: &F::File) -> Result<bool, LoadError> {
        let index = (self.random.share() * self.writings.len() as f64) as usize;
        let is_read = self.random.share() * 10.0 < f64::from(Pattern::READS_OF_TEN);
        if is_read {
            self.read(files, file, index)
        } else {
            self.write(files, file, index).map(|()| true)
        }
    }

    fn metadata<F: Files>(&mut self, files: &mut F) -> Result<bool, LoadError> {
        self.name_passing();
        let [first, second] = &self.passing;
        drop(files.open(first, Open::Empty)?);
        let before = files.stat(first)?;
        files.rename(first, second)?;
        let after = files.stat(second)?;
        files.remove(second)?;
        Ok((before, after) == (0, 0))
    }

    fn small_file<F: Files>(&mut self, files: &mut F) -> Result<bool, LoadError> {
        self.name_passing();
        self.record[..NUMBER].copy_from_slice(&self.transaction.to_be_bytes());
        let name = &self.passing[0];
        let file = files.open(name, Open::Empty)?;
        files.write_at(&file, 0, &self.record)?;
        files.flush(&file)?;
        drop(file);
        let size = files.stat(name)?;
        let file = files.open(name, Open::Existing)?;
        let read = files.read_at(&file, 0, &mut self.back)?;
        drop(file);
        files.remove(name)?;
        self.written += Bytes::new(self.record.len() as u64);
        self.read += Bytes::new(read as u64);
        Ok(size == self.record.len() as u64
            && read == self.record.len()
            && self.back == self.record)
    }

    fn name_passing(&mut self) {
        for (passing, ending) in self.passing.iter_mut().zip(["a", "b"]) {
            passing.clear();
            // A string takes any text.
            let _ = write!(passing, "{}-{}{ending}", self.name, self.transaction);
        }
    }

    fn write<F: Files>(
        &mut self,
        files: &mut F,
        file: &F::File,
        index: usize,
    ) -> Result<(), LoadError> {
        self.record[..NUMBER].copy_from_slice(&self.transaction.to_be_bytes());
        files.write_at(file, (index * self.record.len()) as u64, &self.record)?;
        self.writings[index] = self.transaction;
        self.written += Bytes::new(self.record.len() as u64);
        Ok(())
    }

    /// Reads a record, and returns whether it is the last that was written there.
    fn read<F: Files>(
        &mut self,
        files: &mut F,
        file: &F::File,
        index: usize,
    ) -> Result<bool, LoadError> {
        let read = files.read_at(file, (index * self.record.len()) as u64, &mut self.back)?;
        self.read += Bytes::new(read as u64);
        self.record[..NUMBER].copy_from_slice(&self.writings[index].to_be_bytes());
        Ok(read == self.record.len() && self.back == self.record)
    }

    /// The data that were read last.
    pub(super) fn back(&self) -> &[u8] {
        &self.back
    }
}
