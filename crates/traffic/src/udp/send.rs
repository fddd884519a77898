//! The sending half of a paced stream: an absolute schedule, late datagrams caught up in batches,
//! lateness recorded.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use btu_contract::activity::{Order, Performance, Performed, Tell, UdpSend};
use btu_contract::peers::Callers;
use btu_contract::record::{DatagramsSent, Outcome, Report};
use btu_stats::Histogram;
use btu_units::{BitRate, Bytes, Serializer, Span, Time};

use super::header::{DatagramKind, HEADER, Header};
use super::hold::Holder;
use super::pace::{DatagramSchedule, wait_until};
use super::post::{Exchange, Post, is_pause};
use crate::clock::{Limit, PreciseTimers, cpu, cpu_since, now};
use crate::error::TrafficError;
use crate::payload::Payload;
use crate::size;
use crate::sys::batch::{BATCH, Outgoing};

pub(super) const KIND: &str = "udp-send";
const DOING: &str = "send the datagrams";

/// Header and eight bytes of payload.
pub(crate) const LEAST: usize = HEADER + 8;

/// Widest gap between two datagrams: far shorter than the silence after which the receiver considers the
/// stream over.
pub(super) const WIDEST_GAP: Span = Span::from_milliseconds(250);

/// A sender that knows its peer, or waits for a caller.
pub(crate) struct Sender {
    post: Post,
    message: usize,
    offered: BitRate,
    duration: Span,
    payload: Payload,
    lateness: Histogram,
    holder: Option<Holder>,
    deadline: Span,
}

impl Sender {
    /// Binds; the greeting follows on `go`.
    pub(crate) fn prepare(
        order: &Order,
        part: &UdpSend,
        callers: &Callers,
    ) -> Result<Self, TrafficError> {
        let message = size::udp(KIND, part.message, LEAST)?;
        let gap = Serializer::new(part.offered).transmit(part.message);
        if gap > WIDEST_GAP && (gap < part.duration || part.offered.bits_per_second() == 0) {
            let what = format!(
                "{} of {} leaves {gap} between datagrams; {WIDEST_GAP} is the most",
                part.offered, part.message
            );
            return Err(TrafficError::Order { activity: KIND, what });
        }
        Ok(Self {
            post: Post::prepare(&part.meeting, part.token, order.dscp, callers)?,
            message,
            offered: part.offered,
            duration: part.duration,
            payload: Payload::new(order.seed, message - HEADER),
            lateness: Histogram::new(),
            holder: part.hold.map(|hold| Holder::new(hold, part.offered, message)).transpose()?,
            deadline: order.deadline,
        })
    }
}

impl Performance for Sender {
    fn endpoint(&self) -> Option<SocketAddr> {
        self.post.endpoint()
    }

    fn perform_telling(self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let (before, started) = (cpu(), now());
        let limit = Limit::new(started, self.deadline, stop);
        let exchange = self.post.meet(&limit)?;
        let size = Bytes::new(self.message as u64);
        let mut stream = Outflow {
            exchange: &exchange,
            payload: &self.payload,
            body: self.message - HEADER,
            heads: [[0; HEADER]; BATCH],
            number: 0,
            accepted: 0,
            refused: 0,
            lateness: self.lateness,
            holder: self.holder,
        };
        let begun = now();
        let ended =
            stream.run(DatagramSchedule::new(begun, self.offered, size, self.duration), &limit)?;
        exchange.part(stream.accepted)?;
        let (offered, held) = match stream.holder {
            None => (self.offered, None),
            Some(holder) => holder.account(begun, ended, started),
        };
        let sent = DatagramsSent {
            datagrams: stream.accepted,
            bytes: size * stream.accepted,
            refused: stream.refused,
            offered,
            span: ended.since(begun),
            lateness: stream.lateness,
            held,
        };
        Ok(Report {
            started,
            finished: now(),
            cpu: cpu_since(before),
            outcome: Outcome::DatagramsSent(sent),
        })
    }
}

/// An outgoing stream.
struct Outflow<'a> {
    exchange: &'a Exchange,
    payload: &'a Payload,
    body: usize,
    heads: [[u8; HEADER]; BATCH],
    /// The next datagram's place in the schedule; a refused datagram keeps its number, which then
    /// never arrives.
    number: u64,
    accepted: u64,
    refused: u64,
    lateness: Histogram,
    holder: Option<Holder>,
}

impl Outflow<'_> {
    /// Sends all datagrams, or until `stop`; returns the end of the schedule, or of the last
    /// datagram.
    fn run(
        &mut self,
        mut schedule: DatagramSchedule,
        limit: &Limit<'_>,
    ) -> Result<Time, TrafficError> {
        let _timers = PreciseTimers::hold();
        while let Some(due) = schedule.next() {
            let now = wait_until(due);
            if limit.stopped() {
                return Ok(now);
            }
            limit.check_time(now, DOING, self.exchange.peer())?;
            if let Some(offered) =
                self.holder.as_mut().and_then(|holder| holder.listen(self.exchange, now))
            {
                schedule.change(offered);
            }
            let count = self.gather(&mut schedule, now);
            self.send(count)?;
        }
        Ok(schedule.reached().max(now()))
    }

    /// Writes the headers of all that is due by `now`, as many as a batch holds, and records their
    /// lateness.
    fn gather(&mut self, schedule: &mut DatagramSchedule, now: Time) -> usize {
        let token = self.exchange.token();
        let mut count = 0;
        while let Some(due) = schedule.next().filter(|&due| due <= now && count < BATCH) {
            let header =
                Header { kind: DatagramKind::Data, token, number: self.number + count as u64 };
            self.heads[count] = header.encode();
            self.lateness.record(now.since(due).nanoseconds());
            schedule.advance();
            count += 1;
        }
        count
    }

    /// Sends the first `count` of the headers with their payload; each is accepted or refused, none
    /// is tried twice.
    fn send(&mut self, count: usize) -> Result<(), TrafficError> {
        let mut done = 0;
        while done < count {
            let mut batch = Outgoing::new();
            for (head, number) in self.heads[done..count].iter().zip(self.number + done as u64..) {
                batch.push(head, self.payload.at(number * self.body as u64, self.body));
            }
            match batch.send(self.exchange.socket()) {
                Ok(taken) => {
                    self.accepted += taken as u64;
                    done += taken;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_pause(&error) || error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.refused += 1;
                    done += 1;
                }
                Err(error) => return Err(TrafficError::socket(DOING, self.exchange.peer())(error)),
            }
        }
        self.number += count as u64;
        Ok(())
    }
}
