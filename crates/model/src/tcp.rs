//! What TCP's own rules allow on a path: the rate at which random loss holds Reno, and the time of
//! slow start.
//!
//! Sources: Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior of the TCP congestion avoidance
//! algorithm", Computer Communication Review 27 (1997), with a window that grows by a segment for
//! each window that is acknowledged: Linux counts acknowledged segments, not acknowledgements
//! (RFC 3465). RFC 5681 for slow start and RFC 6928 for its first window.
//!
//! Range: Reno with selective acknowledgements, random loss of up to some 2 %; with more, timeouts
//! make it slower (Padhye and others, SIGCOMM 1998). CUBIC is as fast where the round trip is short,
//! and faster on longer paths (RFC 9438, section 4.3). BBR does not slow down for such loss.

/// Segments of the first window (RFC 6928).
const FIRST_WINDOW: f64 = 10.0;

/// Segments per second that Reno sends at most where this share of segments is lost at random:
/// sqrt(3/2) / (RTT sqrt(p)). Infinite without loss; `round_trip` in seconds.
pub(crate) fn reno(loss: f64, round_trip: f64) -> f64 {
    if loss > 0.0 { (1.5 / loss).sqrt() / round_trip } else { f64::INFINITY }
}

/// Seconds until `segments` have been sent on an idle path that carries `per_second` segments a
/// second: the window doubles each round trip until it fills the path.
pub(crate) fn seconds_of(segments: f64, per_second: f64, round_trip: f64) -> f64 {
    let (mut window, mut left, mut seconds) = (FIRST_WINDOW, segments, 0.0);
    while window < per_second * round_trip && left > window {
        (left, seconds, window) = (left - window, seconds + round_trip, window * 2.0);
    }
    seconds + left / per_second
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 1 % and 41.4 ms: 12.247 segments for each round trip.
    #[test]
    fn loss_by_hand() {
        assert!((reno(0.01, 0.0414) - 295.83).abs() < 0.01);
        assert!(reno(0.0, 0.1).is_infinite());
    }

    /// 1000 segments a second and 100 ms: windows of 10, 20, 40, 80 take 0.4 s for 150 segments.
    #[test]
    fn slow_start_by_hand() {
        assert!((seconds_of(1150.0, 1000.0, 0.1) - 1.4).abs() < 1e-9);
        assert!((seconds_of(5.0, 1000.0, 0.1) - 0.005).abs() < 1e-9, "the first window is at once");
        assert!((seconds_of(100.0, 10.0, 0.1) - 10.0).abs() < 1e-9, "a full path starts full");
    }

    proptest! {
        #[test]
        fn more_loss_and_longer_paths_are_slower(loss in 1e-6f64..0.3, round_trip in 1e-4f64..2.0) {
            prop_assert!(reno(loss * 1.1, round_trip) < reno(loss, round_trip));
            prop_assert!(reno(loss, round_trip * 1.1) < reno(loss, round_trip));
        }

        #[test]
        fn no_transfer_is_faster_than_its_path(
            segments in 1.0f64..1e6, per_second in 1.0f64..1e6, round_trip in 0.0f64..1.0,
        ) {
            let seconds = seconds_of(segments, per_second, round_trip);
            prop_assert!(seconds >= segments / per_second * (1.0 - 1e-9));
            prop_assert!(seconds <= segments / per_second + 30.0 * round_trip);
        }
    }
}
