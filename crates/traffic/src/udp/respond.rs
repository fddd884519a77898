//! The end that answers, over UDP: it sends each request back until the other end is done.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{Order, Performance, Performed, Rendezvous, Respond, Tell};
use btu_contract::peers::Callers;
use btu_units::Span;

use super::header::{DatagramKind, HEADER, Header};
use super::post::{Exchange, Post, is_pause};
use crate::clock::{Limit, now};
use crate::error::TrafficError;
use crate::responding::respond;
use crate::size;

const KIND: &str = "respond over UDP";
const DOING: &str = "answer requests";

/// A responder that waits for a caller.
pub(crate) struct Responder {
    post: Post,
    room: Vec<u8>,
    deadline: Span,
}

impl Responder {
    /// Sets up the end: it binds its socket.
    pub(crate) fn prepare(
        order: &Order,
        part: &Respond,
        callers: &Callers,
    ) -> Result<Self, TrafficError> {
        let message = size::udp(KIND, part.message, HEADER)?;
        let post = Post::prepare(&Rendezvous::Listen(part.on), part.token, order.dscp, callers)?;
        Ok(Self { post, room: vec![0; message + 1], deadline: order.deadline })
    }
}

impl Performance for Responder {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.post.endpoint()
    }

    fn perform_telling(mut self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        Ok(respond(self.deadline, stop, |answers, limit| {
            let exchange = self.post.meet(limit)?;
            answer_all(&exchange, &mut self.room, answers, limit)
        })?)
    }
}

/// Answers until the farewell, or until no process listens any more.
fn answer_all(
    exchange: &Exchange,
    room: &mut [u8],
    answers: &mut u64,
    limit: &Limit<'_>,
) -> Result<(), TrafficError> {
    let message = room.len() - 1;
    let mut heard: u64 = 0;
    loop {
        match exchange.receive(room) {
            Ok(length) => {
                heard += 1;
                match reply(exchange, &mut room[..length], message)? {
                    Reply::Answer => *answers += u64::from(answer(exchange, &room[..length])?),
                    Reply::Nothing => {}
                    Reply::End => return Ok(()),
                }
                if heard.is_multiple_of(1024) {
                    limit.check(now(), DOING, exchange.peer())?;
                }
            }
            Err(error) if is_pause(&error) => limit.check(now(), DOING, exchange.peer())?,
            // The requester is gone without a farewell that reached us: there is no process left to
            // answer.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(()),
            Err(error) => return Err(TrafficError::socket(DOING, exchange.peer())(error)),
        }
    }
}

/// The class of a datagram.
enum Reply {
    /// It has been turned into its answer.
    Answer,
    /// There is no answer.
    Nothing,
    /// It was the farewell.
    End,
}

/// Turns a request into its answer; greetings and farewells are answered at once, all else is
/// ignored.
fn reply(exchange: &Exchange, datagram: &mut [u8], message: usize) -> Result<Reply, TrafficError> {
    let Some((header, payload)) = exchange.header(datagram) else { return Ok(Reply::Nothing) };
    match (header.kind, payload.len()) {
        (DatagramKind::Request, length) if length + HEADER == message => {
            datagram[..HEADER]
                .copy_from_slice(&Header { kind: DatagramKind::Answer, ..header }.encode());
            Ok(Reply::Answer)
        }
        (DatagramKind::Hello, 0) => exchange.say(DatagramKind::Welcome, 0).map(|()| Reply::Nothing),
        (DatagramKind::Farewell, 0) => exchange.say(DatagramKind::Goodbye, 0).map(|()| Reply::End),
        _ => Ok(Reply::Nothing),
    }
}

/// Sends an answer; false when the kernel had no room for it, which the requester sees as a loss.
fn answer(exchange: &Exchange, datagram: &[u8]) -> Result<bool, TrafficError> {
    match exchange.send(datagram) {
        Ok(_) => Ok(true),
        Err(error) if has_no_room(&error) => Ok(false),
        Err(error) => Err(TrafficError::socket(DOING, exchange.peer())(error)),
    }
}

fn has_no_room(error: &io::Error) -> bool {
    is_pause(error) || error.raw_os_error() == Some(libc::ENOBUFS)
}
