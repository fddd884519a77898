//! One direction of a point-to-point link: line, propagation, loss, duplication, reordering.

use btu_network::{self as network, Direction, Discipline, Rate, Reordering};
use btu_units::{BitRate, Bytes, Probability, Serializer, Span};
use serde::{Deserialize, Serialize};

use crate::coin::Coin;
use crate::line::Line;
use crate::loss::Scope;
use crate::{Chain, Delay, Duplicate, Limit, Loss, Reorder, Stage};

/// How many later frames overtake one that is held back: as many as make TCP take it for lost (three duplicate
/// acknowledgements, RFC 5681 section 3.2), so that reordering is felt.
pub const REORDER_DEPTH: u32 = 3;

/// The properties of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Line rate, counted over the frame with preamble, check sequence and gap.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: BitRate,
    /// Propagation delay.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Share of frames lost.
    pub loss: Probability,
    /// Share of frames duplicated.
    pub duplicate: Probability,
    /// Share of frames held back until three later ones have overtaken them.
    pub reorder: Probability,
}

impl Link {
    /// A link that only takes time.
    pub fn new(rate: BitRate, delay: Span) -> Self {
        let never = Probability::NEVER;
        Self { rate, delay, loss: never, duplicate: never, reorder: never }
    }

    /// The link's elements, named `<direction>/line` and so on; their streams come from `seed`. The queue holds
    /// [`Limit::for_rate`].
    pub fn chain(&self, direction: &str, seed: u64) -> Chain {
        let name = |element: &str| format!("{direction}/{element}");
        let coin = |element: &str, odds| Coin::new(seed, &name(element), odds);
        let flight = Limit::for_flight(self.rate, self.delay);
        let reorder = Reorder::new(coin("reorder", self.reorder), REORDER_DEPTH, patience(self.rate), flight);
        Chain::new(name("line"), Stage::Line(Line::new(self.rate, Limit::for_rate(self.rate))))
            .then(name("delay"), Stage::Delay(Delay::new(self.delay, flight)))
            .then(name("loss"), Stage::Loss(Loss::new(coin("loss", self.loss), Scope::Every)))
            .then(name("duplicate"), Stage::Duplicate(Duplicate::new(coin("duplicate", self.duplicate))))
            .then(name("reorder"), Stage::Reorder(reorder))
    }
}

/// One direction of a line as elements in series, named `<name>/line`, `<name>/delay` and so on; their random streams come
/// from `seed` and those names. Parts that do nothing are left out, so that a plain line is one element.
pub fn line(direction: &Direction, name: &str, seed: u64) -> Chain {
    let name_of = |element: &str| format!("{name}/{element}");
    let coin = |element: &str, odds| Coin::new(seed, &name_of(element), odds);
    let rate = mean_rate(direction);
    let flight = Limit::for_flight(rate, direction.delay);
    let queue = match direction.queue {
        Discipline::TailDrop { limit } => Limit::of(limit, rate),
        _ => Limit::for_rate(rate),
    };
    let mut chain = Chain::new(name_of("line"), Stage::Line(Line::new(rate, queue)));
    if direction.delay > Span::ZERO {
        chain = chain.then(name_of("delay"), Stage::Delay(Delay::new(direction.delay, flight)));
    }
    if let network::Loss::Random(share) = direction.loss {
        chain = chain.then(name_of("loss"), Stage::Loss(Loss::new(coin("loss", share), Scope::Every)));
    }
    if direction.duplicate > Probability::NEVER {
        let duplicate = Duplicate::new(coin("duplicate", direction.duplicate));
        chain = chain.then(name_of("duplicate"), Stage::Duplicate(duplicate));
    }
    let Reordering { share, depth } = direction.reorder;
    if share > Probability::NEVER {
        let reorder = Reorder::new(coin("reorder", share), depth, patience(rate), flight);
        chain = chain.then(name_of("reorder"), Stage::Reorder(reorder));
    }
    chain
}

/// The rate that queues and stores are measured by.
fn mean_rate(direction: &Direction) -> BitRate {
    match &direction.rate {
        Rate::Fixed(rate) => *rate,
        Rate::Trace(trace) => trace.mean_rate(),
    }
}

/// How long a frame is held back at most: eight full frames' time, at least 5 ms.
fn patience(rate: BitRate) -> Span {
    let full_frame = Serializer::new(rate).transmit(Line::occupied_by(Bytes::new(1514)));
    Span::from_milliseconds(5).max(full_frame * 8)
}
