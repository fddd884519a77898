//! The file as it goes over one connection, and the octets that answer it.

use btu_traffic::{Flow, Limit};

use super::conduit::Conduit;
use super::store::Stored;
use super::{BLOCK, Moved, Over};
use crate::LoadError;
use crate::account::now;

/// The octet that reports success.
pub(super) const DONE: u8 = 0;

/// The data that are read before the first mark.
const PAGE: usize = 4096;

const SEND: &str = "send the file";
const RECEIVE: &str = "receive the file";

/// Sends the whole file, by the kernel alone: no byte of it goes through this program. The first
/// mark is taken when the first page has been read and the file goes to the kernel, the last when
/// the kernel has taken all.
pub(super) fn send(flow: &Flow, source: &Stored, limit: &Limit<'_>) -> Result<Moved, LoadError> {
    source.read(&mut [0; PAGE], 0)?;
    let (conduit, first, mut offset) = (Conduit::open()?, now()?, 0);
    while offset < source.size() {
        let room = usize::try_from(source.size() - offset).unwrap_or(usize::MAX).min(BLOCK);
        let mut left = source.give(conduit.begin(), offset, room)?;
        if left == 0 {
            return Err(source.ended_after(offset));
        }
        offset += left as u64;
        while left > 0 {
            left -= flow.moved(|to| conduit.drain(to, left), limit, SEND)?;
        }
    }
    Ok(Moved { first, last: now()? })
}

/// Receives as many bytes as the file has to have.
pub(super) fn receive(flow: &Flow, copy: &Stored, limit: &Limit<'_>) -> Result<Moved, LoadError> {
    receive_after(flow, copy, &[], limit)
}

/// Like `receive`, where the first of them have come already, with what stood before them.
pub(super) fn receive_after(
    flow: &Flow,
    copy: &Stored,
    begun: &[u8],
    limit: &Limit<'_>,
) -> Result<Moved, LoadError> {
    let (conduit, mut offset, mut first) = (Conduit::open()?, 0, None);
    if !begun.is_empty() {
        if begun.len() as u64 > copy.size() {
            return Err(other_size(flow, copy, "sent more".to_owned()));
        }
        let came = now()?;
        copy.write(begun, 0)?;
        (offset, first) = (begun.len() as u64, Some(came));
        if offset == copy.size() {
            return Ok(Moved { first: came, last: came });
        }
    }
    loop {
        let room = usize::try_from(copy.size() - offset).unwrap_or(usize::MAX).min(BLOCK);
        let length = flow.moved(|from| conduit.fill(from, room), limit, RECEIVE)?;
        let came = now()?;
        if length == 0 {
            return Err(other_size(flow, copy, format!("ended after {offset}")));
        }
        copy.take(conduit.end(), length, offset)?;
        offset += length as u64;
        let first = *first.get_or_insert(came);
        if offset == copy.size() {
            return Ok(Moved { first, last: came });
        }
    }
}

/// The error for a file that is not as large as it has to be.
pub(super) fn other_size(flow: &Flow, copy: &Stored, told: String) -> LoadError {
    LoadError::FileSize { peer: flow.peer(), expected: copy.size(), told }
}

/// Waits for the receiver's octet.
pub(super) fn hear_done(
    flow: &Flow,
    limit: &Limit<'_>,
    doing: &'static str,
) -> Result<(), LoadError> {
    let mut octet = [0];
    let answer = match flow.read(&mut octet, limit, doing)? {
        0 => "it closed the connection before it said that it has the file",
        _ if octet == [DONE] => return Ok(()),
        // Words of rcp's: an error, and one that ends all.
        _ if octet == [1] || octet == [2] => "it answered with an error",
        _ => "its answer is none that there is",
    };
    Err(LoadError::NotTaken { peer: flow.peer(), answer })
}

/// Says that everything is well.
pub(super) fn say_done(flow: &Flow, limit: &Limit<'_>) -> Result<(), LoadError> {
    Ok(flow.write(&[DONE], limit, "answer the sender")?)
}

/// Sends only the file; its length determines its end.
pub(super) fn bare_send(
    flow: &Flow,
    source: &Stored,
    limit: &Limit<'_>,
) -> Result<Over, LoadError> {
    let connected = now()?;
    let moved = send(flow, source, limit)?;
    flow.finish_sending()?;
    hear_done(flow, limit, "wait until the copy is durable")?;
    Ok(Over { connected, moved, durable: now()?, tcp: None })
}

/// Receives the file, makes it durable, and confirms it.
pub(super) fn bare_receive(
    flow: &Flow,
    copy: &Stored,
    limit: &Limit<'_>,
) -> Result<Over, LoadError> {
    let connected = now()?;
    let moved = receive(flow, copy, limit)?;
    copy.make_durable()?;
    let durable = now()?;
    say_done(flow, limit)?;
    if flow.read(&mut [0], limit, "wait for the sender to end")? != 0 {
        return Err(other_size(flow, copy, "sent more".to_owned()));
    }
    Ok(Over { connected, moved, durable, tcp: None })
}
