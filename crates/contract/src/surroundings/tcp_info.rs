//! What the kernel says of a TCP connection.

use serde::{Deserialize, Serialize};

/// From `TCP_INFO` (linux/tcp.h, `struct tcp_info`); zero where the kernel is too old to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TcpInfo {
    /// The smoothed round-trip time, in microseconds.
    pub rtt_us: u32,
    /// The mean deviation of the round-trip time, in microseconds.
    pub rtt_variance_us: u32,
    /// Smallest round-trip time seen.
    pub min_rtt_us: u32,
    /// The retransmission timeout, in microseconds.
    pub rto_us: u32,
    /// Segments retransmitted in all.
    pub total_retransmits: u32,
    /// Bytes retransmitted in all.
    pub bytes_retransmitted: u64,
    /// Bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Bytes acknowledged by the peer.
    pub bytes_acked: u64,
    /// Bytes received in order: what arrived behind a gap counts when the gap is filled.
    pub bytes_received: u64,
    /// Segments with data that arrived, those behind a gap and copies too. Zero in records that are
    /// older than this field, as the next one.
    #[serde(default)]
    pub data_segments_received: u32,
    /// The size of the peer's segments, in bytes of payload.
    #[serde(default)]
    pub receive_mss_bytes: u32,
    /// Congestion window in segments.
    pub cwnd_segments: u32,
    /// Slow-start threshold in segments.
    pub ssthresh_segments: u32,
    /// The maximum segment size for sending, in bytes.
    pub send_mss_bytes: u32,
    /// Largest peer window seen.
    pub peer_window_bytes: u32,
    /// The most recent delivery rate.
    pub delivery_rate_bytes_per_second: u64,
    /// Time with data outstanding.
    pub busy_us: u64,
    /// Of it, held up by the receiver's window.
    pub receiver_limited_us: u64,
    /// Of it, held up by the send buffer.
    pub send_buffer_limited_us: u64,
    /// Segments received out of order.
    pub out_of_order_segments: u32,
}
