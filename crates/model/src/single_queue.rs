//! One server, one queue, Poisson arrivals.
//!
//! Source: Kleinrock, Queueing Systems I (1975), chapter 5 (Pollaczek and Khinchine). Assumptions: arrivals are Poisson,
//! the queue has no limit, first come first served, service times independent. Range: a load below
//! one; at and above it the answer is saturated.

use crate::answer::{Answer, sensible};
use crate::frame_times::FrameTimes;

/// Mean wait in an M/G/1 queue in seconds, service not counted, for `rate` frames per second.
pub fn waiting(rate: f64, times: &FrameTimes) -> Answer {
    if times.is_sensible() {
        waiting_of_moments(rate, times.mean(), times.second_moment())
    } else {
        Answer::OUT_OF_RANGE
    }
}

/// Like `waiting`, where only the mean and the second moment of service are known, in seconds and
/// seconds squared.
pub(crate) fn waiting_of_moments(rate: f64, mean: f64, second_moment: f64) -> Answer {
    if !sensible(&[rate, mean, second_moment]) {
        return Answer::OUT_OF_RANGE;
    }
    let load = rate * mean;
    if load >= 1.0 {
        return Answer::SATURATED;
    }
    Answer::of(rate * second_moment / (2.0 * (1.0 - load)))
}

/// Mean wait where every frame takes `time` seconds (M/D/1).
pub fn waiting_of_fixed(rate: f64, time: f64) -> Answer {
    waiting(rate, &FrameTimes::fixed(time))
}

/// Mean wait where times are exponential with mean `mean` seconds (M/M/1).
pub fn waiting_of_exponential(rate: f64, mean: f64) -> Answer {
    waiting(rate, &FrameTimes::exponential(mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::testing::is;
    use proptest::prelude::*;

    /// One frame per second of half a second.
    #[test]
    fn half_load() {
        is(waiting_of_fixed(1.0, 0.5), 0.25, 1e-12);
        is(waiting_of_exponential(1.0, 0.5), 0.5, 1e-12);
    }

    /// The delays in the queue that CITI's figures do not have: M/D/1 1.0559 and 7.19 ms, M/M/1
    /// 1.0949 and 13.53 ms, with their service.
    #[test]
    fn queues_without_contention_at_citi_s_loads() {
        for (rate, time, fixed, exponential) in
            [(70.0, 1.016_914_3, 1.0559, 1.0949), (1104.0, 0.848_97, 7.19, 13.53)]
        {
            let with_service = |wait: Answer| wait.map(|wait| wait * 1e3 + time);
            is(with_service(waiting_of_fixed(rate, time / 1e3)), fixed, fixed * 1e-3);
            is(
                with_service(waiting_of_exponential(rate, time / 1e3)),
                exponential,
                exponential * 1e-3,
            );
        }
    }

    #[test]
    fn without_capacity_there_is_no_mean() {
        assert!(waiting_of_fixed(2.0, 0.5).is_saturated());
        assert_eq!(waiting_of_fixed(f64::NAN, 0.5), Answer::OUT_OF_RANGE);
        assert_eq!(waiting_of_fixed(1.0, -0.5), Answer::OUT_OF_RANGE);
    }

    proptest! {
        #[test]
        fn more_load_waits_longer(rate in 0.0f64..0.99, step in 0.001f64..2.0) {
            let now = waiting_of_exponential(rate, 1.0).value.unwrap();
            match waiting_of_exponential(rate + step, 1.0).value {
                Some(more) => prop_assert!(more > now),
                None => prop_assert!(rate + step >= 1.0),
            }
        }
    }
}
