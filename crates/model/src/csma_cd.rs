//! The share of a shared Ethernet's time that carries frames when all stations contend.
//!
//! Sources: Metcalfe and Boggs, "Ethernet: distributed packet switching for local computer
//! networks", CACM 19 (1976); Lam, "A carrier sense multiple access protocol for local networks",
//! Computer Networks 4 (1980); Tobagi and Hunt, "Performance analysis of carrier sense multiple
//! access with collision detection", Computer Networks 4 (1980). `a` is always the cable's
//! propagation delay, one way and end to end, over a frame's time.

use std::f64::consts::E;

use crate::answer::{Answer, sensible};

/// Metcalfe and Boggs: the share of time in frames of `bits` at `rate` bits per second, where
/// `stations` always have one and each sends in a slot of `slot` seconds with probability 1/Q.
/// Range: ideal backoff, a fixed size; real cables shorter than the longest do better, real backoff
/// with many stations does worse.
pub fn metcalfe_boggs(stations: u32, bits: f64, rate: f64, slot: f64) -> Answer {
    if stations == 0 || !sensible(&[bits, rate, slot]) || bits == 0.0 || rate == 0.0 {
        return Answer::OUT_OF_RANGE;
    }
    let stations = f64::from(stations);
    let acquired = (1.0 - 1.0 / stations).powf(stations - 1.0);
    let slots = (1.0 - acquired) / acquired;
    Answer::of(bits / rate / (bits / rate + slots * slot))
}

/// The overhead in an efficiency 1 / (1 + k a) for many stations, in propagation delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overhead {
    /// Contention only: 2 (e - 1), about 3.44.
    Contention,
    /// Contention and the frame's own propagation: 2 e - 1, about 4.44.
    WithPropagation,
    /// Contention, propagation and Lam's (1980) further collision slot: 2 e + 1, about 6.44.
    Lam,
}

impl Overhead {
    /// The factor k of the efficiency 1 / (1 + k a).
    pub fn factor(self) -> f64 {
        match self {
            Self::Contention => 2.0 * (E - 1.0),
            Self::WithPropagation => 2.0 * E - 1.0,
            Self::Lam => 2.0 * E + 1.0,
        }
    }
}

/// The share of time in frames with very many stations that always contend: 1 / (1 + k a).
pub fn many_stations(overhead: Overhead, a: f64) -> Answer {
    if sensible(&[a]) {
        Answer::of(1.0 / (1.0 + overhead.factor() * a))
    } else {
        Answer::OUT_OF_RANGE
    }
}

/// Throughput of slotted non-persistent CSMA/CD, as a share of the rate, where `offered` frames per
/// frame time are tried, retries counted, and a collision lasts `collision` propagation delays.
/// Assumes infinitely many stations and Poisson trials.
pub fn slotted_throughput(offered: f64, a: f64, collision: f64) -> Answer {
    if !sensible(&[offered, a, collision]) || a == 0.0 {
        return Answer::OUT_OF_RANGE;
    }
    let tried = a * offered;
    let one = tried * (-tried).exp();
    let more = 1.0 - (-tried).exp() - one;
    Answer::of(one / (one + collision * a * more + a))
}

/// Like `slotted_throughput`, without slots; `a` may be zero.
pub fn unslotted_throughput(offered: f64, a: f64, collision: f64) -> Answer {
    if !sensible(&[offered, a, collision]) {
        return Answer::OUT_OF_RANGE;
    }
    let quiet = (-a * offered).exp();
    let disturbed = 1.0 - quiet;
    let cycle =
        offered * quiet + collision * a * offered * disturbed + 2.0 * a * offered * disturbed + 2.0
            - quiet;
    Answer::of(offered * quiet / cycle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::testing::is;
    use proptest::prelude::*;

    /// The experimental Ethernet: 3 Mb/s, slots of 16 us.
    #[test]
    fn metcalfe_and_boggs_s_table() {
        for (stations, efficiencies) in [
            (2, [0.9884, 0.9552, 0.9143, 0.5000]),
            (10, [0.9818, 0.9310, 0.8709, 0.3874]),
            (256, [0.9803, 0.9257, 0.8616, 0.3686]),
        ] {
            for (bits, efficiency) in [4096.0, 1024.0, 512.0, 48.0].into_iter().zip(efficiencies) {
                is(metcalfe_boggs(stations, bits, 3e6, 16e-6), efficiency, 5e-5);
            }
        }
    }

    #[test]
    fn the_same_at_ten_megabits() {
        for (stations, bits, efficiency) in
            [(2, 12_144.0, 0.9595), (24, 12_144.0, 0.9345), (24, 512.0, 0.3757)]
        {
            is(metcalfe_boggs(stations, bits, 10e6, 51.2e-6), efficiency, 5e-5);
        }
        is(metcalfe_boggs(1, 512.0, 10e6, 51.2e-6), 1.0, 0.0);
    }

    #[test]
    fn many_stations_s_table() {
        for (a, efficiencies) in [
            (0.01, [0.9668, 0.9575, 0.9395]),
            (0.05, [0.8534, 0.8184, 0.7565]),
            (0.1, [0.7442, 0.6927, 0.6084]),
        ] {
            let overheads = [Overhead::Contention, Overhead::WithPropagation, Overhead::Lam];
            for (overhead, efficiency) in overheads.into_iter().zip(efficiencies) {
                is(many_stations(overhead, a), efficiency, 5e-5);
            }
        }
    }

    #[test]
    fn slotted_throughput_and_its_maximum() {
        for (a, at_one, best, most) in [
            (0.01, 0.4975, 76.7, 0.9680),
            (0.05, 0.4872, 15.3, 0.8580),
            (0.1, 0.4739, 7.67, 0.7513),
        ] {
            is(slotted_throughput(1.0, a, 1.0), at_one, 5e-5);
            is(slotted_throughput(best, a, 1.0), most, 5e-5);
            for factor in [0.95, 1.05] {
                assert!(slotted_throughput(best * factor, a, 1.0).value.unwrap() < most);
            }
        }
    }

    #[test]
    fn without_propagation_nothing_collides() {
        is(unslotted_throughput(3.0, 0.0, 1.0), 0.75, 1e-12);
        assert_eq!(metcalfe_boggs(0, 512.0, 10e6, 51.2e-6), Answer::OUT_OF_RANGE);
        assert_eq!(many_stations(Overhead::Lam, -1.0), Answer::OUT_OF_RANGE);
    }

    proptest! {
        #[test]
        fn throughput_is_a_share(offered in 0.0f64..1e4, a in 0.001f64..1.0, collision in 0.0f64..10.0) {
            for answer in [slotted_throughput(offered, a, collision), unslotted_throughput(offered, a, collision)] {
                let share = answer.value.unwrap();
                prop_assert!((0.0..=1.0).contains(&share), "{}", share);
            }
        }
    }
}
