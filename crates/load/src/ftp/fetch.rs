//! The FTP client: fetches into a file that reaches the device.

mod control;
mod sink;
mod source;

use std::sync::atomic::{AtomicBool, Ordering};

use btu_contract::activity::{FtpFetch, Performance, Performed, Tell, Work};
use btu_contract::record::{Host, Outcome};
use btu_units::Time;

use super::{USER, virtual_files};
use crate::LoadError;
use crate::account::{self, Account};
use crate::scratch::scratch_check;
pub use sink::FETCH_ROOM;
use sink::Sink;
pub(super) use source::FtpClientSession;
use source::FtpTransfer;

/// Bytes asked for in one read of the data connection.
const BLOCK: usize = 256 * 1024;

/// The transfer, logged in and ready to go.
pub(crate) struct Fetching {
    session: FtpClientSession,
    work: Work,
    sink: Sink,
    block: Vec<u8>,
    filesystem: String,
}

/// The end of a fetch.
#[derive(Debug, Clone, Copy)]
enum FetchEnd {
    /// After so many bytes.
    Bytes(u64),
    /// At this moment, or on `stop`.
    At(Time),
}

impl Fetching {
    /// Checks the scratch directory and logs in.
    pub(crate) fn prepare(order: &FtpFetch) -> Result<Self, LoadError> {
        let most = match order.work {
            Work::Bytes(bytes) => bytes.min(FETCH_ROOM),
            Work::For(_) => FETCH_ROOM,
        };
        let scratch = scratch_check(&order.directory, most)?;
        Ok(Self {
            session: FtpClientSession::log_in(order.server, USER, &order.password)?,
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
    ) -> Result<(u64, Option<FtpTransfer>), LoadError> {
        let end = match self.work {
            Work::Bytes(bytes) => FetchEnd::Bytes(bytes.count()),
            Work::For(time) => FetchEnd::At(account.started() + time),
        };
        let mut total = 0;
        while !is_over(end, total, stop)? {
            // The content of the embedded server's files is known, whatever their size.
            let size = match end {
                FetchEnd::Bytes(all) => (all - total).min(virtual_files::LARGEST),
                FetchEnd::At(_) => virtual_files::LARGEST,
            };
            let mut transfer = self.session.retrieve(&virtual_files::name(size), size)?;
            self.sink.restart()?;
            self.pump(&mut transfer, end, &mut total, stop)?;
            if !transfer.has_ended() {
                self.sink.sync()?;
                return Ok((total, Some(transfer)));
            }
            self.session.complete(transfer)?;
        }
        self.sink.sync()?;
        Ok((total, None))
    }

    /// From the connection to the file, until the file or the work ends.
    fn pump(
        &mut self,
        transfer: &mut FtpTransfer,
        end: FetchEnd,
        total: &mut u64,
        stop: &AtomicBool,
    ) -> Result<(), LoadError> {
        loop {
            let length = transfer.read(&mut self.block)?;
            self.sink.take(&self.block[..length])?;
            *total += length as u64;
            // The exact size was asked for, so the end of the file must be received, too.
            let ends_with_file = matches!(end, FetchEnd::Bytes(_));
            if transfer.has_ended() || (!ends_with_file && is_over(end, *total, stop)?) {
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

fn is_over(end: FetchEnd, total: u64, stop: &AtomicBool) -> Result<bool, LoadError> {
    Ok(match end {
        FetchEnd::Bytes(all) => total >= all,
        FetchEnd::At(time) => account::now()? >= time || stop.load(Ordering::Relaxed),
    })
}

impl Performance for Fetching {
    fn perform_telling(mut self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let account = Account::open()?;
        let (total, unfinished) = self.work(&account, stop)?;
        let closed = account.close()?;
        if let Some(offset) = self.sink.first_wrong()? {
            return Err(self.session.wrong_content(offset).into());
        }
        let method = self.method();
        self.session.log_out(unfinished);
        Ok(closed.report(Outcome::Host(Host { work: total, method })))
    }
}

#[cfg(test)]
mod tests;
