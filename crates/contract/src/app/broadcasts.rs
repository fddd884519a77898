//! Broadcasts of another station during a cell: what the study calls network pollution (its section
//! 9.3). Every host on the segment must receive each of them before it can discard it.

use std::fmt;
use std::str::FromStr;

use btu_units::{BitRate, Bytes, Span};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Most broadcasts a second: about what one processor of today can send.
const MOST: u32 = 100_000;

/// Frames a second that another station sends to all hosts; each is as short as Ethernet allows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "u32", into = "u32")]
pub struct Broadcasts(u32);

/// A text or a number that is no rate of broadcasts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a rate of broadcasts: write a number from 0 to {MOST} a second, such as 1000/s"
)]
pub struct BroadcastsError(String);

impl Broadcasts {
    /// No broadcasts.
    pub const NONE: Self = Self(0);

    /// Two thirds of a line of 1 Mb/s.
    pub const THOUSAND: Self = Self(1000);

    /// Octets of a broadcast's datagram: with the headers of UDP and IP, the shortest payload of an
    /// Ethernet frame, 46 octets.
    pub const PAYLOAD: Bytes = Bytes::new(46 - 20 - 8);

    /// The number of broadcasts in a second.
    pub const fn per_second(self) -> u32 {
        self.0
    }

    /// The rate of the datagrams' payload.
    pub const fn payload_rate(self) -> BitRate {
        BitRate::from_bits_per_second(self.0 as u64 * 8 * Self::PAYLOAD.count())
    }

    /// Whether no broadcasts are sent.
    pub const fn are_none(&self) -> bool {
        self.0 == 0
    }
}

impl TryFrom<u32> for Broadcasts {
    type Error = BroadcastsError;

    fn try_from(per_second: u32) -> Result<Self, BroadcastsError> {
        if per_second <= MOST {
            Ok(Self(per_second))
        } else {
            Err(BroadcastsError(per_second.to_string()))
        }
    }
}

impl From<Broadcasts> for u32 {
    fn from(broadcasts: Broadcasts) -> Self {
        broadcasts.0
    }
}

impl FromStr for Broadcasts {
    type Err = BroadcastsError;

    fn from_str(text: &str) -> Result<Self, BroadcastsError> {
        let number = text.strip_suffix("/s").and_then(|number| number.trim().parse::<u32>().ok());
        number
            .and_then(|number| Self::try_from(number).ok())
            .ok_or_else(|| BroadcastsError(text.to_owned()))
    }
}

impl fmt::Display for Broadcasts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/s", self.0))
    }
}

/// The broadcasts that an end's host received and discarded, because no process waits for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discarded {
    /// The kernel's count.
    pub broadcasts: u64,
    /// The time in which they came.
    #[serde(rename = "span_ns")]
    pub span: Span,
}

impl Discarded {
    /// The number in a second; `None` where no time has passed.
    pub fn per_second(&self) -> Option<f64> {
        (self.span > Span::ZERO).then(|| self.broadcasts as f64 / self.span.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_they_are_written() {
        for text in ["0/s", "1000/s", "100000/s"] {
            assert_eq!(text.parse::<Broadcasts>().unwrap().to_string(), text);
        }
        for text in ["", "1000", "-1/s", "1.5/s", "100001/s", "many/s"] {
            let error = text.parse::<Broadcasts>().unwrap_err().to_string();
            assert!(error.contains("such as 1000/s"), "{error}");
        }
        assert!(serde_json::from_str::<Broadcasts>("100001").is_err());
        assert_eq!(Broadcasts::THOUSAND.payload_rate().bits_per_second(), 144_000);
    }
}
