//! Random early detection in the kernel's form.
//!
//! Source: `include/net/red.h` for the kernel's use of the numbers, and `tc/tc_red.c` of iproute2
//! (GPL; not copied) for the values that user space must compute: weights are powers of 1/2, and a
//! table has the powers of 2 by which the mean decays while the queue is idle. Octets count as the
//! line carries them.

use btu_testbed::netlink::Attributes;

use crate::Scenario;

pub(super) const SCENARIOS: &[Scenario] = &[
    ("driver_red_weights", weights_are_powers_of_a_half),
    ("driver_red_idle", the_mean_halves_in_the_time_that_its_weight_says),
];

/// The parameters of random early detection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Red {
    /// The largest number of octets that it holds.
    pub(super) limit: u32,
    pub(super) minimum: u32,
    pub(super) maximum: u32,
    /// Drop probability just below the maximum.
    pub(super) probability: f64,
    /// Weight of the newest sample.
    pub(super) weight: f64,
    /// The time of a full frame, in microseconds: while no frame arrives, the mean decays once in
    /// this time.
    pub(super) frame_us: f64,
}

/// Places of the table; the last serves all longer times.
const PLACES: usize = 256;
/// The largest shift of the mean.
const MOST: f64 = 31.0;

impl Red {
    pub(super) fn options(self) -> Attributes {
        const PARMS: u16 = 1;
        const STAB: u16 = 2;
        const MAX_P: u16 = 3;
        let weight = self.weight_log();
        let (scale, table) = self.idle(weight);
        let numbers = [self.limit, self.minimum, self.maximum.max(self.minimum + 1)]
            .map(u32::to_ne_bytes)
            .concat();
        // struct tc_red_qopt: limit, minimum, maximum, Wlog, Plog, Scell_log, flags; MAX_P comes
        // instead of Plog.
        let parms = [&numbers[..], &[weight, 0, scale, 0]].concat();
        let most = (self.probability * 2f64.powi(32)) as u32;
        Attributes::new().with(PARMS, &parms).with(STAB, &table).with_u32(MAX_P, most.max(1))
    }

    /// The weight as a power of 1/2; the kernel keeps thresholds times 2^it in 31 bits.
    fn weight_log(self) -> u8 {
        let room = self.maximum.max(self.minimum + 1).leading_zeros().saturating_sub(1);
        (-self.weight.log2()).round().clamp(1.0, f64::from(room.max(1))) as u8
    }

    /// The time of the table's entries (as a power of 2, in microseconds), and the power of 1/2 by
    /// which the mean decays in each: a frame's time multiplies it by 1 - weight.
    fn idle(self, weight: u8) -> (u8, [u8; PLACES]) {
        let shifts_per_us = -(1.0 - 0.5f64.powi(i32::from(weight))).log2() / self.frame_us;
        let longest = MOST / shifts_per_us;
        let scale = (0..31u8)
            .find(|&log| longest / 2f64.powi(i32::from(log)) < PLACES as f64 - 1.0)
            .unwrap_or(31);
        let shift = |place: usize| {
            (place as f64 * 2f64.powi(i32::from(scale)) * shifts_per_us).min(MOST) as u8
        };
        (scale, std::array::from_fn(shift))
    }
}

const RED: Red = Red {
    limit: 100_000,
    minimum: 5000,
    maximum: 15_000,
    probability: 0.1,
    weight: 0.002,
    frame_us: 1230.0,
};

fn weights_are_powers_of_a_half() {
    assert_eq!(RED.weight_log(), 9);
    assert_eq!(Red { weight: 1e-9, ..RED }.weight_log(), 17, "15,000 times 2^17 fits into 31 bits");
}

fn the_mean_halves_in_the_time_that_its_weight_says() {
    let (scale, table) = RED.idle(9);
    // 1 - 1/512 to the 354th power is a half, and a frame takes 1230 us.
    let half_life = 354.5 * 1230.0 / f64::from(1u32 << scale);
    let first = table.iter().position(|&shift| shift == 1).unwrap();
    assert!((first as f64 - half_life).abs() <= 1.0, "{first} {half_life}");
    assert_eq!(table[255], 31);
    assert!(table.windows(2).all(|pair| pair[0] <= pair[1]));
}
