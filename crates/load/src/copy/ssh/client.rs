//! The system's scp or sftp as a client.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use btu_suite::activity::Token;
use btu_suite::copy::Program;
use btu_traffic::{Flow, Limit};
use btu_units::{Span, Time};

use super::key::{Held, Key};
use super::log::Log;
use super::{NAME, account, ending_with_us};
use crate::LoadError;
use crate::account::now;
use crate::copy::store::Stored;
use crate::copy::stream::hear_done;
use crate::copy::{Moved, Over, TICK};

/// What the host is called in the file of known hosts, whatever its address.
const ALIAS: &str = "btu";

/// Knows how to call the server.
#[derive(Debug)]
pub(crate) struct SshClient {
    program: &'static str,
    to: SocketAddr,
    token: Token,
    /// The user whom the server lets in, who has no other rights there.
    user: String,
    identity: Held,
    known: Held,
}

/// The command ended well: when it was let in, when bytes of a file that it gets were there, when
/// it was over.
struct Ended {
    connected: Time,
    moved: Option<Moved>,
    over: Time,
}

impl SshClient {
    pub(crate) fn new(program: Program, to: SocketAddr, token: &Token) -> Result<Self, LoadError> {
        let program = if program == Program::Sftp { "sftp" } else { "scp" };
        let identity = Held::new(&Key::of(token, "user")?.private_text())?;
        let known = Held::new(&format!("{ALIAS} {}\n", Key::of(token, "host")?.public_line()))?;
        Ok(Self { program, to, token: *token, user: account()?.name, identity, known })
    }

    /// Puts the file, and asks whether it is durable.
    pub(crate) fn put(
        &self,
        source: &Stored,
        limit: &Limit<'_>,
        deadline: Span,
    ) -> Result<Over, LoadError> {
        let path = source.path();
        let batch = Held::new(&format!("put {} {NAME}\n", path.display()))?;
        let mut command = self.command(&batch)?;
        if self.program == "scp" {
            command.arg(&path).arg(self.remote());
        }
        let Ended { connected, over, .. } = self.run(command, None, limit)?;
        let flow = Flow::connect(self.to, &self.token, deadline)?;
        hear_done(&flow, limit, "wait until the copy is durable")?;
        Ok(Over {
            connected,
            moved: Moved { first: connected, last: over },
            durable: now()?,
            tcp: None,
        })
    }

    /// Gets the file, and makes it durable.
    pub(crate) fn get(&self, copy: &Stored, limit: &Limit<'_>) -> Result<Over, LoadError> {
        let path = copy.path();
        let batch = Held::new(&format!("get {NAME} {}\n", path.display()))?;
        let mut command = self.command(&batch)?;
        if self.program == "scp" {
            command.arg(self.remote()).arg(&path);
        }
        let Ended { connected, moved, over } = self.run(command, Some(copy), limit)?;
        let came = copy.length()?;
        if came != copy.size() {
            let (peer, expected) = (self.to, copy.size());
            return Err(LoadError::FileSize { peer, expected, told: format!("{came} came") });
        }
        copy.make_durable()?;
        let moved = moved.unwrap_or(Moved { first: over, last: over });
        Ok(Over { connected, moved, durable: now()?, tcp: None })
    }

    fn host(&self) -> String {
        let user = &self.user;
        match self.to {
            SocketAddr::V4(to) => format!("{user}@{}", to.ip()),
            SocketAddr::V6(to) => format!("{user}@[{}]", to.ip()),
        }
    }

    fn remote(&self) -> String {
        format!("{}:{NAME}", self.host())
    }

    /// All but what is copied; sftp reads that from `batch`. No file of the user's decides
    /// anything.
    fn command(&self, batch: &Held) -> Result<Command, LoadError> {
        let mut command = ending_with_us(self.program)?;
        let option = |name: &str, value: &Path| format!("{name}={}", value.display());
        let options = [
            "BatchMode=yes".to_owned(),
            "CanonicalizeHostname=no".to_owned(),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            format!("HostKeyAlias={ALIAS}"),
            "IdentitiesOnly=yes".to_owned(),
            "IdentityAgent=none".to_owned(),
            option("IdentityFile", &self.identity.path()),
            "LogLevel=VERBOSE".to_owned(),
            "PreferredAuthentications=publickey".to_owned(),
            "StrictHostKeyChecking=yes".to_owned(),
            option("UserKnownHostsFile", &self.known.path()),
        ];
        command.args(["-F", "none", "-P", &self.to.port().to_string()]);
        if self.program == "sftp" {
            command.arg("-b").arg(batch.path());
        }
        command.args(options.iter().flat_map(|option| ["-o", option]));
        if self.program == "sftp" {
            command.arg(self.host());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Ok(command)
    }

    /// Runs it to its end, and looks how far `copy` has come meanwhile.
    fn run(
        &self,
        mut command: Command,
        copy: Option<&Stored>,
        limit: &Limit<'_>,
    ) -> Result<Ended, LoadError> {
        let failed = |problem: String| LoadError::Program { program: self.program, problem };
        let started =
            command.spawn().map_err(|error| failed(format!("could not be started: {error}")))?;
        let mut child = Ending(started);
        let log = Log::of(&mut child.0, "Authenticated to");
        let mut watch = Watch::default();
        let may_go_on = || Ok(limit.check(now()?, "copy by the system's program", self.to)?);
        let status = child.watched(self.program, &mut watch, copy, may_go_on)?;
        let over = now()?;
        let said = log.finish();
        if let Some(copy) = copy {
            watch.look(copy)?;
        }
        match said.let_in {
            Some(connected) if status.success() => {
                Ok(Ended { connected, moved: watch.moved(), over })
            }
            _ => Err(failed(explained(self.to, status, &said.last))),
        }
    }
}

fn explained(to: SocketAddr, status: ExitStatus, last: &str) -> String {
    let said = if last.is_empty() {
        "without a word".to_owned()
    } else {
        format!("and said last: {last}")
    };
    format!("the copy between here and {to} failed: it ended with {status}, {said}")
}

/// When a file that grows had its first bytes, and all of them.
#[derive(Debug, Default)]
pub(super) struct Watch {
    first: Option<Time>,
    last: Option<Time>,
}

impl Watch {
    pub(super) fn look(&mut self, file: &Stored) -> Result<(), LoadError> {
        if self.last.is_some() {
            return Ok(());
        }
        let length = file.length()?;
        if length > 0 {
            let now = now()?;
            self.first.get_or_insert(now);
            self.last = (length == file.size()).then_some(now);
        }
        Ok(())
    }

    pub(super) fn moved(&self) -> Option<Moved> {
        Some(Moved { first: self.first?, last: self.last? })
    }
}

/// A child that does not outlive its copy.
pub(super) struct Ending(pub(super) Child);

impl Ending {
    /// Waits until the program has ended, as long as it may go on; looks how far `copy` has come
    /// meanwhile.
    pub(super) fn watched(
        &mut self,
        program: &'static str,
        watch: &mut Watch,
        copy: Option<&Stored>,
        may_go_on: impl Fn() -> Result<(), LoadError>,
    ) -> Result<ExitStatus, LoadError> {
        loop {
            if let Some(copy) = copy {
                watch.look(copy)?;
            }
            let ended = self.0.try_wait().map_err(|error| LoadError::Program {
                program,
                problem: format!("could not be waited for: {error}"),
            })?;
            if let Some(status) = ended {
                return Ok(status);
            }
            may_go_on()?;
            thread::sleep(TICK);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
