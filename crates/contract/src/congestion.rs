//! The congestion control that a raised network's stations use for TCP.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::text::stored_as_text;

/// The kernel's `TCP_CA_NAME_MAX` is 16 with the zero at the end (include/net/tcp.h).
const LONGEST_NAME: usize = 15;

/// An algorithm by the kernel's name: `cubic`, `bbr`, `reno`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CongestionControl(String);

/// A text that names no algorithm.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` names no congestion control: one to fifteen of a-z, 0-9, _ and -, such as cubic")]
pub struct NoCongestionControl(String);

impl CongestionControl {
    /// The name of the algorithm in the kernel, such as `cubic`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CongestionControl {
    type Err = NoCongestionControl;

    fn from_str(text: &str) -> Result<Self, NoCongestionControl> {
        let is_letter = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
        };
        let fits = (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(is_letter);
        if fits { Ok(Self(text.to_owned())) } else { Err(NoCongestionControl(text.to_owned())) }
    }
}

stored_as_text!(CongestionControl);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn only_names_are_taken() {
        for name in ["cubic", "bbr", "dctcp", "tcp_prague", "x"] {
            assert_eq!(name.parse::<CongestionControl>().unwrap().to_string(), name);
        }
        for text in ["", "Cubic", "cubic\n", "../cubic", "sixteen_letters_"] {
            assert_eq!(
                text.parse::<CongestionControl>(),
                Err(NoCongestionControl(text.to_owned()))
            );
            assert!(json::from_value::<CongestionControl>(&text.into()).is_err());
        }
    }
}
