//! The packets of unauthenticated mode, octet by octet: RFC 8762, sections 4.2.1 and 4.3.1, with the
//! session identifier of RFC 8972, section 3. Numbers are in network byte order.

use crate::time::{ErrorEstimate, Timestamp};

/// A packet of either side without extensions, in octets.
pub const BASE_OCTETS: usize = 44;

/// The shortest answer that has all that is measured: a reflector of TWAMP (RFC 5357, section 4.2.1)
/// that was sent no padding leaves out what follows.
const LEAST_ANSWER_OCTETS: usize = 38;

/// Where the answer has the time to live of the packet that it answers.
const TTL_AT: usize = 40;

/// What a sender sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderPacket {
    /// The number of the packet.
    pub sequence: u32,
    /// When it was sent.
    pub sent: Timestamp,
    /// How good the sender's clock is.
    pub error: ErrorEstimate,
    /// Which session of the sender's address and port it belongs to; 0 in senders without RFC 8972.
    pub session: u16,
}

/// What a reflector answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReflectorPacket {
    /// The reflector's own number; one without state copies the sender's.
    pub sequence: u32,
    /// When it was sent.
    pub sent: Timestamp,
    /// How good the reflector's clock is.
    pub error: ErrorEstimate,
    /// The session, as the sender wrote it.
    pub session: u16,
    /// When the packet of the sender arrived.
    pub received: Timestamp,
    /// The sender's number, time and error, as it wrote them.
    pub sender_sequence: u32,
    /// See [`Self::sender_sequence`].
    pub sender_sent: Timestamp,
    /// See [`Self::sender_sequence`].
    pub sender_error: ErrorEstimate,
    /// The time to live, or the hop limit, with which the packet of the sender arrived; `None` in an
    /// answer that is too short for it.
    pub sender_ttl: Option<u8>,
}

impl SenderPacket {
    /// The octets of a packet without extensions.
    pub fn encode(&self) -> [u8; BASE_OCTETS] {
        let mut octets = [0; BASE_OCTETS];
        octets[..4].copy_from_slice(&self.sequence.to_be_bytes());
        octets[4..12].copy_from_slice(&self.sent.to_octets());
        octets[12..14].copy_from_slice(&self.error.to_octets());
        octets[14..16].copy_from_slice(&self.session.to_be_bytes());
        octets
    }

    /// Reads a packet; `None` if it is shorter than [`BASE_OCTETS`].
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let octets = octets.get(..BASE_OCTETS)?;
        Some(Self {
            sequence: u32::from_be_bytes(field(octets, 0)?),
            sent: Timestamp::from_octets(field(octets, 4)?),
            error: ErrorEstimate::from_octets(field(octets, 12)?),
            session: u16::from_be_bytes(field(octets, 14)?),
        })
    }
}

impl ReflectorPacket {
    /// The octets of a packet without extensions.
    pub fn encode(&self) -> [u8; BASE_OCTETS] {
        let mut octets = [0; BASE_OCTETS];
        octets[..4].copy_from_slice(&self.sequence.to_be_bytes());
        octets[4..12].copy_from_slice(&self.sent.to_octets());
        octets[12..14].copy_from_slice(&self.error.to_octets());
        octets[14..16].copy_from_slice(&self.session.to_be_bytes());
        octets[16..24].copy_from_slice(&self.received.to_octets());
        octets[24..28].copy_from_slice(&self.sender_sequence.to_be_bytes());
        octets[28..36].copy_from_slice(&self.sender_sent.to_octets());
        octets[36..38].copy_from_slice(&self.sender_error.to_octets());
        octets[TTL_AT] = self.sender_ttl.unwrap_or(UNKNOWN_TTL);
        octets
    }

    /// Reads a packet; `None` if it is too short for what is measured.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        if octets.len() < LEAST_ANSWER_OCTETS {
            return None;
        }
        Some(Self {
            sequence: u32::from_be_bytes(field(octets, 0)?),
            sent: Timestamp::from_octets(field(octets, 4)?),
            error: ErrorEstimate::from_octets(field(octets, 12)?),
            session: u16::from_be_bytes(field(octets, 14)?),
            received: Timestamp::from_octets(field(octets, 16)?),
            sender_sequence: u32::from_be_bytes(field(octets, 24)?),
            sender_sent: Timestamp::from_octets(field(octets, 28)?),
            sender_error: ErrorEstimate::from_octets(field(octets, 36)?),
            sender_ttl: octets.get(TTL_AT).copied(),
        })
    }
}

/// A reflector that cannot know the time to live writes this (RFC 5357, section 4.2.1).
pub(crate) const UNKNOWN_TTL: u8 = 255;

fn field<const SIZE: usize>(octets: &[u8], from: usize) -> Option<[u8; SIZE]> {
    octets.get(from..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-28 00:00:00.5 UTC: 4,004,812,800 s since 1900.
    const SENT: [u8; 8] = [0xee, 0xb4, 0x98, 0x00, 0x80, 0x00, 0x00, 0x00];

    fn sender() -> SenderPacket {
        SenderPacket {
            sequence: 0x0102_0304,
            sent: Timestamp::from_octets(SENT),
            error: ErrorEstimate::from_octets([0x8b, 0x05]),
            session: 0x0a0b,
        }
    }

    /// Figure 3 of RFC 8762: number, time, error, and zeros; in their first two octets the session
    /// of RFC 8972, figure 2.
    #[test]
    fn a_senders_packet_is_that_of_section_4_2_1() {
        let mut octets = vec![1, 2, 3, 4];
        octets.extend(SENT);
        octets.extend([0x8b, 0x05, 0x0a, 0x0b]);
        octets.extend([0; 28]);
        assert_eq!(octets.len(), 44);
        assert_eq!(sender().encode()[..], octets);
        assert_eq!(SenderPacket::decode(&octets), Some(sender()));
        assert_eq!(SenderPacket::decode(&octets[..43]), None);
    }

    /// Figure 5 of RFC 8762.
    #[test]
    fn a_reflectors_packet_is_that_of_section_4_3_1() {
        let packet = ReflectorPacket {
            sequence: 7,
            sent: Timestamp::from_octets([0xee, 0xb4, 0x98, 0x01, 0, 0, 0, 3]),
            error: ErrorEstimate::from_octets([0x3f, 0xff]),
            session: 0x0a0b,
            received: Timestamp::from_octets([0xee, 0xb4, 0x98, 0x01, 0, 0, 0, 2]),
            sender_sequence: sender().sequence,
            sender_sent: sender().sent,
            sender_error: sender().error,
            sender_ttl: Some(61),
        };
        let mut octets = vec![0, 0, 0, 7];
        octets.extend([0xee, 0xb4, 0x98, 0x01, 0, 0, 0, 3, 0x3f, 0xff, 0x0a, 0x0b]);
        octets.extend([0xee, 0xb4, 0x98, 0x01, 0, 0, 0, 2, 1, 2, 3, 4]);
        octets.extend(SENT);
        octets.extend([0x8b, 0x05, 0, 0, 61, 0, 0, 0]);
        assert_eq!(octets.len(), 44);
        assert_eq!(packet.encode()[..], octets);
        assert_eq!(ReflectorPacket::decode(&octets), Some(packet));
    }

    #[test]
    fn an_answer_of_twamp_without_padding_has_no_time_to_live() {
        let mut octets = [9; 40];
        let read = |octets: &[u8]| ReflectorPacket::decode(octets).map(|packet| packet.sender_ttl);
        assert_eq!(read(&octets[..37]), None);
        assert_eq!(read(&octets), Some(None));
        octets[3] = 1;
        assert_eq!(read(&[&octets[..], &[64]].concat()), Some(Some(64)));
    }
}
