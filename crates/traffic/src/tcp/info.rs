//! Reads `struct tcp_info` (linux/tcp.h) field by field, whatever its length in the running kernel.

use std::io;
use std::os::fd::AsFd;

use btu_suite::record::TcpInfo;
use btu_units::Span;

use super::rest::Path;
use crate::sys::option;

/// More than any kernel's `struct tcp_info` (280 bytes in Linux 6.18).
const ROOM: usize = 512;

/// The kernel's data about a connection (`TCP_INFO`).
///
/// # Errors
/// The socket is none of TCP.
pub fn of(socket: &impl AsFd) -> io::Result<TcpInfo> {
    let mut buffer = [0; ROOM];
    option::tcp_info(socket, &mut buffer).map(parse)
}

/// Whether everything sent so far has been acknowledged.
pub(crate) fn is_acknowledged(socket: &impl AsFd) -> io::Result<bool> {
    let mut buffer = [0; ROOM];
    option::tcp_info(socket, &mut buffer).map(|raw| half(raw, 24) == 0 && half(raw, 144) == 0)
}

/// The kernel's data about a sender's connection, and what limits it at this moment.
pub(crate) fn at_this_moment(socket: &impl AsFd) -> io::Result<(TcpInfo, Option<PathLimit>)> {
    let mut buffer = [0; ROOM];
    let raw = option::tcp_info(socket, &mut buffer)?;
    Ok((parse(raw), path_limit(raw)))
}

/// What keeps TCP from sending more over a path that carries something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathLimit {
    /// All that the program has given is on its way.
    Unfilled,
    /// A queue, or a pace by TCP's estimate of the line's rate.
    Full,
    /// The congestion window.
    Window,
}

/// `None` if nothing is on its way, or the receiver's window is shut.
fn path_limit(raw: &[u8]) -> Option<PathLimit> {
    let field = |offset| u64::from(half(raw, offset));
    let [unacknowledged, arrived, lost, sent_again] = [24, 28, 32, 36].map(field);
    let [segment, round_trip, window, waiting, shortest] = [16, 68, 80, 144, 148].map(field);
    let receivers_window = field(228);
    let is_shut =
        waiting > 0 && receivers_window > 0 && (unacknowledged + 1) * segment > receivers_window;
    if unacknowledged == 0 || is_shut {
        return None;
    }
    // As tcp_packets_in_flight counts them (include/net/tcp.h).
    let in_flight = (unacknowledged + sent_again).saturating_sub(arrived + lost);
    // Linux leaves some of a window unused, so that it can send larger segments (tcp_tso_should_defer).
    let has_room = 4 * in_flight <= 3 * window;
    Some(if waiting == 0 && in_flight < window {
        PathLimit::Unfilled
    } else if 4 * round_trip > 5 * shortest || has_room {
        PathLimit::Full
    } else {
        PathLimit::Window
    })
}

/// The inputs of a receiver's pauses; the kernel reports the window since Linux 6.2.
pub(crate) fn path(socket: &impl AsFd) -> io::Result<Path> {
    let mut buffer = [0; ROOM];
    let raw = option::tcp_info(socket, &mut buffer)?;
    let round_trip = Span::from_microseconds(half(raw, 148).into());
    Ok(Path { window_bytes: half(raw, 232).into(), round_trip })
}

/// Fields by their offsets; a field that the kernel did not write is zero. The layout only ever
/// grows at its end.
fn parse(raw: &[u8]) -> TcpInfo {
    TcpInfo {
        rto_us: half(raw, 8),
        send_mss_bytes: half(raw, 16),
        receive_mss_bytes: half(raw, 20),
        rtt_us: half(raw, 68),
        rtt_variance_us: half(raw, 72),
        ssthresh_segments: half(raw, 76),
        cwnd_segments: half(raw, 80),
        total_retransmits: half(raw, 100),
        bytes_acked: whole(raw, 120),
        bytes_received: whole(raw, 128),
        min_rtt_us: half(raw, 148),
        data_segments_received: half(raw, 152),
        delivery_rate_bytes_per_second: whole(raw, 160),
        busy_us: whole(raw, 168),
        receiver_limited_us: whole(raw, 176),
        send_buffer_limited_us: whole(raw, 184),
        bytes_sent: whole(raw, 200),
        bytes_retransmitted: whole(raw, 208),
        out_of_order_segments: half(raw, 224),
        peer_window_bytes: half(raw, 228),
    }
}

fn half(raw: &[u8], offset: usize) -> u32 {
    raw.get(offset..offset + 4)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u32::from_ne_bytes)
}

fn whole(raw: &[u8], offset: usize) -> u64 {
    raw.get(offset..offset + 8)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A `tcp_info` in which every byte is its own offset.
    fn numbered(length: usize) -> Vec<u8> {
        (0..length).map(|index| index as u8).collect()
    }

    #[test]
    fn fields_stand_where_the_kernel_puts_them() {
        let info = parse(&numbered(248));
        assert_eq!(info.rtt_us, u32::from_ne_bytes([68, 69, 70, 71]));
        assert_eq!(info.bytes_acked, u64::from_ne_bytes([120, 121, 122, 123, 124, 125, 126, 127]));
        assert_eq!(info.peer_window_bytes, u32::from_ne_bytes([228, 229, 230, 231]));
    }

    #[test]
    fn an_old_kernel_leaves_late_fields_zero() {
        let info = parse(&numbered(104));
        assert_eq!(info.total_retransmits, u32::from_ne_bytes([100, 101, 102, 103]));
        assert_eq!((info.bytes_acked, info.peer_window_bytes, info.bytes_sent), (0, 0, 0));
    }

    /// A `tcp_info` with these fields by their offsets, and with a shortest round trip of 100 us, segments of 1000 octets and
    /// a congestion window of ten of them.
    fn with(fields: &[(usize, u32)]) -> Vec<u8> {
        let mut raw = vec![0; 248];
        for (offset, value) in [(16, 1000), (80, 10), (148, 100)].iter().chain(fields) {
            raw[*offset..*offset + 4].copy_from_slice(&u32::to_ne_bytes(*value));
        }
        raw
    }

    /// Segments that are not acknowledged, octets that wait, the receiver's window in octets, and the round trip.
    fn sender(unacknowledged: u32, waiting: u32, receivers: u32, trip: u32) -> Vec<u8> {
        with(&[(24, unacknowledged), (144, waiting), (228, receivers), (68, trip)])
    }

    #[test]
    fn what_limits_a_sender_at_a_moment() {
        let found = |raw: Vec<u8>| path_limit(&raw);
        assert_eq!(found(sender(0, 0, 90_000, 100)), None, "nothing is on its way");
        assert_eq!(found(sender(9, 5000, 9_500, 100)), None, "the receiver's window is shut");
        assert_eq!(found(sender(4, 0, 90_000, 100)), Some(PathLimit::Unfilled));
        assert_eq!(found(sender(10, 5000, 90_000, 126)), Some(PathLimit::Full), "a queue");
        assert_eq!(found(sender(5, 5000, 90_000, 100)), Some(PathLimit::Full), "a pace");
        assert_eq!(found(sender(10, 5000, 90_000, 125)), Some(PathLimit::Window));
        assert_eq!(found(sender(8, 5000, 90_000, 100)), Some(PathLimit::Window));
        // Behind a gap: 12 not acknowledged, of which 7 arrived, one was lost, and that one was sent again.
        let behind = with(&[(24, 12), (28, 7), (32, 1), (36, 1), (144, 5000), (68, 100)]);
        assert_eq!(found(behind), Some(PathLimit::Full), "paced, with five on their way");
        assert_eq!(found(Vec::new()), None);
    }

    proptest! {
        #[test]
        fn no_length_and_no_content_panics(raw in prop::collection::vec(any::<u8>(), 0..300)) {
            let info = parse(&raw);
            path_limit(&raw);
            prop_assert!(raw.len() >= 72 || info.rtt_us == 0);
        }
    }
}
