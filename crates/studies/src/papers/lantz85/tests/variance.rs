//! The share of each factor in the variance of ln(rate), in the tables that cross two factors.
//!
//! A share needs no scale: it also ranks protocols, which have no speed. But it holds for the range
//! that the table tries.

use super::super::printed;
use btu_stats::{Bootstrap, Factorial};

/// One table of two factors, divided.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Division {
    /// The number of the table in the paper.
    pub(super) table: &'static str,
    /// The kind of rate, or the part of the table.
    pub(super) part: &'static str,
    /// The factor of the rows.
    pub(super) row_factor: &'static str,
    /// The factor of the columns.
    pub(super) column_factor: &'static str,
    /// Variance of ln(rate) over all cells: a standard deviation of 0.1 is about 10 %.
    pub(super) variance: f64,
    /// Share of the row factor, between 0 and 1.
    pub(super) row_share: f64,
    /// Share of the column factor.
    pub(super) column_share: f64,
    /// Share of their interaction, which includes the error, because nothing was measured twice.
    pub(super) interaction_share: f64,
}

/// A part of a table that crosses two factors.
struct Crossed {
    table: &'static str,
    part: &'static str,
    row_factor: &'static str,
    column_factor: &'static str,
    rows: &'static [&'static str],
    columns: &'static [&'static str],
    /// The factor of the printed rows is `column_factor`.
    turned: bool,
}

pub(super) const WORKSTATION: &str = "workstation";
pub(super) const HOST: &str = "host";
pub(super) const LEVEL: &str = "protocol";
pub(super) const TRANSPORT: &str = "transport";
pub(super) const NETWORK: &str = "network";
pub(super) const LINE: &str = "line";
pub(super) const WITHOUT_STOP_AND_WAIT: &str = "without stop-and-wait";
pub(super) const SERIAL: &str = "1.2 to 9.6 kb/s";
pub(super) const ABOVE_SERIAL: &str = "9.6 kb/s and 10 Mb/s";

const CONFIGURATION: &str = "configuration";
const MEASURE: &str = "rate";
const EVERYWHERE: &[&str] = &["Local", "IKP", "PUP", "E-IP", "A-IP"];
const OVER_ETHERNET: &[&str] = &["IKP", "PUP", "E-IP"];
const THREE: &[&str] = &["Local", "E-IP", "A-IP"];
const GRAPHICS: &[&str] = &["10,750,construction", "10,750,batch"];
const LINE_RATES: &[&str] = &["10,750,construction", "10,750,batch", "10,750,structure"];
const LEVELS: &[&str] = &[
    "10,750,incremental",
    "10,750,pipelined incremental",
    "10,750,batch unstructured",
    "10,750,batch structured",
];

impl Crossed {
    const fn new(table: &'static str, part: &'static str, factors: [&'static str; 2]) -> Self {
        let [row_factor, column_factor] = factors;
        Self { table, part, row_factor, column_factor, rows: &[], columns: &[], turned: false }
    }

    const fn over(self, rows: &'static [&'static str], columns: &'static [&'static str]) -> Self {
        Self { rows, columns, ..self }
    }

    const fn turned(self) -> Self {
        Self { turned: true, ..self }
    }

    /// Every part of a table that can be divided, in the paper's order.
    const ALL: [Self; 10] = [
        Self::new("3-1", "VAX 750", [TRANSPORT, MEASURE]).over(GRAPHICS, OVER_ETHERNET).turned(),
        Self::new("4-1", "batch", [WORKSTATION, CONFIGURATION])
            .over(&["8,780,batch", "10,780,batch"], EVERYWHERE),
        Self::new("4-1", "text", [WORKSTATION, CONFIGURATION])
            .over(&["8,780,text", "10,780,text"], EVERYWHERE),
        Self::new("4-2", "construction", [HOST, TRANSPORT])
            .over(&["10,750,construction", "10,780,construction"], OVER_ETHERNET),
        Self::new("4-2", "text", [HOST, TRANSPORT])
            .over(&["10,750,text", "10,780,text"], OVER_ETHERNET),
        Self::new("5-1", "all", [LEVEL, CONFIGURATION]).over(LEVELS, THREE),
        Self::new("5-1", WITHOUT_STOP_AND_WAIT, [LEVEL, CONFIGURATION])
            .over(LEVELS.split_at(1).1, THREE),
        Self::new("8-1", "56 kb/s to 10 Mb/s", [NETWORK, MEASURE])
            .over(GRAPHICS, &["A-IP", "E3-IP", "E10-IP"])
            .turned(),
        Self::new("8-2", SERIAL, [LINE, MEASURE])
            .over(LINE_RATES, &["1200", "2400", "4800", "9600"])
            .turned(),
        Self::new("8-2", ABOVE_SERIAL, [LINE, MEASURE]).over(LINE_RATES, &["9600", "10M"]).turned(),
    ];

    fn divide(&self) -> Division {
        let logarithm = |row: &&str, column: &&str| printed(self.table, row, column).ln();
        let cells = |run: &Vec<usize>| {
            let [row, column] = if self.turned { [run[1], run[0]] } else { [run[0], run[1]] };
            logarithm(&self.rows[row], &self.columns[column])
        };
        let mut levels = [self.rows.len(), self.columns.len()];
        if self.turned {
            levels.reverse();
        }
        let design = Factorial::full(&levels);
        let values = |design: &Factorial| design.runs().iter().map(cells).collect::<Vec<f64>>();
        let effects =
            design.and_then(|design| design.effects(&[values(&design)], 2, &Bootstrap::new(0)));
        let effects =
            effects.unwrap_or_else(|| panic!("table {} does not cross two factors", self.table));
        let share = |factors: &[usize]| effects.term(factors).map_or(0.0, |term| term.share.value);
        let Self { table, part, row_factor, column_factor, .. } = *self;
        let [row_share, column_share, interaction_share] =
            [share(&[0]), share(&[1]), share(&[0, 1])];
        let variance = effects.variance;
        Division {
            table,
            part,
            row_factor,
            column_factor,
            variance,
            row_share,
            column_share,
            interaction_share,
        }
    }
}

/// Every table that crosses two factors.
pub(super) fn all() -> Vec<Division> {
    Crossed::ALL.iter().map(Crossed::divide).collect()
}
