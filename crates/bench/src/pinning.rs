//! On which processors the two ends of every tool are held.

use anyhow::{Context, Result};
use clap::ValueEnum;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::Serialize;

/// Where the ends are held. Left alone, the scheduler puts them on one processor or on two anew for each connection, and
/// small messages take several times as long in one way as in the other, whatever the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pinning {
    /// Both on the first processor: nothing is ever woken from idleness, so that only the tools' own work is left
    Together,
    /// The near one on the first, the far one on the second
    Apart,
}

impl Pinning {
    /// The near and the far end's processor, of those that this process may use.
    pub(crate) fn processors(self) -> Result<(usize, usize)> {
        let allowed = sched_getaffinity(Pid::from_raw(0)).context("ask which processors may be used")?;
        self.choose((0..CpuSet::count()).filter(|&processor| allowed.is_set(processor).unwrap_or(false)))
    }

    fn choose(self, mut allowed: impl Iterator<Item = usize>) -> Result<(usize, usize)> {
        let first = allowed.next().context("no processor may be used")?;
        match self {
            Self::Together => Ok((first, first)),
            Self::Apart => Ok((first, allowed.next().context("--pin apart needs two processors, and there is one")?)),
        }
    }

    /// For the record.
    pub(crate) fn words(pinning: Option<Self>) -> &'static str {
        match pinning {
            None => "none",
            Some(Self::Together) => "both ends on one processor",
            Some(Self::Apart) => "each end on a processor of its own",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_held_on_processors_that_may_be_used() {
        assert_eq!(Pinning::Together.choose([3, 5].into_iter()).unwrap(), (3, 3));
        assert_eq!(Pinning::Apart.choose([3, 5].into_iter()).unwrap(), (3, 5));
        assert!(Pinning::Apart.choose([3].into_iter()).unwrap_err().to_string().contains("two processors"));
        Pinning::Together.processors().unwrap();
    }
}
