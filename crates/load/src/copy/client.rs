//! The end of a copy that connects: the command, as a user would time it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use btu_contract::activity::{FileClient, Order, Performance, Performed, Tell};
use btu_contract::copy::{Direction, FileEnd, Program};
use btu_contract::record::Outcome;
use btu_traffic::{Flow, Limit};
use btu_units::{Bytes, Span};

use super::http::{http_get, http_put};
use super::nfs::{nfs_get, nfs_put};
use super::packets::Counting;
use super::rcp::{rcp_receive, rcp_send};
use super::store::Stored;
use super::stream::{bare_receive, bare_send};
use super::system::{Call, system_get, system_put};
use super::{Over, TICK, check};
use crate::LoadError;
use crate::account::{Account, now};
use crate::ftp::{self, CopyLogin};

/// The client with its file, or an empty one; it has not connected.
#[derive(Debug)]
pub(crate) struct CopyClient {
    order: FileClient,
    deadline: Span,
    file: Stored,
    /// The digest of the source, if it is here.
    digest: Option<String>,
}

impl CopyClient {
    /// Makes the source, or room for the copy.
    pub(crate) fn prepare(
        order: &Order,
        part: &FileClient,
        direction: Direction,
    ) -> Result<Self, LoadError> {
        check(part.program)?;
        let seed = (direction == Direction::Put).then_some(order.seed);
        let (file, digest) = Stored::of_end(part.program, &part.file, seed)?;
        Ok(Self { order: part.clone(), deadline: order.deadline, file, digest })
    }

    fn put(&self, limit: &Limit<'_>) -> Result<Over, LoadError> {
        let (FileClient { program, to, token, .. }, source) = (&self.order, &self.file);
        match *program {
            Program::Ftp => ftp::put(*to, &CopyLogin::ours(token), source),
            Program::Nfs(writes) => nfs_put(*to, token, source, writes, self.deadline),
            Program::Http => self.unannounced(|flow| http_put(flow, token, source, limit)),
            Program::Scp | Program::Sftp | Program::Rsync | Program::Vsftpd => {
                system_put(self.call(), source, limit, self.deadline)
            }
            Program::Rcp => self.announced(|flow| rcp_send(flow, source, limit)),
            Program::Local | Program::Mount | Program::Bare => {
                self.announced(|flow| bare_send(flow, source, limit))
            }
        }
    }

    fn get(&self, limit: &Limit<'_>) -> Result<Over, LoadError> {
        let (FileClient { program, to, token, .. }, copy) = (&self.order, &self.file);
        match *program {
            Program::Ftp => ftp::get(*to, &CopyLogin::ours(token), copy),
            Program::Nfs(reads) => nfs_get(*to, token, copy, reads, self.deadline),
            Program::Http => self.unannounced(|flow| http_get(flow, token, copy, limit)),
            Program::Scp | Program::Sftp | Program::Rsync | Program::Vsftpd => {
                system_get(self.call(), copy, limit)
            }
            Program::Rcp => self.announced(|flow| rcp_receive(flow, copy, limit)),
            Program::Local | Program::Mount | Program::Bare => {
                self.announced(|flow| bare_receive(flow, copy, limit))
            }
        }
    }

    fn call(&self) -> Call<'_> {
        let FileClient { program, to, token, .. } = &self.order;
        Call { program: *program, to: *to, token }
    }

    /// On a connection that begins with the token.
    fn announced(
        &self,
        copy: impl FnOnce(&Flow) -> Result<Over, LoadError>,
    ) -> Result<Over, LoadError> {
        on(&Flow::connect(self.order.to, &self.order.token, self.deadline)?, copy)
    }

    /// On one with a protocol that has its own identification.
    fn unannounced(
        &self,
        copy: impl FnOnce(&Flow) -> Result<Over, LoadError>,
    ) -> Result<Over, LoadError> {
        on(&Flow::open(self.order.to, self.deadline)?, copy)
    }
}

fn on(flow: &Flow, copy: impl FnOnce(&Flow) -> Result<Over, LoadError>) -> Result<Over, LoadError> {
    let over = copy(flow)?;
    Ok(Over { tcp: Some(flow.info()?), ..over })
}

/// Sleeps for `span`, or until `stop`.
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

impl Performance for CopyClient {
    fn perform_telling(self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        wait(self.order.wait, stop)?;
        let account = Account::open()?;
        let limit =
            Limit::new(account.started(), self.deadline.saturating_sub(self.order.wait), stop);
        let counting = Counting::begin(account.started());
        let copied = if self.digest.is_some() { self.put(&limit) } else { self.get(&limit) };
        let over = self.file.explained(self.digest.as_deref(), copied)?;
        let packets = counting.end();
        let (marks, closed) = (over.marks(account.started()), account.close()?);
        let bytes = Bytes::new(self.file.size());
        let (program, tcp) = (self.order.program, over.tcp);
        let file_calls = self.file.calls_by(program);
        let outcome = if let Some(digest) = self.digest {
            self.file.check(&digest)?;
            let method = format!("{program} from {}", self.file.place());
            Outcome::FileSent(FileEnd { bytes, marks, digest, method, tcp, file_calls, packets })
        } else {
            let (digest, method) =
                (self.file.digest()?, format!("{program} to {}", self.file.place()));
            Outcome::FileReceived(FileEnd {
                bytes,
                marks,
                digest,
                method,
                tcp,
                file_calls,
                packets,
            })
        };
        Ok(closed.report(outcome))
    }
}
