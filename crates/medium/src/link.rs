//! One direction of a point-to-point link: line, propagation, loss, duplication, reordering.

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
        let reorder = Reorder::new(coin("reorder", self.reorder), REORDER_DEPTH, self.patience(), flight);
        Chain::new(name("line"), Stage::Line(Line::new(self.rate, Limit::for_rate(self.rate))))
            .then(name("delay"), Stage::Delay(Delay::new(self.delay, flight)))
            .then(name("loss"), Stage::Loss(Loss::new(coin("loss", self.loss), Scope::Every)))
            .then(name("duplicate"), Stage::Duplicate(Duplicate::new(coin("duplicate", self.duplicate))))
            .then(name("reorder"), Stage::Reorder(reorder))
    }

    /// How long a frame is held back at most: eight full frames' time, at least 5 ms.
    fn patience(&self) -> Span {
        let full_frame = Serializer::new(self.rate).transmit(Line::occupied_by(Bytes::new(1514)));
        Span::from_milliseconds(5).max(full_frame * 8)
    }
}
