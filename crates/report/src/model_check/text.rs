//! The check in a terminal, and as comma-separated values.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::verdict::{Break, RangeVerdict};
use super::{AnswerKind, CheckCase, CheckFlow, CheckPoint, MeasuredFlow, ModelCheck, WITHIN};
use crate::head::TextOptions;
use crate::number::{NOTHING, percent, plus_minus, three_digits};
use crate::paint::Paint;
use crate::sheet::{Sheet, wrap};

/// The whole check: a table and a verdict for each flow; lines end with `\n`.
pub fn check_text(check: &ModelCheck, options: &TextOptions) -> String {
    let paint = Paint(options.colour);
    let mut out =
        format!("{} {}\n", paint.title("Check of the prediction of"), paint.strong(&check.network));
    for line in wrap(&check.how, options.columns(), 0) {
        let _ = writeln!(out, "{}", paint.quiet(&line));
    }
    for (case, flow) in
        check.cases.iter().flat_map(|case| case.flows.iter().map(move |flow| (case, flow)))
    {
        let note = format!("mean delay in ms; x is the {}", check.turned);
        let _ = write!(out, "\n{}  {}\n", paint.title(&heading(case, flow)), paint.quiet(&note));
        let notes = notes(flow).into_iter().flat_map(|note| wrap(&note, options.columns(), 2));
        let verdicts =
            case.answers.iter().flat_map(|&kind| verdicts(case, flow, kind, options.columns()));
        for line in table(case, flow).into_iter().chain(notes).chain(verdicts) {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// What the simulator says of the packets that were measured.
const SAME_PACKETS: &str = "same simulated";

fn heading(case: &CheckCase, flow: &CheckFlow) -> String {
    if case.name.is_empty() { flow.name.clone() } else { format!("{}, {}", flow.name, case.name) }
}

fn table(case: &CheckCase, flow: &CheckFlow) -> Vec<String> {
    let mut head = vec!["x", "utilisation %", "predicted"];
    for kind in &case.answers {
        head.extend([kind.name(), "", "error %"]);
        if *kind == AnswerKind::Measured {
            head.extend(["late %", SAME_PACKETS]);
        }
    }
    let mut sheet = Sheet::new(head.into_iter().map(str::to_owned).collect(), 0);
    for point in &flow.points {
        let mut row = vec![
            plain(point.value),
            point.utilisation.map_or_else(|| NOTHING.to_owned(), percent),
            point.predicted.map_or_else(|| "saturated".to_owned(), milliseconds),
        ];
        row.extend(case.answers.iter().flat_map(|&kind| cells(point, kind)));
        sheet.row(row);
    }
    sheet.lines()
}

/// The columns of one answer at one point.
fn cells(point: &CheckPoint, kind: AnswerKind) -> Vec<String> {
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    let answer = if point.is_void(kind) {
        "void".to_owned()
    } else if point.is_overloaded(kind) {
        "overloaded".to_owned()
    } else {
        or_nothing(point.answer(kind).map(|answer| milliseconds(answer.value)))
    };
    let mut cells = vec![
        answer,
        plus_minus(point.settled(kind).as_ref()),
        or_nothing(point.error(kind).map(|error| signed_percent(error.value))),
    ];
    if kind == AnswerKind::Measured {
        cells.push(or_nothing(point.settled(kind).and(point.late_share(kind)).map(percent)));
        let alike = point.measured.as_ref().and_then(|measured| measured.simulated);
        cells.push(or_nothing(alike.map(|alike| milliseconds(alike.value))));
    }
    cells
}

/// Notes about the measured points: the accounts, and why points are void.
fn notes(flow: &CheckFlow) -> Vec<String> {
    let measured: Vec<(&CheckPoint, &MeasuredFlow)> =
        flow.points.iter().filter_map(|point| Some((point, point.measured.as_ref()?))).collect();
    if measured.is_empty() {
        return Vec::new();
    }
    let void = measured.iter().filter(|(_, measured)| !measured.void.is_empty());
    let void = void.map(|(point, measured)| {
        format!("Void at {}: {}.", plain(point.value), measured.void.join("; "))
    });
    std::iter::once(accounts(&measured)).chain(void).collect()
}

/// The accounts of all points.
fn accounts(points: &[(&CheckPoint, &MeasuredFlow)]) -> String {
    let sum = |figure: fn(&MeasuredFlow) -> u64| {
        points.iter().map(|(_, measured)| figure(measured)).sum::<u64>()
    };
    let (sent, received) = (sum(|measured| measured.sent), sum(|measured| measured.received));
    let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
    for (cause, frames) in points.iter().flat_map(|(_, measured)| &measured.network.dropped) {
        *causes.entry(cause).or_insert(0) += frames;
    }
    let missing = match sent.saturating_sub(received) {
        0 => ", none missing".to_owned(),
        missing if causes.is_empty() => format!(", {missing} missing"),
        missing => {
            let causes: Vec<String> =
                causes.iter().map(|(cause, frames)| format!("{frames} {cause}")).collect();
            format!(", {missing} missing (all flows: {})", causes.join(", "))
        }
    };
    format!("Measured: {sent} packets sent, {received} received{missing}.")
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

/// One line for each share, or for several with an equal result.
fn verdicts(case: &CheckCase, flow: &CheckFlow, kind: AnswerKind, width: usize) -> Vec<String> {
    let against = if case.answers.len() > 1 {
        format!("As {}, within", kind.name())
    } else {
        "Within".to_owned()
    };
    let mut said: Vec<(Vec<String>, String)> = Vec::new();
    for within in WITHIN {
        let (share, text) =
            (format!("{:.0}", within * 100.0), verdict(flow.verdict(kind, within), kind));
        match said.last_mut() {
            Some((shares, same)) if *same == text => shares.push(share),
            _ => said.push((vec![share], text)),
        }
    }
    let line = |(shares, text): (Vec<String>, String)| {
        wrap(&format!("{against} {} %: {text}", enumerated(&shares)), width, 2)
    };
    said.into_iter().flat_map(line).collect()
}

/// `2`, `2 and 5`, `2, 5 and 10`.
fn enumerated(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

fn verdict(verdict: RangeVerdict, kind: AnswerKind) -> String {
    match verdict {
        RangeVerdict::Everywhere(last) => {
            format!("valid at all points, up to utilisation {} %.", percent(last))
        }
        RangeVerdict::UpTo(last, reason) => {
            format!(
                "valid up to utilisation {} %; at the next point {}.",
                percent(last),
                because(reason, kind)
            )
        }
        RangeVerdict::Nowhere(reason) => {
            format!("not valid; at the first point {}.", because(reason, kind))
        }
        RangeVerdict::Unknown => "nothing to compare.".to_owned(),
    }
}

fn because(reason: Break, kind: AnswerKind) -> String {
    match (reason, kind) {
        (Break::Off(error), _) => format!("it is off by {} %", signed_percent(error)),
        (Break::Overload, _) => "only one of the two is overloaded".to_owned(),
        (Break::Undecided, AnswerKind::Simulated) => {
            "the simulation's interval is too wide to tell".to_owned()
        }
        (Break::Undecided, AnswerKind::Measured) => {
            "the measurement's interval is too wide to tell".to_owned()
        }
        (Break::Late(share), _) => {
            format!(
                "{} % of the delay is lateness of this machine, too much to tell",
                percent(share)
            )
        }
        (Break::Void, _) => "the measurement is void".to_owned(),
    }
}

/// A row for each point of each flow, delays in seconds, shares of 1; empty where there is no
/// value.
pub fn check_csv(check: &ModelCheck) -> String {
    let mut out = "case,flow,x,utilisation,predicted_s,simulated_s,simulated_low_s,simulated_high_s,error,overloaded,\
                   measured_s,measured_low_s,measured_high_s,measured_error,measured_overloaded,measured_void,sent,\
                   received,sender_late_s,wire_late_s,same_simulated_s\n"
        .to_owned();
    for (case, flow) in
        check.cases.iter().flat_map(|case| case.flows.iter().map(move |flow| (case, flow)))
    {
        let case = if case.name.is_empty() { "as drawn" } else { &case.name };
        for point in &flow.points {
            let predicted = [point.utilisation, point.predicted].map(or_empty).join(",");
            let (simulated, measured) =
                (columns(point, AnswerKind::Simulated), columns(point, AnswerKind::Measured));
            let place = format!("{case},{},{}", flow.name, plain(point.value));
            let _ = writeln!(
                out,
                "{place},{predicted},{simulated},{measured},{}",
                further_columns(point)
            );
        }
    }
    out
}

fn or_empty(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// Mean, interval, error, overload.
fn columns(point: &CheckPoint, kind: AnswerKind) -> String {
    let answer = point.answer(kind);
    let interval = answer.and_then(|answer| answer.interval);
    let numbers = [
        answer.map(|answer| answer.value),
        interval.map(|interval| interval.low),
        interval.map(|interval| interval.high),
        point.error(kind).map(|error| error.value),
    ];
    let overloaded = match (kind, &point.measured) {
        (AnswerKind::Measured, None) => String::new(),
        _ => point.is_overloaded(kind).to_string(),
    };
    format!("{},{overloaded}", numbers.map(or_empty).join(","))
}

/// The columns of measurements alone.
fn further_columns(point: &CheckPoint) -> String {
    let Some(measured) = &point.measured else { return ",,,,,".to_owned() };
    let MeasuredFlow { sent, received, sender_late_seconds, wire_late_seconds, .. } = measured;
    let void = measured.void.join("; ").replace('"', "'");
    let alike = or_empty(measured.simulated.map(|alike| alike.value));
    format!("\"{void}\",{sent},{received},{sender_late_seconds},{wire_late_seconds},{alike}")
}

#[cfg(test)]
mod tests {
    use btu_stats::{Estimate, Interval};

    use super::super::measured::tests::measured;
    use super::*;

    fn check() -> ModelCheck {
        let simulated =
            |value| Some(Estimate { value, interval: Some(Interval::around(value, value * 0.01)) });
        let point = |value, predicted, delay| CheckPoint {
            value,
            utilisation: Some(value / 100.0),
            predicted,
            simulated: simulated(delay),
            overloaded: false,
            measured: None,
        };
        let last = CheckPoint { overloaded: true, ..point(100.000_000_01, None, 0.5) };
        let points = vec![point(10.0, Some(0.001), 0.001), point(50.0, Some(0.0011), 0.0012), last];
        let flows = vec![CheckFlow { name: "everyone".to_owned(), points }];
        ModelCheck {
            network: "lab".to_owned(),
            how: "5 replications".to_owned(),
            turned: "data load (%)".to_owned(),
            cases: vec![CheckCase {
                name: String::new(),
                answers: vec![AnswerKind::Simulated],
                flows,
            }],
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
        Within 2 and 5 %: valid up to utilisation 10 %; at the next point it is off by -8.3 %.
        Within 10 and 20 %: valid at all points, up to utilisation 100 %.
        ");
    }

    fn measured_check() -> ModelCheck {
        let mut check = check();
        let case = &mut check.cases[0];
        case.answers.push(AnswerKind::Measured);
        let overloaded = MeasuredFlow { overloaded: true, ..measured(0.6, 0.1, [0.0; 2]) };
        let mut void = measured(1.2e-3, 1e-5, [0.2e-3, 0.0]);
        void.void.push("packets left 0.2 ms late, 17 % of the delay".to_owned());
        void.network.dropped.insert("queue full".to_owned(), 2);
        for (point, measured) in case.flows[0].points.iter_mut().zip([
            measured(1.01e-3, 1e-5, [5e-6, 10e-6]),
            void,
            overloaded,
        ]) {
            point.measured = Some(measured);
        }
        check
    }

    #[test]
    fn three_answers_stand_side_by_side() {
        let text = check_text(&measured_check(), &TextOptions { colour: false, width: 120 });
        insta::assert_snapshot!(text, @r"
        Check of the prediction of lab
        5 replications

        everyone  mean delay in ms; x is the data load (%)
          x  utilisation %  predicted   simulated         error %    measured         error %  late %  same simulated
        ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
         10             10      1.000       1.000  ±1.0%     +0.0       1.010  ±1.0%     -1.0     1.5          0.9999
         50             50      1.100       1.200  ±1.0%     -8.3        void               -       -           1.188
        100            100  saturated  overloaded               -  overloaded               -       -           594.0
        Measured: 300 packets sent, 294 received, 6 missing (all flows: 2 queue full).
        Void at 50: packets left 0.2 ms late, 17 % of the delay.
        As simulated, within 2 and 5 %: valid up to utilisation 10 %; at the next point it is off by -8.3 %.
        As simulated, within 10 and 20 %: valid at all points, up to utilisation 100 %.
        As measured, within 2, 5, 10 and 20 %: valid up to utilisation 10 %; at the next point the measurement is void.
        ");
    }

    #[test]
    fn a_row_of_values_for_each_point() {
        let csv = check_csv(&check());
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert!(rows.len() == 4 && rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
        assert_eq!(rows[3][..5], ["as drawn", "everyone", "100", "1.0000000001", ""]);
        let csv = check_csv(&measured_check());
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(
            rows[1][10..],
            [
                "0.00101",
                "0.001",
                "0.00102",
                "-0.00990099009900991",
                "false",
                "\"\"",
                "100",
                "98",
                "0.000005",
                "0.00001",
                "0.0009999"
            ]
        );
    }
}
