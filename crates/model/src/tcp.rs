//! What TCP's own rules allow on a path: the rate at which random loss holds Reno, and the time of
//! a transfer, window by window.
//!
//! Sources: Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior of the TCP congestion avoidance
//! algorithm", Computer Communication Review 27 (1997), with a window that grows by a segment for
//! each window that is acknowledged: Linux counts acknowledged segments, not acknowledgements
//! (RFC 3465). RFC 5681 for slow start and RFC 6928 for its first window. That slow start carries
//! the segments before the first loss: Cardwell, Savage, Anderson, "Modeling TCP latency"
//! (INFOCOM 2000).
//!
//! Range: Reno with selective acknowledgements, of which all losses of a burst halve the window
//! once; losses at equal distances, up to some 2 %; with more, timeouts make it slower (Padhye and
//! others, SIGCOMM 1998). Losses by chance spread the time of one transfer around this. CUBIC is as
//! fast where the round trip is short, and faster on longer paths (RFC 9438, section 4.3). BBR does
//! not slow down for such loss.

use btu_network::{Loss, Trace};

/// Segments of the first window (RFC 6928).
const FIRST_WINDOW: f64 = 10.0;

/// Windows after which the rest of a transfer goes on at the rate so far.
const MOST_WINDOWS: u32 = 20_000;

/// Losses that halve a window, for each frame that is sent: each visit of the bad state counts once.
pub(crate) fn loss_events(loss: Loss) -> f64 {
    let Loss::GilbertElliott { p, r, bad, good } = loss else { return loss.share() };
    let [p, r, bad, good] = [p, r, bad, good].map(btu_units::Probability::share);
    // Of a visit that ends with probability r after each frame.
    let seen = if bad > 0.0 { bad / (bad + r - r * bad) } else { 0.0 };
    let is_good = if p > 0.0 { r / (p + r) } else { 1.0 };
    (is_good * (p * seen + (1.0 - p * seen) * good)).min(loss.share())
}

/// Segments per second of Reno in the long run where this share of segments begins a loss:
/// sqrt(3/2) / (RTT sqrt(p)). Infinite without loss; `round_trip` in seconds.
pub(crate) fn reno(loss_events: f64, round_trip: f64) -> f64 {
    if loss_events > 0.0 { (1.5 / loss_events).sqrt() / round_trip } else { f64::INFINITY }
}

/// A path from a time on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    /// Seconds since the network came up.
    pub(crate) from: f64,
    /// Segments per second that it carries; of a recorded one, that its other parts carry.
    pub(crate) per_second: f64,
    /// Seconds of a segment and its acknowledgement.
    pub(crate) round_trip: f64,
    /// Losses that halve a window, for each segment.
    pub(crate) loss_events: f64,
    /// Segments in the longest window: what fills the path and its queue, or the connection's own.
    pub(crate) longest_window: f64,
}

/// A path over time.
#[derive(Debug, Clone)]
pub(crate) struct TcpPath<'a> {
    /// At least one; the first begins at 0.
    pub(crate) stretches: Vec<Stretch>,
    /// A recorded part of it, and how many of its opportunities a segment takes.
    pub(crate) recorded: Option<(&'a Trace, f64)>,
}

impl TcpPath<'_> {
    /// Seconds from the first segment to the end of the last, for a connection that begins at this
    /// time. A window is sent in a round trip, or in the time in which the path carries it.
    pub(crate) fn seconds(&self, segments: f64, begin: f64) -> f64 {
        let (mut at, mut left, mut window) = (begin, segments, FIRST_WINDOW);
        let (mut in_slow_start, mut losses) = (true, 0.0);
        for _ in 0..MOST_WINDOWS {
            let now = self.stretches[self.place(at)];
            window = window.min(now.longest_window).max(1.0);
            if left <= window {
                return self.carried(at, left) - begin;
            }
            losses += window * now.loss_events;
            left -= window;
            at = self.carried(at, window).max(at + now.round_trip);
            if losses >= 1.0 {
                (window, losses, in_slow_start) = (window / 2.0, losses.fract(), false);
            } else {
                window += if in_slow_start { window } else { 1.0 };
            }
        }
        (at - begin) * segments / (segments - left)
    }

    /// The place of the stretch at this time.
    pub(crate) fn place(&self, at: f64) -> usize {
        self.stretches.partition_point(|stretch| stretch.from <= at).max(1) - 1
    }

    /// When the path has carried so many segments, of which the first is ready at this time.
    fn carried(&self, mut at: f64, segments: f64) -> f64 {
        let recorded = self.recorded_until(at, segments);
        let (mut left, mut place) = (segments, self.place(at));
        while let Some(next) = self.stretches.get(place + 1) {
            let room = (next.from - at) * self.stretches[place].per_second;
            if left <= room {
                break;
            }
            (left, at, place) = (left - room, next.from, place + 1);
        }
        (at + left / self.stretches[place].per_second).max(recorded)
    }

    /// When a recorded part has had enough opportunities.
    fn recorded_until(&self, at: f64, segments: f64) -> f64 {
        let Some((trace, each)) = self.recorded else { return 0.0 };
        let (all, lap) = (&trace.opportunities_ms, trace.lap().seconds());
        let laps = (at / lap).floor();
        let passed = all.partition_point(|&ms| f64::from(ms) / 1e3 <= at - laps * lap);
        let wanted = (segments * each).round().max(1.0) as usize;
        let last = passed.saturating_add(wanted - 1);
        (laps + (last / all.len()) as f64) * lap + f64::from(all[last % all.len()]) / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_units::Probability;
    use proptest::prelude::*;

    fn stretch(from: f64, per_second: f64, round_trip: f64) -> Stretch {
        let longest_window = per_second * round_trip + 100.0;
        Stretch { from, per_second, round_trip, loss_events: 0.0, longest_window }
    }

    fn seconds_of(segments: f64, per_second: f64, round_trip: f64) -> f64 {
        let stretches = vec![stretch(0.0, per_second, round_trip)];
        TcpPath { stretches, recorded: None }.seconds(segments, 0.0)
    }

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

    /// 5 s of 800 segments a second, then 80: 4000 of 14,000 go in the first five seconds, the rest
    /// in 125 s. Slow start takes three round trips of 10 ms before the path is full, in which 70 of
    /// 24 segments go.
    #[test]
    fn a_path_that_changes_is_walked() {
        let stretches = vec![stretch(0.0, 800.0, 1e-3), stretch(5.0, 80.0, 1e-3)];
        let path = TcpPath { stretches, recorded: None };
        assert!((path.seconds(14_000.0, 0.0) - 130.0).abs() < 1e-6);
        assert!((path.seconds(14_000.0, 2.0) - (3.0 + 11_600.0 / 80.0)).abs() < 1e-6);
        assert!((path.seconds(800.0, 7.0) - 10.0).abs() < 1e-6);
    }

    /// Four opportunities in a lap of 1 s, at 0.1, 0.2, 0.3 and 1 s, one for each segment.
    #[test]
    fn a_recording_is_walked_lap_by_lap() {
        let trace = Trace { opportunities_ms: vec![100, 200, 300, 1000] };
        let stretches = vec![Stretch { longest_window: 1e9, ..stretch(0.0, 1e9, 0.0) }];
        let path = TcpPath { stretches, recorded: Some((&trace, 1.0)) };
        for (segments, begin, end) in
            [(3.0, 0.0, 0.3), (4.0, 0.0, 1.0), (5.0, 0.0, 1.1), (1.0, 0.25, 0.3), (2.0, 7.25, 8.0)]
        {
            let seconds = path.seconds(segments, begin);
            assert!((begin + seconds - end).abs() < 1e-9, "{segments} from {begin}: {seconds}");
        }
        let twice = TcpPath { recorded: Some((&trace, 2.0)), ..path };
        assert!((twice.seconds(4.0, 0.0) - 2.0).abs() < 1e-9, "others take every other one");
    }

    fn bursts(p: f64, r: f64, bad: f64, good: f64) -> Loss {
        let [p, r, bad, good] = [p, r, bad, good].map(|share| Probability::new(share).unwrap());
        Loss::GilbertElliott { p, r, bad, good }
    }

    /// A burst of two in the mean counts once, one that loses nothing does not count.
    #[test]
    fn a_burst_is_one_loss() {
        let near = |loss: Loss, expected: f64| {
            let events = loss_events(loss);
            assert!((events / expected - 1.0).abs() < 1e-9, "{loss:?}: {events}");
        };
        near(Loss::Random(Probability::new(0.01).unwrap()), 0.01);
        near(bursts(0.01, 0.5, 1.0, 0.0), 0.01 * 0.5 / 0.51);
        near(bursts(0.005, 0.3, 0.6, 0.0), 0.3 / 0.305 * 0.005 * 0.6 / 0.72);
        near(bursts(0.0, 0.5, 1.0, 0.02), 0.02);
        near(bursts(0.01, 1.0, 0.0, 0.02), 0.02 / 1.01);
        assert!(loss_events(Loss::None) < f64::MIN_POSITIVE);
    }

    /// In the long run the walk is the law of Mathis and others; a short transfer ends before the
    /// law begins.
    #[test]
    fn losses_by_the_window() {
        let lossy = Stretch { loss_events: 1e-3, ..stretch(0.0, 1e6, 0.1) };
        let path = TcpPath { stretches: vec![lossy], recorded: None };
        let law = |segments: f64| segments / reno(1e-3, 0.1);
        let long = path.seconds(1e6, 0.0);
        assert!((long / law(1e6) - 1.0).abs() < 0.03, "{long} s of {}", law(1e6));
        let short = path.seconds(1000.0, 0.0);
        assert!((short - 0.6).abs() < 0.11, "{short} s: windows of 10 to 320, and the rest");
        assert!(law(1000.0) > 2.5);
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
