//! One replication: sources and fabric, moved on together.

use btu_network::{Arrivals, Drawing};
use btu_units::{Bytes, Span, Time};
use thiserror::Error;

use super::flight::Flights;
use super::replication::{AccountCounters, Accounts, Replication, Snapshot};
use super::settings::{BATCHES, Settings};
use super::source::{NEVER, Parcel, Source, SourceReaction};
use super::tally::{FlowTally, StationTally};
use super::tcp::{SEGMENTS, SimulatedConnection};
use crate::account::Cause;
use crate::fabric::{Event, Fabric, FabricEvent, Port, TimerHeap};
use crate::frame::{Address, Damage, Frame};
use crate::random::{fnv1a, mix};
use crate::shared::SharedEthernetError;

/// How many frames a saturated sender keeps at its station: one that is sent and one that waits.
const KEPT: u64 = 2;

/// Octets of the check sequence, which a [`Frame`]'s length does not count.
const CHECK_SEQUENCE: Bytes = Bytes::new(4);

/// A simulation that did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SimulationError {
    /// The network cannot be built as drawn.
    #[error(transparent)]
    Network(#[from] SharedEthernetError),
    /// The accounts do not balance.
    #[error(
        "the simulation lost count of its frames ({0}): this is a bug of btu, please report it with file and seed"
    )]
    Imbalance(String),
}

/// The replication called `number` (from 0) of `drawing`'s traffic; `watch` gets the virtual time
/// at intervals.
///
/// # Errors
/// A network that cannot be built, accounts that do not balance; see [`SimulationError`].
pub fn replicate(
    drawing: &Drawing,
    settings: &Settings,
    number: u32,
    mut watch: impl FnMut(Span),
) -> Result<Replication, SimulationError> {
    let mut run = Run::new(drawing, seed_of(settings.seed, number))?;
    let start = Time::ZERO + settings.warm_up;
    let batch = settings.counted().nanoseconds() / u64::from(BATCHES);
    run.warm_up(start, &mut watch);
    let mut snapshots = vec![run.snapshot()];
    for number in 1..=u64::from(BATCHES) {
        let end = if number == u64::from(BATCHES) {
            Time::ZERO + settings.duration
        } else {
            start + Span::from_nanoseconds(batch * number)
        };
        run.go_on(end);
        watch(end.since(Time::ZERO));
        snapshots.push(run.snapshot());
    }
    run.close(snapshots)
}

/// The seed of all chance in a replication.
pub(super) fn seed_of(seed: u64, number: u32) -> u64 {
    mix(seed ^ fnv1a(format!("replication {number}").as_bytes()))
}

pub(super) struct Run<'a> {
    drawing: &'a Drawing,
    fabric: Fabric,
    sources: Vec<Source>,
    /// When each source wants to be woken.
    timers: TimerHeap,
    /// By station: its saturated sources, and the index of the next one.
    saturated: Vec<(Vec<u32>, usize)>,
    /// By station: when it is free for the next request, where it takes one at a time.
    free_at: Vec<Option<Time>>,
    flights: Flights,
    flows: Vec<FlowTally>,
    stations: Vec<StationTally>,
    counts: AccountCounters,
    connection: Option<SimulatedConnection>,
}

impl<'a> Run<'a> {
    pub(super) fn new(drawing: &'a Drawing, seed: u64) -> Result<Self, SimulationError> {
        let mut fabric = Fabric::of(drawing, seed)?;
        fabric.announce();
        let sources = Source::all(drawing, seed);
        let mut run = Self {
            drawing,
            fabric,
            timers: TimerHeap::new(sources.len()),
            sources,
            saturated: vec![(Vec::new(), 0); drawing.stations.len()],
            free_at: drawing
                .stations
                .iter()
                .map(|station| station.one_at_a_time.then_some(Time::ZERO))
                .collect(),
            flights: Flights::default(),
            flows: Vec::new(),
            stations: Vec::new(),
            counts: AccountCounters::default(),
            connection: None,
        };
        run.start();
        run.open_tallies();
        Ok(run)
    }

    fn start(&mut self) {
        for (number, source) in (0..).zip(&mut self.sources) {
            let start = Time::ZERO + self.drawing.traffic[source.flow as usize].start;
            if let Some(at) = source.first(start) {
                self.timers.set(number, at);
            }
            if source.is_saturated() {
                self.fabric.watch(Port(source.station));
            }
        }
    }

    fn open_tallies(&mut self) {
        let closed = |arrivals| matches!(arrivals, Arrivals::Closed { .. });
        self.flows =
            self.drawing.traffic.iter().map(|flow| FlowTally::new(closed(flow.arrivals))).collect();
        self.stations = vec![StationTally::default(); self.drawing.stations.len()];
    }

    /// Moves on to `start`, and begins to count there.
    fn warm_up(&mut self, start: Time, watch: &mut impl FnMut(Span)) {
        self.go_on(start);
        watch(start.since(Time::ZERO));
        self.fabric.reset();
        self.open_tallies();
        self.counts = AccountCounters {
            inside_at_start: self.flights.unsettled(),
            ..AccountCounters::default()
        };
    }

    /// Lets everything happen that happens by `end`.
    pub(super) fn go_on(&mut self, end: Time) {
        loop {
            let source = self.timers.earliest().filter(|&(time, _)| time <= end);
            let horizon = source.map_or(end, |(time, _)| time);
            match self.fabric.next(horizon) {
                FabricEvent::Event(Event::Deliver(port, frame, due)) => {
                    self.deliver(port, &frame, due);
                }
                FabricEvent::Event(Event::Drop(frame, cause)) => self.drop(&frame, cause),
                FabricEvent::Event(Event::Duplicate(frame)) => {
                    self.flights.of(frame.tag).copies += 1;
                }
                FabricEvent::Room(port) => self.refill(port),
                FabricEvent::Event(Event::Wake(_) | Event::Idle) => match source {
                    Some((time, source)) => self.fire(source, time),
                    None => return,
                },
            }
        }
    }

    /// The network as it is.
    pub(super) fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Begins a transfer, of which the first two sources are the ends.
    pub(super) fn connect(&mut self, connection: SimulatedConnection, now: Time) {
        self.connection = Some(connection);
        self.attend(now, |connection| connection.send(now));
    }

    pub(super) fn connection(&self) -> Option<&SimulatedConnection> {
        self.connection.as_ref()
    }

    /// Lets the connection react, sends what it then sends, and sets its alarms.
    fn attend(&mut self, now: Time, react: impl FnOnce(&mut SimulatedConnection)) {
        let Some(mut connection) = self.connection.take() else { return };
        react(&mut connection);
        for sending in connection.sendings.drain(..) {
            let parcel = self.sources[sending.flow as usize]
                .parcel(&self.drawing.traffic[sending.flow as usize]);
            let tag = self.send(sending.flow, parcel, now);
            self.flights.of(tag).label = sending.label;
        }
        for (source, alarm) in (0..).zip(connection.alarms) {
            match alarm {
                Some(time) => self.timers.set(source, time),
                None => self.timers.clear(source),
            }
        }
        self.connection = Some(connection);
    }

    /// A source was woken.
    fn fire(&mut self, number: u32, now: Time) {
        if self.connection.is_some() && number < 2 {
            return self.attend(now, |connection| match number {
                SEGMENTS => connection.ring(now),
                _ => connection.acknowledge(),
            });
        }
        let source = &mut self.sources[number as usize];
        if source.is_saturated() {
            self.timers.clear(number);
            self.saturated[source.station as usize].0.push(number);
            let station = Port(source.station);
            return self.fill(station, now);
        }
        let (parcel, next) = source.fire(&self.drawing.traffic[source.flow as usize], now);
        match next {
            Some(time) => self.timers.set(number, time),
            None => self.timers.clear(number),
        }
        self.send(number, parcel, now);
    }

    fn refill(&mut self, port: Port) {
        self.fill(port, self.fabric.clock());
    }

    /// Lets the saturated sources of a station send, in turn, until as many frames wait as shall.
    fn fill(&mut self, port: Port, now: Time) {
        let (sources, _) = &mut self.saturated[port.index()];
        sources.retain(|&source| self.sources[source as usize].may_send(now));
        let wanted = sources.len() as u64 * KEPT;
        let mut waiting = self.fabric.backlog(port);
        while waiting < wanted {
            let (sources, turn) = &mut self.saturated[port.index()];
            *turn = (*turn + 1) % sources.len();
            let number = sources[*turn];
            let source = &mut self.sources[number as usize];
            let parcel = source.parcel(&self.drawing.traffic[source.flow as usize]);
            self.send(number, parcel, now);
            waiting += 1;
        }
    }

    /// Hands a frame over; its tag.
    fn send(&mut self, number: u32, parcel: Parcel, now: Time) -> u32 {
        let tag = self.flights.take_off(number, now);
        let frame = Frame::new(tag, parcel.size - CHECK_SEQUENCE)
            .between(Address::of_station(parcel.from), parcel.to);
        self.flows[self.sources[number as usize].flow as usize].offered.count(parcel.size);
        self.stations[parcel.from as usize].offered.count(parcel.size);
        self.counts.generated += 1;
        self.fabric.accept(Port(parcel.from), frame, now);
        tag
    }

    /// A copy of a frame has come out at a station.
    fn deliver(&mut self, port: Port, frame: &Frame, due: Time) {
        let to_all = frame.destination.is_group();
        if to_all || frame.destination.station_number() == Some(port.0) {
            if frame.damage == Damage::NONE {
                self.receive(port, frame, due);
            } else {
                self.flights.of(frame.tag).cause = Some(Cause::Damaged);
            }
        }
        // The network card of another station ignores the frame: it was flooded.
        self.land(frame, due);
    }

    /// A receiver takes up a frame that is for it.
    fn receive(&mut self, port: Port, frame: &Frame, due: Time) {
        self.stations[port.index()].received.count(frame.length() + CHECK_SEQUENCE);
        let flight = self.flights.of(frame.tag);
        let first = !flight.arrived_at_all;
        (flight.arrived_at_all, flight.arrived) = (true, due);
        if frame.destination.is_group() {
            return;
        }
        let (source, label) = (flight.source, flight.label);
        if first {
            self.settle(frame, due);
            if self.connection.is_some() && source < 2 {
                let now = self.fabric.clock();
                return self.attend(now, |connection| match source {
                    SEGMENTS => connection.arrived(label, now),
                    _ => connection.acknowledged(label, now),
                });
            }
            let free_at = self.free_at[port.index()].as_mut();
            let progress = self.sources[source as usize].arrived(port.0, due, free_at);
            self.follow(source, progress);
        } else {
            self.flows[self.sources[source as usize].flow as usize].duplicates += 1;
        }
    }

    /// A copy of a frame is gone.
    fn drop(&mut self, frame: &Frame, cause: Cause) {
        let flight = self.flights.of(frame.tag);
        // A copy that a bridge filters says nothing about the frame's fate.
        if cause != Cause::NoRoute || flight.cause.is_none() {
            flight.cause = Some(cause);
        }
        self.land(frame, self.fabric.clock());
    }

    /// A copy is no more; the last one decides.
    fn land(&mut self, frame: &Frame, now: Time) {
        if !self.flights.land(frame.tag) {
            return;
        }
        let flight = *self.flights.of(frame.tag);
        if flight.settled {
            return;
        }
        if flight.arrived_at_all {
            self.settle(frame, flight.arrived);
        } else {
            self.lose(frame, flight.cause.unwrap_or(Cause::NoRoute));
            let progress = self.sources[flight.source as usize].lost(now);
            self.follow(flight.source, progress);
        }
    }

    /// Counts a delivered frame.
    fn settle(&mut self, frame: &Frame, due: Time) {
        let flight = self.flights.of(frame.tag);
        flight.settled = true;
        let delay = due.since(flight.entered);
        let size = frame.length() + CHECK_SEQUENCE;
        let flow = &mut self.flows[self.sources[flight.source as usize].flow as usize];
        flow.delivered.count(size);
        flow.delays.count(delay);
        if let Some(sender) = sender(frame) {
            let station = &mut self.stations[sender];
            station.delivered.count(size);
            station.delay_sum += delay.seconds();
        }
        self.counts.delivered += 1;
    }

    /// Counts a lost frame.
    fn lose(&mut self, frame: &Frame, cause: Cause) {
        let flight = self.flights.of(frame.tag);
        flight.settled = true;
        self.flows[self.sources[flight.source as usize].flow as usize].dropped[cause as usize] += 1;
        if let Some(sender) = sender(frame) {
            self.stations[sender].dropped += 1;
        }
        self.counts.dropped += 1;
    }

    /// Does what a source asks for after a frame of its has ended.
    fn follow(&mut self, source: u32, progress: SourceReaction) {
        let wake = match progress {
            SourceReaction::None => return,
            SourceReaction::Wake(time) => time,
            SourceReaction::Done(took, time) => {
                if let Some(exchanges) =
                    &mut self.flows[self.sources[source as usize].flow as usize].exchanges
                {
                    exchanges.count(took);
                }
                time
            }
        };
        if wake < NEVER {
            self.timers.set(source, wake);
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            carried: self.fabric.carried(),
            flows: self.flows.iter().map(Into::into).collect(),
        }
    }

    /// Verifies the accounts and returns the result.
    fn close(self, snapshots: Vec<Snapshot>) -> Result<Replication, SimulationError> {
        let accounts = Accounts::new(self.counts, self.flights.unsettled());
        let network = self.fabric.account();
        if !accounts.is_balanced() {
            return Err(SimulationError::Imbalance(format!("{accounts:?}")));
        }
        if !network.is_balanced() || network.held != self.flights.copies() {
            return Err(SimulationError::Imbalance(format!(
                "{network:?}, {} copies under way",
                self.flights.copies()
            )));
        }
        Ok(Replication { flows: self.flows, stations: self.stations, snapshots, accounts })
    }
}

/// The place of the station that sent the frame.
fn sender(frame: &Frame) -> Option<usize> {
    frame.source.station_number().map(|number| number as usize)
}
