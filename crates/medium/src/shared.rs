//! Shared Ethernet: one cable for all stations, and carrier sense with collision detection.
//!
//! Source: IEEE 802.3-2018, clause 4, half duplex, with the parameters of 4.4.2. Stations sit at
//! places along a linear cable, and each hears each after the time that a signal takes between
//! them. What is in which file:
//! * `timing`: slot, gap, jam, preamble and frames as times;
//! * `mac`: deference, backoff, attempts; the deviations from the standard;
//! * `cable`: the signals that stations receive, computed by `short` (carriers in rounds) or `long`
//!   (any cable);
//! * `ideal`: Lam's idealised contention instead of all that.
//!
//! Deviations: no repeaters (a cable is one piece of any length that the slot allows); times are
//! whole nanoseconds, and propagation delays are rounded to them at each station.

mod cable;
mod ideal;
mod long;
mod mac;
mod outgoing;
mod short;
mod station;
mod tally;
#[cfg(test)]
mod tests;
mod timing;

use btu_network::{Contention, Discipline, SharedEthernet as Drawn};
use btu_units::{Length, Span, Time};

use self::ideal::Pool;
use self::long::LongCable;
use self::mac::Mac;
use self::short::ShortCable;
use self::station::{Backoff, Station};
use self::timing::Timing;
use crate::account::Account;
use crate::frame::Frame;
use crate::limit::Limit;
use crate::listeners::{Listener, Listeners};
use crate::queue::Queue;
use crate::segment::{Meter, Segment, SegmentStep, Tap};

pub use self::tally::MOST_ATTEMPTS;

/// A shared Ethernet that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SharedEthernetError {
    /// Collisions would be noticed too late, or never.
    #[error(
        "shared Ethernet \"{name}\": a signal needs {round_trip} to the cable's end and back, more than the slot of \
         {slot}; shorten the cable, lower the rate, or use a switch"
    )]
    TooLong {
        /// The name of the segment.
        name: String,
        /// Twice the propagation delay.
        round_trip: Span,
        /// 512 bits, from 1 Gb/s on 4096 bits.
        slot: Span,
    },
    /// A tap is not on the cable.
    #[error(
        "shared Ethernet \"{name}\": tap {tap} is {place} along a cable of {length}; put it on the cable"
    )]
    OutsideCable {
        /// The name of the segment.
        name: String,
        /// The index of the tap, from 0.
        tap: u32,
        /// The place where it should be.
        place: Length,
        /// How long the cable is.
        length: Length,
    },
    /// The discipline is not available here.
    #[error(
        "shared Ethernet \"{name}\": under idealised contention stations have tail-drop queues only; give a limit in \
         frames or bytes"
    )]
    Discipline {
        /// The name of the segment.
        name: String,
    },
}

/// A shared Ethernet: half duplex CSMA/CD on one cable (IEEE 802.3-2018, clause 4), or ideal
/// contention instead.
#[derive(Debug)]
pub struct SharedEthernet(SharedMedium);

#[derive(Debug)]
enum SharedMedium {
    Short(Box<Mac<ShortCable>>),
    Long(Box<Mac<LongCable>>),
    Ideal(Box<Pool>),
}

/// Calls a method of the same name on the medium, whichever kind it is.
macro_rules! each {
    ($kind:expr, $medium:ident => $call:expr) => {
        match $kind {
            SharedMedium::Short($medium) => $call,
            SharedMedium::Long($medium) => $call,
            SharedMedium::Ideal($medium) => $call,
        }
    };
}

impl SharedEthernet {
    /// The cable that is drawn, with listeners at their places along it, as taps 0, 1 and so on.
    /// Its chance is that of the medium called `name` in the run seeded with `seed`.
    pub fn new(
        drawn: &Drawn,
        taps: &[(Listener, Length)],
        name: &str,
        seed: u64,
    ) -> Result<Self, SharedEthernetError> {
        let timing = Timing::new(drawn.rate);
        let propagation = drawn.length.propagation(drawn.velocity);
        let listeners: Vec<Listener> = taps.iter().map(|&(listener, _)| listener).collect();
        let listeners = Listeners::new(&listeners);
        if drawn.contention == Contention::Ideal {
            let Discipline::TailDrop { limit } = drawn.queue else {
                return Err(SharedEthernetError::Discipline { name: name.to_owned() });
            };
            let limit = Limit::of(limit, drawn.rate);
            return Ok(Self(SharedMedium::Ideal(Box::new(Pool::new(
                timing,
                propagation,
                limit,
                listeners,
                name,
                seed,
            )))));
        }
        check_length(propagation, &timing, name)?;
        let stations = stations(drawn, taps, name, seed)?;
        Ok(Self(if ShortCable::suits(propagation, &timing) {
            let cable = ShortCable::new(propagation, timing);
            SharedMedium::Short(Box::new(Mac::new(cable, timing, stations, listeners)))
        } else {
            let cable = LongCable::new(propagation, timing);
            SharedMedium::Long(Box::new(Mac::new(cable, timing, stations, listeners)))
        }))
    }

    /// Frames by the number of collisions that they had before they were carried, 0 to 15; under
    /// idealised contention, where frames do not collide by themselves, all at 0.
    pub fn carried_after(&self) -> [u64; MOST_ATTEMPTS] {
        each!(&self.0, medium => medium.carried_after())
    }
}

/// A collision must come back before the slot is over.
fn check_length(propagation: Span, timing: &Timing, name: &str) -> Result<(), SharedEthernetError> {
    let round_trip = propagation * 2;
    if round_trip <= timing.slot {
        return Ok(());
    }
    Err(SharedEthernetError::TooLong { name: name.to_owned(), round_trip, slot: timing.slot })
}

fn stations(
    drawn: &Drawn,
    taps: &[(Listener, Length)],
    name: &str,
    seed: u64,
) -> Result<Vec<Station>, SharedEthernetError> {
    let station = |(tap, &(_, place)): (u32, &(Listener, Length))| {
        if place > drawn.length {
            let (name, length) = (name.to_owned(), drawn.length);
            return Err(SharedEthernetError::OutsideCable { name, tap, place, length });
        }
        Ok(Station {
            place: place.propagation(drawn.velocity),
            frame: None,
            collisions: 0,
            remainder: 0,
            backoff: Backoff::new(seed, name, tap),
            queue: Queue::new(&drawn.queue, drawn.rate, &format!("{name}/{tap}"), seed),
        })
    };
    (0..).zip(taps).map(station).collect()
}

impl Segment for SharedEthernet {
    fn accept(&mut self, tap: Tap, frame: Frame, now: Time) {
        each!(&mut self.0, medium => medium.accept(tap, frame, now));
    }

    fn poll(&mut self, now: Time) -> SegmentStep {
        each!(&mut self.0, medium => medium.poll(now))
    }

    fn account(&self) -> Account {
        each!(&self.0, medium => medium.account())
    }

    fn meter(&self) -> Meter {
        each!(&self.0, medium => medium.meter())
    }

    fn announce(&mut self, number: u32, tap: Tap) {
        each!(&mut self.0, medium => medium.announce(number, tap));
    }

    fn reset(&mut self) {
        each!(&mut self.0, medium => medium.reset());
    }
}
