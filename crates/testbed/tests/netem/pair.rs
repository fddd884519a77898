//! Two ends of a veth pair in one namespace: raw frames enter at `near`, and leave at `far` behind
//! its impairments.
//!
//! The receiver takes frames of one Ethernet type only. That matters: a packet socket for all types
//! sees a frame when it comes in first, before netem, and not again afterwards.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use btu_medium::conformance::Arrival;
use btu_testbed::netlink::{Links, NewEnd};
use btu_testbed::port::{Instants, now};
use btu_units::{Bytes, Span, Time};
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use socket2::{Domain, Protocol, SockAddr, SockAddrStorage, Socket, Type};

pub(crate) const NEAR: &str = "near";
pub(crate) const FAR: &str = "far";
/// Local experiments (IEEE 802, `EtherType` 88-B5).
const ETHER_TYPE: u16 = 0x88b5;
const HEADER: usize = 14;

/// The pair, and a socket at each end.
pub(crate) struct Pair {
    sender: Socket,
    to: SockAddr,
    receiver: Socket,
}

/// A thread with a namespace of its own, which is removed afterwards with its contents.
pub(crate) fn in_fresh_namespace<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let inside = || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
        work()
    };
    thread::scope(|scope| {
        scope.spawn(inside).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl Pair {
    /// In the calling thread's namespace; without IPv6 the kernel sends no packets of its own.
    pub(crate) fn new() -> Self {
        for which in ["all", "default"] {
            // A kernel without IPv6 sends none anyway.
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
        }
        let mut kernel = Links::here().expect("netlink");
        let [near, far] =
            [NEAR, FAR].map(|name| NewEnd { namespace: None, name, mac: None, mtu: None });
        kernel.add_cable(&near, &far).expect("netlink");
        for name in [NEAR, FAR] {
            kernel.up(if_nametoindex(name).unwrap()).expect("netlink");
        }
        let receiver = packet_socket(ETHER_TYPE);
        receiver.bind(&link_address(FAR)).unwrap();
        // All of a script is sent before the first frame is read.
        setsockopt(&receiver, sockopt::RcvBufForce, &(64 << 20))
            .or_else(|_| setsockopt(&receiver, sockopt::RcvBuf, &(64 << 20)))
            .unwrap();
        setsockopt(&receiver, sockopt::ReceiveTimestampns, &true).unwrap();
        Self { sender: packet_socket(0), to: link_address(NEAR), receiver }
    }

    /// Sends frames of these lengths at their times, or as soon after as the machine allows.
    pub(crate) fn send(&self, script: &[(Span, Bytes)]) -> Vec<Time> {
        let each = (0u32..).zip(script);
        // Built beforehand, so that a burst has no gaps.
        let frames: Vec<_> = each
            .map(|(number, &(after, length))| (after, frame(number, length.count() as usize)))
            .collect();
        let start = now();
        let each = frames.iter().map(|(after, frame)| {
            await_time(start + *after);
            let sent = now();
            self.sender.send_to(frame, &self.to).unwrap();
            sent
        });
        each.collect()
    }

    /// The arrivals, until no frame arrives for this time; `sent` has the time of each sending.
    pub(crate) fn receive(&self, sent: &[Time], silence: Duration) -> Vec<Arrival> {
        self.receiver.set_read_timeout(Some(silence)).unwrap();
        let mut arrivals = Vec::new();
        while let Some(arrival) = self.receive_one(sent) {
            arrivals.push(arrival);
        }
        arrivals
    }

    /// Both, one after the other.
    pub(crate) fn run(&self, script: &[(Span, Bytes)], silence: Duration) -> Vec<Arrival> {
        let sent = self.send(script);
        self.receive(&sent, silence)
    }

    fn receive_one(&self, sent: &[Time]) -> Option<Arrival> {
        let mut octets = [0; 2048];
        let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
        let mut parts = [IoSliceMut::new(&mut octets)];
        let message = match recvmsg::<()>(
            self.receiver.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            MsgFlags::empty(),
        ) {
            Err(Errno::EAGAIN) => return None,
            message => message.unwrap(),
        };
        let stamp = message.cmsgs().unwrap().find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(time) => Some(time),
            _ => None,
        });
        let stamp = stamp.expect("a stamp was asked for");
        let stamp = stamp.tv_sec().unsigned_abs() * 1_000_000_000 + stamp.tv_nsec().unsigned_abs();
        let arrived = Instants::now().at(Time::from_nanoseconds(stamp));
        let length = message.bytes;
        let number = number_of(&octets);
        let damaged = octets[..length] != frame(number, length);
        Some(Arrival { number, sent: sent[number as usize], arrived, damaged })
    }
}

/// Its number three times, so that it is known even when damaged; then a pattern.
fn frame(number: u32, length: usize) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..length).map(|place| (number as usize + place) as u8).collect();
    frame[..HEADER].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    for copy in frame[HEADER..HEADER + 12].chunks_exact_mut(4) {
        copy.copy_from_slice(&number.to_be_bytes());
    }
    frame
}

/// The majority of three copies, bit by bit.
fn number_of(frame: &[u8]) -> u32 {
    let copy = |n: usize| u32::from_be_bytes(frame[HEADER + 4 * n..][..4].try_into().unwrap());
    let (one, two, three) = (copy(0), copy(1), copy(2));
    (one & two) | (two & three) | (three & one)
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

fn packet_socket(ether_type: u16) -> Socket {
    let protocol = Protocol::from(i32::from(ether_type.to_be()));
    Socket::new(Domain::PACKET, Type::RAW, Some(protocol)).expect("a packet socket")
}

#[allow(unsafe_code)]
fn link_address(interface: &str) -> SockAddr {
    // SAFETY: all-zero is a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = ETHER_TYPE.to_be();
    address.sll_ifindex = if_nametoindex(interface).unwrap().cast_signed();
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: a storage has room for any socket address, and one of link layer is what is written.
    unsafe {
        *storage.view_as::<libc::sockaddr_ll>() = address;
        SockAddr::new(storage, size_of::<libc::sockaddr_ll>() as libc::socklen_t)
    }
}
