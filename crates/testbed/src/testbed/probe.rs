//! Sends a real packet each way between two stations, over the addresses a run will use.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::design::Design;
use super::error::{Cause, TestbedError};
use super::layout::{self, Layout, TestbedNamespace};
use super::namespaces::Namespaces;
use super::probe_timeout::{self, MOST_TARGETS};

/// The longest wait between two checks of the deadline and of the processes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The calls of the probe, and their number. The caller is the first station.
pub(super) struct Calls {
    from: Ipv4Addr,
    targets: Vec<(usize, Ipv4Addr)>,
    try_every: Duration,
}

impl Calls {
    /// Some of the stations, and every input by its own address; none if no packet can be expected
    /// to pass.
    pub(super) fn of(design: &Design) -> Self {
        let drawing = &design.drawing;
        let others = if probe_timeout::is_hopeful(drawing) {
            drawing.stations.len().saturating_sub(1)
        } else {
            0
        };
        let count = others.min(MOST_TARGETS);
        let stations = (1..=count)
            .map(|n| n * others / count)
            .map(|number| (number, drawing.stations[number].address));
        let inputs = design.inputs.iter().filter(|input| drawing.bare && input.0 > 0);
        let inputs = inputs.map(|&input| (input.0 as usize, layout::input_address(drawing, input)));
        let from =
            drawing.stations.first().map_or(Ipv4Addr::UNSPECIFIED, |station| station.address);
        Self {
            from,
            targets: stations.chain(inputs).collect(),
            try_every: probe_timeout::try_every(drawing, count),
        }
    }
}

/// Waits until a packet has passed from the first station to every target, and back.
///
/// It calls `alive` repeatedly: a wire that ended is the reason to report, not the packet that did
/// not arrive.
pub(super) fn prove(
    namespaces: &Namespaces,
    layout: &Layout,
    calls: &Calls,
    mut alive: impl FnMut() -> Result<(), TestbedError>,
    deadline: Instant,
) -> Result<(), TestbedError> {
    let mut probe = Probe::open(namespaces, layout, calls)?;
    while let Some(first) = probe.waiting.first() {
        if Instant::now() >= deadline {
            return Err(failure(&probe.caller, first, &"none came through and back in time"));
        }
        alive()?;
        probe.turn(calls.try_every)?;
    }
    Ok(())
}

struct Probe {
    caller: Party,
    /// The stations that have not answered yet.
    waiting: Vec<Party>,
    called: Option<Instant>,
}

/// The socket of a station.
struct Party {
    name: String,
    address: Ipv4Addr,
    socket: UdpSocket,
}

impl Probe {
    fn open(namespaces: &Namespaces, layout: &Layout, calls: &Calls) -> Result<Self, TestbedError> {
        let open = |number: usize, address| Party::open(namespaces, layout, number, address);
        let caller = open(0, calls.from)?;
        let waiting = calls
            .targets
            .iter()
            .map(|&(number, address)| open(number, address))
            .collect::<Result<_, _>>()?;
        Ok(Self { caller, waiting, called: None })
    }

    /// Sends to the stations that have not answered when a try is due, then receives for a moment.
    ///
    /// A packet of an earlier try counts as well, so that a path may be longer than expected.
    fn turn(&mut self, try_every: Duration) -> Result<(), TestbedError> {
        if self.called.is_none_or(|called| called.elapsed() >= try_every) {
            self.called = Some(Instant::now());
            self.waiting.iter().try_for_each(|party| self.caller.send(b"there", party))?;
        }
        self.await_packets().map_err(|error| failure(&self.caller, &self.waiting[0], &error))?;
        for party in &self.waiting {
            while party.receive()?.is_some() {
                party.send(b"back", &self.caller)?;
            }
        }
        while let Some(from) = self.caller.receive()? {
            self.waiting.retain(|party| SocketAddr::from((party.address, party.port())) != from);
        }
        Ok(())
    }

    fn await_packets(&self) -> io::Result<()> {
        let parties = std::iter::once(&self.caller).chain(&self.waiting);
        let mut watched: Vec<_> =
            parties.map(|party| PollFd::new(party.socket.as_fd(), PollFlags::POLLIN)).collect();
        let wait = PollTimeout::try_from(POLL_INTERVAL).unwrap_or(PollTimeout::ZERO);
        match poll(&mut watched, wait) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Party {
    /// A socket made inside a station's namespace keeps belonging to it, whichever thread uses it.
    fn open(
        namespaces: &Namespaces,
        layout: &Layout,
        number: usize,
        address: Ipv4Addr,
    ) -> Result<Self, TestbedError> {
        let name = layout.stations[number].clone();
        let socket = namespaces
            .at(TestbedNamespace::Station(number))
            .enter(|| UdpSocket::bind((address, 0)))
            .and_then(|socket| socket);
        let socket = socket.and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
        match socket {
            Ok(socket) => Ok(Self { name, address, socket }),
            Err(error) => Err(trouble(format!("open a socket on {name} at {address}"), &error)),
        }
    }

    fn port(&self) -> u16 {
        self.socket.local_addr().map_or(0, |address| address.port())
    }

    fn send(&self, packet: &[u8], to: &Self) -> Result<(), TestbedError> {
        match self.socket.send_to(packet, (to.address, to.port())) {
            // A full queue of the line is possible; the next try may fit.
            Err(error) if !is_passing(&error) => Err(failure(self, to, &error)),
            _ => Ok(()),
        }
    }

    /// The sender of the next packet.
    fn receive(&self) -> Result<Option<SocketAddr>, TestbedError> {
        match self.socket.recv_from(&mut [0; 16]) {
            Ok((_, from)) => Ok(Some(from)),
            Err(error) if is_passing(&error) => Ok(None),
            Err(error) => Err(trouble(
                format!("receive a packet on {} at {}", self.name, self.address),
                &error,
            )),
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    let full = error.raw_os_error() == Some(libc::ENOBUFS);
    full || matches!(
        error.kind(),
        io::ErrorKind::WouldBlock
            | io::ErrorKind::Interrupted
            // The station did not answer an ARP request in time.
            | io::ErrorKind::HostUnreachable
    )
}

fn failure(caller: &Party, target: &Party, reason: &dyn fmt::Display) -> TestbedError {
    trouble(
        format!("pass a packet between {} and {} at {}", caller.name, target.name, target.address),
        reason,
    )
}

fn trouble(operation: String, reason: &dyn fmt::Display) -> TestbedError {
    let remedy = "see what the link emulator says, and whether a firewall of this host drops packets in new namespaces";
    TestbedError::new(Cause::Probe, operation, reason, remedy)
}

#[cfg(test)]
mod tests {
    use btu_network::{Drawing, StationId};

    use super::super::samples;
    use super::*;

    fn calls(drawing: Drawing, inputs: Vec<StationId>) -> Calls {
        Calls::of(&Design { drawing, inputs, ..Design::default() })
    }

    #[test]
    fn every_input_is_called_by_its_address() {
        let drawing = Drawing { bare: true, ..samples::star(3) };
        let targets = calls(drawing, vec![StationId(1), StationId(2)]).targets;
        let addresses: Vec<String> =
            targets.into_iter().map(|(_, address)| address.to_string()).collect();
        assert_eq!(addresses, ["198.18.0.2", "198.18.0.3", "198.19.0.2", "198.19.0.3"]);
    }

    #[test]
    fn of_many_stations_some_are_called_and_the_last_is_among_them() {
        let targets: Vec<usize> = calls(samples::star(300), Vec::new())
            .targets
            .iter()
            .map(|(number, _)| *number)
            .collect();
        assert_eq!(targets.len(), MOST_TARGETS);
        assert_eq!((targets[0], targets[MOST_TARGETS - 1]), (18, 299));
        assert!(targets.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn of_few_stations_all_are_called_and_one_alone_calls_nobody() {
        let targets = |count| calls(samples::star(count), Vec::new()).targets.len();
        assert_eq!((targets(1), targets(2), targets(17)), (0, 1, 16));
    }
}
