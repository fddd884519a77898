//! The jitter of datagrams, by RFC 3550, section 6.4.1: the spacing of two consecutive arrivals,
//! compared with the spacing in the sender's schedule. The time stamp of RTP is that of the
//! schedule, too, so that a sender which is late counts as jitter as well.
//!
//! RTP smooths |D| over about sixteen packets, because its reports are sent while the stream goes
//! on; btu reports the mean over the whole stream, which estimates the same quantity with less
//! scatter.

use btu_units::{BitRate, Bytes, Span, Time};

/// |D| of a stream of datagrams of one size at one rate.
pub(crate) struct Jitter {
    gap_ns: f64,
    /// Number and arrival of the datagram before.
    before: Option<(u64, Time)>,
    sum_ns: f64,
    count: u64,
}

impl Jitter {
    /// Of a schedule of datagrams of this size; nothing where the rate is not known.
    pub(crate) fn of(rate: Option<BitRate>, size: Bytes) -> Option<Self> {
        let rate = rate.filter(|rate| rate.bits_per_second() > 0)?;
        let gap_ns = size.bits() * 1e9 / rate.bits_per_second() as f64;
        Some(Self { gap_ns, before: None, sum_ns: 0.0, count: 0 })
    }

    /// Takes a datagram, in the order in which they come.
    #[inline]
    pub(crate) fn take(&mut self, number: u64, at: Time) {
        if let Some((last, came)) = self.before.replace((number, at)) {
            let came_apart = at.since(came).nanoseconds() as f64;
            let due_apart = (number as f64 - last as f64) * self.gap_ns;
            self.sum_ns += (came_apart - due_apart).abs();
            self.count += 1;
        }
    }

    /// The mean of |D|; nothing of fewer than two datagrams.
    pub(crate) fn mean(&self) -> Option<Span> {
        (self.count > 0)
            .then(|| Span::from_nanoseconds((self.sum_ns / self.count as f64).round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten datagrams of 125 bytes at 1 Mb/s: one is due every millisecond.
    fn jitter(arrivals_us: &[(u64, u64)]) -> Option<Span> {
        let mut jitter =
            Jitter::of(Some(BitRate::from_bits_per_second(1_000_000)), Bytes::new(125)).unwrap();
        for &(number, at_us) in arrivals_us {
            jitter.take(number, Time::ZERO + Span::from_microseconds(at_us));
        }
        jitter.mean()
    }

    #[test]
    fn a_steady_stream_has_none_even_where_datagrams_are_lost() {
        assert_eq!(jitter(&[(0, 500), (1, 1500), (2, 2500)]), Some(Span::ZERO));
        assert_eq!(jitter(&[(0, 500), (3, 3500), (4, 4500)]), Some(Span::ZERO));
        assert_eq!(jitter(&[(0, 500)]), None);
        assert!(Jitter::of(None, Bytes::new(125)).is_none());
    }

    /// Every second one is late by 200 us: each spacing is off by as much.
    #[test]
    fn spacings_that_are_off_count_in_both_directions() {
        assert_eq!(
            jitter(&[(0, 0), (1, 1200), (2, 2000), (3, 3200)]),
            Some(Span::from_microseconds(200))
        );
        // The second comes 0.1 ms after the third, and was due 1 ms before it: |D| is 1.1 ms, after
        // one of zero.
        assert_eq!(jitter(&[(0, 0), (2, 2000), (1, 2100)]), Some(Span::from_microseconds(550)));
    }
}
