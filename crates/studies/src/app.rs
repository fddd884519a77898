//! `btu app`, after Lantz, Nowicki and Theimer (1985): an application draws on a display over networks of any
//! speed, next to its closed forms.

mod accounts;
mod acknowledgements;
mod backwards;
mod cell;
mod effects;
mod expected;
mod factors;
mod missed;
mod own;
mod paper;
mod plan;
mod verdict;
mod x11perf;

pub use backwards::{Bandwidth, MostTrips, Questions, Trips};
pub use cell::AppCell;
pub use effects::{FactorRow, FactorShares, PairRow};
pub use expected::{TimeShares, Ways, Work};
pub use factors::{DisplayLine, DisplayLines, Factor, FactorError, Factors, FactorsError};
pub use paper::{PaperCell, PaperLine, PaperTable};
pub use plan::{AppPlan, DEADLINE};
pub use verdict::{AppRow, AppVerdict, Memory, PictureDigest, Pollution, ProtocolShares};
pub use x11perf::NextToX11perf;

use btu_contract::app::{
    BITMAP_PIECE, Broadcasts, Carrier, Discarded, Displayed, Drawing, Drawn, Mix, Niceness,
    PICTURE_BYTES, Protocol, REPLY_BYTES, REQUEST_BYTES, Slowing, Speed, Speeds, TOGETHER,
    Workload, x11perf_test,
};
