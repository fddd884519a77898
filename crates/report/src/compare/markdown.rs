//! A comparison as Markdown (GitHub's tables).

use btu_suite::compare::{Beside, CellBeside, ComparedRow, Comparison};

use super::words;

/// The whole comparison with every cell; lines end with `\n`.
pub fn comparison_markdown<R: ComparedRow>(comparison: &Comparison<R>) -> String {
    let mut lines = Vec::new();
    for beside in &comparison.others {
        lines.extend(one(comparison, beside));
    }
    lines.push(format!("*{}.*", words::rule(comparison)));
    lines.join("\n") + "\n"
}

fn one<R: ComparedRow>(comparison: &Comparison<R>, beside: &Beside<R>) -> Vec<String> {
    let (base, other) = (safe(&comparison.base.name), safe(&beside.side.name));
    let mut lines = vec![
        format!("## {other} compared with {base}: {}", safe(&words::headline(beside))),
        String::new(),
    ];
    if let Some(overall) = &beside.overall {
        let interval =
            words::ends(&overall.ratio).map_or_else(String::new, |ends| format!(" (95 %: {ends})"));
        lines.push(format!(
            "**{}**{interval}, {}",
            words::change(overall.ratio.value),
            words::over(overall)
        ));
        lines.push(String::new());
        lines.push(format!("- {}", words::basis(overall, comparison, beside)));
        lines.extend(words::advice(overall).map(|advice| format!("- {advice}")));
    }
    let plans = beside.plan_differences.iter().map(ToString::to_string);
    let explanations = plans.chain(beside.environment_differences.iter().cloned());
    lines.extend(explanations.map(|text| format!("- {}", safe(&text))));
    if !beside.left_out.is_empty() {
        let rows = beside.left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        lines.push(format!("- left out: {}", safe(&rows)));
    }
    lines.push(String::new());
    if !beside.cells.is_empty() {
        lines.push(format!("| cell | unit | {base} | {other} | change | 95 % | p, Holm | |"));
        lines.push("|---|---|--:|--:|--:|--:|--:|---|".to_owned());
        lines.extend(beside.cells.iter().map(row));
        lines.push(String::new());
    }
    lines
}

fn row<R: ComparedRow>(cell: &CellBeside<R>) -> String {
    let [base, other] = words::speeds(cell);
    let interval = words::ends(&cell.ratio).unwrap_or_default();
    let p = cell.adjusted_p.map_or_else(String::new, |p| format!("{p:.3}"));
    let (name, unit) = (safe(&cell.row.to_string()), words::unit(cell));
    format!(
        "| {name} | {unit} | {base} | {other} | {} | {interval} | {p} | {} |",
        words::change(cell.ratio.value),
        cell.finding
    )
}

/// Names and settings come from users and machines; they must not break the page.
fn safe(text: &str) -> String {
    text.chars()
        .flat_map(|c| match c {
            '|' | '<' | '>' | '*' | '_' | '[' | ']' | '\\' => vec!['\\', c],
            c if c.is_control() => vec![' '],
            c => vec![c],
        })
        .collect()
}
