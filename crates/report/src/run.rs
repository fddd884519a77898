//! The result of `btu run` as a report.

mod effects;
mod limit;
mod versus;

pub(crate) use versus::in_times;

use btu_stats::Estimate;
use btu_studies::run::{
    Better, Factor, ProgramTime, ProgramUse, RunPlan, RunVerdict, ValueVerdict,
};

use crate::html::{Block, Cell, Figure, Layout, Page, Panel, Role, Section, Table};
use crate::number::three_digits;
use crate::script_cells::script_cells;
use crate::stored_page::{StoredRun, warned};
use crate::study::{CellTable, Reported};
use crate::unit::{Unit, rate_unit, time_unit};

impl Reported for RunPlan {
    fn page(&self, verdict: &RunVerdict, _: &[Self::Record], stored: &StoredRun<'_>) -> Page {
        let mut sections: Vec<Option<Section>> =
            verdict.values.iter().map(|value| result(self, verdict, value)).collect();
        sections.extend(verdict.values.iter().map(|value| effects::section(self, value)));
        sections.push(taken(self, verdict));
        sections.push(divided(self, verdict));
        let mut page = stored
            .page(headline(self, verdict), warned(&verdict.warnings), sections)
            .limited_by(limit::limit(self, verdict));
        page.summary.decided = limit::decided(self, verdict);
        for (figure, note) in page.summary.figures.iter_mut().zip(notes(verdict)) {
            figure.note = note;
        }
        page
    }

    fn cell_table(&self, records: &[Self::Record]) -> CellTable {
        script_cells(self, records)
    }
}

/// A unit in which a typical value has few digits: its name, and how much of the value's own unit
/// it is.
fn shown(unit: &str, typical: f64) -> (String, f64) {
    const SIZES: [(&str, f64); 4] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
    let named = |unit: Unit| (unit.name.to_owned(), unit.worth);
    match unit {
        "s" => named(time_unit(typical)),
        "b/s" => named(rate_unit(typical)),
        "B" => {
            let size = SIZES.into_iter().find(|(_, size)| typical >= *size).unwrap_or(("B", 1.0));
            (size.0.to_owned(), size.1)
        }
        _ => (unit.to_owned(), 1.0),
    }
}

fn unit_of(value: &ValueVerdict) -> (String, f64) {
    let typical =
        value.rows.iter().filter_map(|row| row.value).map(|value| value.value).reduce(f64::min);
    shown(&value.unit, typical.unwrap_or(1.0))
}

/// Of two rows which is better; of more the baseline's value and the row that differs most from it.
fn headline(plan: &RunPlan, verdict: &RunVerdict) -> String {
    let Some(value) = verdict.values.first() else {
        return format!("{}: nothing was measured", plan.name);
    };
    let Some(base) = value.rows.first().and_then(|row| Some((row, row.value?))) else {
        let why = verdict
            .uses
            .iter()
            .find_map(|row| row.fault.clone())
            .map_or_else(String::new, |why| format!(": {why}"));
        return format!("{}: no repetition of the baseline counts{why}", plan.name);
    };
    let (unit, size) = shown(&value.unit, base.1.value);
    let quantity = quantity(&base.1, size, &unit);
    match versus::most_different(value.rows.iter()) {
        None if plan.factors.is_empty() => format!("{}: {quantity}", value.name),
        None => format!("{}: {quantity} with {}", value.name, base.0.cell),
        Some(row) if value.rows.len() == 2 => {
            versus::of_row(&versus::sides(plan, value, verdict.values.len() > 1), value, row)
        }
        Some(_) => {
            let others = versus::of_many(value);
            format!("{}: {quantity} with {}; {others}", value.name, base.0.cell)
        }
    }
}

/// What was found of each row that has a value, as a note next to that value.
fn notes(verdict: &RunVerdict) -> Vec<String> {
    let Some(value) = verdict.values.first() else { return Vec::new() };
    let measured = value.rows.iter().filter(|row| row.value.is_some());
    measured.map(|row| versus::in_words(value, row)).collect()
}

fn quantity(estimate: &Estimate, size: f64, unit: &str) -> String {
    let ends = estimate.interval.map_or_else(String::new, |ends| {
        format!(" ({} .. {})", three_digits(ends.low / size), three_digits(ends.high / size))
    });
    format!("{} {unit}{ends}", three_digits(estimate.value / size))
}

/// The levels of a row, a cell each.
fn levels(factors: &[Factor], row: &[usize]) -> Vec<Cell> {
    let level = |(factor, level): (&Factor, &usize)| {
        Cell::text(factor.levels.get(*level).map_or("?", String::as_str))
    };
    factors.iter().zip(row).map(level).collect()
}

/// The head of a table of rows: the factors, or what the experiment is called where there are none.
fn head(plan: &RunPlan, more: &[&str]) -> Vec<String> {
    let factors: Vec<String> =
        plan.factors.iter().map(|factor| factor.short_name().to_owned()).collect();
    let first = if factors.is_empty() { vec!["experiment".to_owned()] } else { factors };
    first.into_iter().chain(more.iter().map(|one| (*one).to_owned())).collect()
}

fn first_cells(plan: &RunPlan, row: &[usize]) -> Vec<Cell> {
    if plan.factors.is_empty() { vec![Cell::text(&plan.name)] } else { levels(&plan.factors, row) }
}

/// A line for each row: the value, and how it compares with the baseline's.
fn result(plan: &RunPlan, verdict: &RunVerdict, value: &ValueVerdict) -> Option<Section> {
    let (unit, size) = unit_of(value);
    let of = format!("{}, {unit}", value.name);
    let mut columns = vec![of.as_str(), "repetitions"];
    let is_quantile = value.rows.iter().any(|row| row.least_samples.is_some());
    columns.extend(is_quantile.then_some("n"));
    let is_compared = value.rows.len() > 1;
    if is_compared {
        columns.extend(["times the baseline", "verdict"]);
    }
    let head = head(plan, &columns);
    let mut table = Table::new(
        &value.name,
        &head.iter().map(String::as_str).collect::<Vec<_>>(),
        plan.factors.len().max(1),
    );
    for (place, row) in value.rows.iter().enumerate() {
        let mut cells = first_cells(plan, &row.cell.levels);
        cells.push(Cell::estimate(row.value.as_ref(), size));
        cells.push(Cell::count(row.count as u64));
        if is_quantile {
            cells.push(row.least_samples.map_or(Cell::Nothing, Cell::count));
        }
        if is_compared {
            cells.push(Cell::estimate(row.ratio(value.better).as_ref(), 1.0));
            let is_baseline = place == 0;
            cells.push(Cell::text(if is_baseline {
                "the baseline".to_owned()
            } else {
                versus::in_words(value, row)
            }));
        }
        table.rows.push(cells);
    }
    let better = match value.better {
        Better::Lower => "less is better",
        Better::Higher => "more is better",
    };
    let note = format!(
        "{better}; means over the repetitions with their 95 % intervals; times the baseline from pairs of the same block{}{}",
        if is_quantile { "; n is the smallest number of answers of a repetition" } else { "" },
        loads(verdict)
    );
    let title = if value.name == plan.name {
        "Result".to_owned()
    } else {
        format!("Result: {}", value.name)
    };
    Section::of(&title, &note, vec![Block::Table(table)])
}

/// The peak memory of a program, in MB; an upper bound where that of the process that started it
/// hides it.
fn peak(program: &ProgramUse) -> Cell {
    let [peak, least] =
        [program.peak_memory_bytes, program.least_memory_bytes].map(|bytes| bytes * 1e-6);
    if peak > least {
        Cell::number(Some(peak))
    } else {
        Cell::text(format!("< {}", three_digits(least)))
    }
}

/// How long before what is measured loads began.
fn loads(verdict: &RunVerdict) -> String {
    let mut leads: Vec<f64> = verdict.uses.iter().filter_map(|row| row.lead_seconds).collect();
    leads.sort_by(f64::total_cmp);
    leads.dedup();
    let leads: Vec<String> = leads.iter().map(|seconds| three_digits(*seconds)).collect();
    match leads.as_slice() {
        [] => String::new(),
        [one] => format!("; loads begin {one} s before, or up to half of that earlier, at random"),
        [first, .., last] => format!(
            "; loads begin {first} to {last} s before, by row, or up to half of that earlier, at random"
        ),
    }
}

/// What a program's time goes to: its name, and its share.
type TimeShare = (&'static str, fn(&ProgramTime) -> f64);

const PARTS: [TimeShare; 6] = [
    ("on a processor", |time| time.on_processor),
    ("waiting for one", |time| time.waiting),
    ("disk", |time| time.disk),
    ("sockets", |time| time.sockets),
    ("pauses", |time| time.sleeping),
    ("other", |time| time.other),
];

/// Where the time of the programs went; a bar for each.
fn divided(plan: &RunPlan, verdict: &RunVerdict) -> Option<Section> {
    let columns: Vec<&str> =
        ["program", "moments"].into_iter().chain(PARTS.map(|(name, _)| name)).collect();
    let head = head(plan, &columns);
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let title = "Where the programs' time went, %";
    let mut table = Table::new(title, &head, plan.factors.len().max(1) + 1);
    let (mut words, mut times) = (Vec::new(), Vec::new());
    for row in &verdict.uses {
        for program in &row.programs {
            let Some(time) = program.time else { continue };
            let mut cells = first_cells(plan, &row.cell.levels);
            cells.push(Cell::text(&program.name));
            cells.push(Cell::number(Some(time.moments.into())));
            cells.extend(PARTS.map(|(_, of)| Cell::number(Some(of(&time) * 1e2))));
            table.rows.push(cells);
            words.push(format!("{} {}", program.name, row.cell));
            times.push(time);
        }
    }
    if times.is_empty() {
        return None;
    }
    let parts = PARTS.into_iter().enumerate().map(|(place, (name, of))| {
        let heights = times.iter().map(|time| Some(of(time) * 1e2)).collect();
        (name.to_owned(), Role::Member(place), heights)
    });
    let figure = Figure {
        name: "programs".to_owned(),
        title: title.to_owned(),
        panels: vec![Panel::stacked("", ("", words), "%", parts)],
        layout: Layout::SideBySide,
        table,
    };
    let note = "of a program and all its processes: one of its threads was on a processor, or could run and others had the processors, as \
                the kernel counted; or none could, and, at moments 20 ms apart, one waited for a disk, at a socket, or slept for a \
                time; or all waited for something else (a pipe, a lock). 100 moments say so to 10 %, 1000 to 3 %";
    Section::of("Where the time went", note, vec![Block::Figure(figure)])
}

/// The resources of the programs.
fn taken(plan: &RunPlan, verdict: &RunVerdict) -> Option<Section> {
    let columns =
        ["program", "elapsed, ms", "user, ms", "system, ms", "peak, MB", "waits", "preempted"];
    let head = head(plan, &columns);
    let mut table = Table::new(
        "What programs took",
        &head.iter().map(String::as_str).collect::<Vec<_>>(),
        plan.factors.len().max(1) + 1,
    );
    for row in &verdict.uses {
        for program in &row.programs {
            let mut cells = first_cells(plan, &row.cell.levels);
            cells.push(Cell::text(&program.name));
            let times = [program.elapsed_seconds, program.user_seconds, program.system_seconds];
            cells.extend(times.map(|seconds| Cell::number(Some(seconds * 1e3))));
            cells.push(peak(program));
            cells.extend(
                [program.voluntary_switches, program.involuntary_switches]
                    .map(|count| Cell::number(Some(count))),
            );
            table.rows.push(cells);
        }
    }
    if table.rows.is_empty() {
        return None;
    }
    let note = "means; processor time of the program and of its processes that ended, the most memory that one of them had (`<`: no more than \
                btu itself had when it started the program), how often it waited and how often the processor was taken from it";
    Section::of("What programs took", note, vec![Block::Table(table)])
}
