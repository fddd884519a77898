//! The house: any network that somebody drew, raised in anonymous namespaces and gone with its processes
//! ([`NetworkHouse`]). Its stations are entered ([`enter`]) with commands of all sorts, and can have agents.
//!
//! ```text
//! coordinator            keeps its own namespaces; holds the lifeline, the writing end of a pipe
//!   outer                `btu internal testbed`: makes the user, mount, process and network namespaces
//!     init               `btu internal init`: process 1 in them; its network namespace is the wire's
//!       wire             `btu internal wire --socket S`, its plan on standard input
//!       agent (any)      `btu internal agent --station NAME --socket S`, in the station's network namespace
//!       command (any)    started from outside, by whoever got the keys at process 1's door
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
//! Agents see the host's /sys; it shows the host's interfaces, not theirs. Commands see their station's.

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
mod private;
mod probe;
mod process;
mod program;
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

use std::path::Path;
use std::time::Duration;

pub use attend::Signals;
pub use design::{MOST_STATIONS, check, longest_frame};
pub use door::Process;
pub use drawn::{NetworkHouse, NetworkRequest, Record, Rising, StationPlace, StationRecord};
pub use enter::enter;
pub use error::{Cause, TestbedError};
pub use guest::inside;
pub use init::init;
pub use keep::keep;
pub use keeper::Lifeline;
pub use outer::outer;
pub use private::private_directory;
pub use program::{programs, supervisor};
pub use registry::{Raised, Registry, account, open_books};
pub use runtime::RuntimeDirectory;
pub use wiring::wire;
#[doc(hidden)]
pub use words::fuzz_words;
pub use words::{Ending, HouseEvent, Privilege, Resident};

use keeper::Keeper;
use words::Order;

/// A look takes well under a second.
const PREFLIGHT_PATIENCE: Duration = Duration::from_secs(15);

/// Sees in a short-lived process whether this system allows a house, and by which right. `executable` as in
/// [`NetworkRequest`].
pub fn preflight(executable: &Path) -> Result<Privilege, TestbedError> {
    let keeper = Keeper::start(executable, &Order::Try)?;
    keeper.settle(PREFLIGHT_PATIENCE)
}
