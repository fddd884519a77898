//! `btu lan`, after Press (1988): a task of one station at a file server, slowed down by background
//! stations there. Pure: time is an argument.

mod account;
mod background;
pub mod dbf;
mod normal;
mod pattern;
mod pauses;
mod program;
mod task;
mod trace;
mod transactions;

pub use account::{FilesServed, SETUP_CLIENT, ServedClient, Share, StationDone, TaskDone};
pub use background::{Background, Schedule};
pub use normal::{NormalPauses, mean_pause_seconds, polar};
pub use pattern::Pattern;
pub use pauses::{PauseStream, Pauses};
pub use program::{StationProgram, StationWork};
pub use task::{BLOCK, Doing, FileSizes, LARGEST_SCALE, Task};
pub use trace::{
    OperationTrace, Replayed, TraceError, TracedFile, TracedOperation, fuzz_operation_trace,
};
pub use transactions::Transactions;
