//! A connection to the kernel. Source: `linux/netlink.h`.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, connect, recv, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

use super::{find, text_of, u16_at, u32_at};

/// What a request asks for, next to an answer.
pub mod flags {
    /// In the place of one that is there.
    pub const REPLACE: u16 = 0x100;
    /// Only if there is none.
    pub const EXCLUSIVE: u16 = 0x200;
    /// If there is none, a new one.
    pub const CREATE: u16 = 0x400;
}

/// With whom to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// rtnetlink(7): interfaces, addresses, queueing disciplines.
    Route,
    /// Generic netlink, whose families have numbers of their own.
    Generic,
}

const DUMP: u16 = 0x300;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const HEADER: usize = 16;
const KIND_ERROR: u16 = 2;
const KIND_DONE: u16 = 3;
/// The offset of an error's attributes: after its code and the head of the message it answers.
const AFTER_ERROR: usize = 4 + HEADER;
const ERROR_TEXT: u16 = 1;

/// The kernel's parts are at most 32 kB (`NLMSG_GOODSIZE` of a dump grows up to that).
const BUFFER: usize = 64 << 10;

/// The kernel answers at once; the timeout only guards against a faulty kernel.
const TIMEOUT_SECONDS: i64 = 10;

/// An open netlink connection for one network namespace.
#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    number: u32,
}

impl Connection {
    /// A connection for the calling thread's namespace.
    ///
    /// # Errors
    /// The system gives no such socket.
    pub fn here(protocol: Protocol) -> io::Result<Self> {
        let protocol = match protocol {
            Protocol::Route => SockProtocol::NetlinkRoute,
            Protocol::Generic => SockProtocol::NetlinkGeneric,
        };
        let socket =
            socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        // From now on only the kernel is heard.
        connect(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(TIMEOUT_SECONDS))?;
        // With reasons, and without a copy of the request; an old kernel that does not support this
        // still answers.
        for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
            let _ = crate::port::set_option(&socket, libc::SOL_NETLINK, option, &1_i32);
        }
        Ok(Self { socket, number: 0 })
    }

    /// Sends a request to the kernel.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn tell(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.exchange(kind, flags | ACKNOWLEDGE, body).map(drop)
    }

    /// Requests a list; returns the bodies of the answers.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn list(&mut self, kind: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.exchange(kind, DUMP, body)
    }

    /// Sends a command to a family of generic netlink; returns the bodies of the answers.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn command(
        &mut self,
        family: u16,
        command: u8,
        attributes: &[u8],
    ) -> io::Result<Vec<Vec<u8>>> {
        const VERSION: u8 = 1;
        let body = [&[command, VERSION, 0, 0], attributes].concat();
        self.exchange(family, ACKNOWLEDGE, &body)
    }

    fn exchange(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.number += 1;
        let request = message(kind, flags | REQUEST, self.number, body);
        send(self.socket.as_raw_fd(), &request, MsgFlags::empty())?;
        let (mut answers, mut room) = (Vec::new(), vec![0; BUFFER]);
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut room, MsgFlags::empty())?;
            for (kind, number, body) in messages(&room[..length.min(BUFFER)]) {
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
            Explained { code: code.saturating_neg(), text: text_of(words) },
        )),
    }
}

/// An error number with the kernel's explanation.
#[derive(Debug, thiserror::Error)]
#[error("{} (the kernel says: {text})", io::Error::from_raw_os_error(*code))]
struct Explained {
    code: i32,
    text: String,
}

/// The error number of an error of this connection.
pub fn error_number(error: &io::Error) -> Option<i32> {
    error.raw_os_error().or_else(|| Some(error.get_ref()?.downcast_ref::<Explained>()?.code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::Attributes;

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
        const GET_QDISC: u16 = 38;
        const DEL_QDISC: u16 = 37;
        let mut talk = Connection::here(Protocol::Route).unwrap();
        // An interface that cannot exist has no queueing discipline to delete.
        let body = [&[0; 4][..], &i32::MAX.to_ne_bytes(), &[0; 12]].concat();
        let error = talk.tell(DEL_QDISC, 0, &body).unwrap_err();
        assert!([Some(libc::ENODEV), Some(libc::EPERM)].contains(&error_number(&error)), "{error}");
        assert!(talk.list(GET_QDISC, &[0; 20]).is_ok());
    }
}
