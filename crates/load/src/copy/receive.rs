//! The end of a copy that gets the file.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_suite::activity::{FileReceive, Order, Performance, Token};
use btu_suite::copy::{FileEnd, Program};
use btu_suite::peers::Callers;
use btu_suite::record::{Outcome, Report};
use btu_traffic::{FlowDoor, Limit};
use btu_units::{Bytes, Span};

use super::Over;
use super::nfs::NfsPlace;
use super::rcp::rcp_receive;
use super::store::Stored;
use super::stream::bare_receive;
use crate::LoadError;
use crate::account::Account;
use crate::ftp::Inbox;

/// The receiver, which listens.
pub(crate) struct Receiving {
    way: Way,
    address: SocketAddr,
    size: Bytes,
    /// What the copy stands on.
    place: String,
    deadline: Span,
}

/// How the file comes.
enum Way {
    Stream { door: FlowDoor, token: Token, is_rcp: bool, copy: Stored },
    Ftp(Inbox),
    Nfs(NfsPlace),
}

/// Local copies have one end.
pub(super) fn check(program: Program) -> Result<(), LoadError> {
    match program {
        Program::Local => Err(LoadError::Order { what: "the program `local` copies on one host and has no other end" }),
        Program::Bare | Program::Rcp | Program::Ftp | Program::Nfs(_) => Ok(()),
    }
}

impl Receiving {
    /// Makes an empty file and listens.
    pub(crate) fn prepare(order: &Order, part: &FileReceive, callers: &Callers) -> Result<Self, LoadError> {
        check(part.program)?;
        let copy = Stored::empty(&part.file)?;
        let (size, place) = (part.file.size, copy.place().to_owned());
        let (address, way) = match part.program {
            Program::Ftp => {
                let inbox = Inbox::open(part.on, &part.token, copy, callers)?;
                (inbox.address(), Way::Ftp(inbox))
            }
            Program::Nfs(_) => {
                let place = NfsPlace::open(part.on, &part.token, &part.file, callers)?;
                (place.address(), Way::Nfs(place))
            }
            Program::Local | Program::Bare | Program::Rcp => {
                let door = FlowDoor::open(part.on, callers)?;
                let is_rcp = part.program == Program::Rcp;
                (door.address(), Way::Stream { door, token: part.token, is_rcp, copy })
            }
        };
        Ok(Self { way, address, size, place, deadline: order.deadline })
    }

    fn run(self, stop: &AtomicBool) -> Result<Report, LoadError> {
        let account = Account::open()?;
        let limit = Limit::new(account.started(), self.deadline, stop);
        let (over, kept, how) = match self.way {
            Way::Ftp(inbox) => {
                let (over, copy) = inbox.wait(&limit)?;
                (over, Kept::File(copy), "FTP STOR")
            }
            Way::Nfs(place) => {
                let (over, digest) = place.wait(&limit)?;
                (over, Kept::Digest(digest), "NFS WRITE")
            }
            Way::Stream { door, token, is_rcp, copy } => {
                let flow = door.admit(&token, &limit)?;
                let receive = if is_rcp { rcp_receive } else { bare_receive };
                let over = receive(&flow, &copy, &limit)?;
                let how = if is_rcp { "rcp on TCP" } else { "TCP" };
                (Over { tcp: Some(flow.info()?), ..over }, Kept::File(copy), how)
            }
        };
        let closed = account.close()?;
        let digest = match kept {
            Kept::File(copy) => copy.digest()?,
            Kept::Digest(digest) => digest,
        };
        Ok(closed.report(Outcome::FileReceived(FileEnd {
            bytes: self.size,
            marks: over.marks(over.connected),
            digest,
            method: format!("{how} to {}", self.place),
            tcp: over.tcp,
        })))
    }
}

/// What is kept of the copy when it is over.
enum Kept {
    File(Stored),
    Digest(String),
}

impl Performance for Receiving {
    fn endpoint(&self) -> Option<SocketAddr> {
        Some(self.address)
    }

    fn perform(self: Box<Self>, stop: &AtomicBool) -> Result<Report, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.run(stop)?)
    }
}
