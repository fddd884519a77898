//! Random loss: of each frame by itself (Bernoulli), or in bursts.
//!
//! Source: `loss random` of tc-netem(8) without correlation, which there lowers the rate instead of
//! making bursts; bursts are a chain of two states (see [`GilbertElliott`]).

use btu_units::{Probability, Time};

use crate::account::Cause;
use crate::departures::{Departing, Departures};
use crate::frame::{Frame, Kind};
use crate::random::{Bernoulli, Stream};
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

/// Loss in bursts: a chain of two states, of which the bad one loses more.
///
/// Sources: Gilbert, Capacity of a Burst-Noise Channel (1960); Elliott, Estimates of Error Rates
/// for Codes on Burst-Noise Channels (1963); the letters are those of `loss gemodel` of
/// tc-netem(8), with its 1-h and 1-k given directly. The chain is moved once before each frame, and
/// begins in the good state, both as in netem. In the long run it is bad for a share p / (p + r) of
/// frames, 1/r of them in a row.
#[derive(Debug, Clone, Copy)]
struct GilbertElliott {
    /// From good to bad.
    p: Probability,
    /// From bad to good.
    r: Probability,
    /// Lost in the bad state.
    bad: Probability,
    /// Lost in the good state.
    good: Probability,
    is_bad: bool,
}

impl GilbertElliott {
    /// Moves the chain and returns whether the next frame is lost.
    fn loses(&mut self, stream: &mut Stream) -> bool {
        let leaves = if self.is_bad { self.r } else { self.p };
        self.is_bad ^= stream.share() < leaves.share();
        let lost = if self.is_bad { self.bad } else { self.good };
        stream.share() < lost.share()
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

    const FRAMES: usize = 400_000;

    fn losses(p: f64, r: f64, bad: f64, good: f64) -> Vec<bool> {
        let [p, r, bad, good] = [p, r, bad, good].map(|share| Probability::new(share).unwrap());
        let mut chain = GilbertElliott { p, r, bad, good, is_bad: false };
        let mut stream = Stream::new(1995, "gilbert-elliott");
        (0..FRAMES).map(|_| chain.loses(&mut stream)).collect()
    }

    /// Two-sided 99.9 % bounds. The variance of the share is that of a chain with correlation 1-p-r
    /// between neighbours: s(1-s)/n times (2-p-r)/(p+r).
    #[test]
    fn the_stationary_share_is_lost() {
        for (p, r) in [(0.01, 0.25), (0.02, 0.5), (0.1, 0.1)] {
            let lost = losses(p, r, 1.0, 0.0).into_iter().filter(|&lost| lost).count() as f64
                / FRAMES as f64;
            let share = p / (p + r);
            let deviation =
                (share * (1.0 - share) / FRAMES as f64 * (2.0 - p - r) / (p + r)).sqrt();
            assert!(
                (lost - share).abs() < 3.29 * deviation,
                "p {p}, r {r}: {lost}, not {share} +- {deviation}"
            );
        }
    }

    /// Bursts are geometric with mean 1/r and variance (1-r)/r^2; 99.9 % bounds.
    #[test]
    fn bursts_are_as_long_as_asked() {
        for r in [0.5, 0.25, 0.05] {
            let lost = losses(0.01, r, 1.0, 0.0);
            let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
            let mean = lost.iter().filter(|&&lost| lost).count() as f64 / bursts;
            let deviation = ((1.0 - r) / (r * r) / bursts).sqrt();
            assert!((mean - 1.0 / r).abs() < 3.29 * deviation, "r {r}: {mean} +- {deviation}");
        }
    }

    #[test]
    fn each_state_loses_its_share() {
        let share = 0.2 * 0.5 + 0.8 * 0.01;
        let lost = losses(0.1, 0.4, 0.5, 0.01).into_iter().filter(|&lost| lost).count() as f64
            / FRAMES as f64;
        // Neighbours are correlated by at most 1-p-r = 1/2: the variance is at most threefold.
        let deviation = (3.0 * share * (1.0 - share) / FRAMES as f64).sqrt();
        assert!((lost - share).abs() < 3.29 * deviation, "{lost}, not {share} +- {deviation}");
    }
}
