//! The words that both forms of a comparison use.

use btu_stats::{Estimate, Interval};
use btu_suite::compare::{
    Basis, ComparedCell, ComparedRow, ComparedSide, Comparison, Finding, Over, Overall, Unit,
};
use btu_suite::verdict::Title;

use crate::number::{NOTHING, count, percent, three_digits};
use crate::sheet::columns;

const MEGABIT: f64 = 1e6;

/// Milliseconds in a second.
const MILLI: f64 = 1e3;

/// A ratio as a change in per cent with its sign: `-5.0 %`; beyond ten times either way as `266
/// times slower`.
pub(super) fn change(ratio: f64) -> String {
    match ratio {
        _ if ratio > 0.0 && ratio < 0.1 => format!("{} times slower", three_digits(1.0 / ratio)),
        _ if ratio > 10.0 && ratio.is_finite() => format!("{} times faster", three_digits(ratio)),
        _ => format!("{} %", signed(ratio)),
    }
}

fn signed(ratio: f64) -> String {
    let value = (ratio - 1.0) * 100.0;
    if value.abs() >= 99.5 { format!("{value:+.0}") } else { format!("{value:+.1}") }
}

/// The interval in the same way: `-6.9 .. -3.1 %`; as factors if the ratio is given as a factor.
pub(super) fn ends(ratio: &Estimate) -> Option<String> {
    let Interval { low, high } = ratio.interval?;
    Some(match ratio.value {
        value if value > 0.0 && value < 0.1 => {
            format!("{} .. {}", three_digits(1.0 / high), three_digits(1.0 / low))
        }
        value if value > 10.0 => format!("{} .. {}", three_digits(low), three_digits(high)),
        _ => format!("{} .. {} %", signed(low), signed(high)),
    })
}

/// Columns of a side's name in a headline.
const MOST_OF_A_HEADLINE: usize = 16;

/// A long list of runs would push everything else off the screen.
pub(super) fn cut(name: &str) -> String {
    cut_to(name, MOST_OF_A_HEADLINE)
}

pub(super) fn cut_to(name: &str, most: usize) -> String {
    if columns(name) <= most {
        name.to_owned()
    } else {
        name.chars().take(most - 1).chain(['…']).collect()
    }
}

/// The finding about the whole, such as `faster`.
pub(super) fn headline<R: ComparedRow>(compared: &ComparedSide<R>) -> String {
    let nothing = || "nothing to compare: both have no cell in common".to_owned();
    compared.overall.as_ref().map_or_else(nothing, |overall| overall.finding.to_string())
}

/// The finding, for a narrow column.
pub(super) fn short(finding: Finding) -> &'static str {
    if finding == Finding::NoDifferenceSeen { "no difference" } else { finding.name() }
}

/// The units that occur among the cells.
pub(super) fn units<R: ComparedRow>(cells: &[ComparedCell<R>]) -> String {
    let occurs = |unit| cells.iter().any(|cell| cell.unit == unit);
    let all = [
        (Unit::Bits, "Mb/s"),
        (Unit::Requests, "INTERACTIVE in requests/s"),
        (Unit::Work, "host activities in work/s"),
        (Unit::Times, "times in ms, whose change is that of their speed"),
    ];
    let found = all.into_iter().filter(|(unit, _)| occurs(*unit)).map(|(_, name)| name);
    found.collect::<Vec<_>>().join(", ")
}

/// `BTU rating 123 -> 117 Mb/s, 90 rows`.
pub(super) fn over(overall: &Overall) -> String {
    let rows = count(overall.rows, "row");
    let what = match overall.over {
        Over::Rating => Title::BtuRating.words(),
        Over::Part => Title::Part.words(),
        Over::Idle => "rated components alone",
        Over::Further => return format!("mean over {rows} of several units"),
    };
    let rate = |rate: Option<f64>| {
        rate.map_or_else(|| NOTHING.to_owned(), |rate| three_digits(rate / MEGABIT))
    };
    let (base, other) = (rate(overall.base_bits_per_second), rate(overall.other_bits_per_second));
    format!("{what} {base} -> {other} Mb/s, geometric mean of {rows}")
}

/// The source of the interval, and its limits.
pub(super) fn basis<R: ComparedRow>(
    overall: &Overall,
    comparison: &Comparison<R>,
    compared: &ComparedSide<R>,
) -> String {
    let [base, other] = [&comparison.base, &compared.side].map(|side| side.runs.len());
    match overall.basis {
        Basis::Runs => format!("interval from the spread between runs, {base} against {other}"),
        Basis::EarlierRuns => format!(
            "interval from the spread between {} of the same plan on the same machine: {}",
            count(overall.learned_from.len(), "earlier run"),
            overall.learned_from.join(", ")
        ),
        Basis::Blocks => "interval from the spread between the blocks of a run, taken as large as the drift between \
                          two runs in a row: more drift than that is not covered. Three runs of each side, three \
                          earlier ones, or `btu run` with both in turns would tell"
            .to_owned(),
        Basis::Nothing => "no interval: nothing was repeated".to_owned(),
    }
}

/// The effort that would answer an open question.
pub(super) fn advice(overall: &Overall) -> Option<String> {
    if overall.finding != Finding::CannotTell {
        return None;
    }
    let Interval { low, high } = overall.ratio.interval?;
    let room = (1.0 / low).max(high) - 1.0;
    Some(format!(
        "differences of up to {} % either way cannot be excluded; more runs narrow that down",
        percent(room)
    ))
}

/// The name of a speed of the cell's kind.
pub(super) fn unit<R: ComparedRow>(cell: &ComparedCell<R>) -> &'static str {
    match cell.unit {
        Unit::Bits => "Mb/s",
        Unit::Requests => "requests/s",
        Unit::Work => "work/s",
        Unit::Times => "ms",
    }
}

/// Both speeds in the cell's unit; of a time, the times themselves.
pub(super) fn numbers<R: ComparedRow>(cell: &ComparedCell<R>) -> [f64; 2] {
    [cell.base_per_second, cell.other_per_second].map(|speed| match cell.unit {
        Unit::Bits => speed / MEGABIT,
        Unit::Requests | Unit::Work => speed,
        Unit::Times => MILLI / speed,
    })
}

/// Like `numbers`, as text.
pub(super) fn speeds<R: ComparedRow>(cell: &ComparedCell<R>) -> [String; 2] {
    numbers(cell).map(three_digits)
}

/// `2 faster, 1 slower, 30 no difference seen`.
pub(super) fn tally<R: ComparedRow>(cells: &[ComparedCell<R>]) -> String {
    let all = [Finding::Faster, Finding::Slower, Finding::NoDifferenceSeen, Finding::CannotTell];
    let number = |finding| cells.iter().filter(|cell| cell.finding == finding).count();
    let counted = all.map(|finding| (number(finding), finding));
    let said = counted
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, finding)| format!("{number} {finding}"));
    said.collect::<Vec<_>>().join(", ")
}

/// Why the mean of all cells may change significantly when no single cell does.
pub(super) fn surer_together<R: ComparedRow>(
    overall: &Overall,
    cells: &[ComparedCell<R>],
) -> Option<&'static str> {
    let is_told = matches!(overall.finding, Finding::Faster | Finding::Slower);
    let none_is = cells.iter().all(|cell| cell.finding == Finding::CannotTell);
    (is_told && none_is && cells.len() > 1)
        .then_some("no cell alone is sure enough to tell; the mean of all is surer than each")
}

/// How the words are chosen.
pub(super) fn rule<R: ComparedRow>(comparison: &Comparison<R>) -> String {
    let (matter, level) = (percent(comparison.matter.share()), percent(comparison.level.share()));
    format!(
        "faster or slower: beyond chance at {level} % and by at least {matter} %; no difference seen: the whole interval \
         within {matter} %; else cannot tell. Cells are corrected for their number (Holm), their intervals are not"
    )
}
