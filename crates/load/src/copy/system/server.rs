//! A program of the system as the server of one file, a process for each connection.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;

use btu_contract::activity::Token;
use btu_contract::copy::Program;
use btu_contract::peers::Callers;
use btu_traffic::{Flow, FlowDoor, Limit};
use btu_units::Time;

use super::ends::{MemoryFile, ServingProgram};
use super::process::{Ended, RunningProgram};
use super::{account, find, openssh, rsync, sandbox, vsftpd};
use crate::LoadError;
use crate::account::now;
use crate::copy::store::Stored;
use crate::copy::stream::say_done;
use crate::copy::{Moved, Over};

/// Opens two texts and the file as 3, 4 and 5, and continues as an account in a user namespace of
/// its own, until this process ends. Standard error is 6, too: rsync closes the usual one.
const OPEN: &str = "exec 3<\"$1\" 4<\"$2\" 5<>\"$3\" 6>&2; shift 3; exec \"$@\"";

/// A port, and the program that serves its callers.
pub(crate) struct SystemServer {
    door: FlowDoor,
    token: Token,
    service: ServingProgram,
    file: PathBuf,
    /// Whether other hosts order it: then the program sees nothing of this host but the file.
    is_confined: bool,
}

/// A connection that was let in and is over.
struct Served {
    peer: SocketAddr,
    connected: Time,
    ended: Ended,
}

impl SystemServer {
    /// Listens on any free port of `address`, for `file`.
    pub(crate) fn open(
        program: Program,
        address: IpAddr,
        token: &Token,
        file: &Stored,
        callers: &Callers,
    ) -> Result<Self, LoadError> {
        let file = file.path();
        let service = match program {
            Program::Rsync => rsync::service(token, &file)?,
            Program::Vsftpd => vsftpd::service(token)?,
            _ => openssh::service(token)?,
        };
        let is_confined = callers.are_bounded();
        if is_confined {
            sandbox::check(service.program)?;
        }
        let door = FlowDoor::open(address, callers)?;
        Ok(Self { door, token: *token, service, file, is_confined })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// Takes the file, makes it durable, and confirms it to the client.
    pub(crate) fn take(self, copy: &Stored, limit: &Limit<'_>) -> Result<Over, LoadError> {
        let Served { peer, connected, ended } = self.serve(Some(copy), limit)?;
        let Some(moved) = ended.moved else { return Err(self.incomplete(peer, copy, &ended)?) };
        if copy.length()? > copy.size() {
            let (peer, expected) = (self.address(), copy.size());
            return Err(LoadError::FileSize { peer, expected, told: "sent more".to_owned() });
        }
        copy.make_durable()?;
        let durable = now()?;
        let flow = self.door.admit(&self.token, limit)?;
        say_done(&flow, limit)?;
        Ok(Over { connected, moved, durable, tcp: None })
    }

    /// Sends the file to the client that gets it.
    pub(crate) fn offer(self, limit: &Limit<'_>) -> Result<Over, LoadError> {
        let Served { peer, connected, ended } = self.serve(None, limit)?;
        if ended.was_killed() {
            return Err(self.killed(peer, &ended));
        }
        let over = ended.over;
        Ok(Over {
            connected,
            moved: Moved { first: connected, last: over },
            durable: over,
            tcp: None,
        })
    }

    /// Why the file is not whole: there is no room for it, the program was killed, or no more came.
    fn incomplete(
        &self,
        peer: SocketAddr,
        copy: &Stored,
        ended: &Ended,
    ) -> Result<LoadError, LoadError> {
        let (expected, came) = (copy.size(), copy.length()?);
        if ended.was_killed() {
            return Ok(self.killed(peer, ended));
        }
        copy.has_room()?;
        Ok(LoadError::FileSize { peer, expected, told: format!("{came} came") })
    }

    fn killed(&self, peer: SocketAddr, ended: &Ended) -> LoadError {
        let problem = format!("it was killed while it served {peer}: {}", ended.explained());
        LoadError::Program { program: self.service.program, problem }
    }

    /// Serves callers until one was let in and is gone; looks how far `copy` has come meanwhile.
    fn serve(&self, copy: Option<&Stored>, limit: &Limit<'_>) -> Result<Served, LoadError> {
        let program = self.service.program;
        loop {
            let flow = self.door.accept(limit)?;
            let peer = flow.peer();
            let process =
                RunningProgram::start(program, self.command(&flow)?, self.service.let_in)?;
            // Else the connection would not end with the program.
            drop(flow);
            let may_go_on = || Ok(limit.check(now()?, "serve the system's program", peer)?);
            let ended = process.finish(copy, may_go_on)?;
            if let Some(connected) = ended.connected() {
                return Ok(Served { peer, connected, ended });
            }
            self.door.refuse(peer);
            // A client that only looked in is no reason to end; a server that cannot begin is.
            if !ended.said.last.contains(&peer.ip().to_string()) {
                let problem = format!("no login came of it: {}", ended.explained());
                return Err(LoadError::Program { program, problem });
            }
        }
    }

    fn command(&self, flow: &Flow) -> Result<Command, LoadError> {
        let socket = OwnedFd::from(flow.lend()?);
        let answers = socket
            .try_clone()
            .map_err(|source| LoadError::Kernel { operation: "duplicate a socket", source })?;
        let user = account()?;
        let (uid, gid) = (format!("--map-user={}", user.uid), format!("--map-group={}", user.gid));
        let none = || [PathBuf::from("/dev/null"), PathBuf::from("/dev/null")];
        let texts = self
            .service
            .held
            .as_ref()
            .map_or_else(none, |held| held.each_ref().map(MemoryFile::path));
        let mut command = Command::new(find("sh")?);
        command.args(["-c", OPEN, "sh"]).args(texts).arg(&self.file);
        if self.is_confined {
            command.args(sandbox::words()?);
        }
        command.arg(find("unshare")?).args(["--user", &uid, &gid]);
        command.arg(find("setpriv")?).args(["--pdeathsig", "KILL", "--"]);
        command.args(&self.service.words).stdin(socket).stdout(answers);
        Ok(command)
    }
}
