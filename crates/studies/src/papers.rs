//! The papers' own results: their tables as printed, and their numbers as points to draw with new
//! ones. Tests next to each paper compare its text with its numbers.

pub mod btu95;
pub mod citi89;
pub mod lantz85;
pub mod netpipe96;
pub mod press88;
mod table;

use std::str::FromStr;

use serde::Serialize;

pub use table::{PrintedCell, PrintedRow, PrintedTable};

btu_units::named! {
    /// A paper; its results are part of this program.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Study {
        /// Lantz, Nowicki and Theimer: distributed graphics.
        Lantz85 = "lantz85",
        /// Press: benchmarks for local area networks.
        Press88 = "press88",
        /// The CITI report on copying large files.
        Citi89 = "citi89",
        /// The BTU benchmark itself.
        Btu95 = "btu95",
        /// Snell, Mikler and Gustafson: `NetPIPE`.
        Netpipe96 = "netpipe96",
    }
}

/// One number of a study, for pictures with new ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReferencePoint {
    /// The name of its curve; the points of a curve are in the order of `x`.
    pub label: &'static str,
    /// Its place on the horizontal axis; `None` for a value of the whole curve, such as a maximum
    /// for which the paper gives no size: draw it as a level.
    pub x: Option<f64>,
    /// The unit of `x`: `bytes`, `bits/s`, `background stations`.
    pub x_unit: &'static str,
    /// The value, in `unit`.
    pub y: f64,
    /// The unit of `y`: `seconds`, `bits/s` (of 10^6 to the megabit, whatever the paper used),
    /// `items/s`.
    pub unit: &'static str,
    /// Table or figure of the paper, with a note about its processing.
    pub source: &'static str,
}

impl Study {
    /// Authors, title, where and when.
    pub const fn citation(self) -> &'static str {
        match self {
            Self::Lantz85 => {
                "K. A. Lantz, W. I. Nowicki and M. M. Theimer, An Empirical Study of Distributed Application Performance, \
                 Stanford University, STAN-CS-86-1117, October 1985"
            }
            Self::Press88 => {
                "L. Press, Benchmarks for LAN Performance Evaluation, Communications of the ACM, August 1988"
            }
            Self::Citi89 => {
                "On the Performance of Copying Large Files Across a Contention-Based Network, CITI report 89-4, University \
                 of Michigan, 1989"
            }
            Self::Btu95 => {
                "K. Maly, A. Gupta, S. Mynam and S. Khanna, B(its) T(o the) U(ser): a Communication Benchmark Proposal, Old \
                 Dominion University, June 1995"
            }
            Self::Netpipe96 => {
                "Q. O. Snell, A. R. Mikler and J. L. Gustafson, NetPIPE: A Network Protocol Independent Performance \
                 Evaluator, 1996"
            }
        }
    }

    /// Its subject, in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Lantz85 => "distributed graphics: processors matter more than networks",
            Self::Press88 => {
                "PC tasks on a file server while up to ten stations make background load"
            }
            Self::Citi89 => "copying large files over a loaded Ethernet, with a network model",
            Self::Btu95 => "bits to the user while the machine also works: ratings and penalties",
            Self::Netpipe96 => "message size against time: TCP and MPI over Ethernet, ATM and FDDI",
        }
    }

    /// How to read its tables.
    pub const fn note(self) -> &'static str {
        match self {
            Self::Lantz85 => {
                "Rows name the workstation (MHz), the VAX and the rate. The authors rounded to two digits, asked for these \
                 numbers to be taken as orders of magnitude, and measured the tables with different versions of the software."
            }
            Self::Press88 => {
                "Seven tasks on one workstation with a file server while up to ten others made load, against the same tasks \
                 on a stand-alone IBM PC-XT with its own disk."
            }
            Self::Citi89 => {
                "A workstation sends a file over one Ethernet of 10 Mb/s. The only scan is damaged: these are the digits that \
                 fit all others, and Figure 11 is computed by the report's model."
            }
            Self::Btu95 => {
                "Misprints are kept. Each component of the network activity (COMM) moved 4 MB."
            }
            Self::Netpipe96 => {
                "The paper has no tables: these points were read off its figures, whose megabit has 2^20 bits. A message goes \
                 there and back, and half of that is its time; of streams it is the time of one send."
            }
        }
    }

    /// Its tables as printed.
    pub fn tables(self) -> Vec<PrintedTable> {
        match self {
            Self::Lantz85 => lantz85::tables(),
            Self::Press88 => press88::tables(),
            Self::Citi89 => citi89::tables(),
            Self::Btu95 => btu95::tables(),
            Self::Netpipe96 => netpipe96::tables(),
        }
    }

    /// Its numbers as points.
    pub fn reference_points(self) -> Vec<ReferencePoint> {
        match self {
            Self::Lantz85 => lantz85::reference_points(),
            Self::Press88 => press88::reference_points(),
            Self::Citi89 => citi89::reference_points(),
            Self::Btu95 => btu95::reference_points(),
            Self::Netpipe96 => netpipe96::reference_points(),
        }
    }
}

/// There is no such study.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no study `{0}`; there are lantz85, press88, citi89, btu95, netpipe96")]
pub struct UnknownStudy(String);

impl FromStr for Study {
    type Err = UnknownStudy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found =
            Self::ALL.into_iter().find(|study| study.name().eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| UnknownStudy(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_study_is_found_by_its_name_and_by_no_other() {
        for study in Study::ALL {
            assert_eq!(study.name().parse(), Ok(study));
        }
        let refused = "hint95".parse::<Study>().unwrap_err().to_string();
        assert!(Study::ALL.into_iter().all(|study| refused.contains(study.name())), "{refused}");
    }

    #[test]
    fn every_study_has_points_that_can_be_drawn() {
        for study in Study::ALL {
            let points = study.reference_points();
            assert!(!points.is_empty(), "{study}");
            for point in &points {
                assert!(point.y.is_finite() && point.y > 0.0, "{study}: {point:?}");
                assert!(point.x.is_none_or(|x| x.is_finite() && x >= 0.0), "{study}: {point:?}");
            }
        }
    }

    #[test]
    fn the_points_of_a_curve_stand_together_in_order() {
        for study in Study::ALL {
            let points = study.reference_points();
            let same_curve = |pair: &&[ReferencePoint]| {
                (pair[0].label, pair[0].unit) == (pair[1].label, pair[1].unit)
                    && pair[1].x.is_some()
            };
            for pair in points.windows(2).filter(same_curve) {
                assert!(pair[0].x < pair[1].x, "{study}: {pair:?}");
            }
        }
    }
}
