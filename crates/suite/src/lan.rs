//! `btu lan`, after Press (1988): a task of one station at a file server, slowed down by background
//! stations there. Pure: time is an argument.

mod account;
mod background;
mod cell;
pub mod dbf;
mod forecast;
mod machine;
mod normal;
mod pattern;
mod pauses;
mod plan;
mod program;
mod reconcile;
mod simulated;
mod spread;
mod stations;
mod task;
mod trace;
mod transactions;
mod users;
mod verdict;

pub use account::{FilesServed, SETUP_CLIENT, ServedClient, Share, StationDone, TaskDone};
pub use background::{Background, Schedule};
pub use cell::{LanCell, Level};
pub use forecast::Demands;
pub use machine::LevelMachine;
pub use normal::{NormalPauses, mean_pause_seconds, polar};
pub use pattern::Pattern;
pub use pauses::{PauseStream, Pauses};
pub use plan::{DEADLINE, LARGEST_RECORD, LanPlan, MOST_FILES, MOST_STATIONS};
pub use program::{StationProgram, StationWork};
pub use spread::Spread;
pub use stations::{LevelStations, StationRow};
pub use task::{BLOCK, Doing, FileSizes, LARGEST_SCALE, Task};
pub use trace::{
    OperationTrace, Replayed, TraceError, TracedFile, TracedOperation, fuzz_operation_trace,
};
pub use transactions::Transactions;
pub use users::{Users, UsersFit};
pub use verdict::{LanRow, LanVerdict, SeenKnee};
