//! The application and the display of Lantz, Nowicki and Theimer (1985): the items, their
//! protocols, and the picture. Pure, and in whole numbers: equal items give equal bits on every
//! machine, by any protocol.
//!
//! An application sends [`DisplayRequest`]s of 20 octets. A [`Display`] keeps their items in a
//! [`DisplayFile`] of symbols that may call each other, and draws them into a [`Picture`]; its
//! digest shows whether two protocols left equal pictures.

mod broadcasts;
mod display;
mod display_file;
mod drawing;
mod font;
mod inverter;
mod item;
mod mix;
mod picture;
mod protocol;
mod request;
mod speed;
mod view;
mod workload;

pub use broadcasts::{Broadcasts, BroadcastsError, Discarded};
pub use display::Display;
pub use display_file::{DisplayError, DisplayFile};
pub use drawing::{Displayed, Drawing, Drawn, Echoes};
pub use item::{Item, Point, Stipple, Symbol};
pub use mix::{Mix, MixError};
pub use picture::{HEIGHT, PICTURE_BYTES, Picture, WIDTH};
pub use protocol::{
    BITMAP_PIECE, Carrier, Protocol, ProtocolError, REPLY_BYTES, TOGETHER, x11perf_test,
};
pub use request::{DisplayRequest, REQUEST_BYTES, RequestError};
pub use speed::{Niceness, Slowing, Speed, SpeedError, Speeds};
pub use view::{VIEW_HEIGHT, VIEW_WIDTH, View};
pub use workload::Workload;
