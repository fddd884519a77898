//! A measurement with a program that is not btu, as a report.

use btu_contract::foreign::{ForeignCourse, ForeignQuantity, ForeignRun, ForeignUnit, MeasuredBy};
use btu_stats::Interval;

use crate::head::RunHead;
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Page, PageWarning, Panel, Point, Role, Section,
    Series, Table,
};
use crate::stored_page::{StoredRun, page_warning};
use crate::summary::{KeyFigure, Summary};

/// Numbers on the first screen: both directions of each pair, and one of the idle network.
const FIGURES: usize = 5;

/// The report of such a run.
pub fn foreign_page(stored: &StoredRun, run: &ForeignRun) -> Page {
    let warnings = run.warnings.iter().map(|seen| page_warning("repetitions left out", seen, ""));
    let faults = run.faults.iter().map(|fault| page_warning("does not count", fault, ""));
    let page = stored.page(
        run.answer.clone(),
        faults.chain(warnings).collect(),
        vec![quantities(run), course(run), remarks(run)],
    );
    let summary = Summary {
        figures: run.quantities.iter().take(FIGURES).filter_map(figure).collect(),
        shows_all: true,
        setting: setting(stored, run),
        ..page.summary
    };
    let warnings = by_program(run).into_iter().chain(page.warnings).collect();
    let page = Page { warnings, summary, ..page };
    match run.measured_by {
        MeasuredBy::Btu => page,
        MeasuredBy::Program => without_machine(stored, page),
    }
}

/// Another program measured, on a machine of which nothing is known.
fn without_machine(stored: &StoredRun, mut page: Page) -> Page {
    page.remarks = vec![format!("{}, {}", stored.run.started, stored.run.network)];
    let environment = stored.environment().map(|section| section.title);
    page.sections.retain(|section| Some(&section.title) != environment.as_ref());
    page
}

/// The run in words. Its network is the subject of the measurement.
fn setting(stored: &StoredRun, run: &ForeignRun) -> Vec<String> {
    let RunHead { id, network, conditions, .. } = stored.run;
    let source = match run.measured_by {
        MeasuredBy::Btu => format!("measured by btu with {}", run.program),
        MeasuredBy::Program => format!("measured by {}, not by btu", run.program),
    };
    let said = format!("{id}: {network}");
    [said, source].into_iter().chain(conditions.clone()).collect()
}

fn by_program(run: &ForeignRun) -> Option<PageWarning> {
    let observed = format!("the numbers are from {}, as in its file", run.program);
    (run.measured_by == MeasuredBy::Program)
        .then(|| page_warning("not measured by btu", &observed, ""))
}

/// Repetitions that differ have a range: the lowest and the highest.
fn range(quantity: &ForeignQuantity) -> Option<Interval> {
    let ends = quantity.values.iter().copied();
    let (low, high) = (ends.clone().reduce(f64::min)?, ends.reduce(f64::max)?);
    (quantity.values.len() > 1).then_some(Interval { low, high })
}

fn figure(quantity: &ForeignQuantity) -> Option<KeyFigure> {
    let value = quantity.unit.write(quantity.typical()?);
    let note = match range(quantity) {
        Some(Interval { low, high }) => {
            format!("{} to {}", quantity.unit.write(low), quantity.unit.write(high))
        }
        None => quantity.note.clone(),
    };
    Some(KeyFigure { name: quantity.name.clone(), value, note, ..KeyFigure::default() })
}

fn quantities(run: &ForeignRun) -> Option<Section> {
    if run.quantities.is_empty() {
        return None;
    }
    let is_repeated = run.quantities.iter().any(|quantity| quantity.values.len() > 1);
    let table = if is_repeated { repeated(run) } else { once(run) };
    let note =
        if is_repeated { "The median of the repetitions where there are several." } else { "" };
    Section::of("Results", note, vec![Block::Table(table)])
}

/// Results that were measured once each.
fn once(run: &ForeignRun) -> Table {
    let head = ["", "value", "note"];
    let mut table = Table::new("Results", &head, head.len());
    for quantity in &run.quantities {
        let Some(value) = quantity.typical() else { continue };
        let words = [quantity.name.clone(), quantity.unit.write(value), quantity.note.clone()];
        table.rows.push(words.map(Cell::text).to_vec());
    }
    table
}

/// Results of which some have repetitions.
fn repeated(run: &ForeignRun) -> Table {
    let head = ["", "value", "lowest", "highest", "repetitions", "note"];
    let mut table = Table::new("Results", &head, head.len());
    for quantity in &run.quantities {
        let Some(typical) = quantity.typical() else { continue };
        let ends = range(quantity).map(|ends| [ends.low, ends.high]);
        let end = |place: usize| ends.map(|ends| quantity.unit.write(ends[place]));
        let words = [
            quantity.name.clone(),
            quantity.unit.write(typical),
            end(0).unwrap_or_default(),
            end(1).unwrap_or_default(),
            quantity.values.len().to_string(),
            quantity.note.clone(),
        ];
        table.rows.push(words.map(Cell::text).to_vec());
    }
    table
}

/// What a unit is drawn and tabled in: its name, and how many of the stored unit it is.
const fn drawn_in(unit: ForeignUnit) -> (&'static str, f64) {
    match unit {
        ForeignUnit::BitsPerSecond => ("Mb/s", 1e6),
        ForeignUnit::Seconds => ("ms", 1e-3),
        ForeignUnit::RoundTripsPerMinute => ("/min", 1.0),
        ForeignUnit::Share => ("%", 1e-2),
        ForeignUnit::Count => ("number", 1.0),
    }
}

fn course(run: &ForeignRun) -> Option<Section> {
    let mut units: Vec<ForeignUnit> = run.courses.iter().map(|course| course.unit).collect();
    units.sort_unstable();
    units.dedup();
    let panels: Vec<Panel> = units.iter().map(|&unit| panel(run, unit)).collect();
    let figure = Figure {
        name: "course".to_owned(),
        title: "Over time".to_owned(),
        panels,
        layout: Layout::Below,
        table: points(&run.courses),
    };
    let section = Section::of("Over time", "", vec![Block::Figure(figure)])?.into_appendix();
    (!run.courses.is_empty()).then_some(section)
}

fn panel(run: &ForeignRun, unit: ForeignUnit) -> Panel {
    let (name, worth) = drawn_in(unit);
    let of_unit = run.courses.iter().enumerate().filter(|(_, course)| course.unit == unit);
    let series = of_unit.map(|(place, course)| Series {
        name: course.name.clone(),
        role: Role::Member(place),
        mark: Drawn::Line,
        points: course.points.iter().map(|[at, value]| Point::new(*at, value / worth)).collect(),
    });
    Panel {
        title: String::new(),
        x: Axis::linear("seconds"),
        y: Axis::linear(name),
        series: series.collect(),
    }
}

fn points(courses: &[ForeignCourse]) -> Table {
    let mut table = Table::new("Over time", &["", "unit", "until, s", "value"], 2);
    for course in courses {
        let (name, worth) = drawn_in(course.unit);
        for [at, value] in &course.points {
            table.rows.push(vec![
                Cell::text(&course.name),
                Cell::text(name),
                Cell::number(Some(*at)),
                Cell::number(Some(value / worth)),
            ]);
        }
    }
    table
}

fn remarks(run: &ForeignRun) -> Option<Section> {
    let blocks = run.remarks.iter().map(|remark| Block::Text(remark.clone())).collect();
    Section::of("What else is known", "", blocks)
}
