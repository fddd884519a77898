//! UDP: a datagram for each message; the pattern retransmits lost ones, or counts them.
//!
//! Every datagram begins with eight bytes, its number in its direction, followed by the message. In
//! ping-pong the two ends alternate, so an end that receives a new message knows that its own last
//! one has arrived. The near end repeats its last datagram when no datagram has arrived for a
//! while; the far end answers a datagram that it has seen before by its own last one. If messages
//! go both ways at once, an end can be one message ahead of the other: then the last two are
//! repeated, and the early one is kept. Messages of a stream are never repeated, only counted where
//! they arrive; the near end's request for their number ends the stream. Every repetition and every
//! duplicate is counted.
//!
//! An end detects that the other one was killed by an ICMP error of the other machine, which means
//! that no process listens there any more. To provoke it, both ends send a greeting when no
//! datagram has arrived for a while.

mod hear;
mod repair;

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::time::Duration;

use btu_contract::activity::PipeMeeting;
use btu_contract::pipe::{End, Pattern};
use btu_units::Bytes;

use self::hear::{DatagramClass, StreamNumbers};
use super::check::network;
use super::talk::nonsense;
use super::timeout::{Answers, FIRST_WAIT, PROBE_WAIT, Silence};
use super::{Pipe, Repeats, Setup, Terms};
use crate::clock::Limit;
use crate::error::TrafficError;
use crate::sys::stream;
use crate::udp::post::{Exchange, Post, is_pause};
use crate::udp::seen::{DatagramArrival, ReceivedNumbers};

/// Bytes before the message.
const NUMBER: usize = 8;

/// Room behind a message, for control messages that are longer than it.
const SPARE: usize = 128;

/// The largest message: an IPv4 packet of 65,535 bytes less 20 of IP, 8 of UDP and the number.
pub(super) const LARGEST: Bytes = Bytes::new(65_507 - NUMBER as u64);

/// A UDP end that is bound.
pub(super) struct Udp {
    post: Post,
    end: End,
    both_ways: bool,
    turns: bool,
}

impl Setup for Udp {
    type Pipe = UdpPipe;

    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        let both_ways = terms.plan.pattern == Pattern::Bidirectional;
        let post = Post::prepare(network(meeting)?, terms.token, None, &terms.callers)?;
        Ok(Self { post, end: terms.end, both_ways, turns: terms.turns })
    }

    fn endpoint(&self) -> Option<SocketAddr> {
        self.post.endpoint()
    }

    fn meet(self, limit: &Limit<'_>) -> Result<UdpPipe, TrafficError> {
        let exchange = self.post.meet(limit)?;
        let wait = if self.end == End::Near { FIRST_WAIT } else { PROBE_WAIT };
        exchange.wait_at_most(wait)?;
        let room = NUMBER + LARGEST.count() as usize;
        Ok(UdpPipe {
            exchange,
            repeats: self.end == End::Near,
            both_ways: self.both_ways,
            turns: self.turns && self.end == End::Far,
            wait,
            last: [Vec::with_capacity(room), Vec::with_capacity(room)],
            early: None,
            number: [0; NUMBER],
            spare: [0; SPARE],
            sent: 0,
            heard: 0,
            stream: StreamNumbers::default(),
            accounts: Repeats::default(),
            answers: Answers::default(),
            repaired: 0,
        })
    }
}

/// Two ends that speak in turn, or a stream between them.
pub(super) struct UdpPipe {
    exchange: Exchange,
    /// Whether this end repeats datagrams by itself.
    repeats: bool,
    /// Whether an end can be a message ahead of the other.
    both_ways: bool,
    /// Whether the other end may have to wait: then silence is normal.
    turns: bool,
    wait: Duration,
    /// The last datagram sent and the one before, kept to be repeated: the memory they came from
    /// may hold an answer by then.
    last: [Vec<u8>; 2],
    /// A message that arrived one message too early.
    early: Option<Vec<u8>>,
    /// The number of the last datagram, and the part that did not fit in the room for its message.
    number: [u8; NUMBER],
    spare: [u8; SPARE],
    sent: u64,
    heard: u64,
    stream: StreamNumbers,
    accounts: Repeats,
    answers: Answers,
    /// Messages in a row that came only after a repetition.
    repaired: u32,
}

impl Pipe for UdpPipe {
    const LOSES: bool = true;

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.last.swap(0, 1);
        let datagram = &mut self.last[0];
        datagram.clear();
        datagram.extend_from_slice(&self.sent.to_be_bytes());
        datagram.extend_from_slice(message);
        self.sent += 1;
        post(self.exchange.send(&self.last[0]))
    }

    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        if let Some(message) = self.early.take() {
            return self.take(&message, room);
        }
        let mut silence = Silence::default();
        while let Some(length) = self.listen(room, &mut silence)? {
            match self.judge(length, room)? {
                DatagramClass::New => {
                    self.heard += 1;
                    self.answers.learn(room.len(), &silence);
                    return if self.both_ways && self.repeats {
                        self.look_back(&silence)
                    } else {
                        Ok(())
                    };
                }
                // Where messages go both ways, every repair brings some that had come before.
                DatagramClass::Again if self.repeats && self.both_ways => {}
                DatagramClass::Again if self.repeats => self.be_more_patient()?,
                DatagramClass::Again => self.repeat()?,
                DatagramClass::Stray => {
                    self.repeat_if_due(&mut silence, Duration::ZERO)?;
                }
            }
        }
        Err(nonsense("nothing came"))
    }

    fn begin_stream(&mut self, count: u64) {
        let begin = self.heard;
        self.stream = StreamNumbers {
            begin,
            end: begin.saturating_add(count),
            seen: ReceivedNumbers::new(count),
        };
    }

    fn cast(&mut self, message: &[u8]) -> io::Result<()> {
        let number = self.sent.to_be_bytes();
        self.sent += 1;
        self.answers.behind_stream = true;
        post(stream::send_parts(
            self.exchange.socket(),
            &[IoSlice::new(&number), IoSlice::new(message)],
            0,
        ))
    }

    fn catch(&mut self, room: &mut [u8]) -> io::Result<Option<u64>> {
        let mut silence = Silence::default();
        while let Some(length) = self.listen(room, &mut silence)? {
            let StreamNumbers { begin, end, .. } = self.stream;
            match u64::from_be_bytes(self.number) {
                _ if length < NUMBER => {}
                number if (begin..end).contains(&number) => {
                    if length - NUMBER != room.len() {
                        return Err(nonsense("a datagram has not the agreed size"));
                    }
                    match self.stream.seen.note(number - begin) {
                        DatagramArrival::Duplicate | DatagramArrival::Impossible => {
                            self.accounts.duplicates += 1;
                        }
                        DatagramArrival::InOrder | DatagramArrival::Reordered => {
                            return Ok(Some(number - begin));
                        }
                    }
                }
                number if number == end => {
                    self.early = Some(self.gather(length, room)[NUMBER..].to_vec());
                    self.heard = end;
                    return Ok(None);
                }
                // The near end has not received the permission to begin.
                number if number + 1 == begin => {
                    self.accounts.duplicates += 1;
                    self.repeat()?;
                }
                _ => self.answer_greetings(length, room)?,
            }
        }
        Err(nonsense("nothing came"))
    }

    fn repeats(&self) -> Repeats {
        self.accounts
    }
}

/// A datagram without room in a buffer counts as lost.
fn post(sent: io::Result<usize>) -> io::Result<()> {
    match sent {
        Err(error) if !is_pause(&error) && error.raw_os_error() != Some(libc::ENOBUFS) => {
            Err(error)
        }
        _ => Ok(()),
    }
}
