//! Runs side by side, as a page: all sides on one axis, changes with their intervals below, every cell
//! in a table.

mod first;
mod words;

use std::collections::BTreeSet;

use btu_stats::Estimate;
use btu_studies::compare::{ComparedCell, ComparedRow, ComparedSide, Comparison};
use btu_studies::rate::Unit;

use words::cut;

use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Page, Panel, Point, Role, Section, Series, Table,
};

const MEGABIT: f64 = 1e6;

/// The whole comparison; `all` is the command that shows every cell.
pub fn comparison_page<R: ComparedRow>(comparison: &Comparison<R>, all: &str) -> Page {
    let base = cut(&comparison.base.name);
    let headline = match comparison.others.as_slice() {
        [one] => {
            let answer = words::answer(one);
            format!("{} compared with {base}: {answer}", cut(&one.side.name))
        }
        all => format!("{} sides compared with {base}", all.len()),
    };
    let mut remarks: Vec<String> = if comparison.others.len() > 1 {
        let named = |one: &ComparedSide<R>| format!("{}: {}", one.side.name, words::answer(one));
        comparison.others.iter().map(named).collect()
    } else {
        Vec::new()
    };
    for compared in &comparison.others {
        let overall = compared.overall.as_ref();
        let sentences =
            [overall.map(words::over), words::basis(compared), overall.and_then(words::advice)];
        let name = &compared.side.name;
        remarks
            .extend(sentences.into_iter().flatten().map(|sentence| format!("{name}: {sentence}")));
    }
    let rates = pictures(comparison).into_iter().map(|picture| rates(comparison, &picture));
    let sections = [overall(comparison)].into_iter().chain(rates).chain([further(comparison)]);
    Page {
        title: format!("btu compare: {base} and {}", names(comparison)),
        headline,
        remarks,
        warnings: first::warnings(comparison),
        summary: first::summary(comparison, all),
        sections: sections.flatten().collect(),
        footer: vec![format!("{}.", words::rule(comparison))],
        ..Page::default()
    }
}

fn names<R: ComparedRow>(comparison: &Comparison<R>) -> String {
    comparison
        .others
        .iter()
        .map(|compared| compared.side.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The overall ratios of all sides.
fn overall<R: ComparedRow>(comparison: &Comparison<R>) -> Option<Section> {
    let head = ["side", "finding", "runs", "base, Mb/s", "side, Mb/s", "change, %"];
    let mut table = Table::new("Geometric means over the cells that both have", &head, 2);
    for compared in &comparison.others {
        let Some(overall) = &compared.overall else { continue };
        let rates = [overall.base_bits_per_second, overall.other_bits_per_second];
        let [base, other] = rates.map(|rate| Cell::number(rate.map(|rate| rate / MEGABIT)));
        let (name, finding) = (Cell::text(&compared.side.name), Cell::text(overall.finding.name()));
        let runs = Cell::count(compared.side.runs.len() as u64);
        let change =
            words::of_all(compared).map_or(Cell::Nothing, |(ratio, _)| change_cell(&ratio));
        table.rows.push(vec![name, finding, runs, base, other, change]);
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    Section::of("Over all", "", blocks)
}

/// The pictures of rates, in the order of the cells: name and title of each.
fn pictures<R: ComparedRow>(comparison: &Comparison<R>) -> Vec<[String; 2]> {
    let mut pictures = Vec::new();
    for row in rows(comparison, |cell| cell.unit == Unit::Bits) {
        let picture = row.picture();
        if !pictures.contains(&picture) {
            pictures.push(picture);
        }
    }
    pictures
}

/// The rates of one picture, all sides on one axis.
fn rates<R: ComparedRow>(comparison: &Comparison<R>, picture: &[String; 2]) -> Option<Section> {
    let rows = rows(comparison, |cell| cell.unit == Unit::Bits && cell.row.picture() == *picture);
    let names: Vec<String> = rows.iter().map(ComparedRow::short_name).collect();
    let panels = vec![
        panel("goodput, Mb/s", true, &names, speeds(comparison, &rows)),
        panel("change, %", false, &names, changes(comparison, &rows)),
    ];
    let [name, title] = picture;
    let figure = Figure {
        name: format!("goodput-{name}"),
        title: format!("{title} by {}", R::BY),
        panels,
        layout: Layout::Below,
        table: table(comparison, &format!("{title}, Mb/s"), &rows),
    };
    Section::of(title, "", if rows.is_empty() { Vec::new() } else { vec![Block::Figure(figure)] })
}

/// Cells that are no rates.
fn further<R: ComparedRow>(comparison: &Comparison<R>) -> Option<Section> {
    let rows = rows(comparison, |cell| cell.unit != Unit::Bits);
    let [title, caption] = R::FURTHER;
    let names = names_of(&rows);
    let figure = Figure {
        name: "further".to_owned(),
        title: format!("{title}, change"),
        panels: vec![panel("change, %", false, &names, changes(comparison, &rows))],
        layout: Layout::Below,
        table: table(comparison, caption, &rows),
    };
    let blocks = if rows.is_empty() { Vec::new() } else { vec![Block::Figure(figure)] };
    Section::of(title, "", blocks)
}

/// Short names, unless several rows have the same: then whole ones.
fn names_of<R: ComparedRow>(rows: &[R]) -> Vec<String> {
    let short: Vec<String> = rows.iter().map(ComparedRow::short_name).collect();
    let distinct: BTreeSet<&String> = short.iter().collect();
    if distinct.len() == rows.len() { short } else { rows.iter().map(R::to_string).collect() }
}

fn panel(label: &str, logarithmic: bool, names: &[String], series: Vec<Series>) -> Panel {
    let y = if logarithmic { Axis::logarithmic(label) } else { Axis::linear(label) };
    Panel { title: String::new(), x: Axis::words("", names.to_vec()), y, series }
}

/// The rows of all sides that match, each once, in the order of the table of rates.
fn rows<R: ComparedRow>(
    comparison: &Comparison<R>,
    fits: impl Fn(&ComparedCell<R>) -> bool,
) -> Vec<R> {
    let mut rows: Vec<R> = Vec::new();
    for cell in
        comparison.others.iter().flat_map(|compared| &compared.cells).filter(|cell| fits(cell))
    {
        if !rows.contains(&cell.row) {
            rows.push(cell.row.clone());
        }
    }
    rows
}

fn find<'a, R: ComparedRow>(compared: &'a ComparedSide<R>, row: &R) -> Option<&'a ComparedCell<R>> {
    compared.cells.iter().find(|cell| cell.row == *row)
}

/// The base's cell, from the first side that has it.
fn of_base<R: ComparedRow>(comparison: &Comparison<R>, row: &R) -> Option<f64> {
    comparison
        .others
        .iter()
        .find_map(|compared| find(compared, row))
        .map(|cell| cell.base_per_second)
}

fn speeds<R: ComparedRow>(comparison: &Comparison<R>, rows: &[R]) -> Vec<Series> {
    let series = |place: usize, name: &str, speed: &dyn Fn(&R) -> Option<f64>| {
        let points = rows
            .iter()
            .enumerate()
            .filter_map(|(at, row)| Some(Point::new(at as f64, speed(row)? / MEGABIT)));
        Series {
            name: name.to_owned(),
            role: Role::Member(place),
            mark: Drawn::Points,
            points: points.collect(),
        }
    };
    let base = series(0, &comparison.base.name, &|row| of_base(comparison, row));
    let others = comparison.others.iter().zip(1..);
    let others = others.map(|(compared, place)| {
        series(place, &compared.side.name, &|row| Some(find(compared, row)?.other_per_second))
    });
    std::iter::once(base).chain(others).collect()
}

fn changes<R: ComparedRow>(comparison: &Comparison<R>, rows: &[R]) -> Vec<Series> {
    let series = |(compared, place): (&ComparedSide<R>, usize)| {
        let point = |(at, row): (usize, &R)| {
            let (ratio, _) = words::of_cell(find(compared, row)?);
            Some(Point {
                x: at as f64,
                y: per_cent(ratio.value),
                interval: ends_in_per_cent(&ratio),
            })
        };
        let points = rows.iter().enumerate().filter_map(point).collect();
        Series {
            name: compared.side.name.clone(),
            role: Role::Member(place),
            mark: Drawn::Points,
            points,
        }
    };
    comparison.others.iter().zip(1..).map(series).collect()
}

/// A ratio as a change.
fn per_cent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

fn ends_in_per_cent(ratio: &Estimate) -> Option<(f64, f64)> {
    ratio.interval.map(|ends| (per_cent(ends.low), per_cent(ends.high)))
}

fn change_cell(ratio: &Estimate) -> Cell {
    let value = per_cent(ratio.value);
    Cell::Number { value, shown: words::signed(ratio.value), interval: ends_in_per_cent(ratio) }
}

/// Every cell: base, side, change with interval, finding.
fn table<R: ComparedRow>(comparison: &Comparison<R>, caption: &str, rows: &[R]) -> Table {
    let mut table = Table::new(
        caption,
        &["cell", "side", "finding", "base", "this", "change, %", "p, Holm"],
        3,
    );
    for row in rows {
        for compared in &comparison.others {
            let Some(cell) = find(compared, row) else { continue };
            let labels =
                [row.to_string(), compared.side.name.clone(), cell.finding.name().to_owned()]
                    .map(Cell::Text);
            let speeds = words::numbers(cell).map(|number| Cell::number(Some(number)));
            let p = cell.adjusted_p.map_or(Cell::Nothing, |p| Cell::Number {
                value: p,
                shown: format!("{p:.3}"),
                interval: None,
            });
            let change = change_cell(&words::of_cell(cell).0);
            table.rows.push(labels.into_iter().chain(speeds).chain([change, p]).collect());
        }
    }
    table
}
