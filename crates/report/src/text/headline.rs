//! The rating, and its scope.

use btu_stats::Means;
use btu_studies::rate::{Obstacle, Rating};
use btu_suite::cell::Load;

use super::RateText;
use super::rates::called;
use crate::number::{NOTHING, count, duration};
use crate::run_page::without_rating;
use crate::sheet::{columns, wrap, wrap_at};
use crate::unit::{rate, rate_with_ends};

pub(super) fn lines(page: &RateText) -> Vec<String> {
    let mut lines = first(page);
    lines.extend(per_load(page));
    lines.extend(made_of(page));
    lines.extend(papers_rule(page));
    lines.extend(run(page));
    lines
}

/// `BTU rating  1234 Mb/s  (95 %: 1200 .. 1268)  quick profile, low confidence: 3 rows`, or another
/// name of the result.
fn first(page: &RateText) -> Vec<String> {
    let words = page.verdict.title.words();
    let title = page.paint.title(words);
    let Some(rating) = &page.verdict.rating else {
        return vec![format!("{title}: {}", without_rating(page.verdict))];
    };
    let (value, ends) = rate_with_ends(&rating.btu_bits_per_second);
    let interval = match ends {
        Some(ends) => format!("(95 %: {ends})"),
        None => "(no interval)".to_owned(),
    };
    let profile = format!("{} profile", page.verdict.profile);
    let warnings = format!("{}{}", obstacles(page, rating), confidence(page, rating));
    let plain = columns(words)
        + columns(&value)
        + columns(&interval)
        + columns(&profile)
        + columns(&warnings)
        + 6;
    let number = format!("{title}  {}  {interval}", page.paint.strong(&value));
    let remark = format!("{profile}{}", page.paint.warning(&warnings));
    if plain <= page.options.columns() {
        vec![format!("{number}  {remark}")]
    } else {
        vec![number, indented(&remark)]
    }
}

/// Why it is only part of a rating, except for the rows that [`confidence`] counts.
fn obstacles(page: &RateText, rating: &Rating) -> String {
    let uncounted =
        |obstacle: &&Obstacle| **obstacle != Obstacle::Incomplete || rating.missing.is_empty();
    page.verdict
        .obstacles
        .iter()
        .filter(uncounted)
        .flat_map(|obstacle| [", ", obstacle.word()])
        .collect()
}

fn confidence(page: &RateText, rating: &Rating) -> String {
    if !rating.missing.is_empty() {
        let (missing, planned) = (rating.missing.len(), rating.cells_planned);
        return format!(", incomplete: {missing} of {planned} rows missing");
    }
    match (rating.low_confidence_reason(), page.verdict.low_confidence_rows()) {
        (Some(why), _) => format!(", low confidence: {why}"),
        (None, 0) => String::new(),
        (None, rows) => format!(", low confidence: {}", count(rows, "row")),
    }
}

/// The ratings of the loads, side by side.
fn per_load(page: &RateText) -> Vec<String> {
    let one = |load: Load, rating: Option<&Rating>| {
        let value = rating.map(|rating| rate(rating.btu_bits_per_second.value));
        format!("{} {}", called(load), value.as_deref().unwrap_or(NOTHING))
    };
    let loads: Vec<String> =
        page.verdict.per_load.iter().map(|of| one(of.load, of.rating.as_ref())).collect();
    if loads.len() < 2 || page.verdict.per_load.iter().all(|of| of.rating.is_none()) {
        return Vec::new();
    }
    wrap_at(&loads.join(GAP), GAP, page.options.columns() - INDENT, 0)
        .iter()
        .map(|line| indented(line))
        .collect()
}

/// The scope of the mean, and the two other means.
fn made_of(page: &RateText) -> Vec<String> {
    let Some(rating) = &page.verdict.rating else { return Vec::new() };
    let form = if rating.btu_bits_per_second.interval.is_some() {
        format!(", interval between {}", count(rating.blocks_compared, "block"))
    } else {
        String::new()
    };
    let repetitions = count(rating.repetitions_used, "repetition");
    let geometric =
        format!("geometric mean of {}, {repetitions}{form}", count(rating.cells_used, "row"));
    let others = format!(
        "arithmetic mean {}, harmonic mean {}",
        rate(rating.arithmetic_mean_bits_per_second),
        rate(rating.harmonic_mean_bits_per_second),
    );
    [quiet(page, &geometric), quiet(page, &others)].concat()
}

/// The rating by the paper's rule, where it applies.
fn papers_rule(page: &RateText) -> Vec<String> {
    let Some(btu) = &page.verdict.btu95 else { return Vec::new() };
    let means = |means: &Means| {
        let [geometric, arithmetic, harmonic] =
            [means.geometric, means.arithmetic, means.harmonic].map(rate);
        format!("{geometric} (AM {arithmetic}, HM {harmonic})")
    };
    let text = format!(
        "BTU'95 rule, {} per component: {} with the geometric, {} with the arithmetic mean over loads",
        btu.volume,
        means(&btu.geometric_over_loads_bits_per_second),
        means(&btu.arithmetic_over_loads_bits_per_second),
    );
    wrap(&text, page.options.columns() - INDENT, 2).iter().map(|line| indented(line)).collect()
}

/// Which run this is.
fn run(page: &RateText) -> Vec<String> {
    let run = page.run;
    let what = [
        format!("run {}", run.id),
        run.started.clone(),
        format!("network {}", run.network),
        format!("seed {}", run.seed),
        format!("took {}", duration(run.duration)),
    ];
    let cost = run.own_cost.map(|cost| format!("overhead for each cell: {}", duration(cost)));
    let lines =
        [what.join(GAP), run.machine.clone()].into_iter().chain(run.about_hosts()).chain(cost);
    lines.flat_map(|line| quiet(page, &line)).collect()
}

/// The separator between independent phrases on one line.
const GAP: &str = "   ";

/// Columns before everything under the first line.
const INDENT: usize = 12;

fn indented(text: &str) -> String {
    format!("{}{text}", " ".repeat(INDENT))
}

fn quiet(page: &RateText, text: &str) -> Vec<String> {
    let separator = if text.contains(GAP) { GAP } else { " " };
    let lines = wrap_at(text, separator, page.options.columns() - INDENT, 0);
    lines.iter().map(|line| indented(&page.paint.quiet(line))).collect()
}
