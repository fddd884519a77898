//! A listening socket. It reads only from allowed addresses and accepts only callers with the
//! token.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use btu_contract::activity::{Rendezvous, Token};
use btu_contract::peers::{Callers, Refused};
use btu_units::{Span, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::line::{SocketConfig, TcpConnection};
use crate::clock::{Limit, TICK, now};
use crate::error::TrafficError;
use crate::sys::stream;
use crate::token;

/// How long a caller may take to present the token.
const HESITATION: Span = Span::from_seconds(1);

/// Most callers heard at the same time; when one more comes, the one that has waited longest is
/// sent away.
const CALLERS: usize = 32;

/// The number of callers that the kernel queues until the activity starts: the flow's peer and
/// unknown callers. Beyond it Linux drops new ones, so a scan of the ports could keep the peer out.
const BACKLOG: i32 = 1024;

/// The place of an activity in its meeting: connected already, or listening.
pub(crate) enum Endpoint {
    /// The end has connected.
    Connected(TcpConnection),
    /// The end listens.
    Listening(Acceptor),
}

impl Endpoint {
    /// Listens or connects, as the meeting says.
    pub(crate) fn take(
        meeting: &Rendezvous,
        token: &Token,
        config: &SocketConfig,
        deadline: Span,
        callers: &Callers,
    ) -> Result<Self, TrafficError> {
        match *meeting {
            Rendezvous::Listen(address) => {
                Acceptor::open(address, config, callers).map(Self::Listening)
            }
            Rendezvous::Connect(peer) => {
                TcpConnection::connect(peer, token, config, deadline).map(Self::Connected)
            }
        }
    }

    /// Where a peer can connect to.
    pub(crate) fn endpoint(&self) -> Option<SocketAddr> {
        match self {
            Self::Connected(_) => None,
            Self::Listening(acceptor) => Some(acceptor.address),
        }
    }

    /// The connection; a listener waits for it.
    pub(crate) fn meet(
        self,
        token: &Token,
        limit: &Limit<'_>,
    ) -> Result<TcpConnection, TrafficError> {
        match self {
            Self::Connected(line) => Ok(line),
            Self::Listening(acceptor) => acceptor.admit(token, limit),
        }
    }
}

/// A socket on which the server listens.
pub(crate) struct Acceptor {
    listener: TcpListener,
    address: SocketAddr,
    callers: Callers,
}

/// The callers of an acceptor that have not said all yet that says who they are.
#[derive(Default)]
pub(crate) struct Waiting(Vec<Caller>);

/// A caller that has connected, and what it has said so far.
struct Caller {
    stream: TcpStream,
    peer: SocketAddr,
    said: Vec<u8>,
    until: Time,
}

/// What callers say first, and the time in which they say it.
pub(crate) struct Greeting<'a> {
    /// Most octets that are read of it.
    pub(crate) most: usize,
    /// Whether nothing more is needed to judge it.
    pub(crate) is_whole: &'a dyn Fn(&[u8]) -> bool,
    pub(crate) time: Span,
}

/// The 16 octets of a token, none of which is judged before all have arrived.
const TOKEN: Greeting<'static> = Greeting {
    most: size_of::<Token>(),
    is_whole: &|said| said.len() == size_of::<Token>(),
    time: HESITATION,
};

/// The decision about a caller.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Admit,
    Wait,
    Refuse,
}

impl Acceptor {
    /// Listens on any free port of `address`.
    pub(crate) fn open(
        address: IpAddr,
        config: &SocketConfig,
        callers: &Callers,
    ) -> Result<Self, TrafficError> {
        let address = SocketAddr::new(address, 0);
        let failed = |source| TrafficError::Listen { address, source };
        let socket = config.socket(address).map_err(failed)?;
        socket.bind(&address.into()).map_err(failed)?;
        socket.listen(BACKLOG).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, callers: callers.clone() })
    }

    /// The address on which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for the caller that presents the token; all others are disconnected and do not delay
    /// it.
    pub(crate) fn admit(
        self,
        token: &Token,
        limit: &Limit<'_>,
    ) -> Result<TcpConnection, TrafficError> {
        let mut waiting = Waiting::default();
        loop {
            // Without a guide there is always a next one.
            if let Some(line) = self.next(&mut waiting, token, None, limit)? {
                return Ok(line);
            }
        }
    }

    /// Waits for the next caller that presents the token, and lets others wait until the next call;
    /// `None` once the `guide` has closed or sent anything.
    pub(crate) fn next(
        &self,
        Waiting(callers): &mut Waiting,
        token: &Token,
        guide: Option<&TcpConnection>,
        limit: &Limit<'_>,
    ) -> Result<Option<TcpConnection>, TrafficError> {
        while let Some(caller) = self.hear(callers, &TOKEN, guide, limit)? {
            if judge(&caller.said, token) == Verdict::Admit {
                return caller.line().map(Some);
            }
            self.refuse(caller.peer);
        }
        Ok(None)
    }

    /// Waits for the next caller that has said all of its greeting, with what it has said. Callers
    /// that have not are heard at the same time, and in the next call.
    pub(crate) fn greeted(
        &self,
        Waiting(callers): &mut Waiting,
        greeting: &Greeting<'_>,
        limit: &Limit<'_>,
    ) -> Result<(TcpConnection, Vec<u8>), TrafficError> {
        loop {
            // Without a guide there is always a next one.
            if let Some(mut caller) = self.hear(callers, greeting, None, limit)? {
                let said = std::mem::take(&mut caller.said);
                return Ok((caller.line()?, said));
            }
        }
    }

    fn hear(
        &self,
        callers: &mut Vec<Caller>,
        greeting: &Greeting<'_>,
        guide: Option<&TcpConnection>,
        limit: &Limit<'_>,
    ) -> Result<Option<Caller>, TrafficError> {
        loop {
            self.let_in(callers, greeting.time)?;
            if let Some(caller) = hear(callers, greeting) {
                return Ok(Some(caller));
            }
            limit.check(now(), "wait for the peer to connect", self.address)?;
            if self.wait(callers, guide)? {
                return Ok(None);
            }
        }
    }

    /// Waits for an allowed caller, without a token.
    pub(crate) fn accept(&self, limit: &Limit<'_>) -> Result<TcpConnection, TrafficError> {
        loop {
            if let Some((stream, peer)) = self.accepted()? {
                return TcpConnection::new(stream, peer)
                    .map_err(TrafficError::socket("set time-outs", peer));
            }
            limit.check(now(), "wait for the peer to connect", self.address)?;
            self.wait(&[], None)?;
        }
    }

    /// Reports that a caller from there sent another token.
    pub(crate) fn refuse(&self, peer: SocketAddr) {
        self.callers.refuse(peer.ip(), Refused::WrongToken);
    }

    /// Accepts waiting callers; at most so many that a flood of callers cannot keep the others from
    /// being served.
    fn let_in(&self, callers: &mut Vec<Caller>, time: Span) -> Result<(), TrafficError> {
        for _ in 0..CALLERS {
            let Some((stream, peer)) = self.accepted()? else { break };
            if callers.len() == CALLERS {
                callers.remove(0);
            }
            callers.push(Caller { stream, peer, said: Vec::new(), until: now() + time });
        }
        Ok(())
    }

    /// The next caller that may call and waits, if there is one.
    fn accepted(&self) -> Result<Option<(TcpStream, SocketAddr)>, TrafficError> {
        loop {
            match self.listener.accept() {
                Ok((_, peer)) if !self.callers.may_call(peer) => {}
                Ok(caller) => return Ok(Some(caller)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                // The caller changed its mind between the handshake and now (accept(2)).
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(TrafficError::socket("accept", self.address)(error)),
            }
        }
    }

    /// Sleeps until a caller connects or sends, or the guide closes or sends, for a tick at most;
    /// true if the guide did.
    fn wait(
        &self,
        callers: &[Caller],
        guide: Option<&TcpConnection>,
    ) -> Result<bool, TrafficError> {
        let sockets = guide
            .map(TcpConnection::socket)
            .into_iter()
            .chain(std::iter::once(self.listener.as_fd()))
            .chain(callers.iter().map(|caller| caller.stream.as_fd()));
        let mut polled: Vec<_> =
            sockets.map(|socket| PollFd::new(socket, PollFlags::POLLIN)).collect();
        match poll(&mut polled, PollTimeout::from(TICK.as_millis() as u16)) {
            Ok(_) => Ok(guide.is_some() && polled[0].any() == Some(true)),
            Err(nix::errno::Errno::EINTR) => Ok(false),
            Err(error) => Err(TrafficError::socket("poll", self.address)(io::Error::from(error))),
        }
    }
}

/// Reads from every caller once; returns one that has said all, and removes those that have ended
/// or have not said it in time.
fn hear(callers: &mut Vec<Caller>, greeting: &Greeting<'_>) -> Option<Caller> {
    let mut index = 0;
    while index < callers.len() {
        match callers[index].listen(greeting) {
            Verdict::Admit => return Some(callers.remove(index)),
            Verdict::Wait => index += 1,
            Verdict::Refuse => drop(callers.remove(index)),
        }
    }
    None
}

impl Caller {
    fn line(self) -> Result<TcpConnection, TrafficError> {
        let failed = TrafficError::socket("set time-outs", self.peer);
        TcpConnection::new(self.stream, self.peer).map_err(failed)
    }

    /// Reads what has come: whether it is all.
    fn listen(&mut self, greeting: &Greeting<'_>) -> Verdict {
        let length = self.said.len();
        self.said.resize(greeting.most, 0);
        let read =
            stream::receive(self.stream.as_fd(), &mut self.said[length..], libc::MSG_DONTWAIT);
        self.said.truncate(length + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(0) => Verdict::Refuse,
            Ok(_) if self.said.len() == greeting.most || (greeting.is_whole)(&self.said) => {
                Verdict::Admit
            }
            Ok(_) if now() < self.until => Verdict::Wait,
            Err(error) if error.kind() == ErrorKind::WouldBlock && now() < self.until => {
                Verdict::Wait
            }
            _ => Verdict::Refuse,
        }
    }
}

/// The verdict on the first bytes of a caller. It reveals nothing, by an answer or by its time,
/// before all have arrived: a guessing caller learns no part of the token.
fn judge(said: &[u8], token: &Token) -> Verdict {
    match Token::try_from(said) {
        Err(_) => Verdict::Wait,
        Ok(said) if token::is_same(&said, token) => Verdict::Admit,
        Ok(_) => Verdict::Refuse,
    }
}

/// For fuzzers: whether a caller with this input is admitted.
pub(crate) fn presents(said: &[u8], token: &Token) -> bool {
    matches!(judge(said, token), Verdict::Admit)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;
    use proptest::prelude::*;

    /// Silent unknown callers that connect before the activity starts keep no peer out.
    #[test]
    fn strangers_before_the_start_keep_no_peer_out() {
        let (here, token) = (IpAddr::from([127, 0, 0, 1]), [7; 16]);
        let acceptor = Acceptor::open(here, &SocketConfig::default(), &Callers::any()).unwrap();
        let call = || {
            TcpStream::connect_timeout(&acceptor.address(), Duration::from_millis(900))
                .expect("the kernel keeps it")
        };
        let strangers: Vec<TcpStream> = (0..8 * CALLERS).map(|_| call()).collect();
        let mut peer = call();
        peer.write_all(&token).unwrap();
        let is_stopped = AtomicBool::new(false);
        let limit = Limit::new(now(), Span::from_seconds(10), &is_stopped);
        let line = acceptor.admit(&token, &limit).unwrap();
        assert_eq!(line.peer(), peer.local_addr().unwrap());
        drop(strangers);
    }

    proptest! {
        #[test]
        fn only_the_whole_token_opens(token in any::<Token>(), said in any::<Token>()) {
            prop_assert_eq!(judge(&said, &token), if said == token { Verdict::Admit } else { Verdict::Refuse });
            prop_assert_eq!(judge(&token, &token), Verdict::Admit);
        }

        #[test]
        fn every_wrong_beginning_meets_the_same_reaction(token in any::<Token>(), said in any::<Token>(), right in 0usize..16, length in 0usize..=16) {
            let mut guessed = said;
            guessed[..right].copy_from_slice(&token[..right]);
            guessed[right] = !token[right];
            let reaction = if length == 16 { Verdict::Refuse } else { Verdict::Wait };
            prop_assert_eq!(judge(&guessed[..length], &token), reaction, "{} octets right", right);
        }
    }
}
