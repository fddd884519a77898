//! The results of a flow's real packets at one point.

use std::collections::BTreeMap;

use btu_stats::Estimate;
use serde::Serialize;

/// A flow's packets in the emulated network, of all replications together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredFlow {
    /// Mean delay in seconds, from the moment a packet was due to its arrival, with its interval;
    /// none where none arrived.
    #[serde(rename = "delay_seconds")]
    pub delay: Option<Estimate>,
    /// The simulator's mean delay of the same packets, no more and no fewer, in seconds with its interval:
    /// what differs from it is due to real packets. The simulation that the prediction is compared with may last
    /// longer, and a queue that fills slowly has then other delays.
    #[serde(rename = "simulated_seconds")]
    pub simulated: Option<Estimate>,
    /// The mean of each replication, in seconds.
    pub replications_seconds: Vec<f64>,
    /// Whether the network was overloaded, so that the delay means nothing.
    pub overloaded: bool,
    /// Why the point is void; empty if it is valid.
    pub void: Vec<String>,
    /// Bits of frames that arrived, per second, from destination address to check sequence.
    pub goodput_bits_per_second: Option<Estimate>,
    /// Packets of this flow that were sent and counted.
    pub sent: u64,
    /// Those that arrived; the others were lost, or still in flight at the end.
    pub received: u64,
    /// How long after their time packets left their sender, in the mean; it is part of the delay.
    pub sender_late_seconds: f64,
    /// How long after their time frames left the wire, in the mean; it is part of the delay.
    pub wire_late_seconds: f64,
    /// Packets of the whole network.
    pub network: MeasuredAccounts,
}

/// Every packet of all flows and replications: sent = received + lost + in flight.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MeasuredAccounts {
    /// Handed to the stations' kernels.
    pub sent: u64,
    /// Packets that arrived at their destination.
    pub received: u64,
    /// Packets that the network dropped, by the cause in the wire's accounts.
    pub dropped: BTreeMap<String, u64>,
    /// Packets that did not arrive and were not in flight.
    pub lost: u64,
    /// Still in the network when the measurement stopped waiting for them.
    pub in_flight: u64,
}

impl MeasuredFlow {
    /// The share of the delay that the sender's and the wire's lateness makes.
    pub fn late_share(&self) -> Option<f64> {
        Some((self.sender_late_seconds + self.wire_late_seconds) / self.delay?.value)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use btu_stats::Interval;

    use super::*;

    /// A point with this mean delay and half width, and so late a sender and wire, in seconds.
    pub(crate) fn measured(delay: f64, half: f64, [sender, wire]: [f64; 2]) -> MeasuredFlow {
        MeasuredFlow {
            delay: Some(Estimate { value: delay, interval: Some(Interval::around(delay, half)) }),
            simulated: Some(Estimate { value: delay * 0.99, interval: None }),
            replications_seconds: vec![delay - half, delay + half],
            overloaded: false,
            void: Vec::new(),
            goodput_bits_per_second: None,
            sent: 100,
            received: 98,
            sender_late_seconds: sender,
            wire_late_seconds: wire,
            network: MeasuredAccounts {
                sent: 100,
                received: 98,
                lost: 2,
                ..MeasuredAccounts::default()
            },
        }
    }

    #[test]
    fn lateness_is_a_share_of_the_delay() {
        let share = measured(1e-3, 1e-6, [10e-6, 40e-6]).late_share().unwrap();
        assert!((share - 0.05).abs() < 1e-12);
        assert_eq!(MeasuredFlow { delay: None, ..measured(1.0, 0.1, [0.0; 2]) }.late_share(), None);
    }
}
