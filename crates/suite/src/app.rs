//! The application and the display of Lantz, Nowicki and Theimer (1985): the items, their
//! protocols, and the picture. Pure, and in whole numbers: equal items give equal bits on every
//! machine, by any protocol.
//!
//! An application sends [`Request`]s of 20 octets. A [`Display`] keeps their items in a
//! [`DisplayFile`] of symbols that may call each other, and draws them into a [`Picture`]; its
//! digest shows whether two protocols left equal pictures.

mod accounts;
mod acknowledgements;
mod backwards;
mod broadcasts;
mod cell;
mod display;
mod display_file;
mod drawing;
mod effects;
mod expected;
mod factors;
mod font;
mod inverter;
mod item;
mod missed;
mod mix;
mod own;
mod paper;
mod picture;
mod plan;
mod protocol;
mod request;
mod speed;
mod verdict;
mod view;
mod workload;
mod x11perf;

pub use backwards::{Bandwidth, MostTrips, Questions, Trips};
pub use broadcasts::{Broadcasts, BroadcastsError, Discarded};
pub use cell::AppCell;
pub use display::Display;
pub use display_file::{DisplayError, DisplayFile};
pub use drawing::{Displayed, Drawing, Drawn, Echoes};
pub use effects::{FactorRow, FactorShares, PairRow};
pub use expected::{TimeShares, Ways, Work};
pub use factors::{Factor, FactorError, Factors, FactorsError, Line, Lines};
pub use item::{Item, Point, Stipple, Symbol};
pub use mix::{Mix, MixError};
pub use paper::{PaperCell, PaperLine, PaperTable};
pub use picture::{HEIGHT, PICTURE_BYTES, Picture, WIDTH};
pub use plan::{AppPlan, DEADLINE};
pub use protocol::{BITMAP_PIECE, Carrier, Protocol, ProtocolError, REPLY_BYTES, TOGETHER};
pub use request::{REQUEST_BYTES, Request, RequestError};
pub use speed::{Niceness, Slowing, Speed, SpeedError, Speeds};
pub use verdict::{AppRow, AppVerdict, Memory, PictureDigest, Pollution, ProtocolShares};
pub use view::{VIEW_HEIGHT, VIEW_WIDTH, View};
pub use workload::Workload;
pub(crate) use workload::vector_pixels;
pub use x11perf::{NextToX11perf, x11perf_test};
