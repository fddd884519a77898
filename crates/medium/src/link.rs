//! One direction of a line, as the network file draws it, from elements.

use btu_network::{self as network, Direction, Discipline, Rate, Reordering};
use btu_units::{BitRate, Bytes, Probability, Serializer, Span};

use crate::coin::Coin;
use crate::line::Line;
use crate::loss::Scope;
use crate::{Chain, Delay, Duplicate, Limit, Loss, Reorder, Stage};

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
