//! Warnings about closed forms that a run did not meet, for reasons that are known.

use btu_stats::Histogram;
use btu_units::Span;

use super::expected::FIRST_SEGMENTS;
use super::verdict::GROWN_AT;
use super::{AppCell, AppRow, Protocol, TOGETHER, Workload};
use btu_contract::congestion::CongestionControl;
use btu_contract::experiment::{Measured, Warning};

/// An error of a closed form that needs an explanation, as a share: what tests on a quiet machine
/// hold it to.
const MOST_ERROR: f64 = 0.03;

/// The most that the two ends and the emulator add to a round trip, further than echoes did before,
/// when other programs do not disturb them: a frame out of a hundred is later than that, and a warning
/// of its own says so.
const OWN_SECONDS: f64 = 300e-6;

/// Calls with more requests at once than TCP's first segments, pictures of more segments than these
/// with a congestion control that may begin otherwise, and round trips so short that this machine's
/// own time shows.
pub(super) fn missed(
    rows: &[AppRow],
    cells: &[Measured<AppCell>],
    congestion_control: Option<&CongestionControl>,
) -> Vec<Warning> {
    let begins = worst(rows, |row| {
        let is_known = congestion_control.is_some_and(starts_slowly);
        (!is_known && is_begin(row, cells)).then_some(row.error?.abs())
    });
    let wide = worst(rows, |row| is_wide(&row.cell).then_some(row.error?));
    let short = worst(rows, |row| {
        let is_other = is_wide(&row.cell) || is_begin(row, cells);
        let is_own = !is_other && (0.0..=OWN_SECONDS).contains(&excess(row)?);
        is_own.then_some(row.error?)
    });
    let wide = wide.map(|(row, error)| Warning {
        cause: "windows wider than TCP's first",
        observed: format!(
            "{} takes {:.1} % longer than its closed form, which knows of a mix not that TCP sends {FIRST_SEGMENTS} segments \
             before the first acknowledgement, and then puts requests that wait into one segment",
            row.cell.protocol,
            error * 100.0
        ),
        advice: "rely on what was measured; the closed form is for a connection that has sent more before",
    });
    let begins = begins.map(|(row, error)| Warning {
        cause: "how TCP begins",
        observed: format!(
            "{} takes {:.1} % {} than its closed form, in which TCP begins with {FIRST_SEGMENTS} segments and one more for each that \
             is acknowledged, as Reno and CUBIC do (RFC 5681); BBR sets its window and pace differently",
            row.cell.protocol,
            error * 100.0,
            if row.error < Some(0.0) { "less" } else { "longer" }
        ),
        advice: "rely on what was measured; compare with the closed form by -C reno",
    });
    let short = short.and_then(|(row, error)| {
        Some(Warning {
            cause: "short round trips",
            observed: format!(
                "a round trip of {} takes {} longer than its closed form ({:.1} %); {}",
                row.cell.protocol,
                Span::from_seconds_f64(excess(row)?),
                error * 100.0,
                lateness(row, cells)?
            ),
            advice: "the form has what echoes took before the pictures: measure where nothing else runs, on more processors, or with a longer delay",
        })
    });
    wide.into_iter().chain(begins).chain(short).collect()
}

/// Whether TCP begins as the closed forms have it.
fn starts_slowly(control: &CongestionControl) -> bool {
    matches!(control.as_str(), "reno" | "cubic")
}

/// Whether most pictures were sent by a connection that had not grown, in more segments than it
/// begins with.
fn is_begin(row: &AppRow, cells: &[Measured<AppCell>]) -> bool {
    let own = cells.iter().filter(|measured| measured.cell == row.cell && measured.is_valid());
    let segments = match row.cell.protocol {
        _ if row.cell.workload == Workload::Mix => 0,
        Protocol::Pipelined | Protocol::Construction | Protocol::Batched => {
            row.requests.div_ceil(TOGETHER as u64)
        }
        Protocol::Bitmap => row.requests,
        Protocol::Window(window) => window.into(),
        Protocol::StopAndWait | Protocol::Redraw => 1,
    };
    segments > FIRST_SEGMENTS.into() && row.pictures / (own.count().max(1) as u64) < GROWN_AT as u64
}

/// The row with the largest error of those that an explanation is for.
fn worst(rows: &[AppRow], error: impl Fn(&AppRow) -> Option<f64>) -> Option<(&AppRow, f64)> {
    // Broadcasts are the explanation of an error there.
    let clean = rows.iter().filter(|row| row.pollution.is_none());
    let errors = clean.filter_map(|row| Some((row, error(row)?)));
    let large = errors.filter(|(_, error)| *error > MOST_ERROR);
    large.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn is_wide(cell: &AppCell) -> bool {
    cell.workload == Workload::Mix
        && matches!(cell.protocol, Protocol::Window(window) if window > FIRST_SEGMENTS)
}

/// Seconds that each round trip takes longer than its closed form.
fn excess(row: &AppRow) -> Option<f64> {
    let rounds = row.requests.div_ceil(row.cell.protocol.window()? as u64);
    Some((row.seconds?.value - row.expected_seconds?) / rounds.max(1) as f64)
}

/// How late frames left the emulator in these cells.
fn lateness(row: &AppRow, cells: &[Measured<AppCell>]) -> Option<String> {
    let mut lateness = Histogram::new();
    for own in cells.iter().filter(|measured| measured.cell == row.cell && measured.is_valid()) {
        lateness.merge(&own.seen.wire.lateness);
    }
    let late = |quantile| lateness.quantile(quantile).map(Span::from_nanoseconds);
    Some(format!(
        "half of its frames left the emulator {} late or later, one in a hundred {}",
        late(0.5)?,
        late(0.99)?
    ))
}

#[cfg(test)]
mod tests {
    use btu_stats::Estimate;

    use super::*;
    use crate::app::{Carrier, Workload};
    use btu_contract::experiment::Observation;

    fn row(protocol: Protocol, seconds: f64, expected: f64) -> AppRow {
        AppRow {
            cell: AppCell::new(Workload::Vectors, protocol, Carrier::Tcp),
            seconds: Some(Estimate { value: seconds, interval: None }),
            items_per_second: None,
            requests: 630,
            pictures: 1,
            application_seconds: None,
            display_seconds: None,
            own_round_seconds: None,
            own_message_seconds: None,
            work: None,
            expected_seconds: Some(expected),
            error: Some(seconds / expected - 1.0),
            shares: None,
            pollution: None,
            invalid: 0,
        }
    }

    fn told(rows: &[AppRow]) -> Vec<Warning> {
        told_with(rows, None)
    }

    fn told_with(rows: &[AppRow], control: Option<&str>) -> Vec<Warning> {
        let control = control.map(|name| name.parse().expect("a name"));
        let mut seen = Observation::default();
        (0..1000).for_each(|_| seen.wire.lateness.record(16_000));
        let cell = rows[0].cell.clone();
        let cells = [Measured { cell, block: 0, position: 0, faults: Vec::new(), seen }];
        missed(rows, &cells, control.as_ref())
    }

    #[test]
    fn an_error_with_a_known_reason_is_explained() {
        // 630 round trips of 1.04 ms, each 0.04 ms longer.
        let short = told(&[row(Protocol::StopAndWait, 0.6804, 0.6552)]);
        let [warning] = &short[..] else { panic!("{short:?}") };
        assert_eq!(warning.cause, "short round trips");
        assert!(warning.observed.contains("takes 40 us longer"), "{}", warning.observed);
        assert!(warning.observed.contains("(3.8 %)"), "{}", warning.observed);
        let mut wide = row(Protocol::Window(16), 0.107, 0.1);
        wide.cell.workload = Workload::Mix;
        let wide = told(&[wide]);
        assert_eq!(wide.len(), 1, "{wide:?}");
        assert!(wide[0].observed.starts_with("window-16 takes 7.0 % longer"), "{wide:?}");
    }

    /// Eleven segments of 72 requests: BBR sends them at once, in 0.63 s where the form waits for a
    /// round trip of 0.55 s more.
    #[test]
    fn what_begins_otherwise_than_reno_is_explained() {
        let begun = |pictures| {
            let row = row(Protocol::Pipelined, 0.63, 1.1);
            AppRow { requests: 780, pictures, ..row }
        };
        let first = told(&[begun(1)]);
        let [warning] = &first[..] else { panic!("{first:?}") };
        assert_eq!(warning.cause, "how TCP begins");
        assert!(
            warning.observed.starts_with("pipelined takes 42.7 % less"),
            "{}",
            warning.observed
        );
        assert_eq!(told_with(&[begun(1)], Some("bbr")).len(), 1);
        // The form is that of Reno; ten segments wait for nothing; a third picture's connection has
        // grown.
        assert!(told_with(&[begun(1)], Some("reno")).is_empty());
        assert!(told(&[AppRow { requests: 720, ..begun(1) }]).is_empty());
        assert!(told(&[begun(3)]).is_empty());
    }

    #[test]
    fn an_error_within_bounds_or_without_a_known_reason_is_not() {
        // Within 3 %; 6 ms a round trip are not this machine's; `pipelined` waits for no answer in between.
        for row in [
            row(Protocol::StopAndWait, 0.67, 0.6552),
            row(Protocol::StopAndWait, 12.0, 8.0),
            row(Protocol::Pipelined, 2.0, 1.0),
        ] {
            let told = told(std::slice::from_ref(&row));
            assert!(told.is_empty(), "{told:?}");
        }
    }
}
