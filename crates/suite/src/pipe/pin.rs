//! On which processors the two ends of a pipe are held.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::End;

/// A processor for each end, by its machine's own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processors {
    /// Of the end that sends first.
    pub near: u32,
    /// Of the other one.
    pub far: u32,
}

impl Processors {
    /// Of this end.
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
            Self { near, far } if near == far => write!(f, "both ends are held on processor {near}"),
            Self { near, far } => write!(f, "the ends are held on processors {near} and {far}"),
        }
    }
}

/// Where the ends are to be held. Left alone, the scheduler puts them on one processor or on two anew for each connection, and
/// small messages take many times as long in one way as in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pin {
    /// Both on the first processor: nothing is ever woken from idleness, so that only the work itself is left.
    Together,
    /// The near one on the first, the far one on the second.
    Apart,
    /// On these.
    On(Processors),
}

/// Why the ends cannot be held so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PinError {
    /// Neither a word nor two numbers.
    #[error("`{0}` is no way to hold two ends: give apart, together, or two processors such as 0,1")]
    Unknown(String),
    /// There is one processor only.
    #[error("`apart` needs two processors, and there is one: give together")]
    One,
    /// Processes must not use it, or it is not there.
    #[error("processor {processor} is not among those that may be used: {allowed}")]
    NotAllowed {
        /// Which one.
        processor: u32,
        /// Those that may be used.
        allowed: String,
    },
}

impl Pin {
    /// The processors that are meant, where both ends may use those that are `allowed`.
    ///
    /// # Errors
    /// [`PinError`] when there are too few, or one that is named is none of them.
    pub fn processors(self, allowed: &[u32]) -> Result<Processors, PinError> {
        let list = || allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let may = |processor: u32| {
            allowed
                .contains(&processor)
                .then_some(processor)
                .ok_or_else(|| PinError::NotAllowed { processor, allowed: list() })
        };
        match (self, allowed) {
            (Self::On(Processors { near, far }), _) => Ok(Processors { near: may(near)?, far: may(far)? }),
            (Self::Together, [one, ..]) => Ok(Processors { near: *one, far: *one }),
            (Self::Apart, [near, far, ..]) => Ok(Processors { near: *near, far: *far }),
            (Self::Together | Self::Apart, _) => Err(PinError::One),
        }
    }
}

impl FromStr for Pin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let numbers = || {
            let (near, far) = text.split_once(',')?;
            Some(Self::On(Processors { near: near.trim().parse().ok()?, far: far.trim().parse().ok()? }))
        };
        match text {
            "together" => Ok(Self::Together),
            "apart" => Ok(Self::Apart),
            _ => numbers().ok_or_else(|| PinError::Unknown(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(text: &str, allowed: &[u32]) -> Result<(u32, u32), PinError> {
        let Processors { near, far } = text.parse::<Pin>()?.processors(allowed)?;
        Ok((near, far))
    }

    #[test]
    fn ends_are_held_on_processors_that_may_be_used() {
        assert_eq!(pin("together", &[3, 5]), Ok((3, 3)));
        assert_eq!(pin("apart", &[3, 5, 6]), Ok((3, 5)));
        assert_eq!(pin("6,3", &[3, 5, 6]), Ok((6, 3)));
        assert_eq!(pin("apart", &[3]), Err(PinError::One));
        assert_eq!(pin("0,3", &[3, 5]), Err(PinError::NotAllowed { processor: 0, allowed: "3, 5".to_owned() }));
        for text in ["", "0", "0,", "0,1,2", "-1,0", "Apart", "0;1"] {
            assert_eq!(pin(text, &[0, 1]), Err(PinError::Unknown(text.to_owned())));
        }
    }

    #[test]
    fn each_end_has_its_own() {
        let processors = Processors { near: 4, far: 2 };
        assert_eq!((processors.of(End::Near), processors.of(End::Far)), (4, 2));
        assert_eq!(processors.to_string(), "the ends are held on processors 4 and 2");
        assert_eq!(Processors { near: 1, far: 1 }.to_string(), "both ends are held on processor 1");
    }
}
