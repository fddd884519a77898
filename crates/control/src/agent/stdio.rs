//! One connection over standard input and output, as ssh gives them.
//!
//! They may be pipes, a socket or a file, and other processes may share them, so their settings are
//! not changed: two threads copy the data to and from a socket, and sleep when there is none.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as Plain;
use std::thread;

use tokio::net::UnixStream;
use tokio::sync::oneshot;

/// Octets that are copied at a time.
const ROOM_BYTES: usize = 64 << 10;

/// The line that says that the agent's first octet is next.
pub(crate) const READY: &str = "btu-agent-is-ready";

/// Where sshd runs a command of its own instead of the controller's (`command=` in sshd(8),
/// `ForceCommand`), it leaves that here.
const REPLACED: &str = "SSH_ORIGINAL_COMMAND";

/// Takes them as one connection. The receiver ends when its last octets are out. A controller whose
/// command was replaced is told that it need not copy a program.
pub(super) fn take() -> io::Result<(UnixStream, oneshot::Receiver<()>)> {
    if std::env::var_os(REPLACED).is_some() {
        let mut output = io::stdout().lock();
        writeln!(output, "{READY}")?;
        output.flush()?;
    }
    let (writing, written) = oneshot::channel::<()>();
    let (ours, theirs) = Plain::pair()?;
    let (mut to, mut from) = (theirs.try_clone()?, theirs);
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        // The stream has ended, by its end or an error.
        let _ = carry(&mut io::stdin().lock(), &mut to);
        let _ = to.shutdown(Shutdown::Write);
    })?;
    thread::Builder::new().name("output".to_owned()).spawn(move || {
        if carry(&mut from, &mut io::stdout().lock()).is_err() {
            // No process reads: the connection is of no use any more.
            let _ = from.shutdown(Shutdown::Both);
        }
        drop(writing);
    })?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, written))
}

/// Copies until the end; read data are written at once.
fn carry(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut room = vec![0; ROOM_BYTES];
    loop {
        let length = match from.read(&mut room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if length == 0 {
            return Ok(());
        }
        to.write_all(&room[..length])?;
        to.flush()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_carried_in_order() {
        let said: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        let mut heard = Vec::new();
        carry(&mut said.as_slice(), &mut heard).unwrap();
        assert_eq!(heard, said);
    }
}
