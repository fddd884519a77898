//! The papers' own results next to those recomputed from their rows.

mod btu95;
mod citi89;
mod lantz85;
mod list;
mod netpipe96;
mod parts;
mod press88;

pub use btu95::btu95_text;
pub use citi89::citi89_text;
pub use lantz85::lantz85_text;
pub use list::studies_text;
pub use netpipe96::netpipe96_text;
pub use press88::press88_text;
