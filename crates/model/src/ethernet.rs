//! Ceilings of a full-duplex Ethernet link: frames and payload per second that nothing on it can
//! exceed.
//!
//! Sources: IEEE 802.3 clause 4 (preamble 8, header 14, check sequence 4, gap 12, shortest frame
//! 64); RFC 791 and RFC 9293 for headers of 20 octets each; RFC 7323 appendix A for 12 octets of
//! timestamps in every TCP segment; RFC 768. Acknowledgements travel the other way on a full-duplex
//! link and cost nothing here.

use btu_units::{BitRate, Bytes, Span};
use serde::{Deserialize, Serialize};
use thiserror::Error;

const HEADER: u64 = 14;
const CHECK_SEQUENCE: u64 = 4;
const PREAMBLE_AND_GAP: u64 = 20;
const SHORTEST: u64 = 64;

/// Frames per second on a link of `rate`, back to back; `frame` counts from destination address to
/// check sequence (64 to 1518 octets), as benchmarks of switches do (RFC 2544); shorter frames are
/// padded to 64.
fn frame_rate(rate: BitRate, frame: Bytes) -> f64 {
    rate.bits_per_second() as f64 / occupied(frame).bits()
}

/// The octets that a frame occupies on the link.
fn occupied(frame: Bytes) -> Bytes {
    Bytes::new(frame.count().max(SHORTEST)) + Bytes::new(PREAMBLE_AND_GAP)
}

/// The protocol that carries the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP over IPv4 without options.
    TcpPlain,
    /// TCP over IPv4 with timestamps in every segment, as current systems send it.
    Tcp,
    /// The transport is UDP over IPv4.
    Udp,
}

impl Transport {
    /// Octets of IP and transport headers in every packet.
    pub const fn headers(self) -> Bytes {
        match self {
            Self::TcpPlain => Bytes::new(20 + 20),
            Self::Tcp => Bytes::new(20 + 20 + 12),
            Self::Udp => Bytes::new(20 + 8),
        }
    }
}

/// A question that has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ModelError {
    /// The headers leave no room for payload.
    #[error("an MTU of {mtu} leaves no payload after {headers} of headers: ask with a larger MTU")]
    NoPayload {
        /// The largest IP packet of the link.
        mtu: Bytes,
        /// Octets of IP and transport headers.
        headers: Bytes,
    },
    /// The payload does not fit into one packet.
    #[error(
        "a datagram of {payload} does not fit an MTU of {mtu}: at most {most} do without fragments"
    )]
    TooLarge {
        /// The payload, in octets.
        payload: Bytes,
        /// The largest IP packet of the link.
        mtu: Bytes,
        /// The largest payload that fits, in octets.
        most: Bytes,
    },
}

/// A full-duplex Ethernet link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ethernet {
    /// Bits per second, counted over everything a frame occupies.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: BitRate,
    /// The largest IP packet; 1500 octets unless jumbo frames are used.
    #[serde(rename = "mtu_bytes")]
    pub mtu: Bytes,
}

impl Ethernet {
    /// A link of `rate` with the usual MTU of 1500 octets.
    pub const fn new(rate: BitRate) -> Self {
        Self { rate, mtu: Bytes::new(1500) }
    }

    /// The most payload one packet can carry.
    ///
    /// # Errors
    /// When the headers leave no room.
    pub(crate) fn largest_payload(&self, transport: Transport) -> Result<Bytes, ModelError> {
        let (mtu, headers) = (self.mtu, transport.headers());
        match mtu.count().checked_sub(headers.count()) {
            None | Some(0) => Err(ModelError::NoPayload { mtu, headers }),
            Some(payload) => Ok(Bytes::new(payload)),
        }
    }

    /// The goodput ceiling in bits per second: every packet full, frames back to back.
    ///
    /// # Errors
    /// When the headers leave no room for payload.
    pub fn goodput(&self, transport: Transport) -> Result<f64, ModelError> {
        self.goodput_of(transport, self.largest_payload(transport)?)
    }

    /// The goodput ceiling in bits per second when every packet carries `payload`: datagrams of one
    /// size, or TCP segments of a size that the sender does not fill.
    ///
    /// # Errors
    /// When `payload` does not fit into a packet.
    pub fn goodput_of(&self, transport: Transport, payload: Bytes) -> Result<f64, ModelError> {
        Ok(self.packets_per_second(transport, payload)? * payload.bits())
    }

    /// Packets with `payload` each per second, back to back.
    ///
    /// # Errors
    /// When `payload` does not fit into a packet.
    pub fn packets_per_second(
        &self,
        transport: Transport,
        payload: Bytes,
    ) -> Result<f64, ModelError> {
        let most = self.largest_payload(transport)?;
        if payload > most {
            return Err(ModelError::TooLarge { payload, mtu: self.mtu, most });
        }
        Ok(frame_rate(self.rate, frame_of(transport.headers() + payload)))
    }

    /// The time a packet of `packet` octets needs from its first bit to its last, the gap not
    /// counted.
    pub fn transmission(&self, packet: Bytes) -> Span {
        const GAP: u64 = 12;
        let bits = (occupied(frame_of(packet)) - Bytes::new(GAP)).bits();
        Span::from_seconds_f64(bits / self.rate.bits_per_second() as f64)
    }
}

/// The frame, check sequence included, around an IP packet.
fn frame_of(packet: Bytes) -> Bytes {
    packet + Bytes::new(HEADER + CHECK_SEQUENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEN: BitRate = BitRate::from_megabits_per_second(10);

    fn close(value: f64, expected: f64, digits: f64) {
        assert!((value - expected).abs() < digits, "{value} instead of {expected}");
    }

    #[test]
    fn frames_per_second_at_ten_megabits() {
        for (frame, expected) in [(64, 14_880.95), (512, 2349.62), (1518, 812.74)] {
            close(frame_rate(TEN, Bytes::new(frame)), expected, 0.005);
        }
    }

    #[test]
    fn goodput_at_ten_megabits() {
        let link = Ethernet::new(TEN);
        for (transport, expected) in [
            (Transport::Udp, 9.5709e6),
            (Transport::TcpPlain, 9.4928e6),
            (Transport::Tcp, 9.4148e6),
        ] {
            close(link.goodput(transport).unwrap(), expected, 50.0);
        }
        assert_eq!(link.largest_payload(Transport::Udp), Ok(Bytes::new(1472)));
        assert_eq!(link.largest_payload(Transport::Tcp), Ok(Bytes::new(1448)));
    }

    #[test]
    fn a_full_packet_takes_its_bits() {
        assert_eq!(
            Ethernet::new(TEN).transmission(Bytes::new(1500)),
            Span::from_nanoseconds(1_220_800)
        );
        assert_eq!(Ethernet::new(TEN).transmission(Bytes::new(20)), Span::from_nanoseconds(57_600));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let narrow = Ethernet { rate: TEN, mtu: Bytes::new(28) };
        assert!(matches!(narrow.goodput(Transport::Udp), Err(ModelError::NoPayload { .. })));
        let link = Ethernet::new(TEN);
        assert!(matches!(
            link.goodput_of(Transport::Udp, Bytes::new(1473)),
            Err(ModelError::TooLarge { .. })
        ));
    }

    proptest! {
        #[test]
        fn goodput_grows_with_payload_and_stays_below_the_rate(payload in 1u64..1448) {
            let link = Ethernet::new(TEN);
            let goodput = |payload| link.goodput_of(Transport::Tcp, Bytes::new(payload)).unwrap();
            prop_assert!(goodput(payload) < goodput(payload + 1));
            prop_assert!(goodput(payload + 1) < 10e6);
        }
    }
}
