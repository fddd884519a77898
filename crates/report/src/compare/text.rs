//! A comparison for a terminal.

use btu_studies::compare::{ComparedCell, ComparedRow, ComparedSide, Comparison};

use super::words::{self, cut, cut_to};
use crate::head::TextOptions;
use crate::number::count;
use crate::paint::Paint;
use crate::sheet::{Sheet, page, section, wrap};

/// Up to this number of cells, all are shown.
const FEW: usize = 20;

/// The largest number of differences of the environment that are shown.
const MOST_DIFFERENCES: usize = 10;

/// The whole comparison; `all` shows every cell, else only those that differ. Lines end with `\n`.
pub fn comparison_text<R: ComparedRow>(
    comparison: &Comparison<R>,
    all: bool,
    options: &TextOptions,
) -> String {
    let mut sections = Vec::new();
    for compared in &comparison.others {
        sections.push(headline(comparison, compared, options));
        sections.push(explanations(compared, options));
        sections.push(cells(comparison, compared, all, options));
        sections.push(left_out(compared, options));
    }
    sections.push(warnings(comparison, options));
    sections.push(
        wrap(&words::rule(comparison), options.columns(), 0)
            .iter()
            .map(|line| Paint(options.colour).quiet(line))
            .collect(),
    );
    page(sections)
}

fn headline<R: ComparedRow>(
    comparison: &Comparison<R>,
    compared: &ComparedSide<R>,
    options: &TextOptions,
) -> Vec<String> {
    let paint = Paint(options.colour);
    let [base, side] = [&comparison.base.name, &compared.side.name].map(|name| cut(name));
    let answer = words::answer(compared);
    let is_certain = words::is_certain(compared);
    let first = wrap(&format!("{side} compared with {base}: {answer}"), options.columns(), 2);
    let painted = |line: &String| if is_certain { paint.strong(line) } else { paint.warning(line) };
    let first = first.iter().map(painted);
    let mut lines: Vec<String> = first.collect();
    let overall = compared.overall.as_ref();
    let surer = overall
        .and_then(|overall| words::surer_together(overall, &compared.cells))
        .map(str::to_owned);
    let further =
        [overall.map(words::over), surer, words::basis(compared), overall.and_then(words::advice)];
    for text in further.into_iter().flatten() {
        lines.extend(indented(&text, options).iter().map(|line| paint.quiet(line)));
    }
    lines
}

fn indented(text: &str, options: &TextOptions) -> Vec<String> {
    wrap(text, options.columns() - 2, 0).iter().map(|line| format!("  {line}")).collect()
}

/// The differences of the plans, and the differences of the environments.
fn explanations<R: ComparedRow>(compared: &ComparedSide<R>, options: &TextOptions) -> Vec<String> {
    let plans = compared.plan_differences.iter().map(ToString::to_string);
    let machines = compared.environment_differences.iter().take(MOST_DIFFERENCES).cloned();
    let rest = compared.environment_differences.len().saturating_sub(MOST_DIFFERENCES);
    let rest =
        (rest > 0).then(|| format!("and {}: --format json has all", count(rest, "more setting")));
    let all = plans.chain(machines).chain(rest);
    let lines: Vec<String> = all.flat_map(|text| indented(&text, options)).collect();
    if lines.is_empty() {
        lines
    } else {
        section("What could explain a difference", "", lines, options)
    }
}

/// The warnings of the runs.
fn warnings<R>(comparison: &Comparison<R>, options: &TextOptions) -> Vec<String> {
    let said = comparison.warnings.iter().flat_map(|warning| {
        indented(&format!("{}: {}: {}", warning.run, warning.title, warning.observed), options)
    });
    let lines: Vec<String> = said.collect();
    if lines.is_empty() { lines } else { section("Warnings of the runs", "", lines, options) }
}

fn cells<R: ComparedRow>(
    comparison: &Comparison<R>,
    compared: &ComparedSide<R>,
    all: bool,
    options: &TextOptions,
) -> Vec<String> {
    if compared.cells.is_empty() {
        return Vec::new();
    }
    let differs = |cell: &&ComparedCell<R>| cell.finding.is_difference();
    let show_all = all || compared.cells.len() <= FEW;
    let shown: Vec<&ComparedCell<R>> =
        compared.cells.iter().filter(|cell| show_all || differs(cell)).collect();
    let mut note = format!("{}; {}", words::tally(&compared.cells), words::units(&compared.cells));
    if !show_all {
        note += "; --all shows every cell";
    }
    let lines =
        if shown.is_empty() { Vec::new() } else { table(comparison, compared, &shown, options) };
    section(&count(compared.cells.len(), "cell"), &note, lines, options)
}

/// Without intervals if there is no room for them.
fn table<R: ComparedRow>(
    comparison: &Comparison<R>,
    compared: &ComparedSide<R>,
    cells: &[&ComparedCell<R>],
    options: &TextOptions,
) -> Vec<String> {
    let wide = options.is_wide();
    let interval = |text: &str| wide.then(|| text.to_owned());
    let [base, other] =
        [&comparison.base.name, &compared.side.name].map(|name| cut_to(name, MOST_OF_A_HEAD));
    let head =
        [String::new(), base, other, "change".to_owned()].into_iter().chain(interval("95 %"));
    let mut sheet = Sheet::new(head.chain([String::new()]).collect(), 1);
    for cell in cells {
        let [base, other] = words::speeds(cell);
        let change = words::of_cell(cell);
        let ends = interval(&words::ends(&change).unwrap_or_default());
        let words = [cell.row.to_string(), base, other, words::change(&change)];
        sheet.row(
            words.into_iter().chain(ends).chain([words::short(cell.finding).to_owned()]).collect(),
        );
    }
    sheet.lines()
}

/// Columns of a side's name over a column.
const MOST_OF_A_HEAD: usize = 9;

fn left_out<R: ComparedRow>(compared: &ComparedSide<R>, options: &TextOptions) -> Vec<String> {
    if compared.left_out.is_empty() {
        return Vec::new();
    }
    let rows = compared.left_out.iter().map(ToString::to_string).collect::<Vec<_>>();
    let shown = rows.iter().take(MOST_DIFFERENCES).cloned().collect::<Vec<_>>().join("; ");
    let rest = rows.len().saturating_sub(MOST_DIFFERENCES);
    let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    let text =
        format!("Left out, since not every run has them or was asked the same: {shown}{rest}.");
    wrap(&text, options.columns(), 0)
        .iter()
        .map(|line| Paint(options.colour).warning(line))
        .collect()
}
