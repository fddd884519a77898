//! A datagram with the time at which the kernel took it up, and its time to live.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use btu_traffic::ClockReading;
use btu_units::Time;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrLike, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;

/// The largest datagram of UDP, in octets.
const LARGEST: usize = 65_535;

/// Room for a datagram.
pub(crate) struct Inbox {
    octets: Vec<u8>,
    control: Vec<u8>,
}

/// A datagram that has come.
pub(crate) struct Arrival {
    /// The octets of it that are in the inbox.
    pub(crate) octets: usize,
    /// Who sent it; `None` on a connected socket.
    pub(crate) from: Option<SocketAddr>,
    /// By the wall clock.
    pub(crate) wall: Time,
    /// By the monotonic clock.
    pub(crate) monotonic: Time,
    pub(crate) ttl: Option<u8>,
}

/// Lets the kernel tell what [`Inbox::receive`] wants to know.
pub(crate) fn tell_arrivals(socket: &UdpSocket) -> io::Result<()> {
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)?;
    // A socket of IPv6 may also get packets of IPv4; each kind has its own option, and an answer can
    // do without it.
    let _ = setsockopt(socket, sockopt::Ipv4RecvTtl, &true);
    let _ = setsockopt(socket, sockopt::Ipv6RecvHopLimit, &true);
    Ok(())
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { octets: vec![0; LARGEST], control: nix::cmsg_space!(TimeSpec, i32, i32) }
    }

    /// The octets of the last arrival.
    pub(crate) fn octets(&mut self, arrival: &Arrival) -> &mut [u8] {
        &mut self.octets[..arrival.octets.min(LARGEST)]
    }

    /// Takes a datagram, if there is one.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> nix::Result<Arrival> {
        let mut parts = [IoSliceMut::new(&mut self.octets)];
        let message = recvmsg::<SockaddrStorage>(
            socket.as_raw_fd(),
            &mut parts,
            Some(&mut self.control),
            MsgFlags::MSG_DONTWAIT,
        )?;
        let now = ClockReading::now();
        let (mut wall, mut ttl) = (now.wall, None);
        for part in message.cmsgs()? {
            match part {
                ControlMessageOwned::ScmTimestampns(time) => wall = wall.min(since_epoch(time)),
                ControlMessageOwned::Ipv4Ttl(hops) | ControlMessageOwned::Ipv6HopLimit(hops) => {
                    ttl = u8::try_from(hops).ok();
                }
                _ => {}
            }
        }
        let from = message.address.as_ref().and_then(socket_address);
        Ok(Arrival { octets: message.bytes, from, wall, monotonic: now.at(wall), ttl })
    }
}

fn since_epoch(time: TimeSpec) -> Time {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec()).unwrap_or(0);
    Time::from_nanoseconds(seconds.saturating_mul(1_000_000_000).saturating_add(rest))
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    address.family()?;
    let ipv4 = address.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    ipv4.or_else(|| Some(SocketAddr::V6((*address.as_sockaddr_in6()?).into())))
}
