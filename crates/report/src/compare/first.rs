//! The first screen of a comparison: both means, the cells that changed most, and possible
//! explanations.

use btu_studies::compare::{ComparedCell, ComparedRow, ComparedSide, Comparison, Over};

use super::words;
use crate::html::PageWarning;
use crate::number::count;
use crate::stored_page::page_warning;
use crate::summary::{KeyFigure, Next, Summary};
use crate::unit;

/// The number of changed cells on the first screen.
const MOST_CHANGED: usize = 3;

pub(super) fn summary<R: ComparedRow>(comparison: &Comparison<R>, all: &str) -> Summary {
    let figures = match comparison.others.as_slice() {
        [one] => of_one(comparison, one),
        several => several.iter().map(side).collect(),
    };
    let mut setting: Vec<String> = Vec::new();
    for compared in &comparison.others {
        let overall = compared.overall.as_ref();
        let surer = overall.and_then(|overall| words::surer_together(overall, &compared.cells));
        let said =
            [words::basis(compared), surer.map(str::to_owned), overall.and_then(words::advice)];
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
            value: unit::rate(rate?),
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
    let figures = base.into_iter().chain(other).chain(cells).chain(changed(compared));
    figures.chain(of_further(compared)).collect()
}

/// The cell that changed most, unless the headline has it; then all that changed beyond chance, and
/// the others, the largest change first.
fn changed<R: ComparedRow>(compared: &ComparedSide<R>) -> Vec<KeyFigure> {
    let is_rated = words::of_rating(compared).is_some();
    let cells = words::by_change(&compared.cells);
    let Some((first, rest)) = cells.split_first() else { return Vec::new() };
    let (differ, others): (Vec<_>, Vec<_>) =
        rest.iter().partition(|cell| cell.finding.is_difference());
    let first = is_rated.then_some(first).into_iter();
    let all = first.chain(differ).chain(others);
    all.take(MOST_CHANGED).map(|cell| figure(cell)).collect()
}

/// The mean over cells of one unit that are not rated.
fn of_further<R: ComparedRow>(compared: &ComparedSide<R>) -> Option<KeyFigure> {
    let overall = compared.overall.as_ref()?;
    if overall.over != Over::Further || overall.rows < 2 {
        return None;
    }
    Some(KeyFigure { name: "mean".to_owned(), ..of_all(compared)? })
}

/// The change over all cells.
fn of_all<R: ComparedRow>(compared: &ComparedSide<R>) -> Option<KeyFigure> {
    let (overall, change) = (compared.overall.as_ref()?, words::of_all(compared)?);
    Some(KeyFigure {
        name: words::cut(&compared.side.name),
        value: words::change(&change),
        interval: words::ends(&change).unwrap_or_default(),
        note: overall.finding.to_string(),
    })
}

fn figure<R: ComparedRow>(cell: &ComparedCell<R>) -> KeyFigure {
    let change = words::of_cell(cell);
    KeyFigure {
        name: cell.row.to_string(),
        value: words::change(&change),
        interval: words::ends(&change).unwrap_or_default(),
        note: words::short(cell.finding).to_owned(),
    }
}

fn side<R: ComparedRow>(compared: &ComparedSide<R>) -> KeyFigure {
    let rated = of_all(compared).filter(|_| words::of_rating(compared).is_some());
    let name = words::cut(&compared.side.name);
    match (rated, words::by_change(&compared.cells).first()) {
        (Some(figure), _) => figure,
        (None, Some(cell)) => {
            KeyFigure { name, note: format!("{}, {}", cell.row, cell.finding), ..figure(cell) }
        }
        (None, None) => KeyFigure { name, note: words::answer(compared), ..KeyFigure::default() },
    }
}

/// The warnings of the runs, possible explanations of a difference, and the cells that were left out.
pub(super) fn warnings<R: ComparedRow>(comparison: &Comparison<R>) -> Vec<PageWarning> {
    let of_runs = comparison.warnings.iter().map(|warning| {
        page_warning(&warning.title, &format!("{}: {}", warning.run, warning.observed), "")
    });
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
    of_runs.chain(differs).collect()
}
