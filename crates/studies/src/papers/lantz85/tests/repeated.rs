//! Configurations that are in several tables: their software differed, so their rates differ.

use super::super::tables;

/// One configuration with more than one rate.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Repeated {
    /// The row's name, as printed.
    pub(super) line: &'static str,
    /// The configuration that several tables have.
    pub(super) configuration: &'static str,
    /// The unit of the rates.
    pub(super) unit: &'static str,
    /// Each table with its rate.
    pub(super) rates: Vec<(&'static str, f64)>,
}

impl Repeated {
    /// The largest over the smallest.
    pub(super) fn spread(&self) -> f64 {
        let rates = || self.rates.iter().map(|(_, rate)| *rate);
        rates().fold(0.0, f64::max) / rates().fold(f64::INFINITY, f64::min)
    }
}

/// Names that some tables have for a configuration of the others (sections 6.2 and 8).
const ALSO_CALLED: [(&str, &str); 3] = [("E10-IP", "E-IP"), ("VAX IKP", "IKP"), ("Normal", "PUP")];

/// Every configuration with different rates, the widest spread first.
pub(super) fn find() -> Vec<Repeated> {
    let mut found: Vec<Repeated> = Vec::new();
    for table in tables() {
        for line in &table.lines {
            line.cells.iter().for_each(|cell| {
                note(
                    &mut found,
                    (line.name, usual(cell.column), line.unit),
                    (table.number, cell.value),
                );
            });
        }
    }
    found.retain(|one| one.spread() > 1.0);
    found.sort_by(|a, b| b.spread().total_cmp(&a.spread()));
    found
}

fn note(
    found: &mut Vec<Repeated>,
    (line, configuration, unit): (&'static str, &'static str, &'static str),
    rate: (&'static str, f64),
) {
    let known = found
        .iter_mut()
        .find(|one| (one.line, one.configuration, one.unit) == (line, configuration, unit));
    match known {
        Some(one) => one.rates.push(rate),
        None => found.push(Repeated { line, configuration, unit, rates: vec![rate] }),
    }
}

fn usual(column: &'static str) -> &'static str {
    ALSO_CALLED.iter().find(|(name, _)| *name == column).map_or(column, |(_, usual)| usual)
}
