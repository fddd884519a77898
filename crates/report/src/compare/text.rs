//! A comparison for a terminal.

use btu_suite::compare::{Beside, CellBeside, Comparison, Finding};

use super::words;
use crate::head::TextOptions;
use crate::number::count;
use crate::paint::Paint;
use crate::sheet::{Sheet, page, section, wrap};

/// Up to so many cells are all shown.
const FEW: usize = 20;

/// Up to so many differences of the environment are shown.
const MOST_DIFFERENCES: usize = 10;

/// The whole comparison; `all` shows every cell, else only those that differ. Lines end with `\n`.
pub fn comparison_text(comparison: &Comparison, all: bool, options: &TextOptions) -> String {
    let mut sections = Vec::new();
    for beside in &comparison.others {
        sections.push(headline(comparison, beside, options));
        sections.push(explanations(beside, options));
        sections.push(cells(comparison, beside, all, options));
        sections.push(left_out(beside, options));
    }
    sections.push(
        wrap(&words::rule(comparison), options.columns(), 0)
            .iter()
            .map(|line| Paint(options.colour).quiet(line))
            .collect(),
    );
    page(sections)
}

fn headline(comparison: &Comparison, beside: &Beside, options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    let said = words::headline(beside, &comparison.base.name);
    let finding = beside.overall.as_ref().map(|overall| overall.finding);
    let said = match finding {
        Some(Finding::Faster | Finding::NoDifferenceSeen) => paint.strong(&said),
        _ => paint.doubt(&said),
    };
    let first = format!("{}  {said}", paint.title(&format!("{} beside {}", beside.side.name, comparison.base.name)));
    let Some(overall) = &beside.overall else { return vec![first] };
    let ratio = words::change(overall.ratio.value);
    let interval = words::ends(&overall.ratio).map_or_else(String::new, |ends| format!("  (95 %: {ends})"));
    let mut lines = vec![format!("{first}, {}{interval}", paint.title(&ratio))];
    let further = [Some(words::over(overall)), Some(words::basis(overall, comparison, beside)), words::advice(overall)];
    for text in further.into_iter().flatten() {
        lines.extend(indented(&text, options).iter().map(|line| paint.quiet(line)));
    }
    lines
}

fn indented(text: &str, options: &TextOptions) -> Vec<String> {
    wrap(text, options.columns() - 2, 0).iter().map(|line| format!("  {line}")).collect()
}

/// What was asked differently, and what was different by itself.
fn explanations(beside: &Beside, options: &TextOptions) -> Vec<String> {
    let plans = beside.plan_differences.iter().map(ToString::to_string);
    let machines = beside.environment_differences.iter().take(MOST_DIFFERENCES).cloned();
    let rest = beside.environment_differences.len().saturating_sub(MOST_DIFFERENCES);
    let rest = (rest > 0).then(|| format!("and {}: --format json has all", count(rest, "more setting")));
    let all = plans.chain(machines).chain(rest);
    let lines: Vec<String> = all.flat_map(|text| indented(&text, options)).collect();
    if lines.is_empty() { lines } else { section("What could explain a difference", "", lines, options) }
}

fn cells(comparison: &Comparison, beside: &Beside, all: bool, options: &TextOptions) -> Vec<String> {
    if beside.cells.is_empty() {
        return Vec::new();
    }
    let differs = |cell: &&CellBeside| matches!(cell.finding, Finding::Faster | Finding::Slower);
    let show_all = all || beside.cells.len() <= FEW;
    let shown: Vec<&CellBeside> = beside.cells.iter().filter(|cell| show_all || differs(cell)).collect();
    let mut note = words::tally(&beside.cells);
    if !show_all {
        note += "; --all shows every cell";
    }
    let lines = if shown.is_empty() { Vec::new() } else { table(comparison, beside, &shown) };
    section(&count(beside.cells.len(), "cell"), &note, lines, options)
}

fn table(comparison: &Comparison, beside: &Beside, cells: &[&CellBeside]) -> Vec<String> {
    let head = ["", "", &short(&comparison.base.name), &short(&beside.side.name), "change", "95 %", ""];
    // The finding is a word among numbers: it stands at the right edge, where it lines up with itself.
    let mut sheet = Sheet::new(head.iter().map(|&word| word.to_owned()).collect(), 2);
    for cell in cells {
        let [base, other] = words::speeds(cell);
        let interval = words::ends(&cell.ratio).unwrap_or_default();
        let name = cell.row.to_string();
        let words = [name, words::unit(cell).to_owned(), base, other, words::change(cell.ratio.value), interval];
        sheet.row(words.into_iter().chain([cell.finding.to_string()]).collect());
    }
    sheet.lines()
}

/// A long list of runs would push the table off the screen.
fn short(name: &str) -> String {
    if name.chars().count() <= 12 { name.to_owned() } else { name.chars().take(11).chain(['…']).collect() }
}

fn left_out(beside: &Beside, options: &TextOptions) -> Vec<String> {
    if beside.left_out.is_empty() {
        return Vec::new();
    }
    let rows = beside.left_out.iter().map(ToString::to_string).collect::<Vec<_>>();
    let shown = rows.iter().take(MOST_DIFFERENCES).cloned().collect::<Vec<_>>().join("; ");
    let rest = rows.len().saturating_sub(MOST_DIFFERENCES);
    let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    let text = format!("Left out, since not every run has them or was asked the same: {shown}{rest}.");
    wrap(&text, options.columns(), 0).iter().map(|line| Paint(options.colour).doubt(line)).collect()
}
