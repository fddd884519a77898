//! Receives datagrams and classifies them.

use std::io::{self, ErrorKind, IoSliceMut};

use super::super::talk::nonsense;
use super::super::timeout::Silence;
use super::{NUMBER, SPARE, UdpPipe};
use crate::sys::stream;
use crate::udp::header::{DatagramKind, HEADER};
use crate::udp::post::is_pause;
use crate::udp::seen::ReceivedNumbers;

/// Numbers of the last stream, and which of them have come.
pub(super) struct StreamNumbers {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) seen: ReceivedNumbers,
}

impl Default for StreamNumbers {
    fn default() -> Self {
        Self { begin: 0, end: 0, seen: ReceivedNumbers::new(0) }
    }
}

/// The class of a datagram.
pub(super) enum DatagramClass {
    /// It is the one that is due.
    New,
    /// It has come before.
    Again,
    /// It carries no message.
    Stray,
}

impl UdpPipe {
    /// Waits for a datagram; its message lies in `room`, and its length is returned.
    pub(super) fn listen(
        &mut self,
        room: &mut [u8],
        silence: &mut Silence,
    ) -> io::Result<Option<usize>> {
        let length = room.len();
        loop {
            let mut parts = [
                IoSliceMut::new(&mut self.number),
                IoSliceMut::new(room),
                IoSliceMut::new(&mut self.spare),
            ];
            match stream::receive_parts(self.exchange.socket(), &mut parts, 0) {
                Ok(length) => return Ok(Some(length)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_pause(&error) => self.bear_silence(silence, length)?,
                Err(error) => return Err(error),
            }
        }
    }

    /// The whole datagram that was received last.
    pub(super) fn gather(&self, length: usize, room: &[u8]) -> Vec<u8> {
        let mut datagram = [&self.number[..], room, &self.spare].concat();
        datagram.truncate(length);
        datagram
    }

    #[inline]
    pub(super) fn judge(&mut self, length: usize, room: &[u8]) -> io::Result<DatagramClass> {
        match u64::from_be_bytes(self.number) {
            number if number == self.heard && length == NUMBER + room.len() => {
                Ok(DatagramClass::New)
            }
            number => self.judge_another(number, length, room),
        }
    }

    fn judge_another(
        &mut self,
        number: u64,
        length: usize,
        room: &[u8],
    ) -> io::Result<DatagramClass> {
        let StreamNumbers { begin, end, .. } = self.stream;
        let datagram = self.gather(length, room);
        if length < NUMBER || self.exchange.header(&datagram).is_some() {
            self.answer_greetings(length, room)?;
            return Ok(DatagramClass::Stray);
        }
        match number {
            // Too late: it is in the accounts as lost.
            number if (begin..end).contains(&number) => Ok(DatagramClass::Stray),
            number if number < self.heard => {
                self.accounts.duplicates += 1;
                Ok(DatagramClass::Again)
            }
            number if number == self.heard => Err(nonsense("a datagram has not the agreed size")),
            // A message in the place of a shorter control message: the part that did not fit is
            // lost, and the peer will repeat it.
            _ if length == NUMBER + room.len() + SPARE => Ok(DatagramClass::Stray),
            number if self.both_ways && number == self.heard + 1 => {
                match &self.early {
                    Some(_) => self.accounts.duplicates += 1,
                    None => self.early = Some(datagram[NUMBER..].to_vec()),
                }
                Ok(DatagramClass::Stray)
            }
            _ => Err(nonsense("a datagram came before it was due")),
        }
    }

    /// The early message is now due.
    pub(super) fn take(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        if message.len() != room.len() {
            return Err(nonsense("a datagram has not the agreed size"));
        }
        room.copy_from_slice(message);
        self.heard += 1;
        Ok(())
    }

    /// A caller that has not received the welcome yet.
    pub(super) fn answer_greetings(&mut self, length: usize, room: &[u8]) -> io::Result<()> {
        if length == HEADER {
            let greets = self
                .exchange
                .header(&self.gather(length, room))
                .is_some_and(|(word, _)| word.kind == DatagramKind::Hello);
            if greets {
                self.exchange.say(DatagramKind::Welcome, 0).map_err(io::Error::other)?;
            }
        }
        Ok(())
    }
}
