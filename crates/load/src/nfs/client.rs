//! A blocking client. It keeps nothing of what it read or looked up: every call goes over the
//! network.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use btu_contract::activity::Token;
use btu_units::Span;

use super::answer::{self, Attributes, Found, OctetLimits, Piece, Written};
use super::protocol::{Call, Creation, Handle, LONGEST_RECORD, NameInDirectory, Stability};
use super::rpc::{self, CallHeader, Credential};
use super::xdr::{Garbled, Writer, XdrReader};
use super::{NfsError, Status, mount};
use crate::pump::{self, IdleTimeout};

/// A client waits until its timeout, and no other thread stops it: its process is ended instead.
pub(super) static NEVER: AtomicBool = AtomicBool::new(false);

/// A connection to an NFS version 3 server that knows this client's token.
#[derive(Debug)]
pub struct NfsClient {
    stream: TcpStream,
    server: SocketAddr,
    credential: Credential,
    root: Handle,
    transaction: u32,
    calls: u64,
    /// Most octets of a READ and of a WRITE, `MOST_DATA` at most.
    limits: OctetLimits,
    timeout: Span,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// A received answer: the number of its call, and the place of its body in the input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived {
    pub(super) transaction: u32,
    start: usize,
    end: usize,
}

impl NfsClient {
    /// Connects, sends `token` and the number of this `client` for the server's account, and waits
    /// for the answer. `timeout` is that of each call's answer.
    ///
    /// # Errors
    /// [`NfsError::Connect`], and [`NfsError::SentAway`] where the server knows another token or is
    /// full.
    pub fn connect(
        server: SocketAddr,
        token: &Token,
        client: u32,
        timeout: Span,
    ) -> Result<Self, NfsError> {
        Self::begin(server, Credential::new(token, client), Handle::root(token), timeout)
    }

    /// Connects to a server of another make and mounts the directory that it exports as `path`. The
    /// number tells this client from others to the server, as the stamp of its credential; it calls
    /// as user and group 0. `mount_port` is where the server's MOUNT service listens; without it
    /// the server's port mapper is asked.
    ///
    /// # Errors
    /// [`NfsError::Connect`], [`NfsError::Refused`] where the server exports no such directory or
    /// not to this host, or wants a port below 1024 (`insecure` in exports(5) of Linux allows
    /// others), and the errors of every call.
    pub fn mount(
        server: SocketAddr,
        mount_port: Option<u16>,
        path: &str,
        client: u32,
        timeout: Span,
    ) -> Result<Self, NfsError> {
        let credential = Credential::new(&Token::default(), client);
        let root = mount::root_of(server, mount_port, path, &credential, timeout)?;
        let mut mounted = Self::begin(server, credential, root, timeout)?;
        mounted.limits = mounted.call(
            "FSINFO",
            &Call::FileSystemInformation { node: root },
            OctetLimits::read,
        )?;
        mounted.calls = 0;
        Ok(mounted)
    }

    fn begin(
        server: SocketAddr,
        credential: Credential,
        root: Handle,
        timeout: Span,
    ) -> Result<Self, NfsError> {
        let mut client = Self {
            stream: connected(server, timeout)?,
            server,
            credential,
            root,
            transaction: 0,
            calls: 0,
            limits: OctetLimits::default(),
            timeout,
            input: Vec::new(),
            output: Vec::new(),
        };
        client.call("NULL", &Call::Null, |_| Ok(())).map_err(|error| match error {
            NfsError::Connection { .. } => NfsError::SentAway { server },
            other => other,
        })?;
        client.calls = 0;
        Ok(client)
    }

    /// The IP address and port of the NFS server.
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// Calls that were answered, whatever the answer; the one that opens the connection is none, as
    /// in the server's account.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The root directory.
    pub fn root(&self) -> Handle {
        self.root
    }

    /// GETATTR: the attributes of a node.
    ///
    /// # Errors
    /// As of every call: a connection that broke off, no answer in time, an answer that is none, a
    /// refusal.
    pub fn attributes(&mut self, node: &Handle) -> Result<Attributes, NfsError> {
        self.call("GETATTR", &Call::GetAttributes { node: *node }, Attributes::read)
    }

    /// LOOKUP: the node of a name in a directory.
    ///
    /// # Errors
    /// As of every call.
    pub(crate) fn look_up(&mut self, directory: &Handle, name: &str) -> Result<Found, NfsError> {
        self.call("LOOKUP", &Call::Lookup { name: entry(directory, name) }, Found::read_looked_up)
    }

    /// CREATE, unchecked: makes a file, or empties the one that is called so.
    ///
    /// # Errors
    /// As of every call.
    pub fn create(&mut self, directory: &Handle, name: &str) -> Result<Found, NfsError> {
        let creation = Creation::Unchecked(Some(0));
        let call = Call::Create { name: entry(directory, name), creation };
        self.call("CREATE", &call, Found::read_made)
    }

    /// MKDIR.
    ///
    /// # Errors
    /// As of every call.
    pub fn make_directory(&mut self, directory: &Handle, name: &str) -> Result<Found, NfsError> {
        self.call("MKDIR", &Call::MakeDirectory { name: entry(directory, name) }, Found::read_made)
    }

    /// REMOVE: a file.
    ///
    /// # Errors
    /// As of every call.
    pub fn remove(&mut self, directory: &Handle, name: &str) -> Result<(), NfsError> {
        self.call("REMOVE", &Call::Remove { name: entry(directory, name) }, |_| Ok(()))
    }

    /// RENAME: a file, which may replace another one.
    ///
    /// # Errors
    /// As of every call.
    pub fn rename(&mut self, from: (&Handle, &str), to: (&Handle, &str)) -> Result<(), NfsError> {
        let call = Call::Rename { from: entry(from.0, from.1), to: entry(to.0, to.1) };
        self.call("RENAME", &call, |_| Ok(()))
    }

    /// READ: up to `MOST_DATA` octets from `offset`, or fewer where the server takes no more.
    /// Returns the number of octets and whether the file ends with them; servers may send fewer
    /// than were asked for.
    ///
    /// # Errors
    /// As of every call.
    pub fn read_at(
        &mut self,
        file: &Handle,
        offset: u64,
        into: &mut [u8],
    ) -> Result<(usize, bool), NfsError> {
        let count = into.len().min(self.limits.read);
        self.call("READ", &Call::Read { node: *file, offset, count: count as u32 }, |from| {
            let piece = Piece::read(from)?;
            into.get_mut(..piece.data.len()).ok_or(Garbled)?.copy_from_slice(piece.data);
            Ok((piece.data.len(), piece.is_end))
        })
    }

    /// WRITE: all octets at `offset`, in calls of up to `MOST_DATA`, or fewer where the server
    /// takes no more.
    ///
    /// # Errors
    /// As of every call; a server that took less than was sent is one without room.
    pub(crate) fn write_at(
        &mut self,
        file: &Handle,
        offset: u64,
        octets: &[u8],
        stability: Stability,
    ) -> Result<(), NfsError> {
        let most = self.limits.write;
        for (index, data) in octets.chunks(most).enumerate() {
            let offset = offset + (index * most) as u64;
            let call = Call::Write { node: *file, offset, stability, data };
            let written = self.call("WRITE", &call, Written::read)?;
            self.all_written(written, data.len())?;
        }
        Ok(())
    }

    /// COMMIT: returns when the server's device has all written data of the file; the answer is the
    /// server's verifier.
    ///
    /// # Errors
    /// As of every call.
    pub fn commit(&mut self, file: &Handle) -> Result<[u8; 8], NfsError> {
        self.call("COMMIT", &Call::Commit { node: *file }, answer::read_committed)
    }

    /// A call and its answer, one at a time.
    fn call<T>(
        &mut self,
        name: &'static str,
        call: &Call<'_>,
        read: impl FnOnce(&mut XdrReader<'_>) -> Result<T, Garbled>,
    ) -> Result<T, NfsError> {
        let transaction = self.send(name, call)?;
        let arrived = self.receive(name)?;
        if arrived.transaction != transaction {
            return Err(self.garbled(name));
        }
        self.body(name, arrived, matches!(call, Call::Null), read)
    }

    /// Sends a call and returns its number.
    pub(super) fn send(&mut self, name: &'static str, call: &Call<'_>) -> Result<u32, NfsError> {
        self.transaction = self.transaction.wrapping_add(1);
        rpc::begin(&mut self.output);
        let mut to = Writer::new(&mut self.output);
        CallHeader::write(
            self.transaction,
            (rpc::NFS, call.procedure()),
            &self.credential,
            &mut to,
        );
        call.write(&mut to);
        rpc::finish(&mut self.output);
        let timeout = IdleTimeout::new(&NEVER, self.timeout.into());
        pump::write(&mut self.stream, &self.output, &timeout)
            .map_err(|error| self.failed(name, error))?;
        Ok(self.transaction)
    }

    /// Waits for an answer, to whichever call.
    pub(super) fn receive(&mut self, name: &'static str) -> Result<Arrived, NfsError> {
        let timeout = IdleTimeout::new(&NEVER, self.timeout.into());
        let length = rpc::read_record(&mut self.stream, &mut self.input, LONGEST_RECORD, &timeout)
            .and_then(|length| length.ok_or_else(|| ErrorKind::UnexpectedEof.into()))
            .map_err(|error| self.failed(name, error))?;
        let mut reader = XdrReader::new(&self.input[..length]);
        let (transaction, is_taken) =
            rpc::read_answer(&mut reader).map_err(|Garbled| self.garbled(name))?;
        if !is_taken {
            return Err(self.garbled(name));
        }
        self.calls += 1;
        Ok(Arrived { transaction, start: length - reader.left(), end: length })
    }

    /// The body of an answer: its status, and the rest as parsed by `read`.
    pub(super) fn body<'a, T>(
        &'a self,
        name: &'static str,
        arrived: Arrived,
        is_null: bool,
        read: impl FnOnce(&mut XdrReader<'a>) -> Result<T, Garbled>,
    ) -> Result<T, NfsError> {
        let mut reader = XdrReader::new(&self.input[arrived.start..arrived.end]);
        let status = if is_null {
            Ok(())
        } else {
            answer::read_status(&mut reader).map_err(|Garbled| self.garbled(name))?
        };
        status.map_err(|status| self.refused(name, status))?;
        read(&mut reader).map_err(|Garbled| self.garbled(name))
    }

    pub(super) fn all_written(&self, written: Written, sent: usize) -> Result<(), NfsError> {
        const NO_ROOM: Status = Status(28);
        if written.count as usize == sent { Ok(()) } else { Err(self.refused("WRITE", NO_ROOM)) }
    }

    /// The connection, for messages that no client sends.
    #[cfg(test)]
    pub(super) fn into_stream(self) -> TcpStream {
        self.stream
    }

    pub(super) fn garbled(&self, call: &'static str) -> NfsError {
        NfsError::Garbled { server: self.server, call }
    }

    fn refused(&self, call: &'static str, status: Status) -> NfsError {
        NfsError::Refused { server: self.server, call, status }
    }

    fn failed(&self, call: &'static str, source: io::Error) -> NfsError {
        let server = self.server;
        match source.kind() {
            ErrorKind::TimedOut => NfsError::Silent { server, call, timeout: self.timeout },
            ErrorKind::InvalidData => NfsError::Garbled { server, call },
            _ => NfsError::Connection { server, call, source },
        }
    }
}

/// A connection with blocking reads and writes that return after a moment.
pub(super) fn connected(server: SocketAddr, timeout: Span) -> Result<TcpStream, NfsError> {
    let failed = |source| NfsError::Connect { server, source };
    let wait = Duration::from(timeout).max(Duration::from_millis(1));
    let stream = TcpStream::connect_timeout(&server, wait).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    pump::limit(&stream).map_err(failed)?;
    Ok(stream)
}

fn entry<'a>(directory: &Handle, name: &'a str) -> NameInDirectory<'a> {
    NameInDirectory { directory: *directory, name: name.as_bytes() }
}
