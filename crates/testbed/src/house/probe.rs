//! Sends a real packet each way between two stations, over every address a run will use.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use btu_suite::network::Station;

use super::error::{Cause, TestbedError};
use super::furnish::Rooms;
use super::layout::{Layout, Place};

/// Time between two tries. Longer delays than this only mean that an earlier try's packet is the one that counts.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// Sees a packet pass from the test station to every black box, by every address, and back.
///
/// `alive` is asked before every try: a wire that ended is the reason to name, not the packet that did not come.
pub(super) fn prove(
    rooms: &Rooms,
    layout: &Layout,
    alive: impl FnMut() -> Result<(), TestbedError>,
    deadline: Instant,
) -> Result<(), TestbedError> {
    let mut probe = Probe { rooms, from: layout.plain(Station::Test), alive, deadline };
    for station in Station::ALL.into_iter().filter(|station| station.is_black_box()) {
        let (plain, impaired) = (layout.plain(station), layout.impaired(station));
        probe.reach(station, plain)?;
        if impaired != plain {
            probe.reach(station, impaired)?;
        }
    }
    Ok(())
}

struct Probe<'a, A> {
    rooms: &'a Rooms,
    from: Ipv4Addr,
    alive: A,
    deadline: Instant,
}

impl<A: FnMut() -> Result<(), TestbedError>> Probe<'_, A> {
    fn reach(&mut self, station: Station, address: Ipv4Addr) -> Result<(), TestbedError> {
        let failed = |error: io::Error| failure(station, address, &error);
        let caller = open(self.rooms, Station::Test, self.from).map_err(failed)?;
        let answerer = open(self.rooms, station, address).map_err(failed)?;
        while Instant::now() < self.deadline {
            (self.alive)()?;
            if call(&caller, &answerer).map_err(failed)? {
                return Ok(());
            }
        }
        Err(failure(station, address, &"none came through and back in time"))
    }
}

fn failure(station: Station, address: Ipv4Addr, reason: &dyn fmt::Display) -> TestbedError {
    let remedy = "see what the wire says, and whether a firewall of this host drops packets in new namespaces";
    TestbedError::new(Cause::Probe, format!("pass a packet between test and {station} at {address}"), reason, remedy)
}

/// A socket made inside a station's namespace keeps belonging to it, whichever thread uses it.
fn open(rooms: &Rooms, station: Station, address: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = rooms.at(Place::Station(station)).enter(|| UdpSocket::bind((address, 0)))??;
    socket.set_read_timeout(Some(TRY_EVERY))?;
    Ok(socket)
}

/// One try: there and back.
fn call(caller: &UdpSocket, answerer: &UdpSocket) -> io::Result<bool> {
    let (from, to) = (caller.local_addr()?, answerer.local_addr()?);
    caller.send_to(b"there", to)?;
    if !hears_from(answerer, from)? {
        return Ok(false);
    }
    answerer.send_to(b"back", from)?;
    hears_from(caller, to)
}

fn hears_from(socket: &UdpSocket, peer: SocketAddr) -> io::Result<bool> {
    let mut packet = [0; 16];
    match socket.recv_from(&mut packet) {
        Ok((_, from)) => Ok(from == peer),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
        Err(error) => Err(error),
    }
}
