//! Messages that are moved piece by piece, as many bytes at a time as a call takes.

use std::io::{self, ErrorKind};

/// Sends all of `message`; `wait` until more can be sent, where `send` does not.
#[inline]
pub(super) fn send_all(
    mut message: &[u8],
    mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    wait: impl Fn() -> io::Result<()>,
) -> io::Result<()> {
    while !message.is_empty() {
        match send(message) {
            Ok(length) => message = &message[length..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait()?,
            Err(error) => retry_or_fail(error)?,
        }
    }
    Ok(())
}

/// Fills `room`; `wait` until more has come, where `receive` does not.
#[inline]
pub(super) fn receive_all(
    room: &mut [u8],
    mut receive: impl FnMut(&mut [u8]) -> io::Result<usize>,
    wait: impl Fn() -> io::Result<()>,
) -> io::Result<()> {
    let mut filled = 0;
    while filled < room.len() {
        match receive(&mut room[filled..]) {
            Ok(0) => return Err(ended()),
            Ok(length) => filled += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait()?,
            Err(error) => retry_or_fail(error)?,
        }
    }
    Ok(())
}

/// Sends all of `message` and fills `room`, by calls that do not wait; `wait` until one of both is
/// possible, to send or to receive.
#[inline]
pub(super) fn exchange(
    message: &[u8],
    room: &mut [u8],
    mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    mut receive: impl FnMut(&mut [u8]) -> io::Result<usize>,
    wait: impl Fn(bool, bool) -> io::Result<()>,
) -> io::Result<()> {
    let (mut gone, mut filled) = (0, 0);
    while gone < message.len() || filled < room.len() {
        let before = gone + filled;
        if gone < message.len() {
            gone += now_or_nothing(send(&message[gone..]))?;
        }
        if filled < room.len() {
            let read = receive(&mut room[filled..]);
            if matches!(read, Ok(0)) {
                return Err(ended());
            }
            filled += now_or_nothing(read)?;
        }
        if gone + filled == before {
            wait(gone < message.len(), filled < room.len())?;
        }
    }
    Ok(())
}

/// A call that a signal has interrupted is made again.
pub(super) fn retry_or_fail(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

/// The number of bytes that were moved without waiting, perhaps zero.
pub(super) fn now_or_nothing(moved: io::Result<usize>) -> io::Result<usize> {
    moved.or_else(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(0),
        _ => Err(error),
    })
}

/// The peer has closed.
pub(super) fn ended() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the other end is gone")
}
