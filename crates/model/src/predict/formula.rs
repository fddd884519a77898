//! The closed forms by name, each with its source and its assumptions.

use serde::Serialize;

use super::answers::Reference;

/// The closed form that a prediction uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Formula {
    /// The formula of [`crate::SharedCable`].
    CsmaCd,
    /// That of polling, for an 802.5 ring.
    Polling,
    /// The formulas of polling and of FDDI's holding time.
    TimedToken,
    /// The formula of [`crate::single_queue`].
    SingleQueue,
    /// The formula of [`crate::closed_network`].
    MeanValues,
    /// The sum over the parts of a path.
    Independence,
}

impl Formula {
    /// Its name, its source, and its assumptions.
    pub fn reference(self) -> Reference {
        let (name, source, assumptions) = match self {
            Self::CsmaCd => (
                "CSMA/CD mean delay",
                "of the kind of Lam, Computer Networks 4 (1980)",
                "Poisson arrivals from very many stations; backoff that always knows how many contend; propagation short \
                 against frames. Real backoff is slower, the more so the shorter the frames: where it is 5 % slower, the \
                 delay is marked as a lower bound",
            ),
            Self::Polling => (
                "symmetric polling",
                "Takagi (1986); Bux, IEEE Transactions on Communications (1981)",
                "stations with equal Poisson traffic; queues without a limit; a holding time of several frames counts as \
                 exhaustive service below saturation",
            ),
            Self::TimedToken => (
                "exhaustive polling below Jain's efficiency",
                "Takagi (1986); Jain (1990), n (T - D) / (n T + D)",
                "stations with equal Poisson traffic; a target rotation time that is long against a station's queue",
            ),
            Self::SingleQueue => (
                "M/G/1, with a limit M/G/1/K",
                "Pollaczek and Khinchine, in Kleinrock, Queueing Systems I (1975)",
                "Poisson arrivals; first come, first served; a queue that drops what does not fit has the file's \
                 limit, in frames of the mean size; any other one has none",
            ),
            Self::MeanValues => (
                "mean-value analysis",
                "Reiser and Lavenberg, Journal of the ACM 27 (1980)",
                "exponential times; traffic at fixed rates makes every server slower by the time it takes",
            ),
            Self::Independence => (
                "traffic equations",
                "Jackson, Operations Research 5 (1957); Kleinrock (1964), independence",
                "frames arrive at every segment and line as a Poisson stream of their own, so delays add up",
            ),
        };
        Reference { formula: self, name, source, assumptions }
    }
}
