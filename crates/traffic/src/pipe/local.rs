//! The meeting place of two processes of one machine: a Unix socket in a private directory, and the
//! token.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use btu_contract::activity::{PipeMeeting, Token};
use btu_contract::pipe::SocketOptions;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, SockAddr, Socket, Type};

use super::Terms;
use crate::clock::{Limit, TICK, now};
use crate::error::TrafficError;
use crate::sys::rights;
use crate::token;

/// How long a caller may take to present the token.
const HESITATION: Duration = Duration::from_secs(1);

/// One end on its way to a meeting.
pub(super) struct UnixRendezvous {
    socket: Socket,
    path: PathBuf,
    token: Token,
    listens: bool,
}

impl UnixRendezvous {
    /// Listens, or connects and presents the token.
    pub(super) fn take(
        meeting: &PipeMeeting,
        kind: Type,
        terms: &Terms,
    ) -> Result<Self, TrafficError> {
        let (token, options) = (terms.token, &terms.plan.socket);
        let (path, listens) = match meeting {
            PipeMeeting::ListenAt(path) => (path, true),
            PipeMeeting::ConnectAt(path) => (path, false),
            PipeMeeting::Network(_) => {
                let what =
                    "this transport stays on one machine: its ends meet at a path".to_owned();
                return Err(TrafficError::Order { activity: "pipe", what });
            }
        };
        let operation = if listens { "listen" } else { "connect" };
        let failed = |source| trouble(operation, path, source);
        let socket = open(path, kind, options, listens, &token).map_err(failed)?;
        Ok(Self { socket, path: path.clone(), token, listens })
    }

    /// Whether this end listens.
    pub(super) fn listens(&self) -> bool {
        self.listens
    }

    /// The path of the socket.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The connection; a listener waits for a caller with the token.
    pub(super) fn meet(self, limit: &Limit<'_>) -> Result<OwnedFd, TrafficError> {
        if !self.listens {
            return Ok(self.socket.into());
        }
        loop {
            if limit.stopped() || limit.left(now()).is_zero() {
                let gone = io::Error::new(ErrorKind::TimedOut, "no peer came in time");
                return Err(trouble("wait for the other end", &self.path, gone));
            }
            if let Some(caller) =
                self.admit().map_err(|source| trouble("accept", &self.path, source))?
            {
                // The socket's file is not needed any more, and may be gone already.
                let _ = std::fs::remove_file(&self.path);
                return Ok(caller.into());
            }
        }
    }

    /// Shares files that `make` makes: the listener keeps the first and hands over the second. The
    /// socket over which that is done is returned with them.
    pub(super) fn share<const N: usize>(
        self,
        limit: &Limit<'_>,
        make: impl FnOnce() -> io::Result<([OwnedFd; N], [OwnedFd; N])>,
    ) -> Result<([OwnedFd; N], OwnedFd), TrafficError> {
        let (path, listens) = (self.path.clone(), self.listens);
        let line = self.meet(limit)?;
        let shared = if listens {
            make().and_then(|(mine, yours)| rights::give(line.as_fd(), &yours).map(|()| mine))
        } else {
            rights::take(line.as_fd())
        };
        shared
            .map(|files| (files, line))
            .map_err(|source| trouble("share open files", &path, source))
    }

    /// A caller that has sent the token within a tick.
    fn admit(&self) -> io::Result<Option<Socket>> {
        let mut polled = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        match poll(&mut polled, PollTimeout::from(TICK.as_millis() as u16)) {
            Ok(0) | Err(nix::Error::EINTR) => return Ok(None),
            other => other?,
        };
        let (caller, _) = self.socket.accept()?;
        caller.set_read_timeout(Some(HESITATION))?;
        let mut said = Token::default();
        let heard = nix::sys::socket::recv(
            std::os::fd::AsRawFd::as_raw_fd(&caller),
            &mut said,
            nix::sys::socket::MsgFlags::MSG_WAITALL,
        );
        caller.set_read_timeout(None)?;
        Ok((heard == Ok(said.len()) && token::is_same(&said, &self.token)).then_some(caller))
    }
}

fn open(
    path: &Path,
    kind: Type,
    options: &SocketOptions,
    listens: bool,
    token: &Token,
) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, kind, None)?;
    if let Some(bytes) = options.send_buffer {
        socket.set_send_buffer_size(bytes.count() as usize)?;
    }
    if let Some(bytes) = options.receive_buffer {
        socket.set_recv_buffer_size(bytes.count() as usize)?;
    }
    let address = SockAddr::unix(path)?;
    if listens {
        socket.bind(&address)?;
        socket.listen(8)?;
    } else {
        socket.connect(&address)?;
        socket.send(token)?;
    }
    Ok(socket)
}

fn trouble(operation: &'static str, path: &Path, source: io::Error) -> TrafficError {
    TrafficError::Pipe { operation, object: path.display().to_string(), source }
}
