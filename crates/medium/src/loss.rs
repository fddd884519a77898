//! Random loss: of each frame by itself (Bernoulli), or in bursts.
//!
//! Source: `loss random` of tc-netem(8) without correlation, which there lowers the rate instead of
//! making bursts; bursts are a chain of two states (see `gilbert_elliott`).

use btu_units::{Probability, Time};

use crate::account::Cause;
use crate::departures::{Departing, Departures};
use crate::frame::{Frame, Kind};
use crate::gilbert_elliott::GilbertElliott;
use crate::random::Bernoulli;
use crate::schedule::TimedQueue;

/// Which frames a loss may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every frame: a bad line does not read them.
    Every,
    /// IP packets only: what a host's filter drops. Address resolution passes.
    IpOnly,
}

/// A loss of a share of frames, in the long run.
#[derive(Debug)]
pub struct Loss {
    bernoulli: Bernoulli,
    /// In place of the bernoulli's odds.
    bursts: Option<GilbertElliott>,
    scope: Scope,
    changes: TimedQueue<btu_network::Loss>,
    out: Departures,
}

impl Loss {
    /// Loses those frames of `scope` that `bernoulli` selects.
    pub fn new(bernoulli: Bernoulli, scope: Scope) -> Self {
        Self {
            bernoulli,
            bursts: None,
            scope,
            changes: TimedQueue::default(),
            out: Departures::default(),
        }
    }

    /// The loss that a network file asks for, with the random stream of this Bernoulli loss.
    #[must_use]
    pub fn of(mut self, loss: btu_network::Loss) -> Self {
        self.switch_to(loss);
        self
    }

    /// Changes the share for frames to come.
    pub fn set(&mut self, share: Probability) {
        self.switch_to(btu_network::Loss::Random(share));
    }

    /// Changes the loss for frames from `at` on.
    pub fn change(&mut self, at: Time, loss: btu_network::Loss) {
        self.changes.note(at, loss);
    }

    fn switch_to(&mut self, loss: btu_network::Loss) {
        self.bursts = match loss {
            btu_network::Loss::None | btu_network::Loss::Random(_) => None,
            btu_network::Loss::GilbertElliott { p, r, bad, good } => {
                Some(GilbertElliott { p, r, bad, good, is_bad: false })
            }
        };
        if let btu_network::Loss::Random(share) = loss {
            self.bernoulli.set(share);
        } else {
            self.bernoulli.set(Probability::NEVER);
        }
    }

    fn takes_the_next(&mut self) -> bool {
        match &mut self.bursts {
            Some(chain) => chain.loses(self.bernoulli.stream()),
            None => self.bernoulli.decide(),
        }
    }
}

impl Departing for Loss {
    fn departures(&self) -> &Departures {
        &self.out
    }

    fn departures_mut(&mut self) -> &mut Departures {
        &mut self.out
    }

    fn take(&mut self, frame: Frame, now: Time) {
        while let Some((_, loss)) = self.changes.next_by(now) {
            self.switch_to(loss);
        }
        let eligible = self.scope == Scope::Every || frame.kind == Kind::Ip;
        if eligible && self.takes_the_next() {
            self.out.drop(frame, Cause::Loss);
        } else {
            self.out.send(frame, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Element, Step};
    use btu_units::Bytes;

    #[test]
    fn a_loss_of_ip_packets_spares_address_resolution() {
        let mut loss = Loss::new(Bernoulli::new(1, "x", Probability::ALWAYS), Scope::IpOnly);
        let packet = Frame::new(0, Bytes::new(60));
        loss.accept(packet.carrying(Kind::Other), Time::ZERO);
        loss.accept(packet, Time::ZERO);
        assert_eq!(loss.poll(Time::ZERO), Step::Drop(packet, Cause::Loss));
        assert!(matches!(loss.poll(Time::ZERO), Step::Deliver(Frame { kind: Kind::Other, .. }, _)));
    }

    #[test]
    fn a_change_holds_for_frames_from_its_time_on() {
        let mut loss = Loss::new(Bernoulli::new(1, "x", Probability::NEVER), Scope::Every);
        loss.change(Time::from_nanoseconds(10), btu_network::Loss::Random(Probability::ALWAYS));
        loss.change(Time::from_nanoseconds(20), btu_network::Loss::None);
        let fates = [9, 10, 19, 20].map(|at| {
            loss.accept(Frame::new(0, Bytes::new(60)), Time::from_nanoseconds(at));
            matches!(loss.poll(Time::from_nanoseconds(at)), Step::Deliver(..))
        });
        assert_eq!(fates, [true, false, false, true]);
    }
}
