//! The FTP client that stores a file: for copies.

use std::net::SocketAddr;

use super::CopyLogin;
use super::fetch::FtpClientSession;
use crate::LoadError;
use crate::account::now;
use crate::copy::{BLOCK, Moved, Over, Stored};

/// Logs in at `server`, stores the file there, and waits for the server's confirmation.
pub(crate) fn put(
    server: SocketAddr,
    login: &CopyLogin,
    source: &Stored,
) -> Result<Over, LoadError> {
    let mut session = FtpClientSession::log_in(server, login.user, &login.password)?;
    let connected = now()?;
    let (moved, durable) = store(&mut session, &login.file, source)?;
    session.log_out(None);
    Ok(Over { connected, moved, durable, tcp: None })
}

fn store(
    session: &mut FtpClientSession,
    name: &str,
    source: &Stored,
) -> Result<(Moved, btu_units::Time), LoadError> {
    let mut transfer = session.store(name)?;
    let (mut block, mut offset, mut first) = (vec![0; BLOCK], 0, None);
    while offset < source.size() {
        let bytes = source.read(&mut block, offset)?;
        if first.is_none() {
            first = Some(now()?);
        }
        transfer.write(bytes)?;
        offset += bytes.len() as u64;
    }
    let last = now()?;
    session.complete_store(transfer)?;
    Ok((Moved { first: first.unwrap_or(last), last }, now()?))
}
