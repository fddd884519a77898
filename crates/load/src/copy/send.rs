//! The end of a copy that has the file: the command, as a user would time it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use btu_suite::activity::{FileSend, Order, Performance};
use btu_suite::copy::{FileEnd, Program};
use btu_suite::record::{Outcome, Report};
use btu_traffic::{Flow, Limit};
use btu_units::{Bytes, Span};

use super::nfs::nfs_send;
use super::rcp::rcp_send;
use super::store::Stored;
use super::stream::bare_send;
use super::{Over, TICK, receive};
use crate::LoadError;
use crate::account::{Account, now};
use crate::ftp;

/// The sender with its file; it has not connected.
#[derive(Debug)]
pub(crate) struct Sending {
    order: FileSend,
    deadline: Span,
    source: Stored,
    digest: String,
}

impl Sending {
    /// Makes the source.
    pub(crate) fn prepare(order: &Order, part: &FileSend) -> Result<Self, LoadError> {
        receive::check(part.program)?;
        let (source, digest) = Stored::source(&part.file, order.seed)?;
        Ok(Self { order: part.clone(), deadline: order.deadline, source, digest })
    }

    fn run(self, stop: &AtomicBool) -> Result<Report, LoadError> {
        wait(self.order.wait, stop)?;
        let account = Account::open()?;
        let limit = Limit::new(account.started(), self.deadline.saturating_sub(self.order.wait), stop);
        let (over, how) = self.copy(&limit)?;
        let (marks, closed) = (over.marks(account.started()), account.close()?);
        self.source.check(&self.digest)?;
        Ok(closed.report(Outcome::FileSent(FileEnd {
            bytes: Bytes::new(self.source.size()),
            marks,
            digest: self.digest,
            method: format!("{how} from {}, not cached", self.source.place()),
            tcp: over.tcp,
        })))
    }

    /// The command, and how it was done.
    fn copy(&self, limit: &Limit<'_>) -> Result<(Over, &'static str), LoadError> {
        let FileSend { program, to, token, .. } = &self.order;
        match *program {
            Program::Ftp => return Ok((ftp::put(*to, token, &self.source)?, "FTP STOR")),
            Program::Nfs(writes) => {
                return Ok((nfs_send(*to, token, &self.source, writes, self.deadline)?, "NFS WRITE"));
            }
            Program::Local | Program::Bare | Program::Rcp => {}
        }
        let flow = Flow::connect(*to, token, self.deadline)?;
        let (over, how) = if *program == Program::Rcp {
            (rcp_send(&flow, &self.source, limit)?, "rcp on TCP")
        } else {
            (bare_send(&flow, &self.source, limit)?, "TCP")
        };
        Ok((Over { tcp: Some(flow.info()?), ..over }, how))
    }
}

/// Sleeps for `span`, unless it is told to stop.
fn wait(span: Span, stop: &AtomicBool) -> Result<(), LoadError> {
    let until = now()? + span;
    loop {
        let left: Duration = until.since(now()?).into();
        if left.is_zero() {
            return Ok(());
        }
        if stop.load(Ordering::Relaxed) {
            return Err(LoadError::Order { what: "stopped before the copy began" });
        }
        thread::sleep(left.min(TICK));
    }
}

impl Performance for Sending {
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }

    fn perform(self: Box<Self>, stop: &AtomicBool) -> Result<Report, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.run(stop)?)
    }
}
