//! The testbed: any network that a user has described, raised in anonymous namespaces that end with
//! its processes ([`RaisedNetwork`]). Users run any commands in its stations ([`enter`]), and
//! stations can have agents.
//!
//! ```text
//! controller            keeps its own namespaces; holds the keep-alive pipe, the writing end of a pipe
//!   outer                `btu internal testbed`: makes the user, mount, process and network namespaces
//!     init               `btu internal init`: process 1 in them; its network namespace is the wire's
//!       wire             `btu internal wire --socket S`, its plan on standard input
//!       agent (any)      `btu internal agent --station NAME --socket S`, in the station's network namespace
//!       command (any)    started from outside, by a process that got the namespaces from process 1
//! ```
//!
//! Nothing can be left behind, by construction: no namespace has a name, no interface is in the
//! host's namespace, nothing is mounted outside a private mount namespace. When process 1 ends, for
//! whatever reason, the kernel ends every process of the process namespace; with the last of them
//! the kernel removes the network namespaces and their interfaces. Process 1 ends when the outer
//! process does, and the outer process when the controller does: each link is a pipe that ends
//! *and* a parent-death signal, so that `kill -9` of any of these processes, even of the parent of
//! a stopped process, brings the whole testbed down.
//!
//! A killed controller leaves only its runtime directory with dead sockets: the next start removes
//! it.
//!
//! Agents see the host's /sys; it shows the host's interfaces, not theirs. Commands see their
//! station's.

mod design;
mod enter;
mod entry_server;
mod error;
mod foreground;
mod handle;
mod holder;
mod hosts;
mod init;
mod layout;
mod messages;
mod namespace;
mod namespaces;
mod outer;
mod private;
mod probe;
mod probe_timeout;
mod processes;
mod program;
mod raised;
mod refusal;
mod registry;
mod runtime;
#[cfg(test)]
mod samples;
mod sys;
mod sysctl;
mod wiring;

use std::path::Path;
use std::time::Duration;

pub use design::{MOST_STATIONS, check, longest_frame};
pub use enter::{enter, inside};
pub use entry_server::Process;
pub use error::{Cause, TestbedError};
pub use foreground::{Signals, start_tied};
pub use handle::KeepAlive;
pub use holder::keep;
pub use init::init;
#[doc(hidden)]
pub use messages::fuzz_messages;
pub use messages::{Ending, Grants, Privilege, ProcessExit, TestbedProcess};
pub use outer::outer;
pub use private::private_directory;
pub use program::{programs, supervisor};
pub use raised::{
    NetworkRequest, RaisedNetwork, RaisingNetwork, Record, StationPlace, StationRecord,
};
pub use registry::{Raised, Registry, account};
pub use runtime::{OtherOwner, RuntimeDirectory};
pub use wiring::wire;

use handle::TestbedHandle;
use messages::Order;

/// A probe takes well under a second.
const PREFLIGHT_TIMEOUT: Duration = Duration::from_secs(15);

/// Tests in a short-lived process whether this system allows a testbed, by which right, and whether
/// each of `receivers`, a set of processors, can do the protocol work of a station. `executable` as
/// in [`NetworkRequest`].
pub fn preflight(executable: &Path, receivers: &[Vec<u32>]) -> Result<Grants, TestbedError> {
    let handle = TestbedHandle::start(executable, &Order::Try { receivers: receivers.to_vec() })?;
    handle.wait_ready(PREFLIGHT_TIMEOUT)
}
