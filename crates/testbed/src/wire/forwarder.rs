//! One turn of the wire: takes frames from the ports into the network, and sends the due ones.

use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd};

use btu_contract::network::{HostName, Impairment, Impairments};
use btu_contract::record::WireAccount;
use btu_medium::{Event, Frame, Port as Place, Probability};
use btu_units::{Span, Time};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::WireError;
use super::accounts::{self, Lateness, PortView};
use super::busy_polling::BusyPolling;
use super::control::{EmulatorRequest, Reply, VERSION};
use super::describe::describe;
use super::emulated::EmulatedNetwork;
use super::epoll::EpollSet;
use super::plan::{Layout, WirePlan};
use super::port_queue::{PortQueue, SharedQueueState};
use crate::capture::{Capture, FrameDirection};
use crate::port::{Batch, Buffers, Carriage, Port, now};

/// Up to this number, ports are polled one by one, which is faster while they are busy; more are
/// watched by epoll.
const FEW: usize = 6;

/// Memory for frames that wait to be taken, at all ports together.
const RINGS_BYTES: usize = 256 << 20;

/// The part of a port: from some 300 full frames to some 5,000.
const RING_BYTES: RangeInclusive<usize> = (512 << 10)..=(8 << 20);

/// The network with its ports and the frames inside.
pub(super) struct Forwarder {
    inside: EmulatedNetwork,
    port_queues: Vec<PortQueue>,
    shared: SharedQueueState,
    epoll: Option<EpollSet>,
    /// Port queues to read in the next turn.
    ready: Vec<u32>,
    /// Whether the kernel named these: then one without frames may be broken.
    are_named: bool,
    /// The frames of this turn, of all port queues.
    arrivals: Vec<ArrivedFrame>,
    /// Port queues with frames to send.
    loaded: Vec<u32>,
    inputs: Vec<(HostName, Place)>,
    carriage: Carriage,
    busy_polling: BusyPolling,
    round_trip: Span,
    /// The time of the last poll of the network: frames count as no older.
    asked: Time,
    /// When the accounts were reset.
    opened: Time,
    stopping: bool,
}

/// A frame that arrived.
#[derive(Debug, Clone, Copy)]
struct ArrivedFrame {
    at: Time,
    port_queue: u32,
    buffer: u32,
}

/// The result of a turn, and the time of the next one.
pub(super) struct TurnResult {
    /// The next one is to follow at once.
    pub(super) goes_on: bool,
    /// The due time of the next frame.
    pub(super) wake: Option<Time>,
}

impl Forwarder {
    pub(super) fn new(plan: &WirePlan) -> Result<Self, WireError> {
        let Layout { inside, inputs } = plan.layout()?;
        make_room_for(plan.interfaces.len());
        let ring_bytes = (RINGS_BYTES / plan.interfaces.len().max(1))
            .clamp(*RING_BYTES.start(), *RING_BYTES.end());
        let ports = (0..).zip(&plan.interfaces).map(|(number, interface)| {
            let port = Port::open(interface, plan.carriage, ring_bytes)?;
            Ok(PortQueue::new(number, port))
        });
        let port_queues = ports.collect::<Result<Vec<_>, WireError>>()?;
        let mtu = port_queues.iter().map(|port_queue| port_queue.port.mtu()).max().unwrap_or(0);
        let shared = SharedQueueState {
            batch: Batch::new(),
            buffers: Buffers::new(plan.carriage.buffer_bytes(mtu)),
            lateness: Lateness::new(plan.mark_late_after),
            capture: plan
                .capture
                .as_ref()
                .map(|place| Capture::start(place, &plan.tapped()))
                .transpose()?,
        };
        let epoll = (port_queues.len() > FEW)
            .then(|| EpollSet::new(port_queues.iter().map(|port_queue| port_queue.port.as_fd())))
            .transpose();
        let epoll = epoll
            .map_err(|source| WireError::System { operation: "watching the ports", source })?;
        Ok(Self {
            inside,
            shared,
            epoll,
            ready: (0..port_queues.len() as u32).collect(),
            are_named: true,
            port_queues,
            arrivals: Vec::new(),
            loaded: Vec::new(),
            inputs,
            carriage: plan.carriage,
            busy_polling: BusyPolling::new(),
            round_trip: plan.drawing.least_round_trip(),
            asked: Time::ZERO,
            opened: now(),
            stopping: false,
        })
    }

    /// Whether there is a buffer for another frame. While there is none, frames wait in the rings: a wire
    /// that watched them would not sleep until a frame leaves.
    fn has_room(&self) -> bool {
        self.shared.buffers.has_room()
    }

    /// The descriptors that become readable when frames arrive.
    pub(super) fn watched(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let ports = self
            .port_queues
            .iter()
            .filter(|_| self.epoll.is_none() && self.has_room())
            .map(|port_queue| port_queue.port.as_fd());
        self.epoll.iter().map(AsFd::as_fd).chain(ports)
    }

    /// Marks the ports with frames; `is_readable` answers for each index in [`Self::watched`].
    pub(super) fn note_ready(
        &mut self,
        is_readable: impl Fn(usize) -> bool,
    ) -> Result<(), WireError> {
        if self.epoll.is_some() {
            return if is_readable(0) { self.ask_epoll() } else { Ok(()) };
        }
        if !self.has_room() {
            return self.stay_ready();
        }
        self.are_named = true;
        self.ready.clear();
        self.ready.extend(
            (0..self.port_queues.len())
                .filter(|&place| is_readable(place))
                .map(|place| place as u32),
        );
        Ok(())
    }

    /// Whether it got the order to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// Takes in a batch from every port that has frames, passes them to the network, and sends the
    /// due ones.
    pub(super) fn turn(&mut self) -> Result<TurnResult, WireError> {
        let received = self.take_in()?;
        let wake = self.carry()?;
        for port_queue in self.loaded.drain(..) {
            self.port_queues[port_queue as usize].send(&mut self.shared)?;
        }
        let goes_on = self.busy_polling.goes_on(received, self.asked);
        if goes_on {
            // Then the wire reads the ports directly, without asking first whether they have
            // frames.
            self.stay_ready()?;
        }
        Ok(TurnResult { goes_on, wake: self.tend_capture(wake) })
    }

    /// Lets the capture hand over old chunks, and plans the next wake-up for it.
    fn tend_capture(&mut self, wake: Option<Time>) -> Option<Time> {
        let Some(capture) = &mut self.shared.capture else { return wake };
        capture.tend(self.asked);
        wake.into_iter().chain(capture.due()).min()
    }

    fn stay_ready(&mut self) -> Result<(), WireError> {
        if self.epoll.is_some() {
            return self.ask_epoll();
        }
        self.are_named = false;
        self.ready.clear();
        self.ready.extend(0..self.port_queues.len() as u32);
        Ok(())
    }

    fn ask_epoll(&mut self) -> Result<(), WireError> {
        let Some(epoll) = &mut self.epoll else { return Ok(()) };
        let (ready, port_queues) = (&mut self.ready, &mut self.port_queues);
        let named = epoll.name_ready(|place| {
            if !std::mem::replace(&mut port_queues[place].is_listed, true) {
                ready.push(place as u32);
            }
        });
        named.map_err(|source| WireError::System { operation: "watching the ports", source })
    }

    /// Takes the frames of the ready port queues and hands them to the network, in the order of
    /// time over all of them.
    fn take_in(&mut self) -> Result<bool, WireError> {
        for place in 0..self.ready.len() {
            self.take_from(self.ready[place])?;
        }
        let port_queues = &mut self.port_queues;
        // epoll does not name a port again that has more frames.
        self.ready.retain(|&port_queue| port_queues[port_queue as usize].is_listed);
        let is_sorted = self.arrivals.is_sorted_by_key(|arrival| arrival.at);
        if !is_sorted {
            self.arrivals
                .sort_unstable_by_key(|arrival| (arrival.at, arrival.port_queue, arrival.buffer));
        }
        for ArrivedFrame { at, port_queue, buffer } in self.arrivals.iter().copied() {
            let frame = describe(buffer, self.shared.buffers.frame(buffer));
            if let Some(capture) = &mut self.shared.capture {
                capture.frame(
                    port_queue,
                    FrameDirection::Inbound,
                    at,
                    self.shared.buffers.frame(buffer),
                );
            }
            self.inside.accept(Place(port_queue), frame, at);
        }
        let received = !self.arrivals.is_empty();
        self.arrivals.clear();
        Ok(received)
    }

    fn take_from(&mut self, place: u32) -> Result<(), WireError> {
        let port_queue = &mut self.port_queues[place as usize];
        port_queue.is_listed = port_queue.receive(&mut self.shared)?;
        if self.are_named && self.shared.batch.received().is_empty() {
            port_queue.port.check()?;
        }
        for received in self.shared.batch.received() {
            // Stamps of two processors may be slightly out of order.
            port_queue.latest = port_queue.latest.max(received.at).max(self.asked);
            self.arrivals.push(ArrivedFrame {
                at: port_queue.latest,
                port_queue: place,
                buffer: received.buffer,
            });
        }
        Ok(())
    }

    /// Polls the network for all events by now; returns the time of the next one.
    fn carry(&mut self) -> Result<Option<Time>, WireError> {
        self.asked = now();
        loop {
            match self.inside.poll(self.asked) {
                Event::Deliver(place, frame, due) => self.hand_out(place, frame, due)?,
                Event::Drop(frame, _) => self.shared.buffers.release(frame.tag),
                Event::Duplicate(frame) => self.shared.buffers.hold(frame.tag),
                Event::Wake(time) => return Ok(Some(time)),
                Event::Idle => return Ok(None),
            }
        }
    }

    fn hand_out(&mut self, place: Place, frame: Frame, due: Time) -> Result<(), WireError> {
        let port_queue = &mut self.port_queues[place.index()];
        if let Some(bit) = frame.damage.bit(frame.length().count() * 8) {
            return port_queue.send_damaged(frame.tag, bit, due, &mut self.shared);
        }
        if port_queue.queue(frame.tag, due) == 1 {
            self.loaded.push(place.0);
        }
        if port_queue.is_full() { port_queue.send(&mut self.shared) } else { Ok(()) }
    }

    /// Performs a request of the controller.
    pub(super) fn obey(&mut self, request: EmulatorRequest) -> Reply {
        let done = match request {
            EmulatorRequest::Hello(VERSION) => Ok(()),
            EmulatorRequest::Hello(theirs) => {
                let why = format!(
                    "it speaks version {VERSION}, you speak {theirs}: use the same program for both"
                );
                Err(WireError::Refused(why))
            }
            EmulatorRequest::Set(impairments) => self.set(&impairments),
            EmulatorRequest::Reset => self.reset(),
            EmulatorRequest::Stop => {
                self.stopping = true;
                Ok(())
            }
            EmulatorRequest::Account => {
                return self.account().map_or_else(refuse, Reply::Account);
            }
        };
        done.map_or_else(refuse, |()| Reply::Done)
    }

    /// Applies all impairments, or none of them.
    fn set(&mut self, impairments: &Impairments) -> Result<(), WireError> {
        let checked = impairments.iter().map(|(host, impairment)| self.check(host, impairment));
        let checked = checked.collect::<Result<Vec<_>, _>>()?;
        for (place, loss, impairment) in checked {
            // The check above has found one.
            let _impaired = self.inside.impair(place, impairment.delay, loss);
        }
        Ok(())
    }

    fn check(
        &self,
        who: &HostName,
        impairment: &Impairment,
    ) -> Result<(Place, Probability, Impairment), WireError> {
        let place = self.inputs.iter().find(|(host, _)| host == who).map(|&(_, place)| place);
        let place = place.ok_or_else(|| {
            WireError::Refused(format!("nothing can be done here to what comes in to {who}"))
        })?;
        let loss = Probability::new(impairment.loss)
            .map_err(|error| WireError::Refused(format!("loss at {who}: {error}")))?;
        Ok((place, loss, *impairment))
    }

    fn reset(&mut self) -> Result<(), WireError> {
        self.port_queues.iter_mut().try_for_each(PortQueue::reset)?;
        self.inside.reset();
        self.shared.lateness.reset();
        self.busy_polling.reset();
        self.opened = now();
        Ok(())
    }

    fn account(&mut self) -> Result<Box<WireAccount>, WireError> {
        let views = self
            .port_queues
            .iter_mut()
            .map(PortQueue::view)
            .collect::<Result<Vec<PortView<'_>>, _>>()?;
        let account = accounts::account(
            &self.inside,
            &views,
            &self.shared.lateness,
            now().since(self.opened),
        );
        let superframes = self.carriage == Carriage::Superframes;
        let capture = self.shared.capture.as_ref().map(Capture::account);
        let (polled, round_trip) = (self.busy_polling.polled(), self.round_trip);
        Ok(Box::new(WireAccount { superframes, capture, polled, round_trip, ..account }))
    }

    /// Ends the capture's files with the kernel's drops at each port.
    pub(super) fn close_capture(&mut self) {
        let Some(capture) = &mut self.shared.capture else { return };
        // A port that is gone has no counter any more.
        let dropped: Vec<u64> = self
            .port_queues
            .iter_mut()
            .map(|port_queue| port_queue.port.kernel_drops().unwrap_or(0))
            .collect();
        capture.close(&dropped);
    }
}

/// Raises this process's limit of open files as far as allowed, if the ports need it: each is a
/// file, with a capture two. After a refusal, opening a port fails.
fn make_room_for(ports: usize) {
    const OTHERS: u64 = 64;
    let wanted = 2 * ports as u64 + OTHERS;
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < wanted
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard);
    }
}

fn refuse(error: WireError) -> Reply {
    match error {
        WireError::Refused(why) => Reply::Refused(why),
        other => Reply::Refused(other.to_string()),
    }
}
