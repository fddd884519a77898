//! UDP: a datagram for each message, and the pattern repairs what gets lost.
//!
//! Every datagram begins with eight bytes, its number in its direction, and goes on with the message. In ping-pong the two
//! ends speak in turn, so whoever hears a new message knows that its own last one has arrived. The near end repeats
//! its last datagram when nothing has come for a while; the far end answers a datagram that it has seen before by its own
//! last one. Nothing else is needed, and every repetition and every duplicate is counted.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use btu_suite::activity::{Meeting, Token};
use btu_suite::pipe::End;
use btu_units::{Bytes, Time};

use super::talk::nonsense;
use super::{Pipe, Repeats, Setup};
use crate::clock::{Limit, now};
use crate::error::TrafficError;
use crate::udp::header::Kind;
use crate::udp::post::{Exchange, Post, is_pause};

/// Bytes before the message.
const NUMBER: usize = 8;

/// The largest message: an IPv4 packet of 65,535 bytes less 20 of IP, 8 of UDP and the number.
pub(super) const LARGEST: Bytes = Bytes::new(65_507 - NUMBER as u64);

/// How long the near end waits before it repeats, at first: what Linux's TCP waits at least. An answer that comes after
/// the repetition doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Silence that means that nobody is there any more.
const PATIENCE: Duration = Duration::from_secs(20);

/// A UDP end that is bound.
pub(super) struct Udp {
    post: Post,
    end: End,
}

impl Udp {
    /// Binds.
    pub(super) fn prepare(meeting: &Meeting, token: Token, end: End) -> Result<Self, TrafficError> {
        Ok(Self { post: Post::prepare(meeting, token)?, end })
    }
}

impl Setup for Udp {
    type Pipe = UdpPipe;

    fn endpoint(&self) -> Option<SocketAddr> {
        self.post.endpoint()
    }

    fn meet(self, limit: &Limit<'_>) -> Result<UdpPipe, TrafficError> {
        let exchange = self.post.meet(limit)?;
        exchange.wait_at_most(FIRST_WAIT)?;
        let room = NUMBER + LARGEST.count() as usize + 1;
        Ok(UdpPipe {
            exchange,
            repeats: self.end == End::Near,
            wait: FIRST_WAIT,
            outgoing: Vec::with_capacity(room),
            incoming: vec![0; room],
            sent: 0,
            heard: 0,
            books: Repeats::default(),
        })
    }
}

/// Two ends that speak in turn.
pub(super) struct UdpPipe {
    exchange: Exchange,
    /// Whether this end repeats of itself.
    repeats: bool,
    wait: Duration,
    /// The last datagram sent.
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    sent: u64,
    heard: u64,
    books: Repeats,
}

impl Pipe for UdpPipe {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.outgoing.clear();
        self.outgoing.extend_from_slice(&self.sent.to_be_bytes());
        self.outgoing.extend_from_slice(message);
        self.sent += 1;
        self.post_last()
    }

    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        let mut silent_since = None;
        loop {
            match self.exchange.receive(&mut self.incoming) {
                Ok(length) => match self.judge(length, room.len())? {
                    Verdict::New => {
                        room.copy_from_slice(&self.incoming[NUMBER..length]);
                        self.heard += 1;
                        return Ok(());
                    }
                    Verdict::Again if self.repeats => self.be_more_patient()?,
                    Verdict::Again => self.repeat()?,
                    Verdict::Stray => {}
                },
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_pause(&error) => self.bear_silence(&mut silent_since)?,
                Err(error) => return Err(error),
            }
        }
    }

    fn repeats(&self) -> Repeats {
        self.books
    }
}

/// What a datagram is worth.
enum Verdict {
    /// It is the one that is due.
    New,
    /// It has come before.
    Again,
    /// It has nothing to say.
    Stray,
}

impl UdpPipe {
    fn judge(&mut self, length: usize, due: usize) -> io::Result<Verdict> {
        let datagram = &self.incoming[..length];
        if let Some((header, _)) = self.exchange.header(datagram) {
            // The caller has not yet heard that it was heard.
            if header.kind == Kind::Hello {
                self.exchange.say(Kind::Welcome, 0).map_err(io::Error::other)?;
            }
            return Ok(Verdict::Stray);
        }
        let Some(number) = datagram.first_chunk::<NUMBER>() else { return Ok(Verdict::Stray) };
        match u64::from_be_bytes(*number) {
            number if number < self.heard => {
                self.books.duplicates += 1;
                Ok(Verdict::Again)
            }
            number if number > self.heard => Err(nonsense("a datagram came before it was due")),
            _ if length - NUMBER == due => Ok(Verdict::New),
            _ => Err(nonsense("a datagram has not the agreed size")),
        }
    }

    /// Sends the last datagram; that there is no room for it anywhere is a loss like any other.
    fn post_last(&self) -> io::Result<()> {
        match self.exchange.send(&self.outgoing) {
            Err(error) if !is_pause(&error) && error.raw_os_error() != Some(libc::ENOBUFS) => Err(error),
            _ => Ok(()),
        }
    }

    fn repeat(&mut self) -> io::Result<()> {
        self.books.repeated += 1;
        self.post_last()
    }

    /// The answer had been on its way: there was no need to repeat.
    fn be_more_patient(&mut self) -> io::Result<()> {
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        self.exchange.wait_at_most(self.wait).map_err(io::Error::other)
    }

    fn bear_silence(&mut self, since: &mut Option<Time>) -> io::Result<()> {
        let since = *since.get_or_insert_with(now);
        if Duration::from(now().since(since)) > PATIENCE {
            return Err(io::Error::new(ErrorKind::TimedOut, "nothing has come for 20 s"));
        }
        if self.repeats { self.repeat() } else { Ok(()) }
    }
}
