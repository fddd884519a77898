//! Time, sizes, rates, lengths and probabilities as types, and how users write them.
//!
//! Everything is an unsigned integer in one base unit (nanoseconds, bytes, bits per second,
//! millimetres), so arithmetic is exact and the same on every machine. Conversions to floating
//! point are named after their unit.
//!
//! [`shell_word`] writes a word of a command line that a user will copy: every crate that prints
//! commands needs it. [`plain`] makes text of others safe to show.
//!
//! [`text_of_octets`] writes a name of a file or an argument of a program, whatever its octets.
//!
//! [`written_rate`] and [`three_digits`] write a measured number for people.
//!
//! [`named`] makes an enumeration from values and their names.
//!
//! Written forms never guess: `k`, `M`, `G` are powers of 1000, `Ki`, `Mi`, `Gi` powers of 1024,
//! `B` is bytes and `b` bits; anything else is an error that names the allowed units.

#![forbid(unsafe_code)]

mod bytes;
mod length;
mod named;
mod octets;
mod parse;
mod plain;
mod probability;
mod rate;
mod shown;
mod time;

pub use bytes::Bytes;
pub use length::Length;
pub use octets::{hexadecimal, octets_of_text, text_of_octets};
pub use parse::{ParseError, is_negative};
pub use plain::{begins_formula, controls, plain, plain_lines, shell_word};
pub use probability::{NotAPercentage, NotAProbability, Probability};
pub use rate::{BitRate, Serializer};
pub use shown::{Unit, rate_unit, three_digits, time_unit, unit_called, written_rate};
pub use time::{Span, Time};
