//! One turn of the wire: frames from the ports into the network, and out of it what is due.

use btu_medium::{Address, Event, Frame, Kind, Network, Port as Place, Probability};
use btu_suite::network::{Impairment, Station};
use btu_units::{Bytes, Time};

use super::WireError;
use super::books::{self, Lateness, PortBooks, PortView};
use super::plan::{Layout, WirePlan};
use super::protocol::{Reply, Request, VERSION};
use crate::port::{BATCH, Buffers, Port, now};

/// The network with its ports and the frames inside.
pub(super) struct Carrier {
    network: Network,
    lanes: Vec<Lane>,
    buffers: Buffers,
    inputs: Vec<(Station, Place)>,
    lateness: Lateness,
    /// The time the network was last asked at: frames count as no older.
    asked: Time,
    stopping: bool,
}

/// A port and what is on its way out through it.
struct Lane {
    port: Port,
    ready: bool,
    outgoing: Vec<u32>,
    dues: Vec<Time>,
    books: PortBooks,
    /// Arrival of the port's latest frame: stamps of two processors may be out of order by a little.
    latest: Time,
}

/// What a turn did, and when the next one is due.
pub(super) struct Turn {
    /// Frames came in; there may be more.
    pub(super) received: bool,
    /// When the next frame is due.
    pub(super) wake: Option<Time>,
}

impl Carrier {
    pub(super) fn new(plan: &WirePlan) -> Result<Self, WireError> {
        let Layout { network, interfaces, inputs } = plan.layout()?;
        let ports = interfaces.iter().map(|interface| Port::open(interface, plan.carriage));
        let lanes = ports.map(|port| Ok(Lane::new(port?))).collect::<Result<Vec<_>, WireError>>()?;
        let mtu = lanes.iter().map(|lane| lane.port.mtu()).max().unwrap_or(0);
        let buffers = Buffers::new(plan.carriage.buffer_bytes(mtu));
        let lateness = Lateness::new(plan.mark_late_after);
        Ok(Self { network, lanes, buffers, inputs, lateness, asked: Time::ZERO, stopping: false })
    }

    pub(super) fn ports(&self) -> impl Iterator<Item = &Port> {
        self.lanes.iter().map(|lane| &lane.port)
    }

    /// Notes which ports have frames.
    pub(super) fn note_ready(&mut self, is_ready: impl Fn(usize) -> bool) {
        self.lanes.iter_mut().enumerate().for_each(|(place, lane)| lane.ready = is_ready(place));
    }

    /// Whether it was told to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// Takes in a batch from every port that has frames, carries, and sends what is due.
    pub(super) fn turn(&mut self) -> Result<Turn, WireError> {
        let received = self.take_in()?;
        // While frames come in, ports are not asked whether they have some, but for the frames.
        self.lanes.iter_mut().for_each(|lane| lane.ready = received);
        let wake = self.carry()?;
        for lane in &mut self.lanes {
            lane.send(&mut self.buffers, &mut self.lateness)?;
        }
        Ok(Turn { received, wake })
    }

    fn take_in(&mut self) -> Result<bool, WireError> {
        let mut some = false;
        for (place, lane) in self.lanes.iter_mut().enumerate().filter(|(_, lane)| lane.ready) {
            let frames = lane.port.receive(&mut self.buffers)?;
            some |= !frames.is_empty();
            lane.books.received += frames.len() as u64;
            for received in frames {
                lane.latest = lane.latest.max(received.at).max(self.asked);
                let frame = describe(received.buffer, self.buffers.frame(received.buffer));
                self.network.accept(Place(place as u32), frame, lane.latest);
            }
        }
        Ok(some)
    }

    /// Asks the network for everything that has happened by now; returns when more will.
    fn carry(&mut self) -> Result<Option<Time>, WireError> {
        self.asked = now();
        loop {
            match self.network.poll(self.asked) {
                Event::Deliver(place, frame, due) => {
                    let lane = &mut self.lanes[place.index()];
                    lane.queue(frame.tag, due);
                    if lane.outgoing.len() == BATCH {
                        lane.send(&mut self.buffers, &mut self.lateness)?;
                    }
                }
                Event::Drop(frame, _) => self.buffers.release(frame.tag),
                Event::Duplicate(frame) => self.buffers.hold(frame.tag),
                Event::Wake(time) => return Ok(Some(time)),
                Event::Idle => return Ok(None),
            }
        }
    }

    /// Does what the coordinator says.
    pub(super) fn obey(&mut self, request: Request) -> Reply {
        let done = match request {
            Request::Hello(VERSION) => Ok(()),
            Request::Hello(theirs) => {
                let why = format!("it speaks version {VERSION}, you speak {theirs}: use the same program for both");
                Err(WireError::Refused(why))
            }
            Request::Set(impairments) => self.set(&impairments),
            Request::Reset => self.reset(),
            Request::Stop => {
                self.stopping = true;
                Ok(())
            }
            Request::Account => {
                return self.account().map_or_else(refuse, Reply::Account);
            }
        };
        done.map_or_else(refuse, |()| Reply::Done)
    }

    /// All or nothing.
    fn set(&mut self, impairments: &[(Station, Impairment)]) -> Result<(), WireError> {
        let checked = impairments.iter().map(|(station, impairment)| self.check(*station, impairment));
        let checked = checked.collect::<Result<Vec<_>, _>>()?;
        for (place, loss, impairment) in checked {
            if let Some(input) = self.network.input(place) {
                input.set(impairment.delay, loss);
            }
        }
        Ok(())
    }

    fn check(&self, who: Station, impairment: &Impairment) -> Result<(Place, Probability, Impairment), WireError> {
        let place = self.inputs.iter().find(|(station, _)| *station == who).map(|&(_, place)| place);
        let place = place.ok_or_else(|| WireError::Refused(format!("{who} is no black box of this wire")))?;
        let loss =
            Probability::new(impairment.loss).map_err(|error| WireError::Refused(format!("loss at {who}: {error}")))?;
        Ok((place, loss, *impairment))
    }

    fn reset(&mut self) -> Result<(), WireError> {
        for lane in &mut self.lanes {
            lane.books = PortBooks {
                kernel_drops_before: lane.port.kernel_drops()?,
                misfits_before: lane.port.misfits(),
                ..PortBooks::default()
            };
        }
        self.network.reset();
        self.lateness.reset();
        Ok(())
    }

    fn account(&mut self) -> Result<Box<btu_suite::record::WireAccount>, WireError> {
        let mut kernel_drops = Vec::with_capacity(self.lanes.len());
        for lane in &mut self.lanes {
            kernel_drops.push(lane.port.kernel_drops()?);
        }
        let view = |(lane, kernel_drops)| Lane::view(lane, kernel_drops);
        let views: Vec<PortView<'_>> = self.lanes.iter().zip(kernel_drops).map(view).collect();
        Ok(Box::new(books::account(&self.network, &views, &self.lateness)))
    }
}

impl Lane {
    fn new(port: Port) -> Self {
        Self {
            port,
            ready: true,
            outgoing: Vec::with_capacity(BATCH),
            dues: Vec::with_capacity(BATCH),
            books: PortBooks::default(),
            latest: Time::ZERO,
        }
    }

    fn queue(&mut self, buffer: u32, due: Time) {
        self.outgoing.push(buffer);
        self.dues.push(due);
    }

    /// Sends what is queued, and notes how late each frame was: they leave evenly over the time the sending took.
    fn send(&mut self, buffers: &mut Buffers, lateness: &mut Lateness) -> Result<(), WireError> {
        if self.outgoing.is_empty() {
            return Ok(());
        }
        let begin = now();
        let sent = self.port.send(buffers, &self.outgoing)?;
        lateness.record(&self.dues, begin, now());
        self.books.offered += self.outgoing.len() as u64;
        self.books.sent += sent as u64;
        self.outgoing.drain(..).for_each(|buffer| buffers.release(buffer));
        self.dues.clear();
        Ok(())
    }

    fn view(&self, kernel_drops: u64) -> PortView<'_> {
        let misfits = self.port.misfits();
        PortView { interface: self.port.interface(), books: self.books, kernel_drops, misfits }
    }
}

fn refuse(error: WireError) -> Reply {
    match error {
        WireError::Refused(why) => Reply::Refused(why),
        other => Reply::Refused(other.to_string()),
    }
}

/// What the medium has to know of a frame; `bytes` holds at least an Ethernet header (a port passes nothing shorter).
fn describe(buffer: u32, bytes: &[u8]) -> Frame {
    const IPV4: [u8; 2] = [0x08, 0x00];
    const IPV6: [u8; 2] = [0x86, 0xdd];
    let address = |from: usize| Address::from_octets(std::array::from_fn(|n| bytes[from + n]));
    let kind = if [IPV4, IPV6].contains(&[bytes[12], bytes[13]]) { Kind::Ip } else { Kind::Other };
    Frame::new(buffer, Bytes::new(bytes.len() as u64)).between(address(6), address(0)).carrying(kind)
}
