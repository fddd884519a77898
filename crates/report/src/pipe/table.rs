//! The sizes of a signature as a table.

use btu_studies::pipe::{PipeVerdict, SizeVerdict};

use crate::head::TextOptions;
use crate::number::{or_dash, plus_minus, three_digits};
use crate::sheet::{Sheet, section};
use crate::unit::{Unit, rate_unit, time_unit};

/// The number of sizes that readers still read.
const READABLE: usize = 30;

/// Sizes with times and throughput: all of them, or one per octave if there are many and `all` is
/// false.
pub(super) fn lines(verdict: &PipeVerdict, all: bool, options: &TextOptions) -> Vec<String> {
    let sizes = chosen(verdict, all);
    let Some(typical) = sizes.get(sizes.len() / 2) else { return Vec::new() };
    let time = time_unit(typical.one_way.median_seconds.value);
    let most = verdict.maximum.as_ref().map_or(0.0, |peak| peak.bits_per_second.value);
    let rate = rate_unit(most);
    let wide = options.is_wide();
    let mut sheet = Sheet::new(head(time, rate, wide), 0);
    for size in &sizes {
        sheet.row(row(size, time, rate, wide));
    }
    let left_out = verdict.sizes.len() - sizes.len();
    let omitted = if left_out == 0 {
        String::new()
    } else {
        format!("{left_out} sizes between are left out here; ")
    };
    let note = format!(
        "one-way time and throughput; {omitted}{}; intervals at 95 %",
        trials(&verdict.sizes)
    );
    section("Sizes", &note, sheet.without_empty_columns().lines(), options)
}

/// How many trials quartiles and median are of.
fn trials(sizes: &[SizeVerdict]) -> String {
    let counts = || sizes.iter().map(|size| size.trials);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    if least == most {
        format!("n = {most} trials of each size")
    } else {
        format!("n = {least} to {most} trials of a size")
    }
}

/// All sizes if they are few or `all` is true; else powers of two, the ends, and the highest.
fn chosen(verdict: &PipeVerdict, all: bool) -> Vec<&SizeVerdict> {
    let last = verdict.sizes.len().saturating_sub(1);
    let peak = verdict.maximum.as_ref().map(|peak| peak.size);
    let kept = |(index, size): &(usize, &SizeVerdict)| {
        all || verdict.sizes.len() <= READABLE
            || size.size.count().is_power_of_two()
            || *index == 0
            || *index == last
            || Some(size.size) == peak
    };
    verdict.sizes.iter().enumerate().filter(kept).map(|(_, size)| size).collect()
}

fn head(time: Unit, rate: Unit, wide: bool) -> Vec<String> {
    let spread = if wide { ["quartile", "quartile"].as_slice() } else { &[] };
    let columns =
        ["bytes".to_owned(), format!("median {}", time.name), String::new(), "least".to_owned()];
    let rest = ["mean", "most"].into_iter().chain(spread.iter().copied()).map(str::to_owned);
    columns.into_iter().chain(rest).chain([rate.name.to_owned()]).collect()
}

fn row(size: &SizeVerdict, time: Unit, rate: Unit, wide: bool) -> Vec<String> {
    let times = &size.one_way;
    let of = |seconds: f64| three_digits(seconds / time.worth);
    let median = &times.median_seconds;
    let mut cells = vec![
        size.size.count().to_string(),
        of(median.value),
        plus_minus(Some(median)),
        of(times.least_seconds),
        of(times.mean_seconds.value),
        of(times.most_seconds),
    ];
    if wide {
        cells.extend(
            [times.lower_quartile_seconds.value, times.upper_quartile_seconds.value].map(of),
        );
    }
    cells.push(or_dash(Some(size.throughput_bits_per_second.value / rate.worth)));
    cells
}
