//! Creates the parts of a layout: namespaces, cables, addresses, settings.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use btu_contract::congestion::CongestionControl;
use btu_network::StationId;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

use super::design::Design;
use super::error::{Cause, TestbedError};
use super::layout::{Cable, CableEnd, LAN, Layout, Mac, TestbedNamespace};
use super::namespace::Namespace;
use super::sysctl;
use crate::netlink::{Links, NewEnd, index_of};
use crate::offload::set_offloads;
use crate::processors;

/// A veth pair has its carrier some milliseconds after both ends are up.
const CARRIER_TIMEOUT: Duration = Duration::from_secs(5);

/// The namespaces of a testbed.
pub(super) struct Namespaces {
    wire: Namespace,
    /// In the layout's order.
    stations: Vec<Namespace>,
}

impl Namespaces {
    /// New, empty namespaces for all stations, and the calling thread's own for the wire.
    pub(super) fn open(layout: &Layout) -> Result<Self, TestbedError> {
        let refused =
            |error: io::Error| super::refusal::refusal("make a network namespace", &error);
        let wire = Namespace::here().map_err(refused)?;
        let stations = layout.stations.iter().map(|_| Namespace::new()).collect::<io::Result<_>>();
        Ok(Self { wire, stations: stations.map_err(refused)? })
    }

    /// The namespace of `place`.
    pub(super) fn at(&self, place: TestbedNamespace) -> &Namespace {
        match place {
            TestbedNamespace::Wire => &self.wire,
            TestbedNamespace::Station(number) => &self.stations[number],
        }
    }

    /// Runs `work` inside `place`; errors name the place.
    fn inside<T: Send>(
        &self,
        place: &Named,
        work: impl FnOnce() -> Result<T, TestbedError> + Send,
    ) -> Result<T, TestbedError> {
        self.at(place.place)
            .enter(work)
            .map_err(|error| links(format!("enter {}", place.name), &error))?
    }

    /// Creates all parts of the layout, and waits until every cable has its carrier.
    pub(super) fn configure(&self, layout: &Layout, design: &Design) -> Result<(), TestbedError> {
        let places: Vec<Named> =
            layout.places().map(|place| Named { place, name: layout.name(place) }).collect();
        let everywhere = |work: &(dyn Fn(&Named) -> Result<(), TestbedError> + Sync)| {
            places.iter().try_for_each(|place| self.inside(place, || work(place)))
        };
        everywhere(&wait_ready)?;
        if layout.ipv6 {
            everywhere(&allow_ipv6)?;
        }
        if design.protocol_work.is_receiver() {
            everywhere(&|place| receive_on_own(design, place))?;
        }
        if let Some(algorithm) = &design.congestion_control {
            everywhere(&|place| choose(algorithm, place))?;
        }
        self.inside(&places[layout.stations.len()], || self.lay_cables(layout))?;
        everywhere(&|place| connect(layout, place))?;
        everywhere(&|place| await_carrier(layout, place))
    }

    fn lay_cables(&self, layout: &Layout) -> Result<(), TestbedError> {
        let mut netlink = begin_talk()?;
        if layout.lan {
            netlink
                .add_bridge(LAN)
                .map_err(|error| links(format!("make the bridge {LAN}"), &error))?;
        }
        layout.cables.iter().try_for_each(|Cable(one, other)| {
            let made = netlink.add_cable(&self.new_end(one), &self.new_end(other));
            made.map_err(|error| {
                links(format!("make the veth pair {} to {}", one.name, other.name), &error)
            })
        })
    }

    fn new_end<'a>(&'a self, end: &'a CableEnd) -> NewEnd<'a> {
        let namespace = Some(self.at(end.place).file().as_fd());
        NewEnd { namespace, name: &end.name, mac: Some(end.mac.0), mtu: end.mtu }
    }
}

/// A place and its name in errors.
struct Named {
    place: TestbedNamespace,
    name: String,
}

/// Tests whether this system has the parts of a testbed: a bridge and a veth pair, in the calling
/// thread's namespace.
pub(super) fn rehearse() -> Result<(), TestbedError> {
    let mut netlink = begin_talk()?;
    netlink.add_bridge(LAN).map_err(|error| links("make a bridge", &error))?;
    let end = |name| NewEnd { namespace: None, name, mac: None, mtu: None };
    let made = netlink.add_cable(&end("try0"), &end("try1"));
    made.map_err(|error| links("make a veth pair", &error))?;
    wait_ready(&Named {
        place: TestbedNamespace::Wire,
        name: "the link emulator's namespace".to_owned(),
    })
}

fn begin_talk() -> Result<Links, TestbedError> {
    Links::here().map_err(|error| links("talk to the kernel by netlink", &error))
}

fn wait_ready(place: &Named) -> Result<(), TestbedError> {
    sysctl::settle_namespace()
        .map_err(|error| links(format!("set the kernel's settings of {}", place.name), &error))
}

fn allow_ipv6(place: &Named) -> Result<(), TestbedError> {
    if place.place == TestbedNamespace::Wire {
        return Ok(());
    }
    let remedy = "use a kernel with IPv6 (boot without ipv6.disable=1), or measure over IPv4";
    let operation = format!("let {} speak IPv6", place.name);
    sysctl::allow_ipv6().map_err(|error| TestbedError::new(Cause::Links, operation, error, remedy))
}

/// Interfaces are made with the mask of the namespace that they are made in, so this comes before
/// them. The loopback interface is there already: what a station sends to itself stays where it is.
fn receive_on_own(design: &Design, place: &Named) -> Result<(), TestbedError> {
    let is_here =
        |station: &StationId| place.place == TestbedNamespace::Station(station.0 as usize);
    let own = design.processors.iter().find(|(station, _)| is_here(station));
    let processors = own.map_or_else(processors::allowed, |(_, own)| Ok(own.clone()));
    processors.and_then(|processors| sysctl::receive_on(&processors)).map_err(|error| {
        let operation = format!("let processors of {} do its protocol work", place.name);
        let remedy = "use a kernel with receive packet steering in every namespace (Linux 6.3), or measure with --protocol-work sender";
        TestbedError::new(Cause::Links, operation, error, remedy)
    })
}

/// Whether each of these sets of processors can do the protocol work of a station. Tried in the
/// calling thread's namespace.
pub(super) fn can_receive_on(receivers: &[Vec<u32>]) -> bool {
    !receivers.is_empty()
        && receivers.iter().all(|processors| sysctl::receive_on(processors).is_ok())
}

fn choose(algorithm: &CongestionControl, place: &Named) -> Result<(), TestbedError> {
    sysctl::choose_congestion_control(algorithm).map_err(|error| {
        let operation = format!("let the TCP of {} use {algorithm}", place.name);
        // ENOENT if there is none of that name, EPERM if only the host's superuser may use it.
        let remedy = "choose one of `sysctl net.ipv4.tcp_allowed_congestion_control`, or have root add to those";
        TestbedError::new(Cause::Links, operation, error, remedy)
    })
}

/// Sets all interfaces up inside `place`.
fn connect(layout: &Layout, &Named { place, ref name }: &Named) -> Result<(), TestbedError> {
    let mut netlink = begin_talk()?;
    let failed = |error: io::Error| links(format!("set up the interfaces of {name}"), &error);
    netlink.up(index_of("lo").map_err(failed)?).map_err(failed)?;
    for end in layout.ends_in(place) {
        let what = format!("set up {} of {name}", end.name);
        connect_end(&mut netlink, layout, end).map_err(|error| links(what, &error))?;
    }
    introduce(&mut netlink, layout, place).map_err(failed)
}

fn connect_end(netlink: &mut Links, layout: &Layout, end: &CableEnd) -> io::Result<()> {
    let index = index_of(&end.name)?;
    if !end.offloads {
        set_offloads(&end.name, false)?;
    }
    layout
        .addresses(end)
        .try_for_each(|(address, prefix)| netlink.add_address(index, address, prefix))?;
    netlink.up(index)?;
    match end.lan_port_of {
        Some(beyond) => netlink.plug(index, index_of(LAN)?, beyond.0),
        None => Ok(()),
    }
}

/// Gives a station the MAC address of each other station's address, so that no ARP frame is part of
/// a measurement: if such a request is lost on a lossy line, its sender waits a second for the
/// answer.
fn introduce(netlink: &mut Links, layout: &Layout, place: TestbedNamespace) -> io::Result<()> {
    if place == TestbedNamespace::Wire {
        return Ok(());
    }
    let door = index_of("eth0")?;
    let mut neighbours = layout.neighbours_of(place);
    neighbours
        .try_for_each(|(address, mac): (IpAddr, Mac)| netlink.add_neighbour(door, address, mac.0))
}

fn await_carrier(layout: &Layout, &Named { place, ref name }: &Named) -> Result<(), TestbedError> {
    let deadline = Instant::now() + CARRIER_TIMEOUT;
    let failed = |error: io::Error| links(format!("see the interfaces of {name}"), &error);
    loop {
        let running = running_interfaces().map_err(failed)?;
        let Some(dark) = layout.ends_in(place).find(|end| !running.contains(&end.name)) else {
            return Ok(());
        };
        if Instant::now() > deadline {
            return Err(links(
                format!("wait for the carrier of {} of {name}", dark.name),
                "none came",
            ));
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn running_interfaces() -> io::Result<Vec<String>> {
    let ready = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    let entries = getifaddrs()?.filter(|entry| entry.flags.contains(ready));
    Ok(entries.map(|entry| entry.interface_name).collect())
}

fn links(operation: impl Into<String>, reason: impl Into<Reason>) -> TestbedError {
    let Reason { text, remedy } = reason.into();
    TestbedError::new(Cause::Links, operation, text, remedy)
}

/// The system's error, with advice.
struct Reason {
    text: String,
    remedy: &'static str,
}

impl From<&io::Error> for Reason {
    fn from(error: &io::Error) -> Self {
        let remedy = match (error.raw_os_error(), error.kind()) {
            (Some(libc::EOPNOTSUPP | libc::ENODEV), _) => {
                "load the kernel's modules `veth` and `bridge` (as root: modprobe veth bridge), or install them"
            }
            // An error with words of its own has only a kind.
            (_, io::ErrorKind::ReadOnlyFilesystem) => {
                "/proc/sys is read-only here: start the container with --privileged (Docker: or with --security-opt \
                 systempaths=unconfined), the service without ProtectKernelTunables"
            }
            (_, io::ErrorKind::PermissionDenied) => {
                "run as root, or in a container that may change its own network (--privileged)"
            }
            (Some(libc::ENOMEM | libc::ENOBUFS), _) => "free some memory",
            _ => "report it as a defect, with the kernel's version",
        };
        Self { text: error.to_string(), remedy }
    }
}

impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            remedy: "run it again; if it happens again, report it as a defect",
        }
    }
}
