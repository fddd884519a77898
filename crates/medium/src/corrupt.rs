//! Random damage: a share of frames has one bit inverted.
//!
//! Source: `corrupt` of tc-netem(8), which inverts one random bit of the packet's linear part. Here
//! only the place is noted in [`Frame::damage`]: the wire, which has the payload, inverts the bit,
//! and a simulated receiver drops the frame. Deviation: a frame that is damaged already stays as it
//! is, so that a second damage cannot repair it.

use btu_units::Time;

use crate::departures::{Departing, Departures};
use crate::frame::{Damage, Frame};
use crate::random::Bernoulli;

/// A damage to a share of frames.
#[derive(Debug)]
pub struct Corrupt {
    bernoulli: Bernoulli,
    out: Departures,
}

impl Corrupt {
    /// Damages the frames that `bernoulli` selects, each bit with equal probability.
    pub fn new(bernoulli: Bernoulli) -> Self {
        Self { bernoulli, out: Departures::default() }
    }
}

impl Departing for Corrupt {
    fn departures(&self) -> &Departures {
        &self.out
    }

    fn departures_mut(&mut self) -> &mut Departures {
        &mut self.out
    }

    fn take(&mut self, mut frame: Frame, now: Time) {
        if self.bernoulli.decide() {
            let damage = Damage::at(self.bernoulli.stream().place());
            frame.damage = if frame.damage == Damage::NONE { damage } else { frame.damage };
        }
        self.out.send(frame, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Element, Step};
    use btu_units::{Bytes, Probability};

    #[test]
    fn every_bit_is_hit_about_as_often() {
        let mut corrupt = Corrupt::new(Bernoulli::new(7, "corrupt", Probability::ALWAYS));
        let mut hits = [0u32; 16];
        for _ in 0..16_000 {
            corrupt.accept(Frame::new(0, Bytes::new(2)), Time::ZERO);
            let Step::Deliver(frame, _) = corrupt.poll(Time::ZERO) else { panic!("not delivered") };
            hits[frame.damage.bit(16).expect("damaged") as usize] += 1;
        }
        // Binomial with mean 1000 and standard deviation 30.6; 4.5 of them for 16 places at once.
        assert!(hits.iter().all(|hits| hits.abs_diff(1000) < 138), "{hits:?}");
    }

    #[test]
    fn a_damaged_frame_is_never_repaired() {
        let mut corrupt = Corrupt::new(Bernoulli::new(7, "corrupt", Probability::ALWAYS));
        let mut damaged = Frame::new(0, Bytes::new(60));
        damaged.damage = Damage::at(5);
        corrupt.accept(damaged, Time::ZERO);
        assert_eq!(corrupt.poll(Time::ZERO), Step::Deliver(damaged, Time::ZERO));
    }
}
