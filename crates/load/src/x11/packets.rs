//! What an X server sends, as far as its size goes: the library takes memory for a reply as soon as
//! its length is announced, and keeps every event until it is asked for it.

use std::io::{Error, ErrorKind, Result};

use btu_contract::app::{HEIGHT, WIDTH};

/// The longest reply, in octets: the picture, a pixel in four octets, with its header.
const LONGEST: usize = WIDTH as usize * HEIGHT as usize * 4 + PACKET;

/// Replies, events and errors after one request, at most. The application waits for a few replies;
/// the others who use the display cause some events.
const MOST: u32 = 100_000;

/// The head of the first answer, and of each packet after it (X Window System Protocol, section 8
/// and appendix B).
const SETUP: usize = 8;
const PACKET: usize = 32;

/// Kinds of packets that have a length.
const REPLY: u8 = 1;
const GENERIC_EVENT: u8 = 35;

/// Follows a server's octets.
#[derive(Debug, Default)]
pub(super) struct Packets {
    is_set_up: bool,
    /// The octets so far of the next head.
    head: Vec<u8>,
    /// Octets of the body that are still to come.
    body: usize,
    /// Packets since the last request.
    unasked: u32,
}

impl Packets {
    /// A request was sent: its answers may come.
    pub(super) fn asked(&mut self) {
        self.unasked = 0;
    }

    /// Takes what came.
    ///
    /// # Errors
    /// A server announces a reply that none of our requests has, or sends packets without end.
    pub(super) fn take(&mut self, mut octets: &[u8]) -> Result<()> {
        while !octets.is_empty() {
            let of_body = self.body.min(octets.len());
            self.body -= of_body;
            octets = &octets[of_body..];
            let due = if self.is_set_up { PACKET } else { SETUP };
            let (more, rest) = octets.split_at(octets.len().min(due - self.head.len()));
            self.head.extend(more);
            octets = rest;
            if self.head.len() == due {
                self.body = if self.is_set_up { self.packet()? } else { self.setup() };
                self.head.clear();
            }
        }
        Ok(())
    }

    /// The length of what follows the head of the first answer.
    fn setup(&mut self) -> usize {
        self.is_set_up = true;
        4 * usize::from(u16::from_ne_bytes([self.head[6], self.head[7]]))
    }

    /// The length of what follows the head of a packet.
    fn packet(&mut self) -> Result<usize> {
        let wrong = |what| Err(Error::new(ErrorKind::InvalidData, what));
        self.unasked += 1;
        if self.unasked > MOST {
            return wrong(format!("it sent {MOST} packets for which there was no request"));
        }
        let [kind, _, _, _, a, b, c, d, ..] = self.head[..] else { return Ok(0) };
        if kind != REPLY && kind & 0x7f != GENERIC_EVENT {
            return Ok(0);
        }
        let length = 4 * u64::from(u32::from_ne_bytes([a, b, c, d]));
        match usize::try_from(length) {
            Ok(length) if length <= LONGEST => Ok(length),
            _ => wrong(format!("it announced a reply of {length} octets")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(kind: u8, length: u32) -> Vec<u8> {
        let mut packet = vec![0; PACKET];
        packet[0] = kind;
        packet[4..8].copy_from_slice(&length.to_ne_bytes());
        packet
    }

    #[test]
    fn lengths_are_followed_however_the_octets_come() {
        let reply = [packet(REPLY, 2), vec![0xff; 8]].concat();
        let setup = [&[1, 0, 11, 0, 0, 0][..], &3_u16.to_ne_bytes(), &[0xff; 12]].concat();
        let all = [setup, packet(0, u32::MAX), reply, packet(28, u32::MAX)].concat();
        for cut in 1..all.len() {
            let mut packets = Packets::default();
            for piece in all.chunks(cut) {
                packets.take(piece).unwrap();
            }
            assert!(packets.body == 0 && packets.head.is_empty() && packets.unasked == 3);
        }
    }

    #[test]
    fn replies_and_events_without_end_are_errors() {
        let set_up = || Packets { is_set_up: true, ..Packets::default() };
        let most = (LONGEST / 4) as u32;
        set_up().take(&packet(REPLY, most)).unwrap();
        for kind in [REPLY, GENERIC_EVENT, GENERIC_EVENT | 0x80] {
            let error = set_up().take(&packet(kind, most + 1)).unwrap_err();
            assert!(error.to_string().contains("announced a reply of 2560036 octets"), "{error}");
        }
        let mut flooded = set_up();
        let event = packet(28, 0);
        (0..MOST).for_each(|_| flooded.take(&event).unwrap());
        let error = flooded.take(&event).unwrap_err();
        assert!(error.to_string().contains("no request"), "{error}");
        let mut asked = set_up();
        for _ in 0..2 * MOST {
            asked.asked();
            asked.take(&event).unwrap();
        }
    }
}
