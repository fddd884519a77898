//! The expected goodput of a bulk flow on a point-to-point path, and its limit.
//!
//! Sources: the Ethernet ceiling; window over round-trip time (RFC 1323 section 1.1); for random
//! loss the square-root law of Mathis, Semke, Mahdavi, Ott (1997): (MSS / RTT) * sqrt(3/2) /
//! sqrt(p). The last one is for Reno with every segment acknowledged: CUBIC gets more on long
//! paths, and above about 2 per cent timeouts make it less for both.

use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::ethernet::{Ethernet, ModelError, Transport};

/// A path with the same link in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// The link in each direction.
    pub link: Ethernet,
    /// The propagation delay in one direction.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Share of frames lost on the data's way: 0 to 1.
    pub loss: f64,
}

/// The limit of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The link's rate and the headers.
    Link,
    /// The window over the round-trip time.
    Window,
    /// Congestion control's answer to loss: an estimate, not a ceiling.
    Loss,
    /// The rate that the sender offers.
    Offer,
}

/// The expected goodput of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Payload at the receiver.
    pub goodput_bits_per_second: f64,
    /// What limits the goodput.
    pub reason: Reason,
}

impl Path {
    /// The round-trip time of a full segment and its acknowledgement on the empty path.
    pub fn round_trip(&self) -> Span {
        const ACKNOWLEDGEMENT: Bytes = Bytes::new(52);
        self.delay * 2
            + self.link.transmission(self.link.mtu)
            + self.link.transmission(ACKNOWLEDGEMENT)
    }

    /// A bulk TCP flow with a window of at most `window` (`None`: without a limit).
    ///
    /// # Errors
    /// When the link's MTU leaves no room for payload.
    pub fn tcp(
        &self,
        transport: Transport,
        window: Option<Bytes>,
    ) -> Result<Prediction, ModelError> {
        let segment = self.link.largest_payload(transport)?;
        let round_trip = self.round_trip().seconds();
        let by_link = self.link.goodput(transport)?;
        let by_window = window.map_or(f64::INFINITY, |window| window.bits() / round_trip);
        let by_loss = if self.loss > 0.0 {
            segment.bits() / round_trip * (1.5 / self.loss).sqrt()
        } else {
            f64::INFINITY
        };
        Ok(least([(by_link, Reason::Link), (by_window, Reason::Window), (by_loss, Reason::Loss)]))
    }

    /// A stream of datagrams with `payload` each, offered at `offered_bits_per_second` of payload.
    ///
    /// # Errors
    /// When a datagram does not fit into a packet.
    pub fn udp(
        &self,
        payload: Bytes,
        offered_bits_per_second: f64,
    ) -> Result<Prediction, ModelError> {
        let by_link = self.link.goodput_of(Transport::Udp, payload)?;
        let sent = least([(by_link, Reason::Link), (offered_bits_per_second, Reason::Offer)]);
        let arrives = (1.0 - self.loss).clamp(0.0, 1.0);
        Ok(Prediction { goodput_bits_per_second: sent.goodput_bits_per_second * arrives, ..sent })
    }
}

fn least<const N: usize>(limits: [(f64, Reason); N]) -> Prediction {
    let nothing = Prediction { goodput_bits_per_second: f64::INFINITY, reason: Reason::Link };
    limits.into_iter().fold(nothing, |least, (goodput_bits_per_second, reason)| {
        if goodput_bits_per_second < least.goodput_bits_per_second {
            Prediction { goodput_bits_per_second, reason }
        } else {
            least
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_units::BitRate;

    fn path(delay: Span, loss: f64) -> Path {
        Path { link: Ethernet::new(BitRate::from_megabits_per_second(10)), delay, loss }
    }

    #[test]
    fn an_open_window_gets_the_ceiling() {
        let prediction = path(Span::from_milliseconds(1), 0.0).tcp(Transport::Tcp, None).unwrap();
        assert_eq!(prediction.reason, Reason::Link);
        assert!((prediction.goodput_bits_per_second - 9.4148e6).abs() < 50.0);
    }

    #[test]
    fn a_small_window_on_a_long_path_decides() {
        // 4000 octets every 100 ms and 1.2208 + 0.0624 ms of transmission.
        let prediction = path(Span::from_milliseconds(50), 0.0)
            .tcp(Transport::Tcp, Some(Bytes::new(4000)))
            .unwrap();
        assert_eq!(prediction.reason, Reason::Window);
        assert!(
            (prediction.goodput_bits_per_second - 32_000.0 / 0.101_283_2).abs() < 1.0,
            "{prediction:?}"
        );
    }

    #[test]
    fn loss_decides_on_a_long_path() {
        let prediction = path(Span::from_milliseconds(50), 0.01).tcp(Transport::Tcp, None).unwrap();
        assert_eq!(prediction.reason, Reason::Loss);
        // 1448 octets, 101.2832 ms, sqrt(150).
        assert!((prediction.goodput_bits_per_second - 1_400_788.0).abs() < 100.0, "{prediction:?}");
    }

    #[test]
    fn datagrams_arrive_as_offered_less_the_lost_ones() {
        let half = path(Span::ZERO, 0.5).udp(Bytes::new(1000), 1e6).unwrap();
        assert_eq!(half, Prediction { goodput_bits_per_second: 0.5e6, reason: Reason::Offer });
        let full = path(Span::ZERO, 0.0).udp(Bytes::new(1472), 1e9).unwrap();
        assert_eq!(full.reason, Reason::Link);
        assert!((full.goodput_bits_per_second - 9.5709e6).abs() < 50.0);
    }
}
