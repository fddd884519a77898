//! `btu lan`, after Press (1988): a task of one station at a file server, slowed down by what background stations do there. Pure:
//! time comes in as an argument.

mod account;
mod background;
mod cell;
mod forecast;
mod normal;
mod plan;
mod program;
mod reconcile;
mod spread;
mod stations;
mod task;
mod transactions;
mod verdict;

pub use account::{FilesServed, SETUP_CLIENT, ServedClient, StationDone, TaskDone};
pub use background::{Background, Schedule};
pub use cell::{LanCell, Level};
pub use forecast::Demands;
pub use normal::{NormalPauses, mean_pause_seconds, polar};
pub use plan::{DEADLINE, LARGEST_RECORD, LanPlan, MOST_STATIONS};
pub use program::StationProgram;
pub use spread::Spread;
pub use stations::{LevelStations, StationRow};
pub use task::{BLOCK, Doing, KEY, RECORD, Task};
pub use transactions::Transactions;
pub use verdict::{LanRow, LanVerdict, SeenKnee, Users};
