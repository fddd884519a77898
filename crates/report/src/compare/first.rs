//! The first screen of a comparison: both means, the cells that changed most, and possible
//! explanations.

use btu_suite::compare::{ComparedCell, ComparedRow, ComparedSide, Comparison, Finding};

use super::words;
use crate::html::PageWarning;
use crate::number::{count, three_digits};
use crate::stored_page::page_warning;
use crate::summary::{KeyFigure, Next, Summary};

const MEGABIT: f64 = 1e6;

/// The number of changed cells on the first screen.
const MOST_CHANGED: usize = 3;

pub(super) fn summary<R: ComparedRow>(comparison: &Comparison<R>, all: &str) -> Summary {
    let figures = match comparison.others.as_slice() {
        [one] => of_one(comparison, one),
        several => several.iter().map(side).collect(),
    };
    let mut setting: Vec<String> = Vec::new();
    for compared in &comparison.others {
        let Some(overall) = &compared.overall else { continue };
        let surer = words::surer_together(overall, &compared.cells).map(str::to_owned);
        let said =
            [Some(words::basis(overall, comparison, compared)), surer, words::advice(overall)];
        setting.extend(
            said.into_iter().flatten().filter(|text| !setting.contains(text)).collect::<Vec<_>>(),
        );
    }
    let next = vec![
        Next::new(format!("{all} --all"), "every cell"),
        Next::new(format!("{all} --format html"), "a page with all sides on one axis"),
    ];
    Summary { figures, setting, next, ..Summary::default() }
}

/// Both means, the counts of findings, and the cells that changed most.
fn of_one<R: ComparedRow>(
    comparison: &Comparison<R>,
    compared: &ComparedSide<R>,
) -> Vec<KeyFigure> {
    let overall = compared.overall.as_ref();
    let mean = |name: &str, rate: Option<f64>| {
        Some(KeyFigure {
            name: words::cut(name),
            value: format!("{} Mb/s", three_digits(rate? / MEGABIT)),
            note: format!("geometric mean of {}", count(overall?.rows, "row")),
            ..KeyFigure::default()
        })
    };
    let base =
        overall.and_then(|overall| mean(&comparison.base.name, overall.base_bits_per_second));
    let other =
        overall.and_then(|overall| mean(&compared.side.name, overall.other_bits_per_second));
    let cells = (!compared.cells.is_empty()).then(|| KeyFigure {
        name: "cells".to_owned(),
        value: compared.cells.len().to_string(),
        note: words::tally(&compared.cells),
        ..KeyFigure::default()
    });
    base.into_iter().chain(other).chain(cells).chain(changed(&compared.cells)).collect()
}

fn changed<R: ComparedRow>(cells: &[ComparedCell<R>]) -> Vec<KeyFigure> {
    let is_told =
        |cell: &&ComparedCell<R>| matches!(cell.finding, Finding::Faster | Finding::Slower);
    let mut told: Vec<&ComparedCell<R>> = cells.iter().filter(is_told).collect();
    told.sort_by(|a, b| b.ratio.value.ln().abs().total_cmp(&a.ratio.value.ln().abs()));
    let figure = |cell: &&ComparedCell<R>| KeyFigure {
        name: cell.row.to_string(),
        value: words::change(cell.ratio.value),
        interval: words::ends(&cell.ratio).unwrap_or_default(),
        note: String::new(),
    };
    told.iter().take(MOST_CHANGED).map(figure).collect()
}

fn side<R: ComparedRow>(compared: &ComparedSide<R>) -> KeyFigure {
    let ratio = compared.overall.as_ref().map(|overall| &overall.ratio);
    KeyFigure {
        name: words::cut(&compared.side.name),
        value: ratio.map_or_else(String::new, |ratio| words::change(ratio.value)),
        interval: ratio.and_then(words::ends).unwrap_or_default(),
        note: words::headline(compared),
    }
}

/// Possible explanations of a difference, and the cells that were left out.
pub(super) fn warnings<R: ComparedRow>(comparison: &Comparison<R>) -> Vec<PageWarning> {
    let differs = comparison.others.iter().flat_map(|compared| {
        let plans = compared
            .plan_differences
            .iter()
            .map(|plan| page_warning("plans differ", &plan.to_string(), ""));
        let machines = compared
            .environment_differences
            .iter()
            .map(|text| page_warning("machines differ", text, ""));
        let left_out = (!compared.left_out.is_empty()).then(|| {
            let rows: Vec<String> = compared.left_out.iter().map(ToString::to_string).collect();
            page_warning(
                "left out",
                &format!("not every run has them or was asked the same: {}", rows.join("; ")),
                "",
            )
        });
        plans.chain(machines).chain(left_out).collect::<Vec<_>>()
    });
    differs.collect()
}
