//! The medium's conformance bench in real time: UDP between two namespaces through a wire.

use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use btu_conditions::judge;
use btu_contract::record::WireAccount;
use btu_medium::conformance::{Arrival, Bench};
use btu_network::{Direction, Drawing, StationId, library_text};
use btu_testbed::port::{Instants, now};
use btu_testbed::wire::WirePlan;
use btu_units::{Bytes, Span, Time};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};

use crate::lab::{Place, Room, Wire, cable, introduce};
use crate::scenarios::Machine;

pub(crate) const SEED: u64 = 1995;
pub(crate) const TEST: Place = Place(1);
pub(crate) const ACTIVE: Place = Place(2);
pub(crate) const PASSIVE: Place = Place(3);
const UDP_PORT: u16 = 9000;
/// Ethernet, IPv4 and UDP headers.
const HEADERS: u64 = 14 + 20 + 8;
/// After this silence no frame will arrive. The longest delay here is 20 ms.
const SILENCE: Duration = Duration::from_millis(400);

/// Three namespaces on a path.
pub(crate) struct PathLab {
    pub(crate) test: Room,
    pub(crate) active: Room,
    pub(crate) passive: Room,
}

impl PathLab {
    /// In a fresh namespace of the calling thread.
    pub(crate) fn new() -> Self {
        let lab = Self { test: Room::new(), active: Room::new(), passive: Room::new() };
        for (name, room, place) in lab.rooms() {
            cable(name, room, place);
        }
        lab
    }

    /// Makes a lab where all places know the addresses of each other.
    pub(crate) fn introduced() -> Self {
        let lab = Self::new();
        for (_, room, place) in lab.rooms() {
            for other in [TEST, ACTIVE, PASSIVE].into_iter().filter(|other| other.0 != place.0) {
                introduce(room, other);
            }
        }
        lab
    }

    fn rooms(&self) -> [(&'static str, &Room, Place); 3] {
        [
            ("p-test", &self.test, TEST),
            ("p-active", &self.active, ACTIVE),
            ("p-passive", &self.passive, PASSIVE),
        ]
    }
}

/// The plan of a wire between the namespaces of a [`PathLab`]: the library's path, with a line like
/// `direction` both ways.
pub(crate) fn path_plan(direction: &Direction) -> WirePlan {
    let mut drawing =
        Drawing::read(library_text("path").expect("it is in the library"), "path").unwrap();
    drawing.links[0].forth = direction.clone();
    drawing.links[0].back = direction.clone();
    let interfaces = ["p-test", "p-active", "p-passive"].map(str::to_owned).to_vec();
    WirePlan {
        inputs: vec![StationId(1), StationId(2)],
        ..WirePlan::new(SEED, drawing, interfaces)
    }
}

/// The plan of a piece of wire before active, between the interfaces `in-active` and `out-active`:
/// a line that is faster than anything here.
pub(crate) fn input_plan(seed: u64) -> WirePlan {
    const LINK: &str = "[stations.to-active]\n[stations.active]\n\
                        [links.input]\nbetween = [\"to-active\", \"active\"]\nrate = \"1000 Gb/s\"\nmtu = \"65535 B\"\n";
    let interfaces = ["in-active", "out-active"].map(str::to_owned).to_vec();
    let drawing = Drawing::read(LINK, "input").unwrap();
    WirePlan { inputs: vec![StationId(1)], ..WirePlan::new(seed, drawing, interfaces) }
}

/// The wire as a bench. Every run has its own namespaces, its own wire, and ends with a check of
/// the accounts.
pub(crate) struct RealTimeBench;

impl Bench for RealTimeBench {
    fn run(&mut self, direction: &Direction, script: &[(Span, Bytes)]) -> Vec<Arrival> {
        in_fresh_namespace(|| {
            let lab = PathLab::introduced();
            let mut wire = Wire::start(&path_plan(direction));
            let arrivals = run_script(&lab.test, &lab.active, ACTIVE, script);
            let account = wire.client.account().unwrap();
            check_accounts(&account);
            report(&account);
            let (came, sent) = (element(&account, "path/forth/line").received, script.len());
            judge!(Machine, came == sent as u64, "{sent} were sent, {came} reached the emulator");
            // A receiver that gets no processor for some 30 ms has no room for more.
            let (gone, seen) = (element(&account, "active/input/delay").delivered, arrivals.len());
            judge!(Machine, gone == seen as u64, "{gone} left the emulator, {seen} arrived");
            arrivals
        })
    }

    /// The tolerance: 0.2 ms at the median.
    fn tolerance(&self) -> Span {
        Span::from_microseconds(200)
    }

    #[track_caller]
    fn out_of_bounds(&self, message: &str) {
        Machine.out_of_bounds(message);
    }
}

/// A thread with a namespace of its own, which is removed afterwards with its contents.
pub(crate) fn in_fresh_namespace<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    Room::new().inside(work)
}

/// Sends a script as datagrams from one namespace to another.
pub(crate) fn run_script(
    from: &Room,
    to: &Room,
    place: Place,
    script: &[(Span, Bytes)],
) -> Vec<Arrival> {
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let receiver = scope.spawn(|| to.inside(move || receive(place, &tell)));
        told.recv().unwrap();
        let sent = from.inside(|| send(place, script));
        drop(told);
        let mut arrivals = receiver.join().unwrap();
        for arrival in &mut arrivals {
            arrival.sent = sent[arrival.number as usize];
        }
        arrivals
    })
}

/// Sends each datagram at its time, or as soon after as the machine lets it; returns when each was
/// really sent.
fn send(to: Place, script: &[(Span, Bytes)]) -> Vec<Time> {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect((to.address(), UDP_PORT)).unwrap();
    let start = now();
    let each = (0u32..).zip(script);
    each.map(|(number, &(after, length))| {
        let mut payload = vec![0; (length.count() - HEADERS) as usize];
        payload[..4].copy_from_slice(&number.to_be_bytes());
        await_time(start + after);
        let sent = now();
        socket.send(&payload).unwrap();
        sent
    })
    .collect()
}

/// Sleeps while it is long, then lets others go first.
fn await_time(due: Time) {
    loop {
        let left = due.since(now());
        match left.nanoseconds() {
            0 => return,
            1..300_000 => thread::yield_now(),
            _ => thread::sleep((left - Span::from_microseconds(200)).into()),
        }
    }
}

fn receive(place: Place, ready: &mpsc::Sender<()>) -> Vec<Arrival> {
    let socket = UdpSocket::bind((place.address(), UDP_PORT)).unwrap();
    // A receiver that is not scheduled for a while must not lose what the wire delivered.
    setsockopt(&socket, sockopt::RcvBufForce, &(8 << 20))
        .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &(8 << 20)))
        .unwrap();
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).unwrap();
    socket.set_read_timeout(Some(SILENCE)).unwrap();
    ready.send(()).unwrap();
    let mut arrivals = Vec::new();
    loop {
        match receive_one(&socket) {
            Ok(arrival) => arrivals.push(arrival),
            // While the other end of this channel is open, the sender is not done.
            Err(_) if ready.send(()).is_ok() => {}
            Err(_) => return arrivals,
        }
    }
}

fn receive_one(socket: &UdpSocket) -> nix::Result<Arrival> {
    let mut payload = [0; 2048];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    let mut parts = [IoSliceMut::new(&mut payload)];
    let message =
        recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty())?;
    let stamp = message.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(time) => Some(time),
        _ => None,
    });
    let stamp = stamp.expect("a stamp was asked for");
    let stamp = stamp.tv_sec().unsigned_abs() * 1_000_000_000 + stamp.tv_nsec().unsigned_abs();
    let arrived = Instants::now().at(Time::from_nanoseconds(stamp));
    let number = u32::from_be_bytes(payload[..4].try_into().unwrap());
    Ok(Arrival { number, sent: Time::ZERO, arrived, damaged: false })
}

/// One element of an account.
pub(crate) fn element<'a>(
    account: &'a WireAccount,
    name: &str,
) -> &'a btu_contract::record::ElementAccount {
    account
        .elements
        .iter()
        .find(|element| element.name == name)
        .unwrap_or_else(|| panic!("no element {name}"))
}

/// Received + duplicated = delivered + dropped + held, everywhere; and the kernel dropped nothing,
/// which it does when the emulator gets no processor for long.
pub(crate) fn check_accounts(account: &WireAccount) {
    for accounts in &account.elements {
        let dropped: u64 = accounts.dropped.iter().map(|(_, frames)| frames).sum();
        assert_eq!(
            accounts.received + accounts.duplicated,
            accounts.delivered + dropped + accounts.held,
            "{accounts:?}"
        );
    }
    let dropped = account.port_drops;
    judge!(Machine, dropped == 0, "the kernel dropped {dropped} frames before the emulator");
}

fn report(account: &WireAccount) {
    let quantile = |share| account.lateness.quantile(share).unwrap_or(0) as f64 / 1e3;
    println!("  wire lateness: p50 {:.1} us, p99 {:.1} us", quantile(0.5), quantile(0.99));
}
