//! The FTP client: fetches into a file that reaches the device.

mod sink;
mod source;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use btu_suite::activity::{FtpFetch, Performance, Work};
use btu_suite::record::{Host, Outcome, Report};
use btu_units::Time;

use super::virtual_files;
use crate::LoadError;
use crate::account::{self, Account};
use crate::scratch::scratch_check;
pub use sink::FETCH_ROOM;
use sink::Sink;
pub(super) use source::Session;
use source::Transfer;

/// Bytes asked for in one read of the data connection.
const BLOCK: usize = 256 * 1024;

/// The source of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// `N.bin` from the embedded server: its content is known.
    Known,
    /// A file of an external server, again and again.
    Named(String),
}

/// The transfer, logged in and ready to go.
pub(crate) struct Fetching {
    session: Session,
    what: What,
    work: Work,
    sink: Sink,
    block: Vec<u8>,
    filesystem: String,
}

/// The end of a fetch.
#[derive(Debug, Clone, Copy)]
enum End {
    /// After so many bytes.
    Bytes(u64),
    /// At this moment, or on `stop`.
    At(Time),
}

impl Fetching {
    /// Checks the scratch directory, logs in, and asks for the file's size.
    pub(crate) fn prepare(order: &FtpFetch) -> Result<Self, LoadError> {
        let most = match order.work {
            Work::Bytes(bytes) => bytes.min(FETCH_ROOM),
            Work::For(_) => FETCH_ROOM,
        };
        let scratch = scratch_check(&order.directory, most)?;
        let mut session = Session::log_in(order.server, &order.user, &order.password)?;
        let what = order.file.clone().map_or(What::Known, What::Named);
        if let What::Named(file) = &what {
            session.refuse_empty(file)?;
        }
        Ok(Self {
            session,
            what,
            work: order.work,
            sink: Sink::create(&order.directory)?,
            block: vec![0; BLOCK],
            filesystem: scratch.filesystem,
        })
    }

    /// Fetches until the work is done and the last byte is on the device. An unfinished transfer is
    /// returned, so that the caller aborts it when the clock has stopped.
    fn work(
        &mut self,
        account: &Account,
        stop: &AtomicBool,
    ) -> Result<(u64, Option<Transfer>), LoadError> {
        let end = match self.work {
            Work::Bytes(bytes) => End::Bytes(bytes.count()),
            Work::For(time) => End::At(account.started() + time),
        };
        let mut total = 0;
        while !is_over(end, total, stop)? {
            let (file, expected) = self.next_file(end, total);
            let mut transfer = self.session.retrieve(&file, expected)?;
            self.sink.restart()?;
            if let Err(error) = self.pump(&mut transfer, end, &mut total, stop) {
                self.session.hurry();
                return Err(error);
            }
            if !transfer.has_ended() {
                self.sink.sync()?;
                return Ok((total, Some(transfer)));
            }
            transfer.complete()?;
        }
        self.sink.sync()?;
        Ok((total, None))
    }

    /// The next file and its size, where that is known.
    fn next_file(&self, end: End, total: u64) -> (String, Option<u64>) {
        match (&self.what, end) {
            (What::Named(file), _) => (file.clone(), None),
            (What::Known, End::Bytes(all)) => {
                let size = (all - total).min(virtual_files::LARGEST);
                (virtual_files::name(size), Some(size))
            }
            (What::Known, End::At(_)) => {
                (virtual_files::name(virtual_files::LARGEST), Some(virtual_files::LARGEST))
            }
        }
    }

    /// From the connection to the file, until the file or the work ends.
    fn pump(
        &mut self,
        transfer: &mut Transfer,
        end: End,
        total: &mut u64,
        stop: &AtomicBool,
    ) -> Result<(), LoadError> {
        loop {
            let room = match end {
                // If the file's exact size was requested, the end must be received, too.
                End::Bytes(all) if self.what != What::Known => BLOCK.min((all - *total) as usize),
                _ => BLOCK,
            };
            let length = transfer.read(&mut self.block[..room])?;
            self.sink.take(&self.block[..length])?;
            *total += length as u64;
            let known_to_come = self.what == What::Known && matches!(end, End::Bytes(_));
            if transfer.has_ended() || (!known_to_come && is_over(end, *total, stop)?) {
                return Ok(());
            }
        }
    }

    fn method(&self) -> String {
        format!(
            "FTP RETR ({}), {} KiB reads, page cache + fdatasync, {}",
            self.session.mode(),
            BLOCK / 1024,
            self.filesystem
        )
    }
}

fn is_over(end: End, total: u64, stop: &AtomicBool) -> Result<bool, LoadError> {
    Ok(match end {
        End::Bytes(all) => total >= all,
        End::At(time) => account::now()? >= time || stop.load(Ordering::Relaxed),
    })
}

impl Performance for Fetching {
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }

    fn perform(
        mut self: Box<Self>,
        stop: &AtomicBool,
    ) -> Result<Report, Box<dyn std::error::Error + Send + Sync>> {
        let account = Account::open()?;
        let (total, unfinished) = self.work(&account, stop)?;
        let closed = account.close()?;
        if self.what == What::Known
            && let Some(offset) = self.sink.first_wrong()?
        {
            return Err(self.session.wrong_content(offset).into());
        }
        let method = self.method();
        self.session.log_out(unfinished);
        Ok(closed.report(Outcome::Host(Host { work: total, method })))
    }
}

#[cfg(test)]
mod tests;
