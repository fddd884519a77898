//! The system's Message Passing Interface (MPI), as far as two processes need it that move messages
//! between them.
//!
//! No user needs `mpirun`. A library asks the process that started it for the addresses of the
//! other processes, in a small protocol of lines (PMI, `manager`). Here the process answers its own
//! library, and the two processes, which are connected already, tell each other what their
//! libraries say. So two processes anywhere become one MPI world. MPICH and its relatives can do
//! that; Open MPI asks in another way (`PMIx`), and is refused by name.
//!
//! A library waits by looking again and again. So does a `Link`, which asks its owner now and then
//! whether the peer is still there: MPI itself has no word for a peer that was killed, and would
//! wait for it for ever.
//!
//! Without the feature `system`, which wants the library's compiler wrapper, `mpicc`, only the
//! protocol is there.

mod manager;

#[cfg(feature = "system")]
mod link;
#[cfg(feature = "system")]
mod sys;
#[cfg(feature = "system")]
mod world;

pub use manager::{Manager, ManagerError};

#[cfg(feature = "system")]
pub use link::{Link, MpiError};
#[cfg(feature = "system")]
pub use world::{Party, Place, Threads, begin, check, has_begun, version};
