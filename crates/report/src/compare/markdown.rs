//! A comparison as Markdown (GitHub's tables).

use btu_studies::compare::{ComparedCell, ComparedRow, ComparedSide, Comparison};
use btu_units::controls;

use super::words;

/// The whole comparison with every cell; lines end with `\n`.
pub fn comparison_markdown<R: ComparedRow>(comparison: &Comparison<R>) -> String {
    let mut lines = Vec::new();
    for compared in &comparison.others {
        lines.extend(one(comparison, compared));
    }
    let warnings = comparison.warnings.iter();
    lines.extend(
        warnings.map(|one| safe(&format!("! {}: {}: {}", one.run, one.title, one.observed)) + "\n"),
    );
    lines.push(format!("*{}.*", words::rule(comparison)));
    lines.join("\n") + "\n"
}

fn one<R: ComparedRow>(comparison: &Comparison<R>, compared: &ComparedSide<R>) -> Vec<String> {
    let (base, other) = (safe(&comparison.base.name), safe(&compared.side.name));
    let mut lines = vec![
        format!("## {other} compared with {base}: {}", safe(&words::answer(compared))),
        String::new(),
    ];
    lines.extend(words::basis(compared).map(|basis| format!("- {basis}")));
    if let Some((overall, found)) = compared.overall.as_ref().zip(words::of_all(compared)) {
        let interval =
            words::ends(&found).map_or_else(String::new, |ends| format!(" (95 %: {ends})"));
        let (change, over) = (words::change(&found), words::over(overall));
        lines.push(format!("- **{change}**{interval}, {over}"));
        lines.extend(words::advice(overall).map(|advice| format!("- {advice}")));
    }
    let plans = compared.plan_differences.iter().map(ToString::to_string);
    let explanations = plans.chain(compared.environment_differences.iter().cloned());
    lines.extend(explanations.map(|text| format!("- {}", safe(&text))));
    if !compared.left_out.is_empty() {
        let rows = compared.left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        lines.push(format!("- left out: {}", safe(&rows)));
    }
    lines.push(String::new());
    if !compared.cells.is_empty() {
        lines.push(format!("| cell | unit | {base} | {other} | change | 95 % | p, Holm | |"));
        lines.push("|---|---|--:|--:|--:|--:|--:|---|".to_owned());
        lines.extend(compared.cells.iter().map(row));
        lines.push(String::new());
    }
    lines
}

fn row<R: ComparedRow>(cell: &ComparedCell<R>) -> String {
    let [base, other] = words::speeds(cell);
    let change = words::of_cell(cell);
    let interval = words::ends(&change).unwrap_or_default();
    let p = cell.adjusted_p.map_or_else(String::new, |p| format!("{p:.3}"));
    let (name, unit) = (safe(&cell.row.to_string()), words::unit_of(cell));
    format!(
        "| {name} | {unit} | {base} | {other} | {} | {interval} | {p} | {} |",
        words::change(&change),
        cell.finding
    )
}

/// Names and settings come from users and machines; they must not break the page.
fn safe(text: &str) -> String {
    text.chars()
        .flat_map(|c| match c {
            '|' | '<' | '>' | '*' | '_' | '[' | ']' | '\\' => vec!['\\', c],
            c if controls(c) => vec![' '],
            c => vec![c],
        })
        .collect()
}
