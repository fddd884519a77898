//! The system's X server without a screen, Xvfb(1), for one cell.
//!
//! It listens on TCP only, and its clients must have its cookie, which both ends make from the
//! token. Its lock and its other files are in a directory for temporary files that no other process
//! sees, so that nothing of it stays, however it ends.

use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Stdio};

use btu_contract::activity::Token;
use btu_units::Span;

use super::ends::MemoryFile;
use super::find;
use super::from_pipe::read_until;
use super::process::{Ended, RunningProgram};
use crate::LoadError;
use crate::account::now;

/// The only way of admission: a cookie of 16 octets (Xsecurity(7)).
pub(crate) const COOKIE: &str = "MIT-MAGIC-COOKIE-1";

/// Opens the cookie as 3 and goes on.
const OPEN: &str = "exec 3<\"$1\"; shift; exec \"$@\"";

/// In a namespace of its own.
const SURROUND: &str = "mount -t tmpfs -o mode=1777 tmpfs /tmp && exec \"$@\"";

/// One screen of the picture's size. It writes the number of its display when it is ready, and uses
/// no lock of the machine's, since its port is the lock.
const OPTIONS: [&str; 16] = [
    "-displayfd",
    "1",
    "-screen",
    "0",
    "800x800x24",
    "-listen",
    "tcp",
    "-nolisten",
    "unix",
    "-nolisten",
    "local",
    "-nolock",
    "-auth",
    "/proc/self/fd/3",
    "-s",
    "0",
];

/// Display 0 has this port, others the next ones (X(7)).
const FIRST_PORT: u16 = 6000;

/// How long the server may take until it is ready: it compiles a keyboard's map first.
const START: Span = Span::from_seconds(20);

/// How long one may take to end that named no display.
const ENDING: Span = Span::from_milliseconds(500);

/// Most octets of a display's number.
const MOST_DIGITS: usize = 16;

/// A server that listens.
pub(crate) struct XServer {
    process: RunningProgram,
    address: SocketAddr,
}

impl XServer {
    /// Starts one that is reached at `address`. It ends with its last client if `with_its_clients`.
    pub(crate) fn start(
        address: IpAddr,
        token: &Token,
        with_its_clients: bool,
    ) -> Result<Self, LoadError> {
        let cookie = cookie(token)?;
        let mut command = Command::new(find("sh")?);
        command.args(["-c", OPEN, "sh"]).arg(cookie.path());
        command.arg(find("unshare")?).args(["--user", "--map-root-user", "--mount"]);
        command.arg(find("sh")?).args(["-c", SURROUND, "sh"]);
        command.arg(find("setpriv")?).args(["--pdeathsig", "KILL", "--"]);
        command.arg(find(XVFB)?).args(OPTIONS);
        command.arg(if with_its_clients { "-terminate" } else { "-noreset" });
        // The cookie is there until the server has opened it.
        Self::of(command, address, START)
    }

    /// The server that a command becomes.
    fn of(mut command: Command, address: IpAddr, within: Span) -> Result<Self, LoadError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = RunningProgram::start(XVFB, command, |_| false)?;
        let said = ready(&mut process, within)?;
        let number = std::str::from_utf8(&said).ok().and_then(|said| said.trim().parse().ok());
        let port = number.and_then(|number: u16| FIRST_PORT.checked_add(number));
        if let Some(port) = port {
            return Ok(Self { process, address: SocketAddr::new(address, port) });
        }
        // One that has closed its output is about to end, and has said why.
        let until = now()? + ENDING;
        let is_ending = || {
            let is_late = now()? >= until;
            if is_late { Err(failed("it named no display".to_owned())) } else { Ok(()) }
        };
        let ended = process.finish(None, is_ending)?;
        Err(failed(format!("it did not start: {}", ended.explained())))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until it has ended.
    pub(crate) fn finish(
        self,
        may_go_on: impl Fn() -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let ended: Ended = self.process.finish(None, may_go_on)?;
        if ended.status.success() { Ok(()) } else { Err(failed(ended.explained())) }
    }
}

const XVFB: &str = "Xvfb";

fn failed(problem: String) -> LoadError {
    LoadError::Program { program: XVFB, problem }
}

/// What it writes when it listens.
fn ready(process: &mut RunningProgram, within: Span) -> Result<Vec<u8>, LoadError> {
    let Some((mut output, _input)) = process.pipes() else {
        return Err(failed("its output is not a pipe".to_owned()));
    };
    let until = now()? + within;
    read_until(
        &mut output,
        MOST_DIGITS,
        |said| said.ends_with(b"\n"),
        || {
            let is_late = now()? >= until;
            if is_late { Err(failed(format!("it was not ready within {within}"))) } else { Ok(()) }
        },
    )
}

/// The file with the cookie, for any address (xauth(1), Xau(3)): lengths in two octets, the high one
/// first.
pub(super) fn cookie(token: &Token) -> Result<MemoryFile, LoadError> {
    const ANY_ADDRESS: [u8; 2] = [0xff, 0xff];
    let field = |octets: &[u8]| [&(octets.len() as u16).to_be_bytes()[..], octets].concat();
    let fields = [&[][..], b"", COOKIE.as_bytes(), token].map(field);
    MemoryFile::new([&ANY_ADDRESS[..], &fields.concat()].concat())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Why a program that is no server is refused.
    fn refused(script: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let within = Span::from_milliseconds(300);
        let started = XServer::of(command, Ipv4Addr::LOCALHOST.into(), within);
        started.map(|_| ()).expect_err("no server").to_string()
    }

    #[test]
    fn a_server_that_does_not_come_up_is_named_with_what_it_said() {
        for (script, said) in [
            ("echo 'Cannot open font' >&2; exit 3", "it did not start: "),
            ("echo 'Cannot open font' >&2; exit 3", "Cannot open font"),
            ("exit 3", "it did not start: "),
            ("kill -KILL $$", "it did not start: "),
            ("echo ready; exec sleep 60", "it named no display"),
            // Its port would be beyond the last one.
            ("echo 60000; exec sleep 60", "it named no display"),
            ("exec sleep 60", "it was not ready within 300 ms"),
        ] {
            let error = refused(script);
            assert!(error.contains("Xvfb") && error.contains(said), "{script}: {error}");
            assert_eq!(error.lines().count(), 1, "{script}: {error}");
        }
    }
}
