//! The end of a copy that listens.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{FileServer, Order, Performance, Performed, Tell, Token};
use btu_contract::copy::{Direction, FileEnd, Program};
use btu_contract::peers::Callers;
use btu_contract::record::Outcome;
use btu_traffic::{FlowDoor, Limit};
use btu_units::{Bytes, Span};

use super::http::{http_offer, http_take};
use super::nfs::NfsPlace;
use super::rcp::{rcp_receive, rcp_send};
use super::store::Stored;
use super::stream::{bare_receive, bare_send};
use super::system::SystemServer;
use super::{Over, check};
use crate::LoadError;
use crate::account::Account;
use crate::ftp::{Inbox, Outbox};

/// The server, which listens.
pub(crate) struct CopyServer {
    program: Program,
    way: TransferMethod,
    address: SocketAddr,
    size: Bytes,
    /// The storage of the file.
    place: String,
    /// The digest of the source, if it is here.
    digest: Option<String>,
    deadline: Span,
}

/// The transfer of the file.
enum TransferMethod {
    Stream { door: FlowDoor, token: Token, file: Stored },
    Inbox(Inbox),
    Outbox(Outbox),
    Nfs(NfsPlace),
    System(SystemServer, Stored),
}

impl CopyServer {
    /// Makes the source, or room for the copy, and listens.
    pub(crate) fn prepare(
        order: &Order,
        part: &FileServer,
        direction: Direction,
        callers: &Callers,
    ) -> Result<Self, LoadError> {
        let FileServer { program, on, token, .. } = part;
        check(*program)?;
        let seed = (direction == Direction::Get).then_some(order.seed);
        let (file, digest) = Stored::of_end(*program, &part.file, seed)?;
        let (size, place) = (part.file.size, file.place().to_owned());
        let (address, way) = match (*program, direction) {
            (Program::Ftp, Direction::Put) => {
                let inbox = Inbox::open(*on, token, file, callers)?;
                (inbox.address(), TransferMethod::Inbox(inbox))
            }
            (Program::Ftp, Direction::Get) => {
                let outbox = Outbox::open(*on, token, file, callers)?;
                (outbox.address(), TransferMethod::Outbox(outbox))
            }
            (Program::Nfs(_), _) => {
                let source = digest.is_some().then_some(file);
                let place = NfsPlace::open(*on, token, &part.file, source, callers)?;
                (place.address(), TransferMethod::Nfs(place))
            }
            (Program::Scp | Program::Sftp | Program::Rsync | Program::Vsftpd, _) => {
                let server = SystemServer::open(*program, *on, token, &file, callers)?;
                (server.address(), TransferMethod::System(server, file))
            }
            (Program::Local | Program::Mount | Program::Bare | Program::Rcp | Program::Http, _) => {
                let door = FlowDoor::open(*on, callers)?;
                (door.address(), TransferMethod::Stream { door, token: *token, file })
            }
        };
        Ok(Self { program: *program, way, address, size, place, digest, deadline: order.deadline })
    }
}

/// One file on one connection.
fn stream(
    program: Program,
    door: FlowDoor,
    token: &Token,
    file: &Stored,
    is_source: bool,
    limit: &Limit<'_>,
) -> Result<Over, LoadError> {
    if program == Program::Http {
        return if is_source {
            http_offer(&door, token, file, limit)
        } else {
            http_take(&door, token, file, limit)
        };
    }
    let flow = door.admit(token, limit)?;
    let copy = match (program == Program::Rcp, is_source) {
        (true, true) => rcp_send,
        (true, false) => rcp_receive,
        (false, true) => bare_send,
        (false, false) => bare_receive,
    };
    let over = copy(&flow, file, limit)?;
    Ok(Over { tcp: Some(flow.info()?), ..over })
}

/// The stored data about the file when the copy is over.
enum Kept {
    File(Stored),
    Offered(Outbox),
    Digest(String),
}

impl Kept {
    /// Time in calls on the file, where the copy makes them.
    fn calls_by(&self, program: Program) -> Option<Span> {
        match self {
            Self::File(file) => file.calls_by(program),
            Self::Offered(outbox) => outbox.source().calls_by(program),
            Self::Digest(_) => None,
        }
    }

    fn digest(&self) -> Result<String, LoadError> {
        match self {
            Self::File(file) => file.digest(),
            Self::Offered(outbox) => outbox.source().digest(),
            Self::Digest(digest) => Ok(digest.clone()),
        }
    }
}

impl Performance for CopyServer {
    fn endpoint(&self) -> Option<SocketAddr> {
        Some(self.address)
    }

    fn perform_telling(self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let account = Account::open()?;
        let limit = Limit::new(account.started(), self.deadline, stop);
        let (program, before) = (self.program, self.digest.as_deref());
        let is_source = before.is_some();
        let (over, file) = match self.way {
            TransferMethod::Inbox(inbox) => {
                inbox.wait(&limit).map(|(over, copy)| (over, Kept::File(copy)))?
            }
            TransferMethod::Outbox(outbox) => {
                let over = outbox.source().explained(before, outbox.wait(&limit))?;
                (over, Kept::Offered(outbox))
            }
            TransferMethod::Nfs(place) => {
                place.wait(&limit, is_source).map(|(over, digest)| (over, Kept::Digest(digest)))?
            }
            TransferMethod::System(server, file) => {
                let copied =
                    if is_source { server.offer(&limit) } else { server.take(&file, &limit) };
                (file.explained(before, copied)?, Kept::File(file))
            }
            TransferMethod::Stream { door, token, file } => {
                let copied = stream(program, door, &token, &file, is_source, &limit);
                (file.explained(before, copied)?, Kept::File(file))
            }
        };
        let (closed, file_calls) = (account.close()?, file.calls_by(program));
        let digest = file.digest()?;
        if before.is_some_and(|before| before != digest) {
            return Err(LoadError::source_changed().into());
        }
        let way = if is_source { "from" } else { "to" };
        let method = format!("{program} {way} {}", self.place);
        let end = FileEnd {
            bytes: self.size,
            marks: over.marks(over.connected),
            digest,
            method,
            tcp: over.tcp,
            file_calls,
            packets: Vec::new(),
        };
        Ok(closed.report(if is_source {
            Outcome::FileSent(end)
        } else {
            Outcome::FileReceived(end)
        }))
    }
}
