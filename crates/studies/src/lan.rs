//! `btu lan`, after Press (1988): a task of one station at a file server, slowed down by background stations
//! there.

mod cell;
mod forecast;
mod machine;
mod plan;
mod reconcile;
mod simulated;
mod spread;
mod stations;
mod users;
mod verdict;

pub use cell::{LanCell, Level};
pub use forecast::Demands;
pub use machine::LevelMachine;
pub use plan::{DEADLINE, LARGEST_RECORD, LanPlan, MOST_FILES, MOST_STATIONS};
pub use spread::Spread;
pub use stations::{LevelStations, StationRow};
pub use users::{Users, UsersFit};
pub use verdict::{LanRow, LanVerdict, SeenKnee};

use btu_contract::lan::{
    FileSizes, FilesServed, SETUP_CLIENT, Share, StationDone, StationWork, Task, TaskDone,
};
