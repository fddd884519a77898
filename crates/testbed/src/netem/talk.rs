//! Requests to the kernel by netlink, one after the other, without async: a guard may be dropped
//! anywhere.
//!
//! Source: `linux/netlink.h`, `linux/rtnetlink.h`. The socket belongs to the network namespace of
//! the thread that opened it, for ever, wherever it is used.

use std::io;

use rtnetlink::sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use super::attributes::{find, u16_at, u32_at};

pub(super) const NEW_LINK: u16 = 16;
pub(super) const DEL_LINK: u16 = 17;
pub(super) const NEW_QDISC: u16 = 36;
pub(super) const DEL_QDISC: u16 = 37;
pub(super) const GET_QDISC: u16 = 38;
pub(super) const NEW_FILTER: u16 = 44;

pub(super) const REPLACE: u16 = 0x100;
pub(super) const EXCLUSIVE: u16 = 0x200;
pub(super) const CREATE: u16 = 0x400;
pub(super) const DUMP: u16 = 0x300;

const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const HEADER: usize = 16;
const KIND_ERROR: u16 = 2;
const KIND_DONE: u16 = 3;
/// The offset of an error's attributes: after its code and the head of the message it answers.
const AFTER_ERROR: usize = 4 + HEADER;
const ERROR_TEXT: u16 = 1;

/// An open netlink connection for one network namespace.
pub(super) struct Talk {
    socket: Socket,
    number: u32,
}

impl std::fmt::Debug for Talk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Talk").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Talk {
    /// A connection for the calling thread's namespace.
    pub(super) fn here() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // With reasons, and without a copy of the request; an old kernel that does not support this
        // still answers.
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_cap_ack(true);
        Ok(Self { socket, number: 0 })
    }

    /// Sends a request to the kernel.
    pub(super) fn tell(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.exchange(kind, flags | ACKNOWLEDGE, body).map(drop)
    }

    /// Requests a list; returns the bodies of the answers.
    pub(super) fn list(&mut self, kind: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.exchange(kind, DUMP, body)
    }

    fn exchange(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.number += 1;
        self.socket.send(&message(kind, flags | REQUEST, self.number, body), 0)?;
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            for (kind, number, body) in messages(&datagram) {
                match kind {
                    _ if number != self.number => {}
                    KIND_DONE => return Ok(answers),
                    KIND_ERROR => return verdict(body).map(|()| answers),
                    _ => answers.push(body.to_vec()),
                }
            }
        }
    }
}

fn message(kind: u16, flags: u16, number: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + body.len()).expect("a message is shorter than 4 GiB");
    let head = [
        &length.to_ne_bytes()[..],
        &kind.to_ne_bytes(),
        &flags.to_ne_bytes(),
        &number.to_ne_bytes(),
        &[0; 4],
    ];
    [&head.concat(), body].concat()
}

/// Kind, number and body of each message in a datagram.
fn messages(datagram: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8])> {
    let mut left = datagram;
    std::iter::from_fn(move || {
        let length = u32_at(left, 0)? as usize;
        let found = (u16_at(left, 4)?, u32_at(left, 8)?, left.get(HEADER..length)?);
        left = left.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(found)
    })
}

/// The content of an error message: code 0 is success. The kernel's own text is added if there is
/// one.
fn verdict(body: &[u8]) -> io::Result<()> {
    let code = u32_at(body, 0).ok_or(io::ErrorKind::InvalidData)?.cast_signed();
    if code == 0 {
        return Ok(());
    }
    let error = io::Error::from_raw_os_error(code.saturating_neg());
    let words = body.get(AFTER_ERROR..).and_then(|list| find(list, ERROR_TEXT));
    match words {
        None => Err(error),
        Some(words) => Err(io::Error::new(
            error.kind(),
            Explained { code: code.saturating_neg(), text: text(words) },
        )),
    }
}

fn text(words: &[u8]) -> String {
    String::from_utf8_lossy(words).trim_end_matches('\0').to_owned()
}

/// An error number with the kernel's explanation.
#[derive(Debug, thiserror::Error)]
#[error("{} (the kernel says: {text})", io::Error::from_raw_os_error(*code))]
struct Explained {
    code: i32,
    text: String,
}

/// The error number of an error of this connection.
pub(super) fn error_number(error: &io::Error) -> Option<i32> {
    error.raw_os_error().or_else(|| Some(error.get_ref()?.downcast_ref::<Explained>()?.code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netem::attributes::Attributes;

    #[test]
    fn an_error_keeps_its_number_and_the_kernels_words() {
        let list = Attributes::new().with_text(ERROR_TEXT, "netem: invalid");
        let body = [&(-libc::EINVAL).to_ne_bytes()[..], &[0; HEADER], list.bytes()].concat();
        let error = verdict(&body).unwrap_err();
        assert_eq!(error_number(&error), Some(libc::EINVAL));
        assert!(error.to_string().contains("the kernel says: netem: invalid"), "{error}");
        assert!(verdict(&[0; 4]).is_ok() && verdict(&[]).is_err());
    }

    #[test]
    fn messages_are_told_apart() {
        let both = [message(36, 5, 7, &[1, 2, 3, 4]), message(3, 0, 7, &[])].concat();
        let read: Vec<_> = messages(&both).collect();
        assert_eq!(read, [(36, 7, &[1, 2, 3, 4][..]), (3, 7, &[][..])]);
    }

    #[test]
    fn the_kernel_answers() {
        let mut talk = Talk::here().unwrap();
        // An interface that cannot exist has no queueing discipline to delete.
        let body = [&[0; 4][..], &i32::MAX.to_ne_bytes(), &[0; 12]].concat();
        let error = talk.tell(DEL_QDISC, 0, &body).unwrap_err();
        assert!([Some(libc::ENODEV), Some(libc::EPERM)].contains(&error_number(&error)), "{error}");
        assert!(talk.list(GET_QDISC, &[0; 20]).is_ok());
    }
}
