//! The rows of a comparison: the repeated measurements, and the units of their speeds.

use std::fmt;

use serde::Serialize;

use btu_contract::experiment::Quantity;
use btu_contract::load::Load;

use super::Over;
use crate::rate::{Component, MESSAGE_SIZES, Row, Unit};

/// The key of readings in several runs.
pub trait ComparedRow: Ord + Clone + fmt::Display {
    /// The common name of rows that are not rates, and the name of their speeds with the unit.
    const FURTHER: [&'static str; 2];

    /// What tells the rows in one picture apart: what short names consist of.
    const BY: &'static str;

    /// The unit of its speeds.
    fn unit(&self) -> Unit;

    /// Its name among the rows in one picture.
    fn short_name(&self) -> String;

    /// That picture: its name, and its title.
    fn picture(&self) -> [String; 2];

    /// The common rows of the overall ratio, all of one unit; `None` if there are none.
    fn overall(common: &[Self]) -> Option<(Over, Vec<Self>)>;
}

/// Every rated component with every message size under every host load.
const ROWS_OF_A_RATING: usize = Component::RATED.len() * MESSAGE_SIZES.len() * Load::HOST.len();

impl ComparedRow for Row {
    const FURTHER: [&'static str; 2] = [
        "Requests and host activities",
        "Requests per second, and work per second of host activities",
    ];
    const BY: &'static str = "component and message size in bytes";

    fn unit(&self) -> Unit {
        Unit::of(*self)
    }

    fn short_name(&self) -> String {
        match self {
            Self::Network { component, message, .. } => format!("{component} {}", message.count()),
            Self::Host { .. } => self.to_string(),
        }
    }

    fn picture(&self) -> [String; 2] {
        match self {
            Self::Network { load, .. } => [load.to_string(), format!("Network activities: {load}")],
            Self::Host { .. } => ["host".to_owned(), "Host activities".to_owned()],
        }
    }

    /// The rows of the rating if there are any, else the best available ones.
    fn overall(common: &[Self]) -> Option<(Over, Vec<Self>)> {
        let rated = |loaded: bool| -> Vec<Self> {
            let fits = |row: &&Self| matches!(row, Self::Network { component, load, .. } if component.is_rated() && (*load != Load::Idle) == loaded);
            common.iter().filter(fits).copied().collect()
        };
        let loaded = rated(true);
        let over = if loaded.len() == ROWS_OF_A_RATING { Over::Rating } else { Over::Part };
        let rated = [(over, loaded), (Over::Idle, rated(false))];
        rated.into_iter().find(|(_, rows)| !rows.is_empty()).or_else(|| further(common))
    }
}

/// Every common row, if all are of one unit: a mean of rates and times would be a number without
/// meaning.
fn further<R: ComparedRow>(common: &[R]) -> Option<(Over, Vec<R>)> {
    let unit = common.first()?.unit();
    common.iter().all(|row| row.unit() == unit).then(|| (Over::Further, common.to_vec()))
}

/// A quantity of a cell of a study.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct StudyRow {
    /// The cell, by its name in the store.
    pub cell: String,
    /// The quantity that is compared.
    pub quantity: Quantity,
    /// Both in words.
    pub name: String,
}

impl fmt::Display for StudyRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

impl ComparedRow for StudyRow {
    const FURTHER: [&'static str; 2] = ["Times", "Times, ms"];
    const BY: &'static str = "cell";

    fn unit(&self) -> Unit {
        match self.quantity {
            Quantity::Goodput | Quantity::GoodputUp | Quantity::GoodputDown => Unit::Bits,
            Quantity::Time | Quantity::RoundTrip => Unit::Times,
        }
    }

    fn short_name(&self) -> String {
        self.cell.clone()
    }

    fn picture(&self) -> [String; 2] {
        ["cells", "Goodput"].map(str::to_owned)
    }

    /// All of them, each with the same weight; nothing if they are of several units.
    fn overall(common: &[Self]) -> Option<(Over, Vec<Self>)> {
        further(common)
    }
}
