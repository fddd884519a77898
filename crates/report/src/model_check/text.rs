//! The check in a terminal, and as comma-separated values.

use std::fmt::Write;

use btu_stats::Estimate;

use super::verdict::{Break, Verdict};
use super::{CheckCase, CheckFlow, CheckPoint, ModelCheck, WITHIN};
use crate::head::TextOptions;
use crate::number::{NOTHING, percent, plus_minus, three_digits};
use crate::paint::Paint;
use crate::sheet::{Sheet, wrap};

/// The whole check: a table and a verdict for each flow; lines end with `\n`.
pub fn check_text(check: &ModelCheck, options: &TextOptions) -> String {
    let paint = Paint(options.colour);
    let mut out = format!("{} {}\n", paint.title("Check of the prediction of"), paint.strong(&check.network));
    for line in wrap(&check.how, options.columns(), 0) {
        let _ = writeln!(out, "{}", paint.quiet(&line));
    }
    for (case, flow) in check.cases.iter().flat_map(|case| case.flows.iter().map(move |flow| (case, flow))) {
        let note = format!("mean delay in ms; x is the {}", check.turned);
        let _ = write!(out, "\n{}  {}\n", paint.title(&heading(case, flow)), paint.quiet(&note));
        for line in table(flow).into_iter().chain(verdicts(flow, options.columns())) {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

fn heading(case: &CheckCase, flow: &CheckFlow) -> String {
    if case.name.is_empty() { flow.name.clone() } else { format!("{}, {}", flow.name, case.name) }
}

fn table(flow: &CheckFlow) -> Vec<String> {
    let head = ["x", "utilisation %", "predicted", "simulated", "", "error %"];
    let mut sheet = Sheet::new(head.map(str::to_owned).to_vec(), 0);
    for point in &flow.points {
        sheet.row(vec![
            plain(point.value),
            point.utilisation.map_or_else(|| NOTHING.to_owned(), percent),
            point.predicted.map_or_else(|| "saturated".to_owned(), milliseconds),
            simulated(point),
            plus_minus(point.settled().as_ref()),
            point.error().map_or_else(|| NOTHING.to_owned(), |error| signed_percent(error.value)),
        ]);
    }
    sheet.lines()
}

fn simulated(point: &CheckPoint) -> String {
    match point.simulated {
        _ if point.overloaded => "overloaded".to_owned(),
        Some(Estimate { value, .. }) => milliseconds(value),
        None => NOTHING.to_owned(),
    }
}

/// With four significant digits: three would hide errors of half a per cent.
fn milliseconds(seconds: f64) -> String {
    let value = seconds * 1e3;
    let decimals = usize::try_from(3 - value.abs().max(1e-9).log10().floor() as i32).unwrap_or(0);
    format!("{value:.decimals$}")
}

fn signed_percent(share: f64) -> String {
    format!("{:+.1}", share * 100.0)
}

/// A value as it was written, rounding errors of steps left out.
fn plain(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    if value != 0.0 && rounded == 0.0 { three_digits(value) } else { rounded.to_string() }
}

/// One line for each share.
fn verdicts(flow: &CheckFlow, width: usize) -> Vec<String> {
    WITHIN.iter().flat_map(|&within| wrap(&verdict(flow.verdict(within), within), width, 2)).collect()
}

fn verdict(verdict: Verdict, within: f64) -> String {
    let within = format!("Within {:.0} %", within * 100.0);
    match verdict {
        Verdict::Everywhere(last) => format!("{within}: valid at all points, up to utilisation {} %.", percent(last)),
        Verdict::UpTo(last, reason) => {
            format!("{within}: valid up to utilisation {} %; at the next point {}.", percent(last), because(reason))
        }
        Verdict::Nowhere(reason) => format!("{within}: not valid; at the first point {}.", because(reason)),
        Verdict::Unknown => format!("{within}: nothing to compare."),
    }
}

fn because(reason: Break) -> String {
    match reason {
        Break::Off(error) => format!("it is off by {} %", signed_percent(error)),
        Break::Overload => "only one of the two is overloaded".to_owned(),
        Break::Undecided => "the simulation's interval is too wide to tell".to_owned(),
    }
}

/// A row for each point of each flow, delays in seconds, shares of 1; empty where there is no value.
pub fn check_csv(check: &ModelCheck) -> String {
    let mut out = "case,flow,x,utilisation,predicted_s,simulated_s,simulated_low_s,simulated_high_s,error,overloaded\n"
        .to_owned();
    for (case, flow) in check.cases.iter().flat_map(|case| case.flows.iter().map(move |flow| (case, flow))) {
        for point in &flow.points {
            let interval = point.simulated.and_then(|simulated| simulated.interval);
            let numbers = [
                point.utilisation,
                point.predicted,
                point.simulated.map(|simulated| simulated.value),
                interval.map(|interval| interval.low),
                interval.map(|interval| interval.high),
                point.error().map(|error| error.value),
            ];
            let numbers = numbers.map(|number| number.map_or_else(String::new, |number| number.to_string())).join(",");
            let case = if case.name.is_empty() { "as drawn" } else { &case.name };
            let _ = writeln!(out, "{case},{},{},{numbers},{}", flow.name, plain(point.value), point.overloaded);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use btu_stats::Interval;

    use super::*;

    fn check() -> ModelCheck {
        let simulated = |value| Some(Estimate { value, interval: Some(Interval::around(value, value * 0.01)) });
        let point = |value, predicted, delay| CheckPoint {
            value,
            utilisation: Some(value / 100.0),
            predicted,
            simulated: simulated(delay),
            overloaded: false,
        };
        let last = CheckPoint { overloaded: true, ..point(100.000_000_01, None, 0.5) };
        let points = vec![point(10.0, Some(0.001), 0.001), point(50.0, Some(0.0011), 0.0012), last];
        let flows = vec![CheckFlow { name: "everyone".to_owned(), points }];
        ModelCheck {
            network: "lab".to_owned(),
            how: "5 replications".to_owned(),
            turned: "data load (%)".to_owned(),
            cases: vec![CheckCase { name: String::new(), flows }],
        }
    }

    #[test]
    fn the_text_tells_every_point_and_the_verdict() {
        let text = check_text(&check(), &TextOptions { colour: false, width: 100 });
        insta::assert_snapshot!(text, @r"
        Check of the prediction of lab
        5 replications

        everyone  mean delay in ms; x is the data load (%)
          x  utilisation %  predicted   simulated         error %
        ─────────────────────────────────────────────────────────
         10             10      1.000       1.000  ±1.0%     +0.0
         50             50      1.100       1.200  ±1.0%     -8.3
        100            100  saturated  overloaded               -
        Within 2 %: valid up to utilisation 10 %; at the next point it is off by -8.3 %.
        Within 5 %: valid up to utilisation 10 %; at the next point it is off by -8.3 %.
        Within 10 %: valid at all points, up to utilisation 100 %.
        Within 20 %: valid at all points, up to utilisation 100 %.
        ");
    }

    #[test]
    fn a_row_of_values_for_each_point() {
        let csv = check_csv(&check());
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert!(rows.len() == 4 && rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
        assert_eq!(rows[3][..5], ["as drawn", "everyone", "100", "1.0000000001", ""]);
    }
}
