//! The effect of a trace on its files' sizes: the files that must exist before, whether each line
//! is possible, and the files at the end.

use btu_units::Bytes;

use super::line::OperationLine;
use super::{MOST_FILES, OperationTrace, Replayed, TraceError, TracedFile};

/// Files by the number of their names; `None` if there is no such file.
#[derive(Debug)]
pub(super) struct NumberedFiles {
    sizes: Vec<Option<u64>>,
    /// Whether the file is still the one that existed at first.
    is_first: Vec<bool>,
    most_room: u64,
    most_files: usize,
}

/// Files that are used before they are made, as large as they are read and written until another
/// file has their name.
pub(super) fn files_at_first(lines: &[OperationLine], names: usize) -> Vec<TracedFile> {
    let mut sizes: Vec<Option<u64>> = vec![None; names];
    // The current meaning of a name: the first file of that name, or one that the trace made.
    let mut origin: Vec<Option<usize>> = (0..names).map(Some).collect();
    for line in lines {
        let file = line.operation.file;
        if let Some(first) = origin[file] {
            let least = match line.operation.doing {
                Replayed::Read { offset, length } | Replayed::Write { offset, length } => {
                    offset + length as u64
                }
                _ => 0,
            };
            let is_made = matches!(line.operation.doing, Replayed::Make) && sizes[first].is_none();
            if !is_made {
                sizes[first] = Some(sizes[first].unwrap_or(0).max(least));
            }
        }
        match line.operation.doing {
            // From here on its size follows from the trace.
            Replayed::Make | Replayed::Remove => origin[file] = None,
            Replayed::Rename(target) if target != file => origin[target] = origin[file].take(),
            _ => {}
        }
    }
    let known = sizes.into_iter().enumerate();
    known.filter_map(|(file, size)| Some(TracedFile { file, size: size? as usize })).collect()
}

impl NumberedFiles {
    /// Before the first line.
    pub(super) fn of(files: &[TracedFile], names: usize) -> Self {
        let (mut sizes, mut is_first) = (vec![None; names], vec![false; names]);
        for first in files {
            sizes[first.file] = Some(first.size as u64);
            is_first[first.file] = true;
        }
        let mut state = Self { sizes, is_first, most_room: 0, most_files: 0 };
        state.note();
        state
    }

    /// Performs a line.
    pub(super) fn follow(
        &mut self,
        line: &OperationLine,
        names: &[String],
    ) -> Result<(), TraceError> {
        let operation = line.operation;
        let name = &names[operation.file];
        let wrong = |problem: String| Err(TraceError::at(line.number, problem));
        if let Replayed::Make = operation.doing {
            self.set(operation.file, Some(0), false);
            return self.check_files(line.number);
        }
        let Some(size) = self.sizes[operation.file] else {
            return wrong(format!(
                "there is no `{name}` any more at this time: it was removed, or has another name"
            ));
        };
        match operation.doing {
            Replayed::Read { offset, length } if offset + length as u64 > size => {
                return wrong(format!(
                    "`{name}` has {size} octets at this time; {length} from {offset} are not there"
                ));
            }
            Replayed::Write { offset, length } => {
                let grown = size.max(offset + length as u64);
                self.set(operation.file, Some(grown), self.is_first[operation.file]);
            }
            Replayed::Rename(target) if target != operation.file => {
                self.set(operation.file, None, false);
                self.set(target, Some(size), false);
            }
            Replayed::Remove => self.set(operation.file, None, false),
            _ => {}
        }
        self.check_files(line.number)
    }

    fn set(&mut self, file: usize, size: Option<u64>, is_first: bool) {
        self.sizes[file] = size;
        self.is_first[file] = is_first;
        self.note();
    }

    fn note(&mut self) {
        self.most_room = self.most_room.max(self.sizes.iter().flatten().sum());
        self.most_files = self.most_files.max(self.sizes.iter().flatten().count());
    }

    fn check_files(&self, line: usize) -> Result<(), TraceError> {
        if self.most_files <= MOST_FILES {
            return Ok(());
        }
        Err(TraceError::at(
            line,
            format!(
                "{} files at a time, those that are read later among them; {MOST_FILES} at most",
                self.most_files
            ),
        ))
    }

    /// Files that exist and did not at first.
    pub(super) fn left(&self, files: &[TracedFile]) -> Vec<usize> {
        let was_there = |file: &usize| files.iter().any(|first| first.file == *file);
        (0..self.sizes.len())
            .filter(|file| self.sizes[*file].is_some() && !was_there(file))
            .collect()
    }

    /// Files that existed at first and have changed; their content may differ, their size must not.
    pub(super) fn restored(&self, files: &[TracedFile]) -> Vec<usize> {
        let is_same = |first: &TracedFile| {
            self.is_first[first.file] && self.sizes[first.file] == Some(first.size as u64)
        };
        files.iter().filter(|first| !is_same(first)).map(|first| first.file).collect()
    }

    pub(super) fn most_room(&self) -> Bytes {
        Bytes::new(self.most_room)
    }

    pub(super) fn most_files(&self) -> usize {
        self.most_files
    }
}

/// Replays a trace twice as a station does, with files that are only sizes: for fuzzers and tests.
///
/// # Panics
/// When an operation is impossible: the reader of the trace should have refused it.
pub(super) fn replay(trace: &OperationTrace) {
    let mut sizes: Vec<Option<usize>> = vec![None; trace.names().len()];
    for first in trace.files() {
        sizes[first.file] = Some(first.size);
    }
    for _ in 0..2 {
        for operation in trace.operations() {
            let size = sizes[operation.file];
            match operation.doing {
                Replayed::Make => sizes[operation.file] = Some(0),
                Replayed::Read { offset, length } => {
                    assert!(offset as usize + length <= size.expect("a file"));
                }
                Replayed::Write { offset, length } => {
                    sizes[operation.file] =
                        Some(size.expect("a file").max(offset as usize + length));
                }
                Replayed::Rename(target) => {
                    sizes[operation.file] = None;
                    sizes[target] = Some(size.expect("a file"));
                }
                Replayed::Remove => sizes[operation.file] = size.map(|_| None).expect("a file"),
                Replayed::Open | Replayed::Stat | Replayed::Flush => {
                    assert!(size.is_some(), "a file");
                }
            }
            assert!(sizes.iter().flatten().sum::<usize>() as u64 <= trace.room().count());
        }
        trace.left().iter().for_each(|file| sizes[*file] = None);
        for first in trace.files().iter().filter(|first| trace.restored().contains(&first.file)) {
            sizes[first.file] = Some(first.size);
        }
        for first in trace.files() {
            assert_eq!(sizes[first.file], Some(first.size), "before it is replayed again");
        }
        assert_eq!(sizes.iter().flatten().count(), trace.files().len());
    }
}
