//! The system's sshd as a server of one file, a process for each connection.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use btu_suite::activity::Token;
use btu_suite::peers::Callers;
use btu_traffic::{FlowDoor, Limit};
use btu_units::Time;
use nix::unistd::User;

use super::client::{Ending, Watch};
use super::key::{Held, Key};
use super::log::Log;
use super::{account, find};
use crate::LoadError;
use crate::account::now;
use crate::copy::store::Stored;
use crate::copy::stream::say_done;
use crate::copy::{Moved, Over};

/// Opens host key, authorised key and file as 3, 4 and 5, and goes on as an account in a user
/// namespace of its own: an sshd that is not the superuser's needs neither a directory nor an
/// account for itself. The last shell stays, since its open files are the directory that is served,
/// and sshd hides its own open files from other processes.
const OUTSIDE: &str = "exec 3<\"$1\" 4<\"$2\" 5<>\"$3\"; shift 3; exec \"$@\"";
const INSIDE: &str = "\"$@\" -o HostKey=/proc/$$/fd/3 -o AuthorizedKeysFile=/proc/$$/fd/4 \
                      -o \"ForceCommand=internal-sftp -d /proc/$$/fd\"; exit $?";

/// The options of sshd in addition to those; no file of the system decides anything.
const OPTIONS: [&str; 10] = [
    "AllowTcpForwarding=no",
    "AuthenticationMethods=publickey",
    "LoginGraceTime=5",
    "LogLevel=VERBOSE",
    "PidFile=none",
    "PrintLastLog=no",
    "PrintMotd=no",
    "StrictModes=no",
    "Subsystem=sftp internal-sftp",
    "UsePAM=no",
];

/// A port, and what an sshd behind it is to know.
pub(crate) struct SshServer {
    door: FlowDoor,
    token: Token,
    host: Held,
    user: Held,
    account: User,
    file: PathBuf,
}

/// A connection that was let in and is over.
struct Served {
    connected: Time,
    moved: Option<Moved>,
    over: Time,
}

impl SshServer {
    /// Listens on any free port of `address`, for `file`.
    pub(crate) fn open(
        address: IpAddr,
        token: &Token,
        file: &Stored,
        callers: &Callers,
    ) -> Result<Self, LoadError> {
        find("sshd")?;
        let host = Held::new(&Key::of(token, "host")?.private_text())?;
        let user = Held::new(&format!("{}\n", Key::of(token, "user")?.public_line()))?;
        Ok(Self {
            door: FlowDoor::open(address, callers)?,
            token: *token,
            host,
            user,
            account: account()?,
            file: file.path(),
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// Takes the file, makes it durable, and says so to who asks.
    pub(crate) fn take(self, copy: &Stored, limit: &Limit<'_>) -> Result<Over, LoadError> {
        let Served { connected, moved, .. } = self.serve(Some(copy), limit)?;
        let Some(moved) = moved else {
            let (peer, expected, came) = (self.address(), copy.size(), copy.length()?);
            return Err(LoadError::FileSize { peer, expected, told: format!("{came} came") });
        };
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

    /// Gives the file to who gets it.
    pub(crate) fn offer(self, limit: &Limit<'_>) -> Result<Over, LoadError> {
        let Served { connected, over, .. } = self.serve(None, limit)?;
        Ok(Over {
            connected,
            moved: Moved { first: connected, last: over },
            durable: over,
            tcp: None,
        })
    }

    /// Serves callers until one was let in and is gone; looks how far `copy` has come meanwhile.
    fn serve(&self, copy: Option<&Stored>, limit: &Limit<'_>) -> Result<Served, LoadError> {
        let failed = |problem: String| LoadError::Program { program: "sshd", problem };
        loop {
            let flow = self.door.accept(limit)?;
            let socket = OwnedFd::from(flow.lend()?);
            let started = self.command(socket)?.spawn();
            let mut child =
                Ending(started.map_err(|error| failed(format!("could not be started: {error}")))?);
            let log = Log::of(&mut child.0, "Accepted publickey");
            let peer = flow.peer();
            // Else the connection would not end with sshd.
            drop(flow);
            let mut watch = Watch::default();
            let may_go_on = || Ok(limit.check(now()?, "serve the system's program", peer)?);
            let status = child.watched("sshd", &mut watch, copy, may_go_on)?;
            let over = now()?;
            let said = log.finish();
            if let Some(copy) = copy {
                watch.look(copy)?;
            }
            if let Some(connected) = said.let_in {
                return Ok(Served { connected, moved: watch.moved(), over });
            }
            self.door.refuse(peer);
            // A client that only looked in is no reason to end; an sshd that cannot begin is.
            if !said.last.contains(&peer.ip().to_string()) {
                return Err(failed(format!(
                    "it ended with {status} before any login; it said last: {}",
                    said.last
                )));
            }
        }
    }

    fn command(&self, socket: OwnedFd) -> Result<Command, LoadError> {
        let answers = socket
            .try_clone()
            .map_err(|source| LoadError::Kernel { operation: "duplicate a socket", source })?;
        let mut command = Command::new(find("sh")?);
        command.args(["-c", OUTSIDE, "sh"]).args([
            self.host.path(),
            self.user.path(),
            self.file.clone(),
        ]);
        let (user, group) = (
            format!("--map-user={}", self.account.uid),
            format!("--map-group={}", self.account.gid),
        );
        command.arg(find("unshare")?).args(["--user", &user, &group]);
        command.arg(find("setpriv")?).args(["--pdeathsig", "KILL", "--"]);
        command.arg(find("sh")?).args(["-c", INSIDE, "sh"]);
        command.arg(find("sshd")?).args(["-i", "-e", "-f", "/dev/null"]);
        command.args(OPTIONS.iter().flat_map(|option| ["-o", option]));
        command.stdin(socket).stdout(answers).stderr(Stdio::piped());
        Ok(command)
    }
}
