//! Frames under way, found by their tags.

use btu_units::Time;

use crate::account::Cause;

/// The state of a frame in flight; copies share it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    /// When the application handed it over.
    pub(super) entered: Time,
    /// When a copy of a broadcast arrived last.
    pub(super) arrived: Time,
    /// The index of the source that sent it.
    pub(super) source: u32,
    /// What a connection wrote on it.
    pub(super) label: usize,
    /// The frame itself and its copies that are under way; 0 in a place that is free.
    pub(super) copies: u32,
    /// The cause of the last copy's loss.
    pub(super) cause: Option<Cause>,
    /// Whether it has arrived at its destination.
    pub(super) arrived_at_all: bool,
    /// Whether its delivery is in the accounts.
    pub(super) settled: bool,
}

/// All frames under way. A frame's tag is its place; places are used again, the last one first.
#[derive(Debug, Default)]
pub(super) struct Flights {
    flights: Vec<Flight>,
    free: Vec<u32>,
}

impl Flights {
    /// A new frame of `source`, handed over at `now`; its tag.
    pub(super) fn take_off(&mut self, source: u32, now: Time) -> u32 {
        let flight = Flight {
            entered: now,
            arrived: now,
            source,
            label: 0,
            copies: 1,
            cause: None,
            arrived_at_all: false,
            settled: false,
        };
        if let Some(tag) = self.free.pop() {
            self.flights[tag as usize] = flight;
            return tag;
        }
        self.flights.push(flight);
        self.flights.len() as u32 - 1
    }

    /// The frame with this tag.
    pub(super) fn of(&mut self, tag: u32) -> &mut Flight {
        &mut self.flights[tag as usize]
    }

    /// One copy of the frame is no more; whether it was the last.
    pub(super) fn land(&mut self, tag: u32) -> bool {
        let flight = &mut self.flights[tag as usize];
        flight.copies -= 1;
        let last = flight.copies == 0;
        if last {
            self.free.push(tag);
        }
        last
    }

    /// Frames that have neither arrived nor been lost, counted where they are stored.
    pub(super) fn unsettled(&self) -> u64 {
        self.flights.iter().filter(|flight| flight.copies > 0 && !flight.settled).count() as u64
    }

    /// Frames and copies under way, counted where they are stored.
    pub(super) fn copies(&self) -> u64 {
        self.flights.iter().map(|flight| u64::from(flight.copies)).sum()
    }
}
