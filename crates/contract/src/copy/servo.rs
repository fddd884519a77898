//! Background at a requested level: the servo adjusts the offered rate until the reports show it.
//!
//! On a line what is offered is what the meter shows, so the first offer is right and the servo
//! only checks. On a shared cable above half load, and on unknown networks, it searches: an
//! integrating controller in velocity form, x += K (asked - y) R every 100 ms, with K = 0.3 and y
//! the mean of the last 5 readings. That mean is 2 intervals old and the next offer takes effect
//! one later, so the loop has a phase margin of about 45 degrees on a line.

use std::collections::VecDeque;

use btu_units::{BitRate, Span};
use serde::{Deserialize, Serialize};

/// Time between two readings of the meter.
pub const READING_INTERVAL: Span = Span::from_milliseconds(100);

/// Share of the difference that one step corrects.
const GAIN: f64 = 0.3;

/// Readings in the mean that is corrected.
const SMOOTHED: usize = 5;

/// Readings in one second: the mean that must be right.
const JUDGED: usize = 10;

/// The tolerance of the mean of a second, as a share of time.
const TOLERANCE: f64 = 0.01;

/// Readings after which the servo gives up: 10 s.
const TIMEOUT: u32 = 100;

/// The most that is offered, as a share of the rate.
pub const MOST_OFFERED: f64 = 1.2;

/// The tolerance of the mean during a cell, as a share of time; beyond it the cell is void.
const VOID: f64 = 0.02;

named! {
    "mode": {
        /// The quantity that stays fixed while files are copied.
        #[derive(Default)]
        Mode {
            /// The sending rate is fixed: an open loop.
            #[default]
            Offered = "offered",
            /// The sending rate is adjusted until the level is reached without the copy, then
            /// fixed.
            Held = "held",
            /// The sending rate is also adjusted during the copy, so that load which the copy
            /// displaced returns.
            Pressed = "pressed",
            /// As much as possible: the report's own background.
            Saturated = "saturated",
        }
    }
}

impl Mode {
    /// Whether what is offered is turned by what arrives.
    pub const fn turns(self) -> bool {
        matches!(self, Self::Held | Self::Pressed)
    }
}

/// The level that the sender of a paced stream must hold, by its receiver's reports.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// The mode: the quantity that stays fixed while files are copied.
    pub mode: Mode,
    /// The requested share of time, 0 to 1.
    #[serde(rename = "asked_share")]
    pub asked: f64,
    /// The rate over the payload that takes all of the time that is this sender's.
    #[serde(rename = "full_bits_per_second")]
    pub full: BitRate,
}

/// The result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The last offered rate, over the payload.
    #[serde(rename = "offered_bits_per_second")]
    pub offered: BitRate,
    /// The time since the sender's start at which a second's mean was correct for the first time;
    /// absent means never.
    #[serde(rename = "settled_ns", default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Span>,
    /// The nearest mean of a second, as a share of time, where the level was given up.
    #[serde(rename = "nearest_share", default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<f64>,
}

/// The state of the servo.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum State {
    /// The sender still adjusts its rate.
    Settling,
    /// The mean of the last second is within one point of the level.
    Settled,
    /// After 10 s it is not: the level cannot be reached.
    GaveUp {
        /// The nearest mean of a second that was reached, as a share of time.
        nearest: f64,
    },
}

/// Controls the offered rate. It gets the utilisation every [`READING_INTERVAL`].
#[derive(Debug, Clone)]
pub struct Servo {
    mode: Mode,
    asked: f64,
    rate: BitRate,
    /// As a share of the rate.
    offered: f64,
    /// The last readings, newest last.
    readings: VecDeque<f64>,
    taken: u32,
    state: State,
    /// The offer with the nearest mean of a second, and that mean.
    nearest: Option<(f64, f64)>,
}

impl Servo {
    /// A servo for the level `asked`, a share of time between 0 and 1, on a network of `rate`.
    /// `None` for other shares.
    pub fn new(mode: Mode, asked: f64, rate: BitRate) -> Option<Self> {
        if !(0.0..=1.0).contains(&asked) {
            return None;
        }
        let (offered, state) = match mode {
            Mode::Offered => (asked, State::Settled),
            Mode::Held | Mode::Pressed => (asked, State::Settling),
            Mode::Saturated => (MOST_OFFERED, State::Settled),
        };
        let readings = VecDeque::with_capacity(JUDGED);
        Some(Self { mode, asked, rate, offered, readings, taken: 0, state, nearest: None })
    }

    /// The rate to offer now.
    pub fn offered(&self) -> BitRate {
        BitRate::from_bits_per_second(
            (self.offered * self.rate.bits_per_second() as f64).round() as u64
        )
    }

    /// The state of the servo: still settling, settled, or given up after 10 s.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Processes one report, a share of time; one that is not finite is ignored. A settled servo
    /// continues only in pressed mode; one that gave up stays at the nearest offer.
    pub fn reading(&mut self, utilisation: f64) {
        let turns = match self.mode {
            Mode::Offered | Mode::Saturated => false,
            Mode::Held => self.state == State::Settling,
            Mode::Pressed => !matches!(self.state, State::GaveUp { .. }),
        };
        if !turns || !utilisation.is_finite() {
            return;
        }
        if self.readings.len() == JUDGED {
            self.readings.pop_front();
        }
        self.readings.push_back(utilisation);
        self.taken = self.taken.saturating_add(1);
        self.judge();
        if self.state == State::Settling
            || (self.mode == Mode::Pressed && self.state == State::Settled)
        {
            let correction = GAIN * (self.asked - self.mean(SMOOTHED));
            self.offered = (self.offered + correction).clamp(0.0, MOST_OFFERED);
        }
    }

    /// Whether a cell during which the background's mean was `utilisation` is void: more than two
    /// points off. Offered and saturated load has no level to keep, so there displacement is
    /// reported instead.
    pub fn is_void(&self, utilisation: f64) -> bool {
        let keeps = matches!(self.mode, Mode::Held | Mode::Pressed);
        let distance = (utilisation - self.asked).abs();
        keeps && (distance.is_nan() || distance > VOID)
    }

    /// Settled, given up, or neither.
    fn judge(&mut self) {
        if self.state != State::Settling || self.readings.len() < JUDGED {
            return;
        }
        let mean = self.mean(JUDGED);
        let distance = |reached: f64| (reached - self.asked).abs();
        if self.nearest.is_none_or(|(_, reached)| distance(mean) < distance(reached)) {
            self.nearest = Some((self.offered, mean));
        }
        if distance(mean) < TOLERANCE {
            self.state = State::Settled;
        } else if self.taken >= TIMEOUT
            && let Some((offered, nearest)) = self.nearest
        {
            self.offered = offered;
            self.state = State::GaveUp { nearest };
        }
    }

    /// Mean of the last readings, at most `count` of them.
    fn mean(&self, count: usize) -> f64 {
        let last = self.readings.iter().rev().take(count);
        last.clone().sum::<f64>() / last.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_medium::Stream;

    const RATE: BitRate = BitRate::from_megabits_per_second(10);

    /// The utilisation of a network for an offer, as shares; an offer takes effect one reading
    /// later.
    fn run(servo: &mut Servo, readings: u32, plant: impl Fn(f64) -> f64) -> f64 {
        let (mut effective, mut last) = (offered(servo), 0.0);
        for _ in 0..readings {
            last = plant(effective);
            effective = offered(servo);
            servo.reading(last);
        }
        last
    }

    fn offered(servo: &Servo) -> f64 {
        servo.offered().bits_per_second() as f64 / RATE.bits_per_second() as f64
    }

    fn servo(mode: Mode, asked: f64) -> Servo {
        Servo::new(mode, asked, RATE).unwrap()
    }

    /// A line: up to its rate, what is offered. The first offer is right, and a second later it is
    /// settled.
    #[test]
    fn on_a_line_the_first_offer_is_right() {
        let mut servo = servo(Mode::Held, 0.6);
        let reached = run(&mut servo, 10, |offered| offered.min(1.0));
        assert_eq!(
            (servo.state(), servo.offered()),
            (State::Settled, BitRate::from_megabits_per_second(6))
        );
        assert!((reached - 0.6).abs() < 0.005, "{reached}");
    }

    /// A cable that loses a growing part of what is offered: the offer that gives 70 % is 0.892857
    /// of the rate (u = x (1.1 - 0.35 x)), found within the point that counts as settled.
    #[test]
    fn on_a_shared_cable_the_offer_is_searched() {
        let cable = |offered: f64| offered * (1.1 - 0.35 * offered);
        let mut servo = servo(Mode::Held, 0.7);
        let reached = run(&mut servo, 100, cable);
        assert_eq!(servo.state(), State::Settled);
        assert!((reached - 0.7).abs() < 0.01, "{reached}");
        let exact = (1.1 - (1.21f64 - 4.0 * 0.35 * 0.7).sqrt()) / 0.7;
        assert!(
            (offered(&servo) / exact - 1.0).abs() < 0.03,
            "{} instead of {exact}",
            offered(&servo)
        );
    }

    /// Readings that scatter by 3 points still settle within a point, and what is held then no
    /// longer moves.
    #[test]
    fn noise_does_not_keep_it_from_settling() {
        for seed in 0..50 {
            let mut noise = Stream::new(seed, "meter");
            let mut servo = servo(Mode::Held, 0.6);
            for _ in 0..100 {
                let reading = offered(&servo).min(1.0) * 0.9 + 0.03 * noise.normal();
                servo.reading(reading);
            }
            assert_eq!(servo.state(), State::Settled, "seed {seed}");
            let held = servo.offered();
            servo.reading(0.1);
            assert_eq!(servo.offered(), held);
            // A settled second is within 1 point, its own noise 3/sqrt(10), five of which are 4.7.
            assert!((offered(&servo) * 0.9 - 0.6).abs() < 0.057, "seed {seed}: {held}");
        }
    }

    /// A network that carries 80 %: 98 % is never reached; the servo reports it after 10 s, names
    /// 80 %, and stays at the nearest offer.
    #[test]
    fn what_cannot_be_reached_is_given_up() {
        let mut servo = servo(Mode::Held, 0.98);
        run(&mut servo, 99, |offered| offered.min(0.8));
        assert_eq!(servo.state(), State::Settling);
        run(&mut servo, 1, |offered| offered.min(0.8));
        let State::GaveUp { nearest } = servo.state() else { panic!("{:?}", servo.state()) };
        assert!((nearest - 0.8).abs() < 1e-9, "{nearest}");
        let given_up = servo.offered();
        run(&mut servo, 20, |_| 0.1);
        assert_eq!(servo.offered(), given_up);
    }

    /// A copy takes a tenth of the time: held load gives way, pressed load comes back.
    #[test]
    fn displaced_load_comes_back_only_when_pressed() {
        for (mode, expected) in [(Mode::Held, 0.5), (Mode::Pressed, 0.6)] {
            let mut servo = servo(mode, 0.6);
            run(&mut servo, 20, |offered| offered.min(1.0));
            let during = run(&mut servo, 100, |offered| (offered - 0.1).clamp(0.0, 1.0));
            assert!((during - expected).abs() < 0.005, "{mode:?}: {during}");
            assert_eq!(servo.is_void(during), mode == Mode::Held);
        }
    }

    #[test]
    fn open_loops_are_not_turned_and_have_no_level_to_keep() {
        for (mode, expected) in [(Mode::Offered, 0.6), (Mode::Saturated, 1.2)] {
            let mut servo = servo(mode, 0.6);
            run(&mut servo, 50, |_| 0.3);
            assert!((offered(&servo) - expected).abs() < 1e-9);
            assert_eq!(servo.state(), State::Settled);
            assert!(!servo.is_void(0.3));
        }
    }

    /// Steps of the level, from any first offer: the loop is damped, so the offer never leaves its
    /// bounds and ends still.
    #[test]
    fn the_loop_is_stable() {
        let mut servo = servo(Mode::Pressed, 0.9);
        servo.offered = 0.0;
        run(&mut servo, 60, |offered| offered.min(1.0));
        let before = servo.offered();
        run(&mut servo, 1, |offered| offered.min(1.0));
        assert!((offered(&servo) - 0.9).abs() < 0.005, "{before}");
    }

    #[test]
    fn shares_outside_and_readings_that_are_none() {
        assert!(Servo::new(Mode::Held, 1.01, RATE).is_none());
        assert!(Servo::new(Mode::Held, f64::NAN, RATE).is_none());
        let mut servo = servo(Mode::Held, 0.5);
        let before = servo.offered();
        servo.reading(f64::NAN);
        assert_eq!(servo.offered(), before);
        assert!(servo.is_void(f64::NAN));
    }
}
