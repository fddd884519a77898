//! The result of `btu run` as `JUnit` XML: a testsuite for each value, a case for each row.
//!
//! The form is the one that GitLab and most actions for GitHub read: `testsuites`, `testsuite`,
//! `testcase` with `failure` or `skipped`, and `system-out`
//! (<https://github.com/testmoapp/junitxml>).

use std::fmt::Write;

use btu_studies::compare::Gate;
use btu_studies::run::{RowVerdict, RunPlan, RunVerdict, ValueVerdict};
use btu_units::controls;

use crate::number::three_digits;
use crate::run::in_times;

/// The document; `gates` has for each value and row whether it is slower than allowed.
pub fn junit(plan: &RunPlan, verdict: &RunVerdict, gates: &[Vec<Option<Gate>>]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(text, "<testsuites name={}>", quoted(&plan.name));
    for (place, value) in verdict.values.iter().enumerate() {
        let gates = gates.get(place).map_or(&[][..], Vec::as_slice);
        testsuite(plan, value, gates, &mut text);
    }
    text + "</testsuites>\n"
}

fn testsuite(plan: &RunPlan, value: &ValueVerdict, gates: &[Option<Gate>], text: &mut String) {
    let gate = |place: usize| gates.get(place).copied().flatten();
    let failed = (0..value.rows.len())
        .filter(|&place| failure(value, &value.rows[place], gate(place)).is_some())
        .count();
    let _ = writeln!(
        text,
        "  <testsuite name={} tests=\"{}\" failures=\"{failed}\" errors=\"0\">",
        quoted(&format!("{}: {}", plan.name, value.name)),
        value.rows.len()
    );
    for (place, row) in value.rows.iter().enumerate() {
        case(plan, value, row, gate(place), text);
    }
    text.push_str("  </testsuite>\n");
}

fn case(
    plan: &RunPlan,
    value: &ValueVerdict,
    row: &RowVerdict,
    gate: Option<Gate>,
    text: &mut String,
) {
    let time = row.value.filter(|_| value.unit == "s").map_or(0.0, |value| value.value);
    let (class, name) = (format!("{}.{}", plan.name, value.name), row.cell.to_string());
    let _ = writeln!(
        text,
        "    <testcase classname={} name={} time=\"{time:.6}\">",
        quoted(&class),
        quoted(&name)
    );
    if let Some(why) = failure(value, row, gate) {
        let _ = writeln!(text, "      <failure message={}/>", quoted(&why));
    }
    let _ = writeln!(text, "      <system-out>{}</system-out>", escaped(&in_words(value, row)));
    text.push_str("    </testcase>\n");
}

/// Why a row fails, if so.
fn failure(value: &ValueVerdict, row: &RowVerdict, gate: Option<Gate>) -> Option<String> {
    if row.count == 0 {
        return Some("no repetition counts".to_owned());
    }
    let times = in_times(value, row).filter(|_| gate == Some(Gate::Fail))?;
    Some(format!("{times} than the baseline"))
}

fn in_words(value: &ValueVerdict, row: &RowVerdict) -> String {
    let number = row.value.map_or_else(
        || "no value".to_owned(),
        |estimate| {
            let ends = estimate.interval.map_or_else(String::new, |ends| {
                format!(" (95 %: {} .. {})", three_digits(ends.low), three_digits(ends.high))
            });
            format!("{} {}{ends}", three_digits(estimate.value), value.unit)
        },
    );
    let against = in_times(value, row).map_or_else(String::new, |times| {
        let finding = row.finding.map_or("", |finding| finding.name());
        format!("; {times} than the baseline: {finding}")
    });
    format!("{number}, {} repetitions{against}", row.count)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// The characters that XML 1.0 allows in texts and attributes.
fn escaped(text: &str) -> String {
    let letter = |letter: char| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\u{fffe}' | '\u{ffff}' => " ".to_owned(),
        control if controls(control) => " ".to_owned(),
        plain => plain.to_string(),
    };
    text.chars().map(letter).collect()
}
