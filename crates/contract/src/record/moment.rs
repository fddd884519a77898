//! What the kernel has of a sender's connection at a moment.

use serde::{Deserialize, Serialize};

/// A sender's connection at a moment, by `TCP_INFO`. Stored as its numbers in this order, since there are many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "[u64; 9]", into = "[u64; 9]")]
pub struct Moment {
    /// Since the start of the flow.
    pub at_us: u64,
    /// Segments that have arrived so far, as far as acknowledgements tell: those behind a gap, too.
    pub delivered: u32,
    /// Segments that were sent again so far.
    pub sent_again: u32,
    /// Segments that are not acknowledged.
    pub unacknowledged: u32,
    /// Segments on their way, as `tcp_packets_in_flight` counts them (include/net/tcp.h).
    pub in_flight: u32,
    /// Octets that wait in the send buffer.
    pub waiting_bytes: u32,
    /// The congestion window, in segments.
    pub window: u32,
    /// What the receiver's window has room for, in octets from the first one that is not acknowledged.
    pub receivers_window_bytes: u32,
    /// The smoothed round trip.
    pub round_trip_us: u32,
}

impl From<[u64; 9]> for Moment {
    fn from([at_us, others @ ..]: [u64; 9]) -> Self {
        let [
            delivered,
            sent_again,
            unacknowledged,
            in_flight,
            waiting_bytes,
            window,
            receivers_window_bytes,
            round_trip_us,
        ] = others.map(|number| number as u32);
        Self {
            at_us,
            delivered,
            sent_again,
            unacknowledged,
            in_flight,
            waiting_bytes,
            window,
            receivers_window_bytes,
            round_trip_us,
        }
    }
}

impl From<Moment> for [u64; 9] {
    fn from(moment: Moment) -> Self {
        [
            moment.at_us,
            moment.delivered.into(),
            moment.sent_again.into(),
            moment.unacknowledged.into(),
            moment.in_flight.into(),
            moment.waiting_bytes.into(),
            moment.window.into(),
            moment.receivers_window_bytes.into(),
            moment.round_trip_us.into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_as_it_is_written() {
        let numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let moment = Moment::from(numbers);
        assert_eq!((moment.at_us, moment.delivered, moment.round_trip_us), (1, 2, 9));
        let text = serde_json::to_string(&moment).unwrap();
        assert_eq!(text, "[1,2,3,4,5,6,7,8,9]");
        assert_eq!(serde_json::from_str::<Moment>(&text).unwrap(), moment);
    }
}
