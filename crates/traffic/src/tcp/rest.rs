//! How long a receiver rests between two batches.
//!
//! A receiver that is woken for every segment makes both ends slow: the sender's processor has to
//! wake it each time, and the acknowledgements it causes keep segments small and the sender's
//! timers busy. So it reads in batches, as programs do that have other work too. A batch is so
//! large that it and the data in flight meanwhile take three quarters of the offered window at
//! most: the sender never waits for the window because of a rest. And it is at most 512 KiB, so
//! that it is still in the processor's cache when it is read.

use btu_units::Span;

/// The shortest rest, about what it costs to fall asleep and wake up; and the longest.
const SHORTEST: Span = Span::from_microseconds(100);
const LONGEST: Span = Span::from_milliseconds(4);

/// The largest batch, whatever the window.
const LARGEST_BATCH_BYTES: u64 = 512 * 1024;

/// The kernel's data about the path and the receiver's side; zero if it does not report them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Path {
    /// The window offered to the sender.
    pub(crate) window_bytes: u64,
    /// The smallest round-trip time.
    pub(crate) round_trip: Span,
}

/// The length of the next pause, from the data that arrived during the last.
#[derive(Debug)]
pub(crate) struct Rest {
    length: Span,
    bytes: u64,
}

impl Rest {
    /// Begins with the shortest.
    pub(crate) fn new() -> Self {
        Self { length: SHORTEST, bytes: 0 }
    }

    /// The next pause, when `bytes` of the stream have arrived in all: twice the last one where
    /// twice as much would still be a batch, half of it where the batch was too large.
    pub(crate) fn next(&mut self, bytes: u64, path: Path) -> Span {
        let batch = bytes - self.bytes;
        self.bytes = bytes;
        let longer = (self.length * 2).min(LONGEST);
        let larger = u128::from(batch) * u128::from(longer.nanoseconds())
            / u128::from(self.length.nanoseconds());
        if batch > largest_batch(self.length, path) {
            self.length = Span::from_nanoseconds(self.length.nanoseconds() / 2).max(SHORTEST);
        } else if larger <= u128::from(largest_batch(longer, path)) {
            self.length = longer;
        }
        self.length
    }
}

/// The most data that may arrive during a pause: at a steady rate, `batch * round_trip / rest` more
/// is under way.
fn largest_batch(rest: Span, path: Path) -> u64 {
    let (rest, round_trip) = (rest.nanoseconds(), path.round_trip.nanoseconds());
    let share = u128::from(path.window_bytes) * 3 / 4 * u128::from(rest)
        / u128::from(rest.saturating_add(round_trip));
    u64::try_from(share).map_or(LARGEST_BATCH_BYTES, |share| share.min(LARGEST_BATCH_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The final pauses of a stream of constant rate.
    fn settled(bytes_per_second: u64, path: Path) -> Span {
        let (mut rest, mut bytes, mut length) = (Rest::new(), 0, SHORTEST);
        for _ in 0..50 {
            bytes += (bytes_per_second as f64 * length.seconds()) as u64;
            length = rest.next(bytes, path);
        }
        length
    }

    fn path(window_bytes: u64, round_trip_us: u64) -> Path {
        Path { window_bytes, round_trip: Span::from_microseconds(round_trip_us) }
    }

    #[test]
    fn slow_streams_and_wide_windows_allow_long_rests() {
        assert_eq!(settled(12_500, path(65_536, 20)), LONGEST);
        assert_eq!(settled(60_000_000, path(4 << 20, 20)), LONGEST);
    }

    #[test]
    fn a_window_that_the_path_needs_is_left_to_it() {
        // 64 KiB in 1.2 ms are 55 MB/s: the path has use for the whole window, and no rest can be
        // afforded.
        assert_eq!(settled(54_000_000, path(65_536, 1200)), SHORTEST);
    }

    #[test]
    fn where_the_kernel_tells_nothing_the_rest_is_the_shortest() {
        assert_eq!(settled(1_000_000, Path::default()), SHORTEST);
    }

    proptest! {
        #[test]
        fn a_batch_is_as_large_as_it_may_be_and_not_larger(
            rate in 1_000_000u64..10_000_000_000, window in 4096u64..64 << 20, round_trip in 0u64..10_000,
        ) {
            let path = path(window, round_trip);
            let length = settled(rate, path);
            let batch = rate as f64 * length.seconds();
            let (limit, wider) = (largest_batch(length, path) as f64, largest_batch(length * 2, path) as f64);
            prop_assert!(length == SHORTEST || batch <= limit + 2.0, "{length:?} brings {batch} B of {limit}");
            prop_assert!(length * 2 > LONGEST || batch * 2.0 + 4.0 >= wider, "{length} brings only {batch} B of {wider}");
        }
    }
}
