//! The end of a copy by programs of the system that connects.

use std::net::SocketAddr;
use std::process::Stdio;

use btu_contract::activity::Token;
use btu_contract::copy::{Direction, Program};
use btu_traffic::{Flow, Limit};
use btu_units::{Span, Time};

use super::ends::CopyCommand;
use super::process::{Ended, RunningProgram};
use super::{NAME, openssh, rsync, vsftpd};
use crate::LoadError;
use crate::account::now;
use crate::copy::store::Stored;
use crate::copy::stream::hear_done;
use crate::copy::{Moved, Over};
use crate::ftp::{self, CopyLogin};

/// The address to call, and the credentials.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) program: Program,
    pub(crate) to: SocketAddr,
    pub(crate) token: &'a Token,
}

/// Puts the file, and asks whether it is durable.
pub(crate) fn system_put(
    call: Call<'_>,
    source: &Stored,
    limit: &Limit<'_>,
    deadline: Span,
) -> Result<Over, LoadError> {
    let over = if call.program == Program::Vsftpd {
        ftp::put(call.to, &login(call), source)?
    } else {
        let (connected, Ended { over, .. }) = run(call, Direction::Put, source, limit)?;
        let moved = Moved { first: connected, last: over };
        Over { connected, moved, durable: over, tcp: None }
    };
    let flow = Flow::connect(call.to, call.token, deadline)?;
    hear_done(&flow, limit, "wait until the copy is durable")?;
    Ok(Over { durable: now()?, ..over })
}

/// Gets the file, and makes it durable.
pub(crate) fn system_get(
    call: Call<'_>,
    copy: &Stored,
    limit: &Limit<'_>,
) -> Result<Over, LoadError> {
    if call.program == Program::Vsftpd {
        return ftp::get(call.to, &login(call), copy);
    }
    let got = run(call, Direction::Get, copy, limit);
    if got.is_err() {
        // The program's own words for a full disk name another file.
        copy.has_room()?;
    }
    let (connected, Ended { over, moved, .. }) = got?;
    let came = copy.length()?;
    if came != copy.size() {
        let (peer, expected) = (call.to, copy.size());
        return Err(LoadError::FileSize { peer, expected, told: format!("{came} came") });
    }
    copy.make_durable()?;
    let moved = moved.unwrap_or(Moved { first: over, last: over });
    Ok(Over { connected, moved, durable: now()?, tcp: None })
}

/// As vsftpd knows its user and its file.
fn login(call: Call<'_>) -> CopyLogin {
    CopyLogin { user: vsftpd::USER, password: ftp::password(call.token), file: NAME.to_string() }
}

/// Runs the command to its end: when it was let in, and what came of it.
fn run(
    call: Call<'_>,
    direction: Direction,
    file: &Stored,
    limit: &Limit<'_>,
) -> Result<(Time, Ended), LoadError> {
    let Call { program, to, token } = call;
    let CopyCommand { program, mut command, let_in, held } = match program {
        Program::Rsync => rsync::client(to, token, direction, &file.path())?,
        _ => openssh::client(program, to, token, direction, &file.path())?,
    };
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let process = RunningProgram::start(program, command, let_in)?;
    let may_go_on = || Ok(limit.check(now()?, "copy by the system's program", to)?);
    let copy = (direction == Direction::Get).then_some(file);
    let ended = process.finish(copy, may_go_on)?;
    drop(held);
    match ended.connected() {
        Some(connected) if ended.status.success() => Ok((connected, ended)),
        _ => Err(LoadError::Program {
            program,
            problem: format!("the copy between here and {to} failed: {}", ended.explained()),
        }),
    }
}
