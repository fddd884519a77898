//! A terminal at another host: the system's ssh calls its sshd, which gives it a pseudo-terminal
//! (pty(7)) in raw mode, and nothing else. It is the heir of the study's TELNET.
//!
//! ```text
//! application -- pipe -- ssh ==== network ==== sshd -- terminal -- cat, cat -- pipes -- display
//! ```
//!
//! sshd gives the terminal to the group `tty`, and starts the account's shell. Both it can do
//! without a privilege in a user namespace in which this user is that group, with an instance of
//! devpts of its own, and with the system's shell where the account has none.

use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use btu_contract::activity::Token;
use btu_contract::peers::Callers;
use btu_traffic::{Flow, FlowDoor, Limit};
use btu_units::Span;
use nix::fcntl::OFlag;
use nix::unistd::{Group, pipe2};

use super::ends::{CopyCommand, MemoryFile, ServingProgram};
use super::from_pipe::{Has, look, read_until};
use super::process::RunningProgram;
use super::{account, find, openssh};
use crate::LoadError;
use crate::account::now;

/// Opens two texts and the two pipes as 3, 4, 5 and 6.
const OPEN: &str = "exec 3<\"$1\" 4<\"$2\" 5>\"$3\" 6<\"$4\"; shift 4; exec \"$@\"";

/// In a user namespace: terminals of its own, a shell for the account whose shell is `$1`.
const FURNISH: &str = "mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=0 devpts /dev/pts && \
                       mount --bind /dev/pts/ptmx /dev/ptmx && \
                       mount --bind \"$(command -v sh)\" \"$(readlink -f \"$1\")\" && shift && exec \"$@\"";

/// The group that has terminals, if this system has not named it.
const TTY: u32 = 5;

/// Most octets that come before a session begins: what the programs of the other host say first.
const MOST_BEFORE: usize = 4096;

/// How long a display may take from the call to its first octets. sshd gives a login 5 s, and after it
/// some 1000 octets come: 8 s at 1200 b/s.
const GREETING: Span = Span::from_seconds(60);

/// How long a session may take to end when both ends have.
const LAST: Span = Span::from_seconds(5);

/// A port, and the sshd that gives its callers a terminal.
pub(crate) struct TerminalDoor {
    door: FlowDoor,
    token: Token,
    service: ServingProgram,
}

/// What a caller's terminal is connected to, while the session lasts.
pub(crate) struct TerminalSession {
    process: RunningProgram,
    incoming: File,
    outgoing: File,
    /// Whether this end called.
    hangs_up: bool,
}

impl TerminalDoor {
    /// Listens on any free port of `address`.
    pub(crate) fn open(
        address: IpAddr,
        token: &Token,
        callers: &Callers,
    ) -> Result<Self, LoadError> {
        let service = openssh::terminal_service(token)?;
        Ok(Self { door: FlowDoor::open(address, callers)?, token: *token, service })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// Serves callers until one was let in and sends its first octets.
    pub(crate) fn admit(self, limit: &Limit<'_>) -> Result<TerminalSession, LoadError> {
        loop {
            let flow = self.door.accept(limit)?;
            let peer = flow.peer();
            let (incoming, theirs) = pair()?;
            let (theirs_too, mut outgoing) = pair()?;
            let command = self.command(&flow, [&theirs, &theirs_too])?;
            let mut process = RunningProgram::start("sshd", command, self.service.let_in)?;
            // Else the connection would not end with the program.
            drop(flow);
            let failed = |source| LoadError::Kernel { operation: "write to a terminal", source };
            outgoing.write_all(&self.token).map_err(failed)?;
            let may_go_on = || Ok(limit.check(now()?, "wait for a terminal", peer)?);
            while look(&incoming)? == Has::Nothing && !process.has_ended()? {
                may_go_on()?;
            }
            if look(&incoming)? == Has::Octets {
                return Ok(TerminalSession { process, incoming, outgoing, hangs_up: false });
            }
            self.door.refuse(peer);
            let ended = process.finish(None, may_go_on)?;
            // A caller that only looked in is no reason to end; a server that cannot begin is.
            if ended.said.let_in.is_some() || !ended.said.last.contains(&peer.ip().to_string()) {
                let problem = format!("no session came of it: {}", ended.explained());
                return Err(LoadError::Program { program: "sshd", problem });
            }
        }
    }

    fn command(&self, flow: &Flow, pipes: [&File; 2]) -> Result<Command, LoadError> {
        let socket = OwnedFd::from(flow.lend()?);
        let answers = socket
            .try_clone()
            .map_err(|source| LoadError::Kernel { operation: "duplicate a socket", source })?;
        let user = account()?;
        let tty = Group::from_name("tty").ok().flatten().map_or(TTY, |group| group.gid.as_raw());
        let texts = self.service.held.iter().flatten().map(MemoryFile::path);
        let (sh, unshare) = (find("sh")?, find("unshare")?);
        let mut command = Command::new(&sh);
        command.args(["-c", OPEN, "sh"]).args(texts).args(pipes.map(path));
        command.arg(&unshare).args(["--user", "--map-root-user", "--mount"]);
        command.arg(&sh).args(["-c", FURNISH, "sh"]).arg(shell(&user.shell));
        command.arg(&unshare).arg("--user");
        command.args([format!("--map-user={}", user.uid), format!("--map-group={tty}")]);
        command.arg(find("setpriv")?).args(["--pdeathsig", "KILL", "--"]);
        command.args(&self.service.words).stdin(socket).stdout(answers);
        Ok(command)
    }
}

/// An account without a shell has the system's (passwd(5)).
fn shell(named: &std::path::Path) -> PathBuf {
    if named.as_os_str().is_empty() { PathBuf::from("/bin/sh") } else { named.to_owned() }
}

/// Calls, and waits until the terminal is connected to the other end's display.
pub(crate) fn call(
    to: SocketAddr,
    token: &Token,
    limit: &Limit<'_>,
) -> Result<TerminalSession, LoadError> {
    let CopyCommand { program, mut command, let_in, held } = openssh::terminal_client(to, token)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = RunningProgram::start(program, command, let_in)?;
    let pipes = process.pipes();
    let (mut incoming, outgoing) = pipes.ok_or_else(|| LoadError::Program {
        program,
        problem: "its input and output are no pipes".to_owned(),
    })?;
    let until = now()? + GREETING;
    let may_go_on = || {
        limit.check(now()?, "wait for ssh", to)?;
        if now()? < until { Ok(()) } else { Err(silent(to)) }
    };
    let is_connected = |said: &[u8]| said.ends_with(token);
    let said = read_until(&mut incoming, MOST_BEFORE, is_connected, may_go_on)?;
    drop(held);
    if !is_connected(&said) {
        let ended = process.finish(None, || Ok(limit.check(now()?, "wait for ssh", to)?))?;
        return Err(LoadError::Program { program, problem: ended.explained() });
    }
    Ok(TerminalSession { process, incoming, outgoing, hangs_up: true })
}

/// The session is ended then.
fn silent(to: SocketAddr) -> LoadError {
    LoadError::Program {
        program: "ssh",
        problem: format!(
            "the display at {to} has not greeted within {GREETING}: is it another program?"
        ),
    }
}

impl TerminalSession {
    /// Has `work` done over the terminal, and ends the session: the end that called hangs up, and
    /// the other one waits for that.
    pub(crate) fn over<T>(
        self,
        limit: &Limit<'_>,
        work: impl FnOnce(File, File) -> std::io::Result<T>,
    ) -> Result<T, LoadError> {
        let Self { process, incoming, outgoing, hangs_up } = self;
        let done = work(incoming, outgoing);
        if hangs_up && done.is_ok() {
            drop(process);
            return done.map_err(drawing);
        }
        let until = now()? + LAST;
        let may_go_on = || if now()? < until && !limit.stopped() { Ok(()) } else { Err(late()) };
        match (done, process.finish(None, may_go_on)) {
            (Err(error), Ok(ended)) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(LoadError::Program { program: "ssh", problem: ended.explained() })
            }
            (done, _) => done.map_err(drawing),
        }
    }
}

fn drawing(source: std::io::Error) -> LoadError {
    LoadError::Kernel { operation: "draw over a terminal", source }
}

/// The session is ended then: nothing of it stays.
fn late() -> LoadError {
    LoadError::Order { what: "a session of ssh did not end with the picture" }
}

/// A pipe: its end that reads, and its end that writes.
pub(super) fn pair() -> Result<(File, File), LoadError> {
    let made = pipe2(OFlag::O_CLOEXEC).map_err(std::io::Error::from);
    let (reads, writes) =
        made.map_err(|source| LoadError::Kernel { operation: "make a pipe", source })?;
    Ok((reads.into(), writes.into()))
}

/// The name under which another process of this user opens the file.
fn path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
}
