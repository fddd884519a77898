//! The words of a comparison.

use btu_stats::{Estimate, Interval};
use btu_studies::compare::{
    ComparedCell, ComparedRow, ComparedSide, Comparison, Finding, Over, Overall,
};
use btu_studies::rate::{Title, Unit};

use crate::number::{NOTHING, count, percent, percent_at_most, three_digits};
use crate::sheet::columns;
use crate::unit;
use crate::versus::{
    Directions, HIGHER, LONGER, factor, inverted, largest_possible, times, undecided, upwards,
};

const MEGABIT: f64 = 1e6;

/// Milliseconds in a second.
const MILLI: f64 = 1e3;

/// A change, as readers see it: the ratio of the shown quantities, and the words for its directions.
pub(super) type Change = (Estimate, Directions);

/// The change of a cell: of a time that of the time itself, else that of the speed.
pub(super) fn of_cell<R: ComparedRow>(cell: &ComparedCell<R>) -> Change {
    if cell.unit == Unit::Times { (inverted(&cell.ratio), LONGER) } else { (cell.ratio, HIGHER) }
}

/// The change over all cells: of times that of the times.
pub(super) fn of_all<R: ComparedRow>(compared: &ComparedSide<R>) -> Option<Change> {
    let ratio = &compared.overall.as_ref()?.ratio;
    let are_times = compared.cells.iter().all(|cell| cell.unit == Unit::Times);
    Some(if are_times { (inverted(ratio), LONGER) } else { (*ratio, HIGHER) })
}

/// A change in per cent with its sign, `-5.0 %`; from twice on in times, `49.6 times shorter`.
pub(super) fn change((ratio, directions): &Change) -> String {
    if is_small(ratio) {
        return format!("{} %", signed(ratio.value));
    }
    times(&Estimate { interval: None, ..*ratio }, *directions)
}

/// Whether value and interval are best written in per cent: none is twice or half as much.
fn is_small(ratio: &Estimate) -> bool {
    let ends = ratio.interval.map_or([ratio.value; 2], |ends| [ends.low, ends.high]);
    [ratio.value, ends[0], ends[1]].into_iter().all(|value| (0.5..2.0).contains(&value))
}

/// A change in per cent with its sign, without a unit.
pub(super) fn signed(ratio: f64) -> String {
    let value = (ratio - 1.0) * 100.0;
    if value.abs() >= 99.5 { format!("{value:+.0}") } else { format!("{value:+.1}") }
}

/// The interval of a change in the same way: `-6.9 .. -3.1 %`, `3.39 .. 726`.
pub(super) fn ends((ratio, _): &Change) -> Option<String> {
    let Interval { low, high } = ratio.interval?;
    if is_small(ratio) {
        return Some(format!("{} .. {} %", signed(low), signed(high)));
    }
    let Interval { low, high } = upwards(ratio).interval?;
    Some(format!("{} .. {}", factor(low), factor(high)))
}

/// A change with its interval in a sentence: `-5.0 % (-6.9 to -3.1 %)`, `49.6 times shorter (3.39 to
/// 726)`.
fn in_a_sentence(found: &Change) -> String {
    match ends(found).filter(|_| is_small(&found.0)) {
        Some(ends) => format!("{} ({})", change(found), ends.replace(" .. ", " to ")),
        None => times(&found.0, found.1),
    }
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

/// What was found of a side: of a rating its change, else the cell that changed most.
pub(super) fn answer<R: ComparedRow>(compared: &ComparedSide<R>) -> String {
    let Some(finding) = of_rating(compared) else { return lead(compared) };
    let Some(found) = of_all(compared) else { return finding.to_string() };
    if !compared.has_interval() {
        return change(&found) + caveat(compared);
    }
    let interval = ends(&found).map_or_else(String::new, |ends| format!(" (95 %: {ends})"));
    format!("{finding}, {}{interval}", change(&found))
}

/// The finding about a rating or a part of it; of other cells a mean answers nothing.
pub(super) fn of_rating<R>(compared: &ComparedSide<R>) -> Option<Finding> {
    let rated = compared.overall.as_ref().filter(|overall| overall.over != Over::Further);
    rated.map(|overall| overall.finding)
}

/// The cell that changed most, certain or not; or that none did, and how much at most.
fn lead<R: ComparedRow>(compared: &ComparedSide<R>) -> String {
    let Some(cell) = by_change(&compared.cells).first().copied() else {
        return "nothing to compare: both have no cell in common".to_owned();
    };
    let cells = compared.cells.iter();
    if let Some(most) = largest_possible(cells.map(|cell| (cell.ratio, cell.finding))) {
        let count = compared.cells.len();
        let of = if count == 1 { cell.row.to_string() } else { format!("any of {count} cells") };
        let said = undecided(compared.cells.iter().map(|cell| cell.finding));
        return format!("{said} in {of}, at most {} %", percent_at_most(most));
    }
    let [base, other] = quantities(cell);
    let change = in_a_sentence(&of_cell(cell));
    let remark = if cell.finding.is_difference() {
        ""
    } else if compared.has_interval() {
        ": cannot tell yet, measure more of both in turns"
    } else {
        caveat(compared)
    };
    format!("{} {base} -> {other}, {change}{remark}", cell.row)
}

/// The cells, the largest change first.
pub(super) fn by_change<R>(cells: &[ComparedCell<R>]) -> Vec<&ComparedCell<R>> {
    let size = |cell: &ComparedCell<R>| cell.ratio.value.ln().abs();
    let mut cells: Vec<&ComparedCell<R>> = cells.iter().collect();
    cells.sort_by(|one, other| size(other).total_cmp(&size(one)));
    cells
}

/// The finding, for a narrow column.
pub(super) fn short(finding: Finding) -> &'static str {
    if finding == Finding::NoDifferenceSeen { "no difference" } else { finding.name() }
}

/// `BTU rating 123 Mb/s -> 117 Mb/s, geometric mean of 90 rows`.
pub(super) fn over(overall: &Overall) -> String {
    let rows = count(overall.rows, "row");
    let what = match overall.over {
        Over::Rating => Title::BtuRating.words(),
        Over::Part => Title::Part.words(),
        Over::Idle => "rated components alone",
        Over::Further => return format!("geometric mean of {rows}"),
    };
    let rate = |rate: Option<f64>| rate.map_or_else(|| NOTHING.to_owned(), unit::rate);
    let (base, other) = (rate(overall.base_bits_per_second), rate(overall.other_bits_per_second));
    format!("{what} {base} -> {other}, geometric mean of {rows}")
}

/// Why there is no verdict, after the ratio; empty where there are enough pairs for one.
fn caveat<R>(compared: &ComparedSide<R>) -> &'static str {
    match compared.pairs {
        _ if compared.has_interval() => "",
        0 | 1 => "; one session of each: drift between sessions is not in it",
        _ => "; two sessions of each: three have an interval",
    }
}

/// The source of the intervals; or what to do, where there are none.
pub(super) fn basis<R: ComparedRow>(compared: &ComparedSide<R>) -> Option<String> {
    compared.cells.first()?;
    let (pairs, unpaired) = (compared.pairs, compared.unpaired);
    Some(match (compared.has_interval(), unpaired) {
        (true, 0) => format!("interval of the differences of {pairs} pairs in turns"),
        (true, _) => format!(
            "interval of the differences of {pairs} pairs in turns; {} without a partner left out",
            count(unpaired, "run")
        ),
        (false, _) => "for a verdict measure three or more of each in turns (one of this side, one of that, and so on), or \
                       both by `btu run`"
            .to_owned(),
    })
}

/// The effort that would answer an open question.
pub(super) fn advice(overall: &Overall) -> Option<String> {
    if overall.finding != Finding::CannotTell {
        return None;
    }
    let Interval { low, high } = overall.ratio.interval?;
    let most = (1.0 / low).max(high);
    let most = if most < 2.0 {
        format!("{} %", percent_at_most(most - 1.0))
    } else {
        format!("{} times", factor(most))
    };
    Some(format!(
        "differences of up to {most} either way cannot be excluded; more pairs narrow that down"
    ))
}

/// Both speeds in the cell's unit; of a time, the times themselves.
pub(super) fn numbers<R: ComparedRow>(cell: &ComparedCell<R>) -> [f64; 2] {
    [cell.base_per_second, cell.other_per_second].map(|speed| match cell.unit {
        Unit::Bits => speed / MEGABIT,
        Unit::Requests | Unit::Work => speed,
        Unit::Times => MILLI / speed,
    })
}

/// Both values of a cell with their units.
fn quantities<R: ComparedRow>(cell: &ComparedCell<R>) -> [String; 2] {
    [cell.base_per_second, cell.other_per_second].map(|speed| match cell.unit {
        Unit::Bits => unit::rate(speed),
        Unit::Times => unit::time(1.0 / speed),
        Unit::Requests => format!("{} requests/s", three_digits(speed)),
        Unit::Work => format!("{} work/s", three_digits(speed)),
    })
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
        .then_some("no single cell is significant; the mean of all is more certain than each")
}

/// How the words are chosen.
pub(super) fn rule<R: ComparedRow>(comparison: &Comparison<R>) -> String {
    let (matter, level) = (percent(comparison.matter.share()), percent(comparison.level.share()));
    format!(
        "faster or slower: beyond chance at {level} % and by at least {matter} %; no difference seen: the whole interval \
         within {matter} %; else cannot tell. Cells are corrected for their number (Holm), their intervals are not"
    )
}
