//! FDDI under full load.
//!
//! Source: Jain, "Performance analysis of FDDI token ring networks: effect of parameters and
//! guidelines for setting TTRT" (1990). Assumptions: asynchronous traffic only, n stations that
//! always have something to send, frames and tokens that are short against the target rotation time
//! (TTRT). Range: a target longer than the ring's latency.

use crate::answer::{Answer, sensible};

/// The share of the rate that frames get when `active` stations always send, with a target of
/// `target` and a latency of `latency` seconds: n (T - D) / (n T + D).
pub(crate) fn efficiency(active: f64, target: f64, latency: f64) -> Answer {
    if active < 1.0 || !sensible(&[active, target, latency]) || latency >= target {
        return Answer::OUT_OF_RANGE;
    }
    Answer::of(active * (target - latency) / (active * target + latency))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::testing::is;

    /// 5.085 us for a kilometre and 1 us for a station, and a target of 8 ms.
    #[test]
    fn jain_s_rings_with_a_target_of_8_ms() {
        for (latency, active, expected) in [
            (2.017e-3, 1000.0, 0.7477),
            (2.017e-3, 1.0, 0.5973),
            (1.117e-3, 100.0, 0.8592),
            (0.0403e-3, 20.0, 0.9947),
        ] {
            is(efficiency(active, 8e-3, latency), expected, 5e-5);
        }
    }

    #[test]
    fn a_target_within_the_latency_has_no_answer() {
        assert_eq!(efficiency(10.0, 1e-3, 2e-3), Answer::OUT_OF_RANGE);
        assert_eq!(efficiency(0.0, 8e-3, 1e-3), Answer::OUT_OF_RANGE);
    }
}
