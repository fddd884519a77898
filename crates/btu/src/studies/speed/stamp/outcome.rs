//! What a measurement to a STAMP reflector found, as a run.

use btu_contract::foreign::{ForeignCourse, ForeignQuantity, ForeignRun, ForeignUnit, MeasuredBy};
use btu_stamp::{ErrorEstimate, Losses, SenderSettings, StampReport};
use btu_stats::{Level, Proportion, median, quantile, wilson_by_batches};
use btu_units::three_digits;

/// Of delays that vary, the one that 95 of 100 stay below.
const HIGH: f64 = 0.95;

/// Crystals differ by up to 100 parts per million, each way.
const DRIFT: f64 = 100e-6;

/// The result in the form of runs with other programs.
pub(super) fn run(reflector: &str, settings: &SenderSettings, report: &StampReport) -> ForeignRun {
    let mut quantities = vec![round_trip(report)];
    quantities.extend(losses(report));
    quantities.extend(times(settings, report));
    quantities.extend(numbers(report));
    ForeignRun {
        program: "a STAMP reflector".to_owned(),
        measured_by: MeasuredBy::Btu,
        subject: format!("STAMP to {reflector} ({})", settings.reflector),
        answer: answer(report),
        quantities: quantities.into_iter().flatten().collect(),
        courses: vec![course(report)],
        remarks: remarks(settings, report),
        warnings: Vec::new(),
        faults: faults(report),
    }
}

fn seconds_of(report: &StampReport) -> Vec<f64> {
    report.round_trips.iter().map(|one| one.seconds).collect()
}

fn high(values: &[f64]) -> Option<f64> {
    quantile(values, HIGH, Level::P95).map(|found| found.value)
}

fn round_trip(report: &StampReport) -> Option<ForeignQuantity> {
    let all = seconds_of(report);
    let note = format!(
        "the median of {}, without the reflector's own time; 95 of 100 below {}",
        all.len(),
        ForeignUnit::Seconds.write(high(&all)?)
    );
    Some(ForeignQuantity::once("round trip", ForeignUnit::Seconds, median(&all)?).noted(note))
}

/// The share of packets that were lost on each way, of those that went it.
fn shares(report: &StampReport) -> Vec<(&'static str, Option<Proportion>)> {
    let [batches_there, batches_back] = &report.lost_batches;
    let share = |lost, of, batches| wilson_by_batches(lost, of, batches, Level::P95);
    match report.losses {
        Losses::ByDirection { there, back, .. } => {
            let reached = report.counts.answered + back;
            vec![
                ("lost there", share(there, reached + there, batches_there)),
                ("lost back", share(back, reached, batches_back)),
            ]
        }
        Losses::Copied { lost } | Losses::Inconsistent { lost } => {
            vec![("lost", share(lost, report.counts.sent, batches_there))]
        }
    }
}

fn losses(report: &StampReport) -> Vec<Option<ForeignQuantity>> {
    let one = |(name, found): (&str, Option<Proportion>)| {
        let Proportion { events, trials, share, interval } = found?;
        let [low, high] = [interval.low, interval.high].map(|share| three_digits(share * 100.0));
        let bursts = if events > 0 { ", also in bursts" } else { "" };
        let note = format!("{events} of {trials}; {low} to {high} % with 95 % certainty{bursts}");
        Some(ForeignQuantity::once(name, ForeignUnit::Share, share).noted(note))
    };
    shares(report).into_iter().map(one).collect()
}

fn times(settings: &SenderSettings, report: &StampReport) -> [Option<ForeignQuantity>; 3] {
    let drift = ForeignUnit::Seconds.write(settings.time.seconds() * 2.0 * DRIFT);
    let between = if report.steps.is_empty() { "" } else { " between two steps of the clock" };
    let above = |name: &str, values: &[f64]| {
        let note = format!(
            "95 of 100 took no more than so much longer than the shortest{between}, drift of the clocks (up to {drift}) included"
        );
        Some(ForeignQuantity::once(name, ForeignUnit::Seconds, high(values)?).noted(note))
    };
    let own = median(&report.turnaround_seconds).map(|value| {
        ForeignQuantity::once("reflector's own time", ForeignUnit::Seconds, value)
            .noted("the median time for which it had a packet, as it says")
    });
    [
        above("delay variation there", &report.variation_there_seconds),
        above("delay variation back", &report.variation_back_seconds),
        own,
    ]
}

fn numbers(report: &StampReport) -> [Option<ForeignQuantity>; 3] {
    let count = |name: &str, number: u64, note: &str| {
        Some(ForeignQuantity::once(name, ForeignUnit::Count, number as f64).noted(note))
    };
    let unknown = match report.losses {
        Losses::ByDirection { unknown, .. } => {
            count("lost, way unknown", unknown, "sent after the last packet that was answered")
        }
        _ => None,
    };
    let counts = report.counts;
    [
        unknown,
        count("duplicates", counts.duplicates, "answers that came again"),
        count(
            "reordered",
            counts.reordered,
            "answers that arrived after the answer to a later packet",
        ),
    ]
}

fn answer(report: &StampReport) -> String {
    let round_trip = median(&seconds_of(report)).map_or_else(
        || "No round trip is known".to_owned(),
        |seconds| format!("Round trip {}", ForeignUnit::Seconds.write(seconds)),
    );
    let found = shares(report);
    let lost: Vec<String> = found
        .iter()
        .filter_map(|(name, found)| {
            let way = name.strip_prefix("lost").unwrap_or_default();
            Some(format!("{} lost{way}", ForeignUnit::Share.write(found.as_ref()?.share)))
        })
        .collect();
    let clock = match report.steps.len() {
        0 => String::new(),
        1 => "; the reflector's clock was set meanwhile".to_owned(),
        number => format!("; the reflector's clock was set {number} times meanwhile"),
    };
    format!("{round_trip}, {}{clock}", lost.join(", "))
}

/// When the reflector's clock was set, and by how much.
fn clock_steps(report: &StampReport) -> Option<String> {
    const NAMED: usize = 5;
    let signed = |seconds: f64| {
        let sign = if seconds < 0.0 { "-" } else { "+" };
        format!("{sign}{}", ForeignUnit::Seconds.write(seconds.abs()))
    };
    let each = report.steps.iter().take(NAMED).map(|step| {
        format!("by {} after {}", signed(step.seconds), ForeignUnit::Seconds.write(step.at_seconds))
    });
    let each = each.collect::<Vec<_>>().join(", ");
    let more = report.steps.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} times more") } else { String::new() };
    let variation = if report.variation_there_seconds.is_empty() {
        "with so many steps no delay variation is given"
    } else {
        "delays are compared only between two such moments"
    };
    (!report.steps.is_empty()).then(|| {
        format!(
            "The reflector's clock was set or slewed against this host's: {each}{more}. Later packets took so much longer there and \
             so much less back, and {variation}."
        )
    })
}

fn course(report: &StampReport) -> ForeignCourse {
    let points = report.round_trips.iter().map(|one| [one.at_seconds, one.seconds]);
    ForeignCourse {
        name: "round trip".to_owned(),
        unit: ForeignUnit::Seconds,
        points: points.collect(),
    }
}

fn remarks(settings: &SenderSettings, report: &StampReport) -> Vec<String> {
    let method = format!(
        "By RFC 8762 without authentication: a packet of 44 octets every {} from a random moment on.",
        settings.interval
    );
    let ttl = report.ttl.map(|[least, most]| {
        let range =
            if least == most { format!("of {least}") } else { format!("from {least} to {most}") };
        format!("Packets reached the reflector with a time to live {range}.")
    });
    let which = match report.losses {
        Losses::ByDirection { .. } => None,
        Losses::Copied { .. } => Some(
            "The reflector has no state: it copies the numbers of packets, so the direction of a loss is unknown."
                .to_owned(),
        ),
        Losses::Inconsistent { .. } if report.counts.duplicates > 0 => Some(
            "Packets were duplicated, so the reflector's numbers do not show the direction of a loss.".to_owned(),
        ),
        Losses::Inconsistent { .. } => Some(
            "The reflector's numbers do not count the packets of this session, so the direction of a loss is unknown."
                .to_owned(),
        ),
    };
    let all = [
        Some(method),
        Some(accounts(report)),
        which,
        clock_steps(report),
        Some(one_way(report)),
        ttl,
    ];
    all.into_iter().flatten().chain(unusual(report)).collect()
}

fn accounts(report: &StampReport) -> String {
    let counts = report.counts;
    let lost = match report.losses {
        Losses::ByDirection { there, back, unknown } => {
            format!(
                "{there} lost there + {back} lost back + {unknown} lost in an unknown direction"
            )
        }
        Losses::Copied { lost } | Losses::Inconsistent { lost } => format!("{lost} lost"),
    };
    format!("{} packets sent = {} answered + {lost}.", counts.sent, counts.answered)
}

/// Delays of one direction need synchronised clocks; without them only their bounds are known.
fn one_way(report: &StampReport) -> String {
    let [near, far] = report.clocks;
    let medians = report.one_way_seconds.as_ref();
    let medians = medians.and_then(|[there, back]| Some([median(there)?, median(back)?]));
    let error = ForeignUnit::Seconds.write(near.seconds() + far.seconds());
    if let Some([there, back]) =
        medians.map(|delays| delays.map(|seconds| ForeignUnit::Seconds.write(seconds)))
    {
        return format!(
            "One way took {there} there and {back} back, each ± {error}: both clocks are synchronised, as they say."
        );
    }
    let clock = |whose: &str, error: ErrorEstimate| {
        (!error.is_synchronised()).then(|| format!("{whose} clock is not synchronised"))
    };
    let why: Vec<String> =
        [clock("this host's", near), clock("the reflector's", far)].into_iter().flatten().collect();
    let why = if !report.steps.is_empty() {
        "the reflector's clock was set meanwhile".to_owned()
    } else if why.is_empty() {
        "the clocks count in different ways".to_owned()
    } else {
        why.join(", ")
    };
    format!("The one-way delay is unknown ({why}): it is between zero and the round trip.")
}

fn unusual(report: &StampReport) -> impl Iterator<Item = String> {
    let counts = report.counts;
    let said = [
        (counts.not_sent, "packets were not sent, since this host had no room for them"),
        (counts.strange, "datagrams were not answers"),
        (report.impossible, "answers have times that cannot be, and no round trip"),
    ];
    said.into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{number} {what}."))
}

fn faults(report: &StampReport) -> Vec<String> {
    let is_none = report.round_trips.is_empty();
    let why =
        "no answer has plausible times: the reflector's clock is wrong, or it is not a reflector";
    is_none.then(|| why.to_owned()).into_iter().collect()
}
