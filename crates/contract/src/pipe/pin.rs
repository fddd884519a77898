//! The processors to which the two ends of a pipe are pinned.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::End;
use crate::processors::ProcessorList;

/// A processor for each end, by its machine's own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processors {
    /// The processor of the end that sends first.
    pub near: u32,
    /// The processor of the other end.
    pub far: u32,
}

impl Processors {
    /// The number of the processor to which `end` is pinned.
    pub const fn of(self, end: End) -> u32 {
        match end {
            End::Near => self.near,
            End::Far => self.far,
        }
    }
}

impl fmt::Display for Processors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { near, far } if near == far => {
                write!(f, "both ends are held on processor {near}")
            }
            Self { near, far } => write!(f, "the ends are held on processors {near} and {far}"),
        }
    }
}

/// The processors on which the ends run. The scheduler alone puts them on one processor or on two,
/// differently for each connection, and the times of small messages differ by large factors between
/// the two cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pin {
    /// Both on the first processor: no processor has to wake up, so the time contains only the
    /// work.
    Together,
    /// The near one on the first, the far one on the second.
    Apart,
    /// The ends run on these processors.
    On(Processors),
    /// Not pinned: the scheduler decides.
    Free,
}

/// Why the ends cannot be pinned so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PinError {
    /// Neither a word nor two numbers.
    #[error(
        "`{0}` is not a way to hold two ends: give apart, together, free, or two processors such as 0,1"
    )]
    Unknown(String),
    /// There is one processor only.
    #[error("`apart` needs two processors, and there is one: give together")]
    One,
    /// Processes must not use it, or it is not there.
    #[error("processor {processor} is not among those that may be used: {allowed}")]
    NotAllowed {
        /// The number of the processor.
        processor: u32,
        /// Those that may be used.
        allowed: String,
    },
}

impl Pin {
    /// The default if both ends may use these cores: apart, if one pair leaves a processor to the
    /// emulator, if there is one.
    pub fn usual(cores: &[ProcessorList], pairs: u32, is_emulated: bool) -> Self {
        let threads: usize = cores.iter().map(|core| core.numbers().len()).sum();
        if pairs == 1 && threads >= 2 + usize::from(is_emulated) { Self::Apart } else { Self::Free }
    }

    /// The processors to use, if both ends may use those of these cores: `apart` takes two cores if
    /// there are two. `None` if the ends are not pinned.
    ///
    /// # Errors
    /// [`PinError`] when there are too few, or one that is named is none of them.
    pub fn processors(self, cores: &[ProcessorList]) -> Result<Option<Processors>, PinError> {
        let allowed: Vec<u32> = cores.iter().flat_map(|core| core.numbers().to_vec()).collect();
        let firsts: Vec<u32> =
            cores.iter().filter_map(|core| core.numbers().first().copied()).collect();
        let apart = if firsts.len() > 1 { &firsts } else { &allowed };
        let list = || allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let may = |processor: u32| {
            allowed
                .contains(&processor)
                .then_some(processor)
                .ok_or_else(|| PinError::NotAllowed { processor, allowed: list() })
        };
        Ok(Some(match (self, apart.as_slice()) {
            (Self::Free, _) => return Ok(None),
            (Self::On(Processors { near, far }), _) => {
                Processors { near: may(near)?, far: may(far)? }
            }
            (Self::Together, [one, ..]) => Processors { near: *one, far: *one },
            (Self::Apart, [near, far, ..]) => Processors { near: *near, far: *far },
            (Self::Together | Self::Apart, _) => return Err(PinError::One),
        }))
    }
}

impl FromStr for Pin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let numbers = || {
            let (near, far) = text.split_once(',')?;
            Some(Self::On(Processors {
                near: near.trim().parse().ok()?,
                far: far.trim().parse().ok()?,
            }))
        };
        match text {
            "together" => Ok(Self::Together),
            "apart" => Ok(Self::Apart),
            "free" => Ok(Self::Free),
            _ => numbers().ok_or_else(|| PinError::Unknown(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(cores: &[&str]) -> Vec<ProcessorList> {
        cores.iter().map(|core| core.parse().unwrap()).collect()
    }

    fn pin(text: &str, list: &[&str]) -> Result<Option<(u32, u32)>, PinError> {
        Ok(text
            .parse::<Pin>()?
            .processors(&cores(list))?
            .map(|Processors { near, far }| (near, far)))
    }

    #[test]
    fn ends_are_held_on_processors_that_may_be_used() {
        assert_eq!(pin("together", &["3", "5"]), Ok(Some((3, 3))));
        assert_eq!(pin("apart", &["3", "5", "6"]), Ok(Some((3, 5))));
        assert_eq!(pin("6,3", &["3", "5", "6"]), Ok(Some((6, 3))));
        assert_eq!(pin("apart", &["3"]), Err(PinError::One));
        assert_eq!(pin("free", &["3"]), Ok(None));
        assert_eq!(
            pin("0,3", &["3", "5"]),
            Err(PinError::NotAllowed { processor: 0, allowed: "3, 5".to_owned() })
        );
        for text in ["", "0", "0,", "0,1,2", "-1,0", "Apart", "0;1"] {
            assert_eq!(pin(text, &["0", "1"]), Err(PinError::Unknown(text.to_owned())));
        }
    }

    #[test]
    fn ends_apart_are_on_two_cores_where_there_are_two() {
        assert_eq!(pin("apart", &["0-1", "2-3"]), Ok(Some((0, 2))));
        assert_eq!(pin("apart", &["0,4"]), Ok(Some((0, 4))));
        let usual =
            |list: &[&str], pairs, is_emulated| Pin::usual(&cores(list), pairs, is_emulated);
        assert_eq!(
            (usual(&["0", "1"], 1, false), usual(&["0-1"], 1, false)),
            (Pin::Apart, Pin::Apart)
        );
        assert_eq!((usual(&["0", "1"], 4, false), usual(&["0"], 1, false)), (Pin::Free, Pin::Free));
        assert_eq!(
            (usual(&["0", "1"], 1, true), usual(&["0", "1", "2"], 1, true)),
            (Pin::Free, Pin::Apart)
        );
    }

    #[test]
    fn each_end_has_its_own() {
        let processors = Processors { near: 4, far: 2 };
        assert_eq!((processors.of(End::Near), processors.of(End::Far)), (4, 2));
        assert_eq!(processors.to_string(), "the ends are held on processors 4 and 2");
        assert_eq!(Processors { near: 1, far: 1 }.to_string(), "both ends are held on processor 1");
    }
}
