//! What a black box does to incoming packets: first some are dropped, then the rest is delayed.
//!
//! Source: BTU (1995), section 4.1: DR drops incoming IP packets with a probability, DL delays them by a fixed time.
//! Deviation: DL delays every frame, so that address resolution cannot overtake packets; DR takes IP packets only.

use btu_units::{Probability, Span, Time};

use crate::account::Account;
use crate::coin::Coin;
use crate::delay::Delay;
use crate::element::{Element, Step};
use crate::frame::Frame;
use crate::limit::Limit;
use crate::loss::{Loss, Scope};

/// The input of a black box; both impairments can be changed under way.
#[derive(Debug)]
pub struct Input {
    loss: Loss,
    delay: Delay,
}

impl Input {
    /// An input that lets everything pass; `coin` decides about drops later on.
    pub fn new(mut coin: Coin, limit: Limit) -> Self {
        coin.set(Probability::NEVER);
        Self { loss: Loss::new(coin, Scope::IpOnly), delay: Delay::new(Span::ZERO, limit) }
    }

    /// Changes what happens to frames to come; those in flight keep their due time.
    pub fn set(&mut self, delay: Span, loss: Probability) {
        self.delay.set(delay);
        self.loss.set(loss);
    }
}

impl Element for Input {
    fn accept(&mut self, frame: Frame, now: Time) {
        self.loss.accept(frame, now);
    }

    fn poll(&mut self, now: Time) -> Step {
        loop {
            match self.loss.poll(now) {
                Step::Deliver(frame, due) => self.delay.accept(frame, due),
                // A loss holds nothing back, so it never asks to be woken.
                Step::Wake(_) | Step::Idle => return self.delay.poll(now),
                event => return event,
            }
        }
    }

    fn account(&self) -> Account {
        self.loss.account().followed_by(&self.delay.account())
    }

    fn reset(&mut self) {
        self.loss.reset();
        self.delay.reset();
    }
}
