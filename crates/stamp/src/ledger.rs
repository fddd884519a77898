//! What was sent and what came back, packet by packet. It reads no clock.

use btu_units::Time;

use crate::packet::ReflectorPacket;
use crate::time::Timestamp;

/// The number that is never sent. A reflector that counts for itself is from then on behind the numbers of
/// the sender, even if no packet is lost; one that copies them is not.
const LEFT_OUT: u32 = 1;

/// The number of the packet at this place of the schedule.
pub(crate) const fn sequence(place: u32) -> u32 {
    if place < LEFT_OUT { place } else { place + 1 }
}

/// A packet that was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentPacket {
    /// By the monotonic clock.
    pub(crate) at: Time,
    /// As the packet has it.
    pub(crate) stamp: Timestamp,
}

/// A packet that came back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReturnedPacket {
    pub(crate) packet: ReflectorPacket,
    /// By the monotonic clock.
    pub(crate) arrived: Time,
}

/// All packets of a measurement.
pub(crate) struct Ledger {
    /// By the sender's numbers.
    pub(crate) sent: Vec<Option<SentPacket>>,
    pub(crate) answers: Vec<Option<ReturnedPacket>>,
    pub(crate) answered: u64,
    /// Answers that came again.
    pub(crate) duplicates: u64,
    /// Those of them that the reflector had numbered anew: their packets were doubled on the way there.
    pub(crate) doubled_there: u64,
    /// Answers that came after that of a later packet (RFC 4737, section 3).
    pub(crate) reordered: u64,
    /// Datagrams that answer no packet.
    pub(crate) strange: u64,
    highest: u32,
}

impl Ledger {
    /// Room for so many packets: nothing is allocated later.
    pub(crate) fn new(packets: u32) -> Self {
        let numbers = sequence(packets) as usize;
        Self {
            sent: vec![None; numbers],
            answers: vec![None; numbers],
            answered: 0,
            duplicates: 0,
            doubled_there: 0,
            reordered: 0,
            strange: 0,
            highest: 0,
        }
    }

    /// Notes a packet that was handed to the kernel.
    pub(crate) fn note_sent(&mut self, number: u32, sent: SentPacket) {
        if let Some(place) = self.sent.get_mut(number as usize) {
            *place = Some(sent);
        }
    }

    /// Takes a datagram that has come.
    pub(crate) fn take(&mut self, octets: &[u8], arrived: Time) {
        let Some(packet) =
            ReflectorPacket::decode(octets).filter(|packet| self.answers_one(packet))
        else {
            self.strange += 1;
            return;
        };
        let number = packet.sender_sequence;
        let place = &mut self.answers[number as usize];
        if let Some(first) = place {
            self.duplicates += 1;
            self.doubled_there += u64::from(first.packet.sequence != packet.sequence);
            return;
        }
        *place = Some(ReturnedPacket { packet, arrived });
        self.answered += 1;
        self.reordered += u64::from(number < self.highest);
        self.highest = self.highest.max(number);
    }

    /// Whether it answers a packet that was sent, with its own time: another program does not know it.
    fn answers_one(&self, packet: &ReflectorPacket) -> bool {
        let sent = self.sent.get(packet.sender_sequence as usize).copied().flatten();
        sent.is_some_and(|sent| sent.stamp == packet.sender_sent)
    }

    /// Each packet that was answered, with its answer, in the order of sending.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (SentPacket, ReturnedPacket)> {
        let pairs = self.sent.iter().zip(&self.answers);
        pairs.filter_map(|(sent, answer)| Some(((*sent)?, (*answer)?)))
    }

    /// How many packets were sent up to this number.
    pub(crate) fn sent_until(&self, number: u32) -> u64 {
        self.sent.iter().take(number as usize + 1).flatten().count() as u64
    }

    /// How many packets were sent.
    pub(crate) fn sent_in_all(&self) -> u64 {
        self.sent.iter().flatten().count() as u64
    }

    /// The last number that was answered.
    pub(crate) const fn last_answered(&self) -> u32 {
        self.highest
    }
}
