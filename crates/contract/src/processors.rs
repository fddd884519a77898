//! Divides the processors of one machine between the machine under test and all other work.
//!
//! If stations share a machine, the scheduler puts the work of the peers, the emulator and the
//! controller on other processors than the measured work or on a common one, and decides that again
//! for each cell. With processors of its own, the machine under test loses only the time that its
//! load takes.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::text::stored_as_text;

/// Linux can be built for this many processors at most (`NR_CPUS` on x86-64); no list names a
/// higher number.
const MOST_PROCESSORS: u32 = 8192;

/// Processors by the kernel's numbers, at least one, each once, rising.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProcessorList(Vec<u32>);

impl ProcessorList {
    /// The list of these; `None` if there are none.
    pub fn of(processors: impl IntoIterator<Item = u32>) -> Option<Self> {
        let all: BTreeSet<u32> =
            processors.into_iter().filter(|processor| *processor < MOST_PROCESSORS).collect();
        (!all.is_empty()).then(|| Self(all.into_iter().collect()))
    }

    /// The kernel's numbers of the processors, in rising order; at least one.
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }

    /// Those that are also among `others`; `None` if there are none.
    pub fn within(&self, others: &[u32]) -> Option<Self> {
        Self::of(self.0.iter().copied().filter(|processor| others.contains(processor)))
    }
}

/// The kernel's list format (cpuset(7)): `0-3,8`.
impl fmt::Display for ProcessorList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, run) in self.0.chunk_by(|one, next| one + 1 == *next).enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match run {
                [one] => write!(f, "{separator}{one}")?,
                [first, .., last] => write!(f, "{separator}{first}-{last}")?,
                [] => (),
            }
        }
        Ok(())
    }
}

impl FromStr for ProcessorList {
    type Err = DivisionError;

    fn from_str(text: &str) -> Result<Self, DivisionError> {
        let wrong = || DivisionError::NoList(text.to_owned());
        let number = |text: &str| {
            text.trim().parse().ok().filter(|number| *number < MOST_PROCESSORS).ok_or_else(wrong)
        };
        let mut all = Vec::new();
        for part in text.split(',') {
            match part.split_once('-') {
                None => all.push(number(part)?),
                Some((first, last)) => match (number(first)?, number(last)?) {
                    (first, last) if first <= last => all.extend(first..=last),
                    _ => return Err(wrong()),
                },
            }
        }
        Self::of(all).ok_or_else(wrong)
    }
}

stored_as_text!(ProcessorList);

/// Why processors cannot be divided so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DivisionError {
    /// Not in the kernel's list format.
    #[error("`{0}` is not a list of processors: write 0-3,8")]
    NoList(String),
    /// The text is not two lists.
    #[error("`{0}` divides no processors: write test=0-3,rest=4-7")]
    NoDivision(String),
    /// The machine under test would share them.
    #[error("processor {0} stands on both sides: each processor serves one")]
    Twice(u32),
    /// Processes must not use it, or it is not there.
    #[error("processor {processor} is not among those that may be used: {allowed}")]
    NotAllowed {
        /// The number of the processor.
        processor: u32,
        /// Those that may be used.
        allowed: ProcessorList,
    },
}

/// The two sides. No processor serves both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Sides", into = "Sides")]
pub struct Division {
    test: ProcessorList,
    rest: ProcessorList,
}

/// A division before its check.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sides {
    test: ProcessorList,
    rest: ProcessorList,
}

impl Division {
    /// The processors of the machine under test.
    pub const fn test(&self) -> &ProcessorList {
        &self.test
    }

    /// The processors of the peers, the emulator and the controller.
    pub const fn rest(&self) -> &ProcessorList {
        &self.rest
    }

    /// A processor of the machine under test, and one of the rest: the latency between both sides is
    /// measured there.
    pub fn pair(&self) -> Option<[u32; 2]> {
        let first = |list: &ProcessorList| list.numbers().first().copied();
        Some([first(&self.test)?, first(&self.rest)?])
    }

    /// The usual one: half of the cores, the upper ones, are the machine under test's. Processor 0
    /// stays with the rest, as the kernel gives it most interrupts. `cores` has the processors of
    /// each core that may be used; with a single core, its threads are divided. `None` for a single
    /// processor.
    pub fn usual(cores: &[ProcessorList]) -> Option<Self> {
        let mut cores = cores.to_vec();
        if let [core] = cores.as_slice() {
            cores =
                core.numbers().iter().filter_map(|&thread| ProcessorList::of([thread])).collect();
        }
        cores.sort();
        let (rest, test) = cores.split_at(cores.len().div_ceil(2));
        let list = |cores: &[ProcessorList]| {
            ProcessorList::of(cores.iter().flat_map(|core| core.0.iter().copied()))
        };
        Some(Self { test: list(test)?, rest: list(rest)? })
    }

    /// Whether processes may use all of its processors.
    ///
    /// # Errors
    /// [`DivisionError::NotAllowed`] with the first that they may not.
    pub fn check(&self, allowed: &ProcessorList) -> Result<(), DivisionError> {
        let missing = |processor: &&u32| !allowed.0.contains(processor);
        self.test.0.iter().chain(&self.rest.0).find(missing).map_or(Ok(()), |&processor| {
            Err(DivisionError::NotAllowed { processor, allowed: allowed.clone() })
        })
    }
}

impl TryFrom<Sides> for Division {
    type Error = DivisionError;

    fn try_from(Sides { test, rest }: Sides) -> Result<Self, DivisionError> {
        match test.within(&rest.0) {
            Some(both) => Err(DivisionError::Twice(both.0[0])),
            None => Ok(Self { test, rest }),
        }
    }
}

impl From<Division> for Sides {
    fn from(Division { test, rest }: Division) -> Self {
        Self { test, rest }
    }
}

/// Its written form: `test=0-3,rest=4-7`.
impl fmt::Display for Division {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "test={},rest={}", self.test, self.rest)
    }
}

impl FromStr for Division {
    type Err = DivisionError;

    fn from_str(text: &str) -> Result<Self, DivisionError> {
        let swapped = text
            .split_once(",test=")
            .and_then(|(other, own)| Some((own, other.strip_prefix("rest=")?)));
        let in_order = text
            .split_once(",rest=")
            .and_then(|(own, other)| Some((own.strip_prefix("test=")?, other)));
        let (own, other) =
            in_order.or(swapped).ok_or_else(|| DivisionError::NoDivision(text.to_owned()))?;
        Sides { test: own.parse()?, rest: other.parse()? }.try_into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(text: &str) -> ProcessorList {
        text.parse().unwrap()
    }

    fn usual(cores: &[&str]) -> Option<String> {
        let cores: Vec<ProcessorList> = cores.iter().map(|core| list(core)).collect();
        Division::usual(&cores).map(|division| division.to_string())
    }

    #[test]
    fn the_upper_half_of_the_cores_is_the_machine_under_test_s() {
        assert_eq!(usual(&["0", "1"]).as_deref(), Some("test=1,rest=0"));
        assert_eq!(usual(&["0", "1", "2"]).as_deref(), Some("test=2,rest=0-1"));
        assert_eq!(usual(&["3", "1", "2", "0"]).as_deref(), Some("test=2-3,rest=0-1"));
    }

    #[test]
    fn threads_of_a_core_stay_together_where_there_are_cores_enough() {
        assert_eq!(
            usual(&["0,4", "1,5", "2,6", "3,7"]).as_deref(),
            Some("test=2-3,6-7,rest=0-1,4-5")
        );
        assert_eq!(usual(&["0-1"]).as_deref(), Some("test=1,rest=0"));
        assert_eq!(usual(&["5"]), None);
        assert_eq!(usual(&[]), None);
    }

    #[test]
    fn a_division_is_written_as_it_is_printed() {
        for (text, same) in
            [("test=0-3,8,rest=4-7", "test=0-3,8,rest=4-7"), ("rest=0,test=1", "test=1,rest=0")]
        {
            assert_eq!(text.parse::<Division>().unwrap().to_string(), same);
        }
        assert_eq!("test=0-2,rest=2".parse::<Division>(), Err(DivisionError::Twice(2)));
        for text in [
            "",
            "test=0",
            "test=,rest=1",
            "test=0;rest=1",
            "test=3-1,rest=0",
            "test=0,rest=8192",
            "all=0,rest=1",
        ] {
            assert!(text.parse::<Division>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_stored_division_keeps_its_sides_apart() {
        let division: Division = "test=1,rest=0".parse().unwrap();
        let stored = serde_json::to_string(&division).unwrap();
        assert_eq!(stored, r#"{"test":"1","rest":"0"}"#);
        assert_eq!(serde_json::from_str::<Division>(&stored).unwrap(), division);
        assert!(serde_json::from_str::<Division>(r#"{"test":"1","rest":"0-1"}"#).is_err());
        assert!(serde_json::from_str::<Division>(r#"{"test":"0-4294967295","rest":"1"}"#).is_err());
    }

    #[test]
    fn only_processors_that_may_be_used_are_divided() {
        let division: Division = "test=1,rest=0".parse().unwrap();
        assert_eq!(division.check(&list("0-1")), Ok(()));
        let refused = DivisionError::NotAllowed { processor: 1, allowed: list("0") };
        assert_eq!(division.check(&list("0")), Err(refused));
    }

    proptest! {
        #[test]
        fn lists_come_back_as_they_were(numbers in prop::collection::vec(0u32..300, 1..40)) {
            let list = ProcessorList::of(numbers).unwrap();
            prop_assert_eq!(list.to_string().parse::<ProcessorList>().unwrap(), list);
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<Division>();
            let _ = text.parse::<ProcessorList>();
        }
    }
}
