//! The first screen of signatures: latency and maximum with their intervals, and the size from
//! which the time of bytes exceeds that of a message.

use btu_stats::Estimate;
use btu_studies::pipe::{PipeVerdict, SignatureCost};

use super::page::Named;
use crate::number::{ends, three_digits};
use crate::summary::KeyFigure;
use crate::unit::{Unit, bytes, rate_unit, time, time_unit};

/// From this share of the maximum on, bytes cost more than messages.
const HALF: f64 = 0.5;

/// The numbers of one signature.
pub(super) fn figures(verdict: &PipeVerdict) -> Vec<KeyFigure> {
    let latency = verdict.latency.as_ref().map(|latency| {
        let median = &latency.median_seconds;
        figure(
            "latency",
            median,
            time_unit(median.value),
            format!("one way, messages up to {}", latency.up_to),
        )
    });
    let maximum = verdict.maximum.as_ref().map(|peak| {
        let rate = &peak.bits_per_second;
        figure("maximum", rate, rate_unit(rate.value), format!("at {}", peak.size))
    });
    let knee = verdict.fit.as_ref().filter(|fit| !fit.is_poor()).and_then(|fit| fit.knee.as_ref());
    let half = knee.map(|knee| KeyFigure {
        name: "n-half".to_owned(),
        value: bytes(knee.half_bytes.value),
        interval: knee.half_bytes.interval.map_or_else(String::new, |ends| {
            format!("{} .. {}", bytes(ends.low.max(0.0)), bytes(ends.high))
        }),
        note: "half the rate of large messages".to_owned(),
    });
    latency.into_iter().chain(maximum).chain(half).collect()
}

/// A line for each of several signatures; `costs` are those of the others compared with the first.
pub(super) fn compared(named: &[Named], costs: &[&SignatureCost]) -> Vec<KeyFigure> {
    let costs =
        std::iter::once(None).chain(costs.iter().copied().map(Some)).chain(std::iter::repeat(None));
    named
        .iter()
        .zip(costs)
        .map(|((name, verdict), cost)| one_of_several(name, verdict, cost))
        .collect()
}

fn one_of_several(name: &str, verdict: &PipeVerdict, cost: Option<&SignatureCost>) -> KeyFigure {
    let maximum = verdict.maximum.as_ref().map(|peak| &peak.bits_per_second);
    let Some(latency) = verdict.latency.as_ref().map(|latency| &latency.median_seconds) else {
        let none = || KeyFigure {
            name: name.to_owned(),
            value: "nothing".to_owned(),
            ..KeyFigure::default()
        };
        return maximum
            .map_or_else(none, |rate| figure(name, rate, rate_unit(rate.value), String::new()));
    };
    let times = cost.and_then(|cost| cost.latency_ratio);
    let times = times.map_or_else(String::new, |ratio| {
        format!(", {} times the latency", three_digits(ratio.value))
    });
    let maximum = maximum.map_or_else(String::new, |rate| {
        let unit = rate_unit(rate.value);
        format!("up to {}", unit.write(rate.value))
    });
    figure(name, latency, time_unit(latency.value), maximum + &times)
}

fn figure(name: &str, estimate: &Estimate, unit: Unit, note: String) -> KeyFigure {
    KeyFigure {
        name: name.to_owned(),
        value: unit.write(estimate.value),
        interval: ends(estimate, unit.worth).unwrap_or_default(),
        note,
    }
}

/// The size from which the time of bytes exceeds the fixed time of a message: by the fit, else by
/// the sizes themselves.
pub(super) fn limit(verdict: &PipeVerdict) -> String {
    let fit = verdict.fit.as_ref().filter(|fit| !fit.is_poor());
    if let Some((fit, knee)) = fit.and_then(|fit| Some((fit, fit.knee.as_ref()?)))
        && let Some(rate) = &fit.rate_bits_per_second
    {
        let unit = rate_unit(rate.value);
        return format!(
            "the {} of each message below {}, by {} {} above",
            time(fit.fixed_seconds.value),
            bytes(knee.half_bytes.value),
            three_digits(rate.value / unit.worth),
            unit.name
        );
    }
    let Some(peak) = &verdict.maximum else { return String::new() };
    let enough = peak.bits_per_second.value * HALF;
    let half = verdict.sizes.iter().find(|size| size.throughput_bits_per_second.value >= enough);
    half.filter(|size| size.size != peak.size).map_or_else(String::new, |size| {
        format!("the time of each message below {}, by that of each byte above", size.size)
    })
}
