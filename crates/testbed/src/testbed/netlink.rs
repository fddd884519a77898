//! Interfaces, addresses and neighbours of the calling thread's network namespace, by netlink, with
//! a blocking interface.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;

use rtnetlink::packet_route::link::{InfoData, InfoVeth};
use rtnetlink::packet_route::neighbour::{NeighbourFlags, NeighbourState};
use rtnetlink::{Handle, LinkBridge, LinkMessageBuilder, LinkUnspec, LinkVeth};

use super::layout::Mac;
use super::namespace::Namespace;

/// One end of a new pair, and its namespace.
pub(super) struct NewEnd<'a> {
    pub(super) namespace: &'a Namespace,
    pub(super) name: &'a str,
    pub(super) mac: Mac,
    pub(super) mtu: Option<u32>,
}

/// A netlink connection for the namespace of the thread that opened it.
pub(super) struct Netlink {
    runtime: tokio::runtime::Runtime,
    handle: Handle,
}

impl Netlink {
    /// Opens the connection. The runtime is single-threaded: all of it stays on this thread, and so
    /// in this namespace.
    pub(super) fn here() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let inside = runtime.enter();
        let (connection, handle, _) = rtnetlink::new_connection()?;
        drop(inside);
        runtime.spawn(connection);
        Ok(Self { runtime, handle })
    }

    /// Makes a bridge that forwards at once (no spanning tree) and asks no station about multicast,
    /// and sets it up.
    pub(super) fn add_bridge(&self, name: &str) -> io::Result<()> {
        let message = LinkBridge::new(name).mcast_snooping(false).build();
        self.ask(self.handle.link().add(message).execute())
    }

    /// Makes a veth pair, each end in its namespace.
    pub(super) fn add_cable(&self, one: &NewEnd<'_>, other: &NewEnd<'_>) -> io::Result<()> {
        let peer =
            describe(LinkMessageBuilder::<LinkUnspec>::default().name(other.name), other).build();
        let pair = describe(LinkVeth::new(one.name, other.name), one);
        let message = pair.set_info_data(InfoData::Veth(InfoVeth::Peer(peer))).build();
        self.ask(self.handle.link().add(message).execute())
    }

    /// Sets an interface up.
    pub(super) fn up(&self, index: u32) -> io::Result<()> {
        let message = LinkUnspec::new_with_index(index).up().build();
        self.ask(self.handle.link().set(message).execute())
    }

    /// Makes an interface a port of a bridge, with a fixed entry that `beyond` is behind it.
    ///
    /// The entry is fixed because a learned one expires (after 300 s) if a station receives on one
    /// interface and answers through another, and the bridge would then send everything for it to
    /// all stations.
    pub(super) fn plug(&self, port: u32, bridge: u32, beyond: Mac) -> io::Result<()> {
        let message = LinkUnspec::new_with_index(port).controller(bridge).build();
        self.ask(self.handle.link().set(message).execute())?;
        // To a bridge, "no ARP" is a fixed entry, and "permanent" an address of the bridge itself.
        let entry =
            self.handle.neighbours().add_bridge(port, &beyond.0).state(NeighbourState::Noarp);
        self.ask(entry.flags(NeighbourFlags::Controller).execute())
    }

    /// Gives an interface an address.
    pub(super) fn add_address(&self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        self.ask(self.handle.address().add(index, address, prefix).execute())
    }

    /// Adds a permanent neighbour entry for `address`.
    pub(super) fn add_neighbour(&self, index: u32, address: IpAddr, mac: Mac) -> io::Result<()> {
        self.ask(self.handle.neighbours().add(index, address).link_layer_address(&mac.0).execute())
    }

    fn ask(&self, request: impl Future<Output = Result<(), rtnetlink::Error>>) -> io::Result<()> {
        self.runtime.block_on(request).map_err(to_io)
    }
}

/// The number of an interface in the calling thread's namespace.
pub(super) fn index_of(name: &str) -> io::Result<u32> {
    Ok(nix::net::if_::if_nametoindex(name)?)
}

fn describe<T>(message: LinkMessageBuilder<T>, end: &NewEnd<'_>) -> LinkMessageBuilder<T> {
    let message = message.address(end.mac.0.to_vec()).setns_by_fd(end.namespace.file().as_raw_fd());
    match end.mtu {
        Some(mtu) => message.mtu(mtu),
        None => message,
    }
}

fn to_io(error: rtnetlink::Error) -> io::Error {
    match error {
        rtnetlink::Error::NetlinkError(message) => message.to_io(),
        other => io::Error::other(other.to_string()),
    }
}
