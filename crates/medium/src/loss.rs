//! Random loss: each frame is lost by itself with the same probability (Bernoulli).
//!
//! Source: `loss random` of tc-netem(8) without correlation, which there lowers the rate instead of making bursts.

use btu_units::{Probability, Time};

use crate::account::{Account, Cause};
use crate::coin::Coin;
use crate::element::{Element, Step};
use crate::frame::{Frame, Kind};
use crate::outbox::Outbox;

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
    coin: Coin,
    scope: Scope,
    out: Outbox,
}

impl Loss {
    /// Loses what `coin` says among the frames of `scope`.
    pub fn new(coin: Coin, scope: Scope) -> Self {
        Self { coin, scope, out: Outbox::default() }
    }

    /// Changes the share for frames to come.
    pub fn set(&mut self, share: Probability) {
        self.coin.set(share);
    }
}

impl Element for Loss {
    fn accept(&mut self, frame: Frame, now: Time) {
        self.out.receive();
        let eligible = self.scope == Scope::Every || frame.kind == Kind::Ip;
        if eligible && self.coin.toss() {
            self.out.drop(frame, Cause::Loss);
        } else {
            self.out.send(frame, now);
        }
    }

    fn poll(&mut self, now: Time) -> Step {
        self.out.poll(now)
    }

    fn account(&self) -> Account {
        self.out.account(0)
    }

    fn reset(&mut self) {
        self.out.reset(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_units::Bytes;

    #[test]
    fn a_loss_of_ip_packets_spares_address_resolution() {
        let mut loss = Loss::new(Coin::new(1, "x", Probability::ALWAYS), Scope::IpOnly);
        let packet = Frame::new(0, Bytes::new(60));
        loss.accept(packet.carrying(Kind::Other), Time::ZERO);
        loss.accept(packet, Time::ZERO);
        assert_eq!(loss.poll(Time::ZERO), Step::Drop(packet, Cause::Loss));
        assert!(matches!(loss.poll(Time::ZERO), Step::Deliver(Frame { kind: Kind::Other, .. }, _)));
    }
}
