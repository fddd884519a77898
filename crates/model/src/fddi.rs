//! FDDI under full load.
//!
//! Source: Jain, "Performance analysis of FDDI token ring networks: effect of parameters and
//! guidelines for setting TTRT" (1990). Assumptions: asynchronous traffic only, n stations that
//! always have something to send, frames and tokens that are short against the target rotation time
//! (TTRT). Range: a target longer than the ring's latency.

use crate::answer::{Answer, sensible};

/// Seconds a bit takes to go round: 5.085 us per kilometre of fibre and 1 us per station.
pub fn latency(kilometres: f64, stations: u32) -> f64 {
    5.085e-6 * kilometres + 1e-6 * f64::from(stations)
}

/// The share of the rate that frames get when `active` stations always send, with a target of
/// `target` and a latency of `latency` seconds: n (T - D) / (n T + D).
pub fn efficiency(active: u32, target: f64, latency: f64) -> Answer {
    let active = f64::from(active);
    in_range(active, target, latency, active * (target - latency) / (active * target + latency))
}

/// The longest time in seconds until a station may send again: (n - 1) T + 2 D. Overruns and
/// tokens' own bits, which the formula leaves out, come on top of it; and a station that is early
/// by the smallest amount may use its turn for a single frame.
pub fn longest_access(active: u32, target: f64, latency: f64) -> Answer {
    let active = f64::from(active);
    in_range(active, target, latency, (active - 1.0) * target + 2.0 * latency)
}

fn in_range(active: f64, target: f64, latency: f64, value: f64) -> Answer {
    let asked = active >= 1.0 && sensible(&[target, latency]) && latency < target;
    if asked { Answer::of(value) } else { Answer::OUT_OF_RANGE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::testing::is;

    #[test]
    fn jain_s_rings_with_a_target_of_8_ms() {
        for (stations, kilometres, milliseconds) in
            [(1000, 200.0, 2.017), (100, 200.0, 1.117), (20, 4.0, 0.0403)]
        {
            is(Answer::of(latency(kilometres, stations) * 1e3), milliseconds, 5e-5);
        }
        for (stations, kilometres, active, expected) in [
            (1000, 200.0, 1000, 0.7477),
            (1000, 200.0, 1, 0.5973),
            (100, 200.0, 100, 0.8592),
            (20, 4.0, 20, 0.9947),
        ] {
            is(efficiency(active, 8e-3, latency(kilometres, stations)), expected, 5e-5);
        }
        is(longest_access(1000, 8e-3, latency(200.0, 1000)), 7.996, 5e-4);
    }

    #[test]
    fn a_target_within_the_latency_has_no_answer() {
        assert_eq!(efficiency(10, 1e-3, 2e-3), Answer::OUT_OF_RANGE);
        assert_eq!(longest_access(0, 8e-3, 1e-3), Answer::OUT_OF_RANGE);
    }
}
