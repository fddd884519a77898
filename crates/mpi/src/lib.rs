//! The system's Message Passing Interface (MPI), as far as two processes need it that move messages
//! between them.
//!
//! No user needs `mpirun`. A library asks the process that started it for the addresses of the
//! other processes, in a small protocol of lines (PMI, `manager`). Here the process answers its own
//! library, and the two processes, which are connected already, exchange the data of their
//! libraries. So two processes anywhere become one MPI world. MPICH and its relatives can do that;
//! Open MPI uses another protocol (`PMIx`), and btu refuses it by name.
//!
//! A library waits by polling. So does a `Link`, which asks its owner from time to time whether the
//! peer is still there: MPI itself does not detect a killed peer, and would wait for it for ever.
//!
//! Without the feature `system`, which wants the library's compiler wrapper, `mpicc`, only the
//! protocol is compiled.

mod manager;

#[cfg(feature = "system")]
mod library;
#[cfg(feature = "system")]
mod link;
#[cfg(feature = "system")]
mod sys;
#[cfg(feature = "system")]
mod world;

pub use manager::{Manager, ManagerError};

#[cfg(feature = "system")]
pub use library::{MpiError, version};
#[cfg(feature = "system")]
pub use link::Link;
#[cfg(feature = "system")]
pub use world::{Party, ProcessPlacement, Threads, begin, check, has_begun};
