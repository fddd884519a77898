//! The differentiated services code point, a request to routers in a packet's header (RFC 2474).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The names of the IANA registry "Differentiated Services Field Codepoints".
const NAMES: [(&str, u8); 23] = [
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VOICE-ADMIT", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

/// The largest: the field has six bits.
const LARGEST: u8 = 63;

/// A code point, 0 to 63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Dscp(u8);

/// A text or number that is not a code point.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a code point: a number from 0 to 63, or a name such as EF, AF41, CS1 or LE")]
pub struct NoDscp(String);

impl Dscp {
    /// The octet of the header that carries it (type of service in IPv4, traffic class in IPv6);
    /// the two bits of explicit congestion notification are zero in it.
    pub const fn octet(self) -> u8 {
        self.0 << 2
    }
}

impl TryFrom<u8> for Dscp {
    type Error = NoDscp;

    fn try_from(number: u8) -> Result<Self, NoDscp> {
        if number <= LARGEST { Ok(Self(number)) } else { Err(NoDscp(number.to_string())) }
    }
}

impl From<Dscp> for u8 {
    fn from(dscp: Dscp) -> Self {
        dscp.0
    }
}

impl FromStr for Dscp {
    type Err = NoDscp;

    /// A number, or a name in either case.
    fn from_str(text: &str) -> Result<Self, NoDscp> {
        let named = NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map(|(_, number)| *number);
        let number = named.or_else(|| text.parse().ok()).ok_or_else(|| NoDscp(text.to_owned()))?;
        Self::try_from(number)
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_taken_and_nothing_else() {
        for (text, octet) in [
            ("EF", 0xb8),
            ("ef", 0xb8),
            ("46", 0xb8),
            ("AF41", 0x88),
            ("LE", 4),
            ("0", 0),
            ("63", 0xfc),
        ] {
            assert_eq!(text.parse::<Dscp>().map(Dscp::octet), Ok(octet), "{text}");
        }
        for text in ["", "64", "-1", "AF44", "EF ", "0x2e"] {
            assert_eq!(text.parse::<Dscp>(), Err(NoDscp(text.to_owned())));
        }
        assert!(serde_json::from_str::<Dscp>("64").is_err());
        assert_eq!(
            ["EF", "63"].map(|text| text.parse::<Dscp>().unwrap().to_string()),
            ["EF", "63"]
        );
    }
}
