//! Reads `struct tcp_info` (linux/tcp.h) field by field, whatever its length in the running kernel.

use std::io;
use std::os::fd::AsFd;

use btu_contract::record::{Moment, TcpInfo};
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

/// The kernel's data about a sender's connection, as a whole and of this moment, `at` so long after its start; no moment
/// once the program has ended its half.
pub(crate) fn at_this_moment(
    socket: &impl AsFd,
    at: Span,
) -> io::Result<(TcpInfo, Option<Moment>)> {
    const ESTABLISHED: u8 = 1;
    let mut buffer = [0; ROOM];
    let raw = option::tcp_info(socket, &mut buffer)?;
    let is_sending = raw.first() == Some(&ESTABLISHED);
    Ok((parse(raw), is_sending.then(|| moment(raw, at))))
}

fn moment(raw: &[u8], at: Span) -> Moment {
    let field = |offset| half(raw, offset);
    let [unacknowledged, arrived, lost, sent_again] = [24, 28, 32, 36].map(field);
    Moment {
        at_us: at.nanoseconds() / 1000,
        delivered: field(192),
        sent_again: field(100),
        unacknowledged,
        // As tcp_packets_in_flight counts them (include/net/tcp.h).
        in_flight: unacknowledged
            .saturating_add(sent_again)
            .saturating_sub(arrived.saturating_add(lost)),
        waiting_bytes: field(144),
        window: field(80),
        receivers_window_bytes: field(228),
        round_trip_us: field(68),
    }
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

    #[test]
    fn a_moment_counts_what_is_on_its_way_as_the_kernel_does() {
        let mut raw = vec![0; 248];
        // Behind a gap: 12 are not acknowledged, of which 7 arrived, one was lost, and that one was sent again.
        for (offset, value) in [(24, 12), (28, 7), (32, 1), (36, 1), (68, 100), (80, 10), (100, 3)]
        {
            raw[offset..offset + 4].copy_from_slice(&u32::to_ne_bytes(value));
        }
        let moment = moment(&raw, Span::from_milliseconds(2));
        assert_eq!((moment.in_flight, moment.unacknowledged, moment.sent_again), (5, 12, 3));
        assert_eq!((moment.at_us, moment.round_trip_us, moment.window), (2000, 100, 10));
    }

    proptest! {
        #[test]
        fn no_length_and_no_content_panics(raw in prop::collection::vec(any::<u8>(), 0..300)) {
            let info = parse(&raw);
            moment(&raw, Span::ZERO);
            prop_assert!(raw.len() >= 72 || info.rtt_us == 0);
        }
    }
}
