//! A copy on one host: what hardware does without a network, or what the kernel's client of a share
//! does with its own.

use std::sync::atomic::AtomicBool;

use btu_contract::activity::{FileCopy, Order, Performance, Performed, Tell};
use btu_contract::copy::{Direction, FileCopied, FileEnd, FilePlace, Storage};
use btu_contract::record::Outcome;
use btu_units::Bytes;

use super::store::Stored;
use super::{BLOCK, Moved, Over};
use crate::LoadError;
use crate::account::{Account, now};
use crate::scratch::check_share;

/// Source and copy, on one storage except for one on a share.
#[derive(Debug)]
pub(crate) struct Copying {
    source: Stored,
    digest: String,
    copy: Stored,
}

impl Copying {
    /// Makes the source and an empty copy.
    pub(crate) fn prepare(order: &Order, part: &FileCopy) -> Result<Self, LoadError> {
        let here = &part.file;
        if let Some(directory) = &part.share {
            check_share(directory).map_err(|source| LoadError::Share {
                operation: "use files",
                directory: directory.clone(),
                source,
            })?;
        }
        let there = part.share.as_ref().map(|directory| FilePlace {
            storage: Storage::Disk,
            directory: directory.clone(),
            ..here.clone()
        });
        let [from, to] = match (&there, part.direction) {
            (None, _) => [here, here],
            (Some(there), Direction::Put) => [here, there],
            (Some(there), Direction::Get) => [there, here],
        };
        let (source, digest) = Stored::empty(from)
            .and_then(|file| file.filled(from.cache, order.seed))
            .map_err(|error| of_the_share(error, part))?;
        let copy = Stored::empty(to).map_err(|error| of_the_share(error, part))?;
        Ok(Self { source, digest, copy })
    }

    fn copy(&self) -> Result<Over, LoadError> {
        let connected = now()?;
        let (mut block, mut offset, mut first) = (vec![0; BLOCK], 0, None);
        while offset < self.source.size() {
            let bytes = self.source.read(&mut block, offset)?;
            if first.is_none() {
                first = Some(now()?);
            }
            self.copy.write(bytes, offset)?;
            offset += bytes.len() as u64;
        }
        let last = now()?;
        self.copy.make_durable()?;
        Ok(Over {
            connected,
            moved: Moved { first: first.unwrap_or(last), last },
            durable: now()?,
            tcp: None,
        })
    }
}

/// An unusable directory: that of the share, if it is not the scratch directory.
fn of_the_share(error: LoadError, part: &FileCopy) -> LoadError {
    match error {
        LoadError::Scratch { operation, directory, source }
            if part.share.as_ref() == Some(&directory) =>
        {
            LoadError::Share { operation, directory, source }
        }
        other => other,
    }
}

impl Performance for Copying {
    fn perform_telling(self: Box<Self>, _: &AtomicBool, _: Tell<'_>) -> Performed {
        let account = Account::open()?;
        let over = self.copy()?;
        let (marks, closed) = (over.marks(account.started()), account.close()?);
        self.source.check(&self.digest)?;
        let method = format!(
            "read and write, {} KiB, {} to {}",
            BLOCK / 1024,
            self.source.place(),
            self.copy.place()
        );
        let digest = self.copy.digest()?;
        let copy = FileEnd {
            bytes: Bytes::new(self.copy.size()),
            marks,
            digest,
            method,
            tcp: None,
            file_calls: None,
            packets: Vec::new(),
        };
        Ok(closed.report(Outcome::FileCopied(FileCopied { source_digest: self.digest, copy })))
    }
}
