//! One client's connection, from the answer to its first call to its end. Calls are answered in the
//! order in which they come.

use std::io;
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use btu_contract::activity::Token;
use btu_units::Bytes;

use super::about;
use super::account::ClientAccount;
use super::answer::{self, Attributes, Status};
use super::listener::Guest;
use super::protocol::{
    Call, Creation, Handle, LONGEST_RECORD, MOST_DATA, NameInDirectory, Stability, Unread,
};
use super::rpc::{self, Accepted, CallHeader, Credential, NFS};
use super::xdr::{Writer, XdrReader};
use crate::pump::{self, IDLE, IdleTimeout};
use crate::volume::{Fault, Stat, Visit, Volume};

/// The interval of a session's reports of its counts.
const TELL_EVERY: u64 = 64;

/// The state that all sessions share.
#[derive(Debug)]
pub(super) struct NfsService {
    pub(super) volume: Volume,
    pub(super) token: Token,
    /// The verifier of this server: it changes with a restart.
    pub(super) verifier: [u8; 8],
    pub(super) accounts: super::account::ClientAccounts,
    pub(super) moments: super::moments::Moments,
}

/// The connection of a client.
#[derive(Debug)]
pub(super) struct NfsSession<'a> {
    service: &'a NfsService,
    stream: TcpStream,
    credential: Credential,
    /// Counts that are not reported yet.
    account: ClientAccount,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl<'a> NfsSession<'a> {
    /// Answers the first call.
    pub(super) fn open(service: &'a NfsService, guest: Guest) -> io::Result<Self> {
        let Guest { stream, credential, transaction, .. } = guest;
        service.moments.admit();
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        pump::limit(&stream)?;
        let account = ClientAccount::default();
        let mut session =
            Self { service, stream, credential, account, input: Vec::new(), output: Vec::new() };
        rpc::begin(&mut session.output);
        rpc::write_answer(transaction, Accepted::Success, &mut Writer::new(&mut session.output));
        Ok(session)
    }

    /// Serves until the client ends, sends an invalid message, is silent for too long, or `stop`.
    pub(super) fn serve(mut self, stop: &AtomicBool) -> io::Result<()> {
        let result = self.answer_calls(stop);
        self.tell();
        result
    }

    fn answer_calls(&mut self, stop: &AtomicBool) -> io::Result<()> {
        self.send()?;
        while let Some(length) = self.receive(stop)? {
            self.answer(length)?;
            self.send()?;
            self.account.operations += 1;
            if self.account.operations >= TELL_EVERY {
                self.tell();
            }
        }
        Ok(())
    }

    fn receive(&mut self, stop: &AtomicBool) -> io::Result<Option<usize>> {
        let timeout = IdleTimeout::new(stop, IDLE);
        rpc::read_record(&mut self.stream, &mut self.input, LONGEST_RECORD, &timeout)
    }

    /// The current answer at a stop is still sent, if the client takes it.
    fn send(&mut self) -> io::Result<()> {
        const TAKE: Duration = Duration::from_secs(10);
        rpc::finish(&mut self.output);
        let never = AtomicBool::new(false);
        pump::write(&mut self.stream, &self.output, &IdleTimeout::new(&never, TAKE))
    }

    fn tell(&mut self) {
        let account = std::mem::take(&mut self.account);
        self.service.accounts.add(self.credential.client, &account);
    }

    /// The answer to the call in the first `length` octets of the input. A client with another
    /// token, or without a valid call, is disconnected.
    fn answer(&mut self, length: usize) -> io::Result<()> {
        let service = self.service;
        let visit = service.volume.visit().map_err(io::Error::other)?;
        rpc::begin(&mut self.output);
        let mut reader = XdrReader::new(&self.input[..length]);
        let header = CallHeader::read(&mut reader).map_err(io::Error::other)?;
        if !header.credential.is_some_and(|credential| credential.says(&service.token)) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut to = Writer::new(&mut self.output);
        let call = if header.program.number != NFS.number {
            Err(Accepted::OtherProgram)
        } else if header.program.version != NFS.version {
            Err(Accepted::OtherVersion)
        } else {
            Call::read(header.procedure, reader).map_err(|unread| match unread {
                Unread::NoSuchProcedure => Accepted::NoSuchProcedure,
                Unread::Garbled => Accepted::Garbled,
            })
        };
        let accepted = call.as_ref().err().copied().unwrap_or(Accepted::Success);
        rpc::write_answer(header.transaction, accepted, &mut to);
        if let Ok(call) = call {
            Done { service, account: &mut self.account }.call(&call, &mut self.output);
        }
        self.leave(&visit)
    }

    fn leave(&mut self, visit: &Visit<'_>) -> io::Result<()> {
        let left = visit.end().map_err(io::Error::other)?;
        self.account.met += u64::from(visit.found);
        self.account.stayed += left.since(visit.arrived);
        Ok(())
    }
}

/// Performs calls and writes their results.
struct Done<'a> {
    service: &'a NfsService,
    account: &'a mut ClientAccount,
}

impl Done<'_> {
    fn call(&mut self, call: &Call<'_>, output: &mut Vec<u8>) {
        let start = output.len();
        if let Err(status) = self.try_call(call, output) {
            output.truncate(start);
            let mut to = Writer::new(output);
            to.number(status.0);
            write_failure(call, &mut to);
        }
    }

    fn try_call(&mut self, call: &Call<'_>, output: &mut Vec<u8>) -> Result<(), Status> {
        let volume = &self.service.volume;
        let mut to = Writer::new(output);
        if !matches!(call, Call::Null) {
            answer::write_done(&mut to);
        }
        match call {
            Call::Null => {}
            Call::GetAttributes { node } => self.stat(node)?.write(&mut to),
            Call::SetSize { node, size } => {
                if let Some(size) = size {
                    fault(volume.resize(self.node(node)?, *size))?;
                }
                Attributes::write_after(Some(&self.stat(node)?), &mut to);
            }
            Call::Lookup { name } => {
                let found = fault(volume.look_up(self.node(&name.directory)?, name.name))?;
                self.handle(&found).write(&mut to);
                Attributes::write_optional(Some(&attributes(&found)), &mut to);
                to.flag(false);
            }
            Call::Read { node, offset, count } => return self.read(node, *offset, *count, to),
            Call::Write { node, offset, stability, data } => {
                self.write(node, *offset, *stability, data, &mut to)?;
            }
            Call::Create { name, creation } => match *creation {
                Creation::Unchecked(size) => {
                    let make = |volume: &Volume, directory, name: &[u8]| {
                        volume.open_or_create(directory, name, size)
                    };
                    self.made(name, make, &mut to)?;
                }
                Creation::Guarded => self.made(name, Volume::create_new, &mut to)?,
                // Clients then ask for a guarded one (section 3.3.8): no file here outlives the
                // server, so no client has to find out which client made it.
                Creation::Exclusive(_) => return Err(Status::NOT_SUPPORTED),
            },
            Call::MakeDirectory { name } => self.made(name, Volume::make_directory, &mut to)?,
            Call::Remove { name } => self.removed(name, Volume::remove, &mut to)?,
            Call::RemoveDirectory { name } => {
                self.removed(name, Volume::remove_directory, &mut to)?;
            }
            Call::Rename { from, to: target } => {
                let [source, directory] =
                    [self.node(&from.directory)?, self.node(&target.directory)?];
                fault(volume.rename((source, from.name), (directory, target.name)))?;
                (0..2).for_each(|_| Attributes::write_after(None, &mut to));
            }
            Call::Commit { node } => {
                fault(volume.commit(self.node(node)?))?;
                self.service.moments.make_durable();
                Attributes::write_after(Some(&self.stat(node)?), &mut to);
                to.fixed(&self.service.verifier);
            }
            // A client that has sent the token may do everything.
            Call::Access { node, rights } => {
                Attributes::write_optional(Some(&self.stat(node)?), &mut to);
                to.number(*rights);
            }
            Call::ReadDirectory { node, cookie, count, is_plus } => {
                self.list(node, *cookie, *count, *is_plus, &mut to)?;
            }
            Call::FileSystemStatus { node } => self.about(node, about::status(volume), &mut to)?,
            Call::FileSystemInformation { node } => {
                self.about(node, about::information(), &mut to)?;
            }
            Call::PathConfiguration { node } => self.about(node, about::path(), &mut to)?,
        }
        Ok(())
    }

    /// Data about the whole file system follow the attributes of any of its nodes.
    fn about(
        &self,
        node: &Handle,
        said: impl FnOnce(&mut Writer<'_>),
        to: &mut Writer<'_>,
    ) -> Result<(), Status> {
        Attributes::write_optional(Some(&self.stat(node)?), to);
        said(to);
        Ok(())
    }

    /// Names behind a cookie, which is the number of the node before, as many as there is room for.
    fn list(
        &self,
        node: &Handle,
        cookie: u64,
        count: u32,
        is_plus: bool,
        to: &mut Writer<'_>,
    ) -> Result<(), Status> {
        let directory = self.stat(node)?;
        let most = about::names_within(count, is_plus);
        let (names, is_end) = fault(self.service.volume.list(self.node(node)?, cookie, most))?;
        Attributes::write_optional(Some(&directory), to);
        to.long(0);
        for named in &names {
            to.flag(true);
            to.long(named.stat.node);
            to.opaque(&named.name);
            to.long(named.stat.node);
            if is_plus {
                Attributes::write_optional(Some(&attributes(&named.stat)), to);
                to.flag(true);
                self.handle(&named.stat).write(to);
            }
        }
        to.flag(false);
        to.flag(is_end);
        Ok(())
    }

    fn read(
        &mut self,
        node: &Handle,
        offset: u64,
        count: u32,
        mut to: Writer<'_>,
    ) -> Result<(), Status> {
        let stat = self.stat(node)?;
        let number = self.node(node)?;
        self.service.moments.touch();
        Attributes::write_optional(Some(&stat), &mut to);
        // The remaining space bounds the allocation.
        let wanted = (count as usize)
            .min(MOST_DATA)
            .min(usize::try_from(stat.size.saturating_sub(offset)).unwrap_or(MOST_DATA));
        let read = to.piece_of(wanted, |into| self.service.volume.read_at(number, offset, into));
        self.account.read += Bytes::new(fault(read)? as u64);
        Ok(())
    }

    fn write(
        &mut self,
        node: &Handle,
        offset: u64,
        stability: Stability,
        data: &[u8],
        to: &mut Writer<'_>,
    ) -> Result<(), Status> {
        let (volume, number) = (&self.service.volume, self.node(node)?);
        self.service.moments.touch();
        fault(volume.write_at(number, offset, data))?;
        if stability == Stability::FileSync {
            fault(volume.commit(number))?;
            self.service.moments.make_durable();
        }
        self.account.written += Bytes::new(data.len() as u64);
        Attributes::write_after(Some(&self.stat(node)?), to);
        to.number(data.len() as u32);
        to.number(stability as u32);
        to.fixed(&self.service.verifier);
        Ok(())
    }

    fn made(
        &self,
        name: &NameInDirectory<'_>,
        make: impl FnOnce(&Volume, u64, &[u8]) -> Result<Stat, Fault>,
        to: &mut Writer<'_>,
    ) -> Result<(), Status> {
        let stat = fault(make(&self.service.volume, self.node(&name.directory)?, name.name))?;
        to.flag(true);
        self.handle(&stat).write(to);
        Attributes::write_optional(Some(&attributes(&stat)), to);
        Attributes::write_after(None, to);
        Ok(())
    }

    fn removed(
        &self,
        name: &NameInDirectory<'_>,
        remove: impl FnOnce(&Volume, u64, &[u8]) -> Result<(), Fault>,
        to: &mut Writer<'_>,
    ) -> Result<(), Status> {
        fault(remove(&self.service.volume, self.node(&name.directory)?, name.name))?;
        Attributes::write_after(None, to);
        Ok(())
    }

    fn node(&self, handle: &Handle) -> Result<u64, Status> {
        handle.node(&self.service.token).ok_or(Status::BAD_HANDLE)
    }

    fn handle(&self, stat: &Stat) -> Handle {
        Handle::of(&self.service.token, stat.node)
    }

    fn stat(&self, handle: &Handle) -> Result<Attributes, Status> {
        Ok(attributes(&fault(self.service.volume.stat(self.node(handle)?))?))
    }
}

const fn attributes(stat: &Stat) -> Attributes {
    Attributes {
        is_directory: stat.is_directory,
        size: stat.size,
        node: stat.node,
        changes: stat.changes,
    }
}

fn fault<T>(result: Result<T, Fault>) -> Result<T, Status> {
    result.map_err(|fault| Status::of(&fault))
}

/// The rest of an answer with an error status: attributes that are left out (section 3.3).
fn write_failure(call: &Call<'_>, to: &mut Writer<'_>) {
    match call {
        Call::Null | Call::GetAttributes { .. } => {}
        Call::Lookup { .. }
        | Call::Read { .. }
        | Call::Access { .. }
        | Call::ReadDirectory { .. }
        | Call::FileSystemStatus { .. }
        | Call::FileSystemInformation { .. }
        | Call::PathConfiguration { .. } => Attributes::write_optional(None, to),
        Call::Rename { .. } => (0..2).for_each(|_| Attributes::write_after(None, to)),
        _ => Attributes::write_after(None, to),
    }
}
