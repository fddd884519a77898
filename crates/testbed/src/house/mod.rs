//! The house: a local testbed, raised in anonymous namespaces and gone with its processes. There are two kinds: the three
//! stations of `btu rate` with their agents ([`Testbed`]), and any network that somebody drew ([`NetworkHouse`]), whose
//! stations are entered ([`enter`]) with commands of all sorts.
//!
//! ```text
//! coordinator            keeps its own namespaces; holds the lifeline, the writing end of a pipe
//!   outer                `btu internal testbed`: makes the user, mount, process and network namespaces
//!     init               `btu internal init`: process 1 in them; its network namespace is the wire's
//!       wire             `btu internal wire --socket S`, its plan on standard input
//!       agent (each)     `btu internal agent --station NAME --socket S`, in the station's network namespace
//!       command (any)    of a drawn network only: started from outside, by whoever got the keys at process 1's door
//! ```
//!
//! Nothing can be left behind, by construction: no namespace has a name, no interface is in the host's namespace,
//! nothing is mounted outside a private mount namespace. When process 1 ends, for whatever reason, the kernel ends every
//! process of the process namespace; with the last of them the network namespaces go, and with those the interfaces.
//! Process 1 ends when the outer process does, and that when the coordinator does: each link is a pipe that ends *and* a
//! parent-death signal, so that `kill -9` of anybody, even of a stopped process's parent, brings the whole house down.
//!
//! What a coordinator that was killed does leave is its runtime directory with dead sockets: the next start sweeps it.
//!
//! Agents see the host's /sys; it shows the host's interfaces, not theirs. Commands in a drawn network see their station's.

mod attend;
mod design;
mod door;
mod drawn;
mod enter;
mod error;
mod furnish;
mod guest;
mod hosts;
mod init;
mod journey;
mod keep;
mod keeper;
mod layout;
mod namespace;
mod netlink;
mod outer;
mod probe;
mod process;
mod refusal;
mod registry;
mod residents;
mod runtime;
#[cfg(test)]
mod samples;
mod sys;
mod sysctl;
mod wiring;
mod words;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use btu_suite::network::{Network, Station};

pub use attend::Signals;
pub use design::{MOST_STATIONS, check, longest_frame};
pub use door::Process;
pub use drawn::{NetworkHouse, NetworkRequest, Record, Rising, StationRecord};
pub use enter::enter;
pub use error::{Cause, TestbedError};
pub use guest::inside;
pub use init::init;
pub use keep::keep;
pub use keeper::Lifeline;
pub use outer::outer;
pub use registry::{Raised, Registry, account, open_books};
pub use runtime::{RuntimeDirectory, sweep};
pub use wiring::wire;
#[doc(hidden)]
pub use words::fuzz_words;
pub use words::{Ending, HouseEvent, Privilege, Resident};

use design::Design;
use keeper::Keeper;
use words::{Blueprint, Order};

/// From the start until packets pass, or a clear error.
const RAISING_PATIENCE: Duration = Duration::from_secs(15);

/// The house that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct TestbedRequest {
    /// The network between the stations.
    pub network: Network,
    /// Where sockets go: a short absolute path. It is made, private to this user, and removed when the house is lowered;
    /// where it exists it must be empty, or left behind by a run that died.
    pub runtime_directory: PathBuf,
    /// Seed of everything random on the wire.
    pub seed: u64,
    /// The program that answers to `internal testbed`, `internal init`, `internal agent` and `internal wire`.
    pub executable: PathBuf,
}

/// A station that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StationPlace {
    /// Its role.
    pub station: Station,
    /// The address that leads to it untouched.
    pub plain: IpAddr,
    /// The address that leads to it through what its black box does to packets; where the network has no such way apart
    /// (an emulated path impairs every packet to the box) the same as `plain`.
    pub impaired: IpAddr,
    /// Where its agent listens.
    pub agent_socket: PathBuf,
}

/// A house that stands. Dropping it lowers it.
#[derive(Debug)]
pub struct Testbed {
    // Fields are dropped in this order: first the processes, then the directory of their sockets.
    keeper: Keeper,
    _runtime: RuntimeDirectory,
    privilege: Privilege,
    stations: Vec<StationPlace>,
    wire_socket: PathBuf,
}

impl Testbed {
    /// Raises a house: returns when every agent and the wire accept connections and a packet was seen to pass both ways
    /// between `test` and each black box, by every address; or says within 15 s why not.
    pub fn raise(request: TestbedRequest) -> Result<Self, TestbedError> {
        let TestbedRequest { network, runtime_directory, seed, executable } = request;
        // What earlier runs left beside it; failing to tidy up is no reason to fail.
        drop(runtime_directory.parent().map(sweep));
        let runtime = RuntimeDirectory::claim(&runtime_directory)?;
        let stations = places(&network, &runtime_directory);
        let wire_socket = RuntimeDirectory::socket(&runtime_directory, "wire");
        let design = Design::Rate(network);
        let keeper =
            Keeper::start(&executable, &Order::Raise(Box::new(Blueprint { design, runtime_directory, seed })))?;
        let privilege = keeper.settle(RAISING_PATIENCE)?;
        Ok(Self { keeper, _runtime: runtime, privilege, stations, wire_socket })
    }

    /// The stations, in the order of [`Station::ALL`].
    pub fn stations(&self) -> &[StationPlace] {
        &self.stations
    }

    /// Where the wire listens.
    pub fn wire_socket(&self) -> &Path {
        &self.wire_socket
    }

    /// By which right the house was raised.
    pub fn privilege(&self) -> Privilege {
        self.privilege
    }

    /// Tells of processes that ended. None does of itself before the house is lowered, so every event is bad news; after
    /// one of [`Resident::Init`] or [`Resident::Outer`] nothing of the house is left.
    pub fn events(&self) -> &Receiver<HouseEvent> {
        self.keeper.events()
    }

    /// What keeps the house up, for a thread that must let it go at once.
    pub fn lifeline(&self) -> Lifeline {
        self.keeper.lifeline().clone()
    }

    /// Lowers the house and waits until its processes are gone: asks them first, kills what is left after 2 s.
    pub fn lower(self) -> Result<(), TestbedError> {
        self.keeper.lower()
    }
}

/// Sees in a short-lived process whether this system allows a house, and by which right. `executable` as in
/// [`TestbedRequest`].
pub fn preflight(executable: &Path) -> Result<Privilege, TestbedError> {
    let keeper = Keeper::start(executable, &Order::Try)?;
    keeper.settle(RAISING_PATIENCE)
}

fn places(network: &Network, runtime: &Path) -> Vec<StationPlace> {
    let place = |station: Station| StationPlace {
        station,
        plain: layout::plain(station).into(),
        impaired: layout::impaired(network, station).into(),
        agent_socket: RuntimeDirectory::socket(runtime, station.name()),
    };
    Station::ALL.into_iter().map(place).collect()
}
