//! One server, one queue, Poisson arrivals.
//!
//! Source: Kleinrock, Queueing Systems I (1975), chapter 5 (Pollaczek and Khinchine). Assumptions: arrivals are Poisson,
//! the queue has no limit, first come first served, service times independent. Range: a load below
//! one; at and above it the answer is saturated.
//!
//! A queue with a limit: M/G/1/K by the chain at departures (Kleinrock; Tijms, A First Course in
//! Stochastic Models, 2003, section 9.7), which is exact.

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

/// Mean wait in seconds of the frames that find a place, and the share that finds none, where so
/// many frames can wait for the one that is sent.
pub(crate) fn limited(rate: f64, times: &FrameTimes, room: usize) -> (f64, f64) {
    let arrivals = times.arrivals(rate, room + 1);
    // By how many frames a departing one leaves behind, against leaving none.
    let mut left: Vec<f64> = vec![1.0];
    for behind in 0..room {
        let later: f64 =
            (1..=behind).map(|before| left[before] * arrivals[behind - before + 1]).sum();
        let next = (left[behind] - left[0] * arrivals[behind] - later) / arrivals[0];
        left.push(next.max(0.0));
    }
    let sum: f64 = left.iter().sum();
    let inside: f64 = left.iter().enumerate().map(|(count, part)| count as f64 * part).sum();
    // Per frame that is carried: the chain's share of the time, and the mean of one service.
    let cycle = left[0] / sum + rate * times.mean();
    let lost = 1.0 - 1.0 / cycle;
    let frames = inside / sum / cycle + (room + 1) as f64 * lost;
    ((frames / (rate * (1.0 - lost)) - times.mean()).max(0.0), lost.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::testing::is;
    use proptest::prelude::*;

    /// M/D/1.
    fn waiting_of_fixed(rate: f64, time: f64) -> Answer {
        waiting(rate, &FrameTimes::fixed(time))
    }

    /// M/M/1.
    fn waiting_of_exponential(rate: f64, mean: f64) -> Answer {
        waiting(rate, &FrameTimes::exponential(mean))
    }

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

    /// A line of 5 Mb/s, 580 frames of 1000 octets a second, which occupy 1020: with room for four an
    /// independent simulation of 600,000 frames gave 8.05 % (standard error 0.07) and a delay of 6.33
    /// ms: the wait, the frame without its gap of 12 octets, and a way of 2 ms. M/M/1/K is known in closed
    /// form: (1 - rho) rho^K / (1 - rho^(K + 1)).
    #[test]
    fn a_queue_with_a_limit() {
        let (wait, lost) = limited(580.0, &FrameTimes::fixed(1020.0 * 8.0 / 5e6), 4);
        let delay = wait + 1008.0 * 8.0 / 5e6 + 2e-3;
        assert!((delay - 6.33e-3).abs() < 0.02e-3, "{delay}");
        assert!((lost - 0.0805).abs() < 1.5e-3, "{lost}");
        for (load, room) in [(0.5, 3), (0.9, 10), (0.99, 100_usize)] {
            let (wait, lost) = limited(load, &FrameTimes::exponential(1.0), room);
            let power = |count: usize| (1.0 - load) * load.powf(count as f64);
            let all = 1.0 - load.powf(room as f64 + 2.0);
            assert!((lost - power(room + 1) / all).abs() < 1e-9, "{load}, {room}: {lost}");
            let frames: f64 = (0..=room + 1).map(|count| count as f64 * power(count) / all).sum();
            assert!((wait + 1.0 - frames / (load * (1.0 - lost))).abs() < 1e-6, "{load}, {room}");
        }
    }

    #[test]
    fn without_capacity_there_is_no_mean() {
        assert!(waiting_of_fixed(2.0, 0.5).is_saturated());
        assert_eq!(waiting_of_fixed(f64::NAN, 0.5), Answer::OUT_OF_RANGE);
        assert_eq!(waiting_of_fixed(1.0, -0.5), Answer::OUT_OF_RANGE);
    }

    proptest! {
        /// Nothing waits longer than a full queue takes, and a large one is as good as one without a
        /// limit.
        #[test]
        fn no_wait_is_longer_than_the_queue(load in 0.01f64..0.999, room in 0usize..200) {
            let times = FrameTimes::mix([(0.3, FrameTimes::fixed(0.5)), (0.7, FrameTimes::fixed(1.214_285_7))]);
            let (wait, lost) = limited(load, &times, room);
            prop_assert!(wait <= (room as f64 + 1.0) * 1.214_285_8 && (0.0..1.0).contains(&lost));
            let open = waiting(load, &times).value.unwrap();
            prop_assert!(wait <= open * (1.0 + 1e-6));
            if room as f64 > 20.0 * (load * open + 1.0) {
                prop_assert!((wait / open - 1.0).abs() < 1e-3 && lost < 1e-6, "{} of {}", wait, open);
            }
        }

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
