//! The message sizes of a signature.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use btu_units::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The largest message: both ends hold a few in memory.
pub const LARGEST: Bytes = Bytes::new(1 << 30);

/// The most sizes that a list may have; no user would wait for so many.
const MOST_SIZES: usize = 10_000;

/// The sizes of 1996's Ethernet curves (figures 1 to 3): powers of the root of two from 1 B to 1
/// MiB, as they can be read off the figures; some of the small ones fell one short of a power of
/// two.
const ROOT_TWO: [u64; 37] = [
    1, 2, 4, 8, 16, 22, 31, 45, 63, 90, 127, 181, 255, 362, 511, 724, 1024, 1448, 2048, 2896, 4096,
    5792, 8192, 11_585, 16_384, 23_170, 32_768, 46_340, 65_536, 92_681, 131_072, 185_363, 262_144,
    370_727, 524_288, 741_455, 1_048_576,
];

/// Message sizes in the order in which they are measured, each once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", try_from = "Raw")]
pub enum Sizes {
    /// `NetPIPE`'s own, versions 2 to 5.
    Netpipe(Sequence),
    /// The older 37 sizes of 1996's Ethernet curves.
    RootTwo,
    /// The sizes that the user asked for; not empty, each size once.
    List {
        /// The sizes of messages.
        #[serde(rename = "sizes_bytes")]
        sizes: Vec<Bytes>,
    },
}

/// The ends of `NetPIPE`'s sequence, and its perturbation below and above each size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// The smallest size of the range.
    #[serde(rename = "first_bytes")]
    first: Bytes,
    /// The largest size of the range.
    #[serde(rename = "last_bytes")]
    last: Bytes,
    /// Each size is also measured this much smaller and larger, if sizes lie far enough apart; 0
    /// for none.
    #[serde(rename = "perturbation_bytes")]
    perturbation: Bytes,
}

/// Why sizes were refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SizesError {
    /// A message of zero bytes, or one that does not fit in memory.
    #[error("a message of {0} bytes cannot be measured: sizes reach from 1 to {largest} bytes (1 GiB)", largest = LARGEST.count())]
    OutOfRange(u64),
    /// The first is larger than the last.
    #[error("sizes from {first} to {last} bytes: the first must not be larger than the last")]
    Backwards {
        /// The given beginning.
        first: u64,
        /// The given end.
        last: u64,
    },
    /// The list of sizes is empty.
    #[error("the list of sizes is empty: give at least one, for example `1,64,1024`")]
    Empty,
    /// The list has too many sizes.
    #[error("{0} sizes are too many: give at most {MOST_SIZES}")]
    TooMany(usize),
    /// A size occurs twice.
    #[error("the size of {0} bytes is in the list twice: leave one out")]
    Twice(u64),
    /// The text is not a size.
    #[error(
        "`{text}` is not a message size: {problem}; sizes are a range such as `1..10MB`, a list such as `1,64,4KiB`, or `1996`"
    )]
    Unreadable {
        /// The text that was written.
        text: String,
        /// The mistake in it.
        problem: String,
    },
}

impl Sequence {
    /// From `first` to `last`.
    pub fn new(first: Bytes, last: Bytes, perturbation: Bytes) -> Result<Self, SizesError> {
        for size in [first, last] {
            checked(size)?;
        }
        if first > last {
            return Err(SizesError::Backwards { first: first.count(), last: last.count() });
        }
        if perturbation > LARGEST {
            return Err(SizesError::OutOfRange(perturbation.count()));
        }
        Ok(Self { first, last, perturbation })
    }

    /// The sizes. `NetPIPE`'s rule (netpipe.c, versions 3 and 5): steps are the same twice and then
    /// doubled, which makes two sizes per octave; where a step is wider than the perturbation and
    /// one, both neighbours are measured too. Unlike there, no neighbour lies outside the asked
    /// range, and sizes with common neighbours occur once.
    fn list(&self) -> Vec<Bytes> {
        let (first, last, aside) =
            (self.first.count(), self.last.count(), self.perturbation.count());
        let (mut size, mut step, mut number) = (first, (first / 2).max(1), u64::from(first > 1));
        let mut sizes = Vec::new();
        while size <= last {
            if number > 2 && number % 2 == 1 {
                step *= 2;
            }
            let neighbours = if aside > 0 && step > aside + 1 {
                vec![size - aside.min(size), size, size + aside]
            } else {
                vec![size]
            };
            sizes.extend(
                neighbours.into_iter().filter(|size| (first..=last).contains(size)).map(Bytes::new),
            );
            size += step;
            number += 1;
        }
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

impl Default for Sizes {
    /// `NetPIPE`'s: 124 sizes from 1 B to 8 MiB and 3 B, with 3 B of perturbation.
    fn default() -> Self {
        Self::Netpipe(Sequence {
            first: Bytes::new(1),
            last: Bytes::new(10_000_000),
            perturbation: Bytes::new(3),
        })
    }
}

impl Sizes {
    /// Exactly the given sizes: at least one, and none of them twice.
    pub fn of(sizes: Vec<Bytes>) -> Result<Self, SizesError> {
        match sizes.len() {
            0 => return Err(SizesError::Empty),
            count if count > MOST_SIZES => return Err(SizesError::TooMany(count)),
            _ => (),
        }
        let mut seen = BTreeSet::new();
        for &size in &sizes {
            checked(size)?;
            if !seen.insert(size) {
                return Err(SizesError::Twice(size.count()));
            }
        }
        Ok(Self::List { sizes })
    }

    /// Only this size, or the nearest possible one.
    pub fn one(size: Bytes) -> Self {
        Self::List { sizes: vec![size.clamp(Bytes::new(1), LARGEST)] }
    }

    /// The sizes in their order.
    pub fn list(&self) -> Vec<Bytes> {
        match self {
            Self::Netpipe(sequence) => sequence.list(),
            Self::RootTwo => ROOT_TWO.map(Bytes::new).to_vec(),
            Self::List { sizes } => sizes.clone(),
        }
    }

    /// Whether neighbours of the sizes are measured too.
    pub fn is_perturbed(&self) -> bool {
        matches!(self, Self::Netpipe(sequence) if sequence.perturbation > Bytes::ZERO)
    }

    /// The sizes with another perturbation, if they have one at all.
    pub fn perturbed(self, perturbation: Bytes) -> Result<Self, SizesError> {
        match self {
            Self::Netpipe(Sequence { first, last, .. }) => {
                Sequence::new(first, last, perturbation).map(Self::Netpipe)
            }
            fixed => Ok(fixed),
        }
    }
}

/// A size that can be measured.
fn checked(size: Bytes) -> Result<Bytes, SizesError> {
    if size == Bytes::ZERO || size > LARGEST {
        Err(SizesError::OutOfRange(size.count()))
    } else {
        Ok(size)
    }
}

impl FromStr for Sizes {
    type Err = SizesError;

    /// Reads `1..10MB` (`NetPIPE`'s sequence), `1,64,4KiB` (a list) and `1996` (the older sizes); a
    /// bare number is a number of bytes.
    fn from_str(text: &str) -> Result<Self, SizesError> {
        if text.trim() == "1996" {
            return Ok(Self::RootTwo);
        }
        match text.split_once("..") {
            Some((first, last)) => {
                Sequence::new(size(first)?, size(last)?, Bytes::new(3)).map(Self::Netpipe)
            }
            None => Self::of(text.split(',').map(size).collect::<Result<_, _>>()?),
        }
    }
}

/// Reads a size.
fn size(text: &str) -> Result<Bytes, SizesError> {
    let text = text.trim();
    if let Ok(count) = text.parse() {
        return Ok(Bytes::new(count));
    }
    text.parse::<Bytes>().map_err(|error| SizesError::Unreadable {
        text: text.to_owned(),
        problem: error.to_string(),
    })
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Netpipe(Sequence { first, last, perturbation })
                if *perturbation == Bytes::ZERO =>
            {
                write!(f, "{first} to {last}")
            }
            Self::Netpipe(Sequence { first, last, perturbation }) => {
                write!(f, "{first} to {last} ± {perturbation}")
            }
            Self::RootTwo => f.write_str("the 37 sizes of 1996"),
            Self::List { sizes } if sizes.len() <= 4 => {
                f.write_str(&sizes.iter().map(Bytes::to_string).collect::<Vec<_>>().join(", "))
            }
            Self::List { sizes } => write!(f, "{} chosen sizes", sizes.len()),
        }
    }
}

/// Sizes as they are stored, before they are checked.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Raw {
    Netpipe { first_bytes: Bytes, last_bytes: Bytes, perturbation_bytes: Bytes },
    RootTwo,
    List { sizes_bytes: Vec<Bytes> },
}

impl TryFrom<Raw> for Sizes {
    type Error = SizesError;
    fn try_from(raw: Raw) -> Result<Self, SizesError> {
        match raw {
            Raw::Netpipe { first_bytes, last_bytes, perturbation_bytes } => {
                Sequence::new(first_bytes, last_bytes, perturbation_bytes).map(Self::Netpipe)
            }
            Raw::RootTwo => Ok(Self::RootTwo),
            Raw::List { sizes_bytes } => Self::of(sizes_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(sizes: &Sizes) -> Vec<u64> {
        sizes.list().into_iter().map(Bytes::count).collect()
    }

    /// netpipe.c of versions 3 and 5, start 1, perturbation 3.
    #[test]
    fn netpipes_own_sequence() {
        let list = counts(&Sizes::default());
        let first = [
            1, 2, 3, 4, 6, 8, 12, 13, 16, 19, 21, 24, 27, 29, 32, 35, 45, 48, 51, 61, 64, 67, 93,
            96, 99, 125, 128, 131, 189, 192, 195, 253, 256, 259, 381,
        ];
        assert_eq!(list[..35], first);
        assert_eq!(list.len(), 124);
        assert_eq!(list[121..], [8_388_605, 8_388_608, 8_388_611]);
    }

    #[test]
    fn without_perturbation_two_per_octave() {
        let list = counts(&Sizes::default().perturbed(Bytes::ZERO).unwrap());
        assert_eq!(list.len(), 46);
        assert_eq!(list[..12], [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]);
        assert_eq!(list[45], 8_388_608);
    }

    #[test]
    fn the_sizes_of_1996_lie_half_an_octave_apart() {
        let list = counts(&Sizes::RootTwo);
        assert_eq!((list.len(), list[0], list[36]), (37, 1, 1 << 20));
        for (size, half_octaves) in list[4..].iter().zip(8..) {
            // Whole bytes, and one short of some powers of two.
            let exact = 2f64.powf(f64::from(half_octaves) / 2.0);
            assert!(*size as f64 <= exact && *size as f64 > exact - 1.001, "{size} for {exact}");
        }
    }

    #[test]
    fn what_people_write() {
        let list = |text: &str| counts(&text.parse::<Sizes>().unwrap());
        assert_eq!("1..10MB".parse(), Ok(Sizes::default()));
        assert_eq!("1996".parse(), Ok(Sizes::RootTwo));
        assert_eq!(list("64, 1,4KiB"), [64, 1, 4096]);
        assert_eq!(list("64..64"), [64]);
        assert_eq!(list("60..64KiB")[..3], [60, 63, 87], "no neighbour below the first");
        assert_eq!(Sizes::default().to_string(), "1 B to 10 MB ± 3 B");
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let table = [
            (
                "0..10",
                "a message of 0 bytes cannot be measured: sizes reach from 1 to 1073741824 bytes (1 GiB)",
            ),
            (
                "1..2GiB",
                "a message of 2147483648 bytes cannot be measured: sizes reach from 1 to 1073741824 bytes (1 GiB)",
            ),
            ("10..1", "sizes from 10 to 1 bytes: the first must not be larger than the last"),
            ("1,2,1", "the size of 1 bytes is in the list twice: leave one out"),
        ];
        for (text, expected) in table {
            assert_eq!(text.parse::<Sizes>().unwrap_err().to_string(), expected);
        }
        for text in ["", "..", "1K", "1..", "one", "-1"] {
            assert!(matches!(text.parse::<Sizes>(), Err(SizesError::Unreadable { .. })), "{text}");
        }
        let stored = r#"{"kind":"netpipe","first_bytes":0,"last_bytes":9,"perturbation_bytes":3}"#;
        assert!(serde_json::from_str::<Sizes>(stored).is_err());
    }

    proptest! {
        #[test]
        fn a_sequence_rises_within_its_range_and_survives_storage(
            first in 1u64..100_000, length in 0u64..10_000_000, aside in 0u64..1000,
        ) {
            let sizes = Sizes::Netpipe(Sequence::new(Bytes::new(first), Bytes::new(first + length), Bytes::new(aside)).unwrap());
            let list = counts(&sizes);
            prop_assert!(list.windows(2).all(|pair| pair[0] < pair[1]), "{list:?}");
            prop_assert!(list.contains(&first) && list[0] == first && list[list.len() - 1] <= first + length);
            let text = serde_json::to_string(&sizes).unwrap();
            prop_assert_eq!(serde_json::from_str::<Sizes>(&text).unwrap(), sizes);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9.,KMGiB ]{0,20}") {
            if let Ok(sizes) = text.parse::<Sizes>() {
                prop_assert!(!sizes.list().is_empty());
            }
        }
    }
}
