//! Opens and queries `AF_PACKET` sockets. Source: packet(7), socket(7), `linux/if_packet.h`.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::net::if_::if_nametoindex;

use super::ring::FrameRing;
use super::{Carriage, PortError};

/// The kernel's memory for frames on their way out, and for superframes that wait to be taken.
const BUFFER_BYTES: libc::c_int = 32 << 20;

/// Opens a raw socket on an interface, with a ring, and reads the interface's MTU.
pub(super) fn open(
    interface: &str,
    carriage: Carriage,
    ring_bytes: usize,
) -> Result<(OwnedFd, FrameRing, usize), PortError> {
    let failed = |operation, remedy| {
        move |source: io::Error| PortError {
            operation,
            interface: interface.to_owned(),
            remedy,
            source,
        }
    };
    let index = if_nametoindex(interface).map_err(io::Error::from).map_err(failed(
        "finding",
        "it must exist in the network namespace in which the link emulator is started",
    ))?;
    let index = libc::c_int::try_from(index)
        .map_err(io::Error::other)
        .map_err(failed("finding", "its index is out of the range packet sockets take"))?;
    let socket = raw_socket().map_err(failed(
        "opening a packet socket",
        "CAP_NET_RAW is needed over this network namespace",
    ))?;
    configure(&socket, index, carriage)
        .map_err(failed("configuring a packet socket", "the kernel may be too old"))?;
    let mtu = mtu(&socket, interface)
        .map_err(failed("reading the MTU", "it may just have been removed"))?;
    let content = carriage.header() + Carriage::Frames.buffer_bytes(mtu);
    let ring = FrameRing::new(&socket, carriage.header(), content, ring_bytes).map_err(failed(
        "giving a packet socket memory",
        "the machine may have too little of it",
    ))?;
    bind(&socket, index).map_err(failed("binding a packet socket", "the interface may be down"))?;
    Ok((socket, ring, mtu))
}

/// A socket that receives nothing until it is bound: protocol 0.
fn raw_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a system call without pointers.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn configure(socket: &OwnedFd, index: libc::c_int, carriage: Carriage) -> io::Result<()> {
    let on: libc::c_int = 1;
    set(socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &on)?;
    // Frames have waited in the medium's queues; another queue before the interface would only make
    // their times less exact.
    set(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &on)?;
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
    for (force, polite) in
        [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
    {
        set(socket, libc::SOL_SOCKET, force, &BUFFER_BYTES)
            .or_else(|_| set(socket, libc::SOL_SOCKET, polite, &BUFFER_BYTES))?;
    }
    if carriage == Carriage::Superframes {
        set(socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &on)?;
        // Superframes that do not fit into a slot of the ring wait in the socket's queue.
        set(socket, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &on)?;
    }
    let promiscuous = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)
}

fn bind(socket: &OwnedFd, index: libc::c_int) -> io::Result<()> {
    // SAFETY: all-zero is a valid `sockaddr_ll`: integers only.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` is a `sockaddr_ll` of `length` bytes and lives across the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })
}

/// Sets an option of a socket.
pub(crate) fn set<T>(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is `length` bytes of plain C data that the kernel only reads.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            length,
        )
    })
}

/// Reads the MTU by `SIOCGIFMTU` (netdevice(7)).
fn mtu(socket: &OwnedFd, interface: &str) -> io::Result<usize> {
    // SAFETY: all-zero is a valid `ifreq`: integers, byte arrays and null pointers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // An interface that was found by its name has at most 15 bytes of it; the last stays zero.
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from.cast_signed() as libc::c_char;
    }
    // SAFETY: the kernel reads and writes one `ifreq`, which lives across the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) })?;
    // SAFETY: after this ioctl the union holds the MTU.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    usize::try_from(mtu).map_err(io::Error::other)
}

/// Frames dropped since the last reading (`PACKET_STATISTICS`).
pub(super) fn drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `statistics`, which lives across the
    // call.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut length,
        )
    })?;
    Ok(statistics.tp_drops)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
