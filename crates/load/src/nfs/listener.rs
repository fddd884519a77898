//! Accepts connections. One thread reads the first message of all callers for a short time; callers
//! without the token get no answer.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use btu_contract::activity::Token;
use btu_contract::peers::{Callers, Refused};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::protocol::Call;
use super::rpc::{self, CallHeader, Credential, MARK, NFS};
use super::xdr::XdrReader;
use crate::LoadError;

/// The time for a caller to send its first call.
const HESITATION: Duration = Duration::from_secs(1);

/// Most simultaneous callers; when another one connects, the one that has waited longest is
/// refused.
const CALLERS: usize = 32;

/// The longest first call: NULL, with the longest credential and verifier there can be.
const LONGEST_FIRST: usize = 1024;

/// The interval of checks for `stop`.
const TICK: u16 = 50;

/// A socket on which the server listens.
#[derive(Debug)]
pub(super) struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    callers: Callers,
    waiting: Vec<UnknownCaller>,
}

/// A client that has not sent its token yet.
#[derive(Debug)]
struct UnknownCaller {
    stream: TcpStream,
    peer: SocketAddr,
    said: [u8; LONGEST_FIRST],
    length: usize,
    until: Instant,
}

/// A client that has sent the token, and waits for the answer to its first call.
#[derive(Debug)]
pub(super) struct Guest {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) credential: Credential,
    /// The first call's number.
    pub(super) transaction: u32,
}

/// The verdict on the first octets of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// A whole call with the token, with its number.
    Admit(Credential, u32),
    Wait,
    Refuse,
}

impl Listener {
    /// Listens on any free port of `address`.
    pub(super) fn open(address: IpAddr, callers: &Callers) -> Result<Self, LoadError> {
        let wanted = SocketAddr::new(address, 0);
        let failed =
            |operation| move |source| LoadError::Listen { operation, address: wanted, source };
        let socket = TcpListener::bind(wanted).map_err(failed("listen for NFS"))?;
        socket.set_nonblocking(true).map_err(failed("prepare to listen for NFS"))?;
        let address = socket.local_addr().map_err(failed("learn the NFS server's port"))?;
        Ok(Self { socket, address, callers: callers.clone(), waiting: Vec::with_capacity(CALLERS) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for a tick at most; hands over the clients that have sent the token.
    pub(super) fn admit(&mut self, token: &Token) -> Option<Guest> {
        self.wait();
        self.let_in();
        self.hear(token)
    }

    /// Reports that a client is refused because all places are taken.
    pub(super) fn is_full(&self, guest: &Guest) {
        self.callers.refuse(guest.peer.ip(), Refused::Full);
    }

    fn wait(&self) {
        let sockets = std::iter::once(self.socket.as_fd())
            .chain(self.waiting.iter().map(|one| one.stream.as_fd()));
        let mut polled: Vec<_> =
            sockets.map(|socket| PollFd::new(socket, PollFlags::POLLIN)).collect();
        // An interrupted or failed wait counts as a wait: the sockets are checked.
        if poll(&mut polled, PollTimeout::from(TICK)).is_err() {
            std::thread::sleep(Duration::from_millis(TICK.into()));
        }
    }

    /// Accepts waiting callers; at most so many that a flood of callers cannot keep the others from
    /// being served.
    fn let_in(&mut self) {
        for _ in 0..CALLERS {
            match self.socket.accept() {
                Ok((_, peer)) if !self.callers.may_call(peer) => {}
                Ok((stream, peer)) if stream.set_nonblocking(true).is_ok() => {
                    if self.waiting.len() == CALLERS {
                        self.waiting.remove(0);
                    }
                    let until = Instant::now() + HESITATION;
                    self.waiting.push(UnknownCaller {
                        stream,
                        peer,
                        said: [0; LONGEST_FIRST],
                        length: 0,
                        until,
                    });
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The caller is gone already, or descriptors are short: neither ends the server,
                // and neither may spin it.
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn hear(&mut self, token: &Token) -> Option<Guest> {
        let mut index = 0;
        while let Some(caller) = self.waiting.get_mut(index) {
            match caller.listen(token) {
                Verdict::Wait => index += 1,
                Verdict::Admit(credential, transaction) => {
                    let UnknownCaller { stream, peer, .. } = self.waiting.remove(index);
                    return Some(Guest { stream, peer, credential, transaction });
                }
                Verdict::Refuse => {
                    let gone = self.waiting.remove(index);
                    // A client that disconnected before, or sent too little, has not sent a wrong
                    // token.
                    if whole(&gone.said[..gone.length]).is_some() {
                        self.callers.refuse(gone.peer.ip(), Refused::WrongToken);
                    }
                }
            }
        }
        None
    }
}

impl UnknownCaller {
    fn listen(&mut self, token: &Token) -> Verdict {
        match self.stream.read(&mut self.said[self.length..]) {
            Ok(0) => Verdict::Refuse,
            Ok(read) => {
                self.length += read;
                judge(&self.said[..self.length], token)
            }
            Err(error) if is_nothing(&error) && Instant::now() < self.until => Verdict::Wait,
            Err(_) => Verdict::Refuse,
        }
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The first record, if all of it is there and nothing after it: a client waits for the answer to
/// its first call.
fn whole(said: &[u8]) -> Option<&[u8]> {
    let (mark, record) = said.split_first_chunk::<MARK>()?;
    let (length, is_last) = rpc::mark(*mark);
    (is_last && length == record.len()).then_some(record)
}

/// It reveals nothing, by an answer or by its time, before a whole record has arrived: a guessing
/// caller learns no part of the token.
fn judge(said: &[u8], token: &Token) -> Verdict {
    let Some(record) = whole(said) else {
        let length = said.first_chunk::<MARK>().map(|mark| rpc::mark(*mark));
        let can_be = length.is_none_or(|(length, last)| {
            last && said.len() < MARK + length && length <= LONGEST_FIRST - MARK
        });
        return if can_be { Verdict::Wait } else { Verdict::Refuse };
    };
    let mut reader = XdrReader::new(record);
    let Ok(header) = CallHeader::read(&mut reader) else { return Verdict::Refuse };
    let is_null = header.program == NFS && Call::read(header.procedure, reader) == Ok(Call::Null);
    match header.credential {
        Some(credential) if credential.says(token) && is_null => {
            Verdict::Admit(credential, header.transaction)
        }
        _ => Verdict::Refuse,
    }
}

/// For fuzzers: whether a caller with this input is admitted.
pub(super) fn presents(said: &[u8], token: &Token) -> bool {
    matches!(judge(said, token), Verdict::Admit(..))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::xdr::Writer;
    use super::*;

    fn first_call(token: &Token) -> Vec<u8> {
        let mut out = Vec::new();
        rpc::begin(&mut out);
        CallHeader::write(5, (rpc::NFS, 0), &Credential::new(token, 2), &mut Writer::new(&mut out));
        rpc::finish(&mut out);
        out
    }

    proptest! {
        #[test]
        fn only_the_whole_token_opens_the_files(token in any::<Token>(), said in any::<Token>()) {
            let right = first_call(&token);
            prop_assert_eq!(judge(&right, &token), Verdict::Admit(Credential::new(&token, 2), 5));
            for length in 0..right.len() {
                prop_assert_eq!(judge(&right[..length], &token), Verdict::Wait);
                prop_assert_eq!(judge(&first_call(&said)[..length], &token), Verdict::Wait, "a wrong beginning");
            }
            prop_assert_eq!(judge(&first_call(&said), &token) == Verdict::Refuse, said != token);
        }

        #[test]
        fn no_octets_panic(octets in prop::collection::vec(any::<u8>(), 0..300), token in any::<Token>()) {
            judge(&octets, &token);
        }
    }

    #[test]
    fn who_says_too_much_is_sent_away_at_once() {
        let token = [7; 16];
        assert_eq!(judge(&[0x80, 1, 0, 0], &token), Verdict::Refuse, "64 KiB");
        assert_eq!(judge(&[0, 0, 0, 9], &token), Verdict::Refuse, "a first of several fragments");
        assert_eq!(
            judge(&[first_call(&token), vec![0]].concat(), &token),
            Verdict::Refuse,
            "more than a call"
        );
        assert_eq!(judge(b"GET / HTTP/1.1\r\n", &token), Verdict::Refuse);
    }
}
