//! A file that is written in blocks, each of them a request with a reply: NFS over TCP.
//!
//! Model: a block's time is the round trip, the server's own time, and the request and reply on the
//! line; with a window of w requests in flight w blocks share it, until the line is full of blocks
//! and of the octets that go with each. Sizes as
//! in RFC 1813 (version 3): a WRITE has about 144 octets in addition to its data, its reply has 140
//! octets. Every packet carries 90 octets in addition to its payload (IEEE 802.3: preamble 8,
//! header 14, check sequence 4, gap 12; IP 20, TCP with time stamps 32), a full one 1448 octets of
//! payload. Assumptions: a line for each direction, no loss, TCP's own window never limits.

use crate::answer::{Answer, sensible};

/// Payload of a full packet.
const SEGMENT_BYTES: f64 = 1448.0;

/// The octets that each packet occupies in addition to its payload.
const PACKET_BYTES: f64 = 90.0;

/// A file and its path. Times in seconds, sizes in octets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockTransfer {
    /// The size of the file, in octets.
    pub bytes: f64,
    /// The size of one block of the file, in octets.
    pub block_bytes: f64,
    /// Octets that go with a block: the rest of a request to write, 144 in version 3, or of a reply
    /// to one to read.
    pub around_bytes: f64,
    /// The size of the message the other way, in octets; 140 for the reply to a WRITE of version 3.
    pub other_bytes: f64,
    /// The rate of the line in each direction, in bits per second.
    pub bits_per_second: f64,
    /// The round-trip time of the empty path, in seconds.
    pub round_trip: f64,
    /// The server's time for one block, in seconds.
    pub server: f64,
}

impl BlockTransfer {
    /// Up to `window` blocks in flight: never faster than the line.
    pub fn windowed(&self, window: f64) -> Answer {
        let sizes = [self.bytes, self.block_bytes, self.around_bytes, self.other_bytes];
        let times = [self.bits_per_second, self.round_trip, self.server, window];
        let possible = sensible(&sizes) && sensible(&times) && self.bits_per_second > 0.0;
        if !possible || self.block_bytes <= 0.0 || window < 1.0 {
            return Answer::OUT_OF_RANGE;
        }
        let waiting = self.bytes / (self.block_bytes * window) * self.round();
        Answer::of(if window > 1.0 { waiting.max(self.line()) } else { waiting })
    }

    /// Seconds of the blocks alone, each with what goes with it, back to back.
    pub fn line(&self) -> f64 {
        let blocks = self.bytes / self.block_bytes;
        8.0 * blocks * occupied(self.block_bytes + self.around_bytes) / self.bits_per_second
    }

    /// One block there and its reply back.
    fn round(&self) -> f64 {
        let octets = occupied(self.block_bytes + self.around_bytes) + occupied(self.other_bytes);
        self.round_trip + self.server + 8.0 * octets / self.bits_per_second
    }
}

/// The octets that `payload` octets occupy on the line.
fn occupied(payload: f64) -> f64 {
    payload + PACKET_BYTES * (payload / SEGMENT_BYTES).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(bits_per_second: f64, round_trip: f64, block_bytes: f64) -> BlockTransfer {
        BlockTransfer {
            bytes: 100e6,
            block_bytes,
            around_bytes: 144.0,
            other_bytes: 140.0,
            bits_per_second,
            round_trip,
            server: 0.0,
        }
    }

    fn near(answer: Answer, expected: f64, tolerance: f64) {
        let value = answer.value.unwrap_or(f64::NAN);
        assert!((value - expected).abs() <= tolerance, "{value}, not {expected}");
    }

    /// 100 MB: 8 KiB at 10 Mb/s without delay, 64 KiB at 100 Mb/s and 10 ms, 64 KiB at 1 Gb/s and
    /// 20 ms.
    #[test]
    fn one_block_in_flight() {
        near(file(10e6, 0.0, 8192.0).windowed(1.0), 88.93, 0.005);
        near(file(100e6, 10e-3, 65_536.0).windowed(1.0), 23.81, 0.005);
        near(file(1e9, 20e-3, 65_536.0).windowed(1.0), 31.37, 0.005);
    }

    /// A window of 15.1 fills 100 Mb/s at 10 ms with blocks of 8 KiB; no larger one is faster. By
    /// hand: 12,207.03 blocks of 8192 + 144 octets in 6 packets of 90 more.
    #[test]
    fn a_window_fills_the_line() {
        let file = file(100e6, 10e-3, 8192.0);
        let line = 100e6 / 8192.0 * (8336.0 + 540.0) * 8.0 / 100e6;
        near(file.windowed(1.0).map(|seconds| seconds / line), 15.1, 0.05);
        near(file.windowed(16.0), line, 1e-9);
        near(file.windowed(1000.0), line, 1e-9);
        near(file.windowed(8.0), file.windowed(1.0).value.unwrap() / 8.0, 1e-9);
    }

    #[test]
    fn impossible_questions_have_no_answer() {
        assert_eq!(file(0.0, 0.0, 8192.0).windowed(1.0), Answer::OUT_OF_RANGE);
        assert_eq!(file(1e6, 0.0, 0.0).windowed(1.0), Answer::OUT_OF_RANGE);
        assert_eq!(file(1e6, 0.0, 8192.0).windowed(0.0), Answer::OUT_OF_RANGE);
    }

    proptest! {
        #[test]
        fn a_larger_window_is_never_slower(
            rate in 1e4f64..1e10, round_trip in 0.0f64..0.5, block in 512.0f64..1e6, window in 1.0f64..100.0,
        ) {
            let file = file(rate, round_trip, block);
            let seconds = |window: f64| file.windowed(window).value.unwrap();
            prop_assert!(seconds(window) >= seconds(window + 1.0));
            prop_assert!(seconds(window) >= file.line() * (1.0 - 1e-12));
        }
    }
}
