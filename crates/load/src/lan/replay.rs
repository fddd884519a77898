//! A trace replayed at its times, on files of whatever kind.

use std::sync::atomic::AtomicBool;

use btu_contract::lan::{OperationTrace, Replayed, TracedOperation};
use btu_medium::Stream;
use btu_units::Time;

use super::station::{Done, pause};
use crate::files::{Files, Open};
use crate::{LoadError, account, content};

/// A trace with the files that it works on.
#[derive(Debug)]
pub(super) struct Replay<F: Files> {
    trace: OperationTrace,
    /// Names at the server: the station's own.
    names: Vec<String>,
    /// The expected content of each file, by the number of its name.
    contents: Vec<Vec<u8>>,
    open: Vec<Option<F::File>>,
    /// The source of written data.
    source: Vec<u8>,
    back: Vec<u8>,
    /// The share of the lead after which the station begins.
    phase: f64,
}

impl<F: Files> Replay<F> {
    /// Lays out the files that are there from the beginning.
    pub(super) fn prepare(
        files: &mut F,
        name: &str,
        trace: &OperationTrace,
        seed: u64,
    ) -> Result<Self, LoadError> {
        let longest = trace
            .operations()
            .iter()
            .map(length)
            .chain(trace.files().iter().map(|file| file.size))
            .max();
        let mut source = vec![0; longest.unwrap_or(0)];
        content::fill(seed, &mut source);
        let names: Vec<String> =
            trace.names().iter().map(|file| format!("{name}-{file}")).collect();
        let mut replay = Self {
            contents: vec![Vec::new(); names.len()],
            open: names.iter().map(|_| None).collect(),
            names,
            back: vec![0; source.len()],
            source,
            phase: Stream::new(seed, name).share(),
            trace: trace.clone(),
        };
        for file in 0..trace.files().len() {
            replay.lay_out(files, file)?;
        }
        Ok(replay)
    }

    /// Makes a file that is there from the beginning, by its place among those.
    fn lay_out(&mut self, files: &mut F, place: usize) -> Result<(), LoadError> {
        let first = self.trace.files()[place];
        let file = files.open(&self.names[first.file], Open::Empty)?;
        files.write_at(&file, 0, &self.source[..first.size])?;
        self.contents[first.file].clear();
        self.contents[first.file].extend(&self.source[..first.size]);
        self.open[first.file] = Some(file);
        Ok(())
    }

    /// Replays it again and again until `stop`, each operation when it is due, or at once where the
    /// station is late. Stations begin at different moments of the first `spread` of the trace's
    /// time.
    pub(super) fn work(
        &mut self,
        files: &mut F,
        start: Time,
        stop: &AtomicBool,
        done: &mut Done,
    ) -> Result<(), LoadError> {
        let period = self.trace.period();
        let gap = period.nanoseconds() as f64 / self.trace.operations().len() as f64;
        let mut begin = start + btu_units::Span::from_nanoseconds((self.phase * gap) as u64);
        loop {
            for place in 0..self.trace.operations().len() {
                let operation = self.trace.operations()[place];
                let due = begin + operation.at;
                if !pause(due, stop)? {
                    return Ok(());
                }
                let is_right = self.perform(files, operation)?;
                done.took(due, account::now()?);
                done.wrong += u64::from(!is_right);
            }
            self.restore(files)?;
            begin += period;
        }
    }

    /// Whether the read data equal the expected ones.
    fn perform(&mut self, files: &mut F, operation: TracedOperation) -> Result<bool, LoadError> {
        let TracedOperation { file, doing, .. } = operation;
        let name = &self.names[file];
        match doing {
            Replayed::Make => {
                self.open[file] = Some(files.open(name, Open::Empty)?);
                self.contents[file].clear();
            }
            Replayed::Open => self.open[file] = Some(files.open(name, Open::Existing)?),
            Replayed::Stat => return Ok(files.stat(name)? == self.contents[file].len() as u64),
            Replayed::Read { offset, length } => {
                let opened = opened(&mut self.open[file], files, name)?;
                let read = files.read_at(opened, offset, &mut self.back[..length])?;
                return Ok(self.back[..read] == self.contents[file][offset as usize..][..length]);
            }
            Replayed::Write { offset, length } => {
                let octets = &self.source[..length];
                let opened = opened(&mut self.open[file], files, name)?;
                files.write_at(opened, offset, octets)?;
                let end = offset as usize + length;
                let content = &mut self.contents[file];
                content.resize(content.len().max(end), 0);
                content[offset as usize..end].copy_from_slice(octets);
            }
            Replayed::Flush => {
                let opened = opened(&mut self.open[file], files, name)?;
                files.flush(opened)?;
            }
            Replayed::Rename(target) => {
                files.rename(name, &self.names[target])?;
                if target != file {
                    self.open[target] = self.open[file].take();
                    self.contents[target] = std::mem::take(&mut self.contents[file]);
                }
            }
            Replayed::Remove => {
                self.open[file] = None;
                files.remove(name)?;
                self.contents[file].clear();
            }
        }
        Ok(true)
    }

    /// Files as they were at first, for the next time.
    fn restore(&mut self, files: &mut F) -> Result<(), LoadError> {
        for place in 0..self.trace.left().len() {
            let file = self.trace.left()[place];
            self.open[file] = None;
            files.remove(&self.names[file])?;
        }
        for place in 0..self.trace.files().len() {
            if self.trace.restored().contains(&self.trace.files()[place].file) {
                self.lay_out(files, place)?;
            }
        }
        Ok(())
    }
}

/// The octets that an operation moves.
fn length(operation: &TracedOperation) -> usize {
    match operation.doing {
        Replayed::Read { length, .. } | Replayed::Write { length, .. } => length,
        _ => 0,
    }
}

/// The open file; a trace that reads or writes one that it has not opened has it opened before, as
/// its program had.
fn opened<'a, F: Files>(
    open: &'a mut Option<F::File>,
    files: &mut F,
    name: &str,
) -> Result<&'a F::File, LoadError> {
    match open {
        Some(file) => Ok(file),
        closed => Ok(closed.insert(files.open(name, Open::Existing)?)),
    }
}
