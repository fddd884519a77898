//! The FTP client that gets a file: for copies.

use std::net::SocketAddr;

use btu_units::Time;

use super::CopyLogin;
use super::fetch::FtpClientSession;
use crate::LoadError;
use crate::account::now;
use crate::copy::{BLOCK, Moved, Over, Stored};

/// Logs in at `server`, retrieves the file, and makes it durable.
pub(crate) fn get(server: SocketAddr, login: &CopyLogin, copy: &Stored) -> Result<Over, LoadError> {
    let mut session = FtpClientSession::log_in(server, login.user, &login.password)?;
    let connected = now()?;
    let (moved, durable) = retrieve(&mut session, &login.file, server, copy)?;
    session.log_out(None);
    Ok(Over { connected, moved, durable, tcp: None })
}

fn retrieve(
    session: &mut FtpClientSession,
    name: &str,
    peer: SocketAddr,
    copy: &Stored,
) -> Result<(Moved, Time), LoadError> {
    let mut transfer = session.retrieve(name, copy.size())?;
    let (mut block, mut offset, mut moved) = (vec![0; BLOCK], 0, None);
    loop {
        let length = transfer.read(&mut block)?;
        if transfer.has_ended() {
            break;
        }
        if length == 0 {
            continue;
        }
        let came = now()?;
        if length as u64 > copy.size() - offset {
            return Err(LoadError::FileSize {
                peer,
                expected: copy.size(),
                told: "sent more".to_owned(),
            });
        }
        copy.write(&block[..length], offset)?;
        offset += length as u64;
        moved = Some(Moved { first: moved.map_or(came, |moved: Moved| moved.first), last: came });
    }
    session.complete(transfer)?;
    let last = now()?;
    copy.make_durable()?;
    Ok((moved.unwrap_or(Moved { first: last, last }), now()?))
}
