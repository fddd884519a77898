//! The result of a run for a terminal: the main numbers, the signature as a plot, the table, the
//! warnings.

use btu_studies::pipe::{Fit, Latencies, Peak, PipeVerdict};

use super::picture::{Graph, NamedSignature};
use super::{plot, table, warnings};
use crate::head::{RunHead, TextOptions};
use crate::number::count;
use crate::paint::Paint;
use crate::sheet::{Sheet, page, section, wrap};
use crate::unit::{bytes, ends, rate, rate_unit, time, time_unit};

/// The fewest sizes of a curve.
const FEWEST_TO_DRAW: usize = 3;

/// The whole result, all sizes in the table if `all`; lines end with `\n`.
pub fn pipe_text(verdict: &PipeVerdict, run: &RunHead, all: bool, options: &TextOptions) -> String {
    page(vec![
        head(verdict, run, options),
        headline(verdict),
        throughput(verdict, options),
        signature(verdict, options),
        table::lines(verdict, all, options),
        definitions(verdict, options),
        warnings::lines(verdict, run, options),
        accounts(verdict, options),
    ])
}

/// The subject, the place and the time of the measurement.
fn head(verdict: &PipeVerdict, run: &RunHead, options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    let pairs = if verdict.pairs == 1 {
        String::new()
    } else {
        format!(", {} pairs together", verdict.pairs)
    };
    let title = format!(
        "{} {}",
        paint.title(&format!("Signature of {},", verdict.kind.label())),
        paint.strong(&format!("{}{pairs}", verdict.pattern))
    );
    run.below(title, &count(verdict.sizes.len(), "size"), options)
}

/// The lines with latency, maximum and n-half.
fn headline(verdict: &PipeVerdict) -> Vec<String> {
    let mut sheet =
        Sheet::new(vec![String::new(), String::new(), "95 %".to_owned(), String::new()], 4);
    if let Some(Latencies { median_seconds, up_to, .. }) = &verdict.latency {
        let interval = ends(median_seconds, time_unit(median_seconds.value));
        let how = format!("one way, messages up to {up_to}");
        sheet.row(vec!["latency".to_owned(), time(median_seconds.value), interval, how]);
    }
    if let Some(Peak { size, bits_per_second, .. }) = &verdict.maximum {
        let interval = ends(bits_per_second, rate_unit(bits_per_second.value));
        sheet.row(vec![
            "maximum".to_owned(),
            rate(bits_per_second.value),
            interval,
            format!("at {size}"),
        ]);
    }
    // A bad fit is among the warnings.
    if let Some(fit) = verdict.fit.as_ref().filter(|fit| !fit.is_poor()) {
        fit_rows(fit, &mut sheet);
    }
    let lines = sheet.without_empty_columns().lines();
    if lines.len() > 2 { lines } else { Vec::new() }
}

fn fit_rows(fit: &Fit, sheet: &mut Sheet) {
    let fixed = &fit.fixed_seconds;
    let interval = ends(fixed, time_unit(fixed.value.abs()));
    sheet.row(vec![
        "fixed time".to_owned(),
        time(fixed.value),
        interval,
        format!("of messages from {} on", fit.from),
    ]);
    if let Some(approached) = &fit.rate_bits_per_second {
        let interval = ends(approached, rate_unit(approached.value));
        sheet.row(vec![
            "rate".to_owned(),
            rate(approached.value),
            interval,
            format!("approached from {} on", fit.from),
        ]);
    }
    if let Some(knee) = &fit.knee {
        let interval = knee.half_bytes.interval.map_or_else(String::new, |ends| {
            format!("{} .. {}", bytes(ends.low.max(0.0)), bytes(ends.high))
        });
        let how = format!("saturation point, at {}", time(knee.seconds));
        sheet.row(vec!["n-half".to_owned(), bytes(knee.half_bytes.value), interval, how]);
        let how = "nine tenths of the rate".to_owned();
        sheet.row(vec!["n-90".to_owned(), bytes(knee.ninety_bytes.value), String::new(), how]);
    }
}

/// The usual graph of a signature: throughput against the size of a message.
fn throughput(verdict: &PipeVerdict, options: &TextOptions) -> Vec<String> {
    if verdict.sizes.len() < FEWEST_TO_DRAW {
        return Vec::new();
    }
    let run = [NamedSignature { name: "", verdict }];
    let lines = plot::pipe_plot(Graph::Throughput, &run, false, plot::ROWS, options);
    section("Throughput", "against the size of a message", lines, options)
}

fn signature(verdict: &PipeVerdict, options: &TextOptions) -> Vec<String> {
    if verdict.sizes.len() < FEWEST_TO_DRAW {
        return Vec::new();
    }
    let run = [NamedSignature { name: "", verdict }];
    let lines = plot::pipe_plot(Graph::Signature, &run, false, plot::ROWS, options);
    let note = match verdict.turns.len() {
        0 => "throughput against the time of a message".to_owned(),
        turns => format!(
            "throughput against the time of a message; {} a larger message takes less time",
            if turns == 1 { "once".to_owned() } else { format!("{turns} times") }
        ),
    };
    section("Signature", &note, lines, options)
}

/// Latency and maximum by the definitions of other programs.
fn definitions(verdict: &PipeVerdict, options: &TextOptions) -> Vec<String> {
    let mut sheet =
        Sheet::new(["", "1996", "NetPIPE 3", "NetPIPE 5", "here"].map(str::to_owned).to_vec(), 1);
    if let Some(latency) = &verdict.latency {
        sheet.row(vec![
            "latency".to_owned(),
            time(latency.netpipe_1996_seconds),
            latency.netpipe_3_seconds.map_or_else(|| "-".to_owned(), time),
            time(latency.netpipe_5_seconds),
            time(latency.median_seconds.value),
        ]);
    }
    let Some(peak) = &verdict.maximum else { return Vec::new() };
    sheet.row(vec![
        "maximum".to_owned(),
        rate(peak.netpipe_1996_bits_per_second),
        rate(peak.netpipe_1996_bits_per_second),
        rate(peak.netpipe_5_bits_per_second),
        rate(peak.bits_per_second.value),
    ]);
    section(
        "By other definitions",
        "of the same measurements, in bits of 10^6",
        sheet.lines(),
        options,
    )
}

/// The line that shows that every message is accounted for.
fn accounts(verdict: &PipeVerdict, options: &TextOptions) -> Vec<String> {
    let accounts = &verdict.accounts;
    let lost = accounts.lost().map_or_else(|| "?".to_owned(), |lost| lost.to_string());
    let text = format!(
        "Accounts: {} messages sent = {} received + {} duplicates + {lost} lost; {} looked at, {} wrong.",
        accounts.sent, accounts.received, accounts.duplicates, accounts.checked, accounts.wrong
    );
    wrap(&text, options.columns(), 2).iter().map(|line| Paint(options.colour).quiet(line)).collect()
}
