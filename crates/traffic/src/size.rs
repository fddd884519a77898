//! The message sizes that each activity can move.

use btu_units::Bytes;

use crate::error::TrafficError;

/// Largest message of a TCP activity: buffers of this size are made before the start.
const MOST_TCP: u64 = 16 << 20;

/// Largest payload of a UDP datagram over IPv4: 65535 less 20 of IP and 8 of UDP.
const MOST_UDP: u64 = 65_507;

/// A checked size of TCP messages; even one byte can be moved.
pub(crate) fn tcp(activity: &'static str, message: Bytes) -> Result<usize, TrafficError> {
    within(activity, message, 1, MOST_TCP)
}

/// A checked size of datagrams that have room for at least `least` bytes.
pub(crate) fn udp(
    activity: &'static str,
    message: Bytes,
    least: usize,
) -> Result<usize, TrafficError> {
    within(activity, message, least as u64, MOST_UDP)
}

fn within(
    activity: &'static str,
    message: Bytes,
    least: u64,
    most: u64,
) -> Result<usize, TrafficError> {
    if (least..=most).contains(&message.count()) {
        return Ok(message.count() as usize);
    }
    Err(TrafficError::MessageSize {
        activity,
        message,
        least: Bytes::new(least),
        most: Bytes::new(most),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_out_of_range_are_refused_with_the_range() {
        assert_eq!(tcp("x", Bytes::new(1)).unwrap(), 1);
        assert_eq!(udp("x", Bytes::new(65_507), 40).unwrap(), 65_507);
        for error in [
            tcp("tcp-send", Bytes::ZERO),
            udp("udp-send", Bytes::new(39), 40),
            tcp("x", Bytes::new(u64::MAX)),
        ] {
            assert!(error.unwrap_err().to_string().contains("choose a size from"));
        }
    }
}
