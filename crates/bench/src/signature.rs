//! Signatures side by side: their sizes, their networks, and the numbers that are compared.

use std::collections::BTreeMap;

use anyhow::Result;
use btu_contract::pipe::{Kind, PipePlan, Place, Precision, Sequence, Sizes};
use btu_units::{Bytes, Span};

use crate::case::{Bound, Case, Measure};
use crate::outcome::SizeTime;

/// The size of the message for the latency; sockperf sends none below 14 bytes.
pub(crate) const SMALL: u64 = 16;

/// Trials of each size; the best one counts, by `NetPIPE`'s rule.
pub(crate) const TRIALS: u32 = 3;

/// The time of a trial if tools choose their repetitions (`NetPIPE` 3).
const TRIAL: Span = Span::from_milliseconds(250);

/// The approximate time of a trial if the caller gives the repetitions. Two processes differ more,
/// by the placement of their memory, than trials of one do: many blocks give better estimates than
/// long trials.
const SHORT_TRIAL: Span = Span::from_milliseconds(100);

/// The time of a trial of latency: sockperf's shortest run.
const LATENCY_TRIAL: Span = Span::from_seconds(1);

/// Repetitions of a trial by size, equal for every tool that accepts them: the best of three short
/// trials is better than that of three long ones, and by default `NPtcp` makes a third of btu's
/// repetitions at 2 MiB.
pub(crate) type Repetitions = BTreeMap<u64, u64>;

const ETHERNET: &str = "name = \"bench\"\n[stations.near]\n[stations.far]\n\
                        [links.cable]\nbetween = [\"near\", \"far\"]\nrate = \"10 Mb/s\"\n";
/// The rate that an SDH line of 155.52 Mb/s leaves for cells (ITU-T I.432).
const ATM: &str = "name = \"bench\"\n[segments.atm]\nmedium = \"atm\"\nrate = \"149.76 Mb/s\"\ndelay = \"1 us\"\n\
                   [stations.near]\nsegment = \"atm\"\n[stations.far]\nsegment = \"atm\"\n";
const FDDI: &str = "name = \"bench\"\n[segments.ring]\nmedium = \"fddi\"\nlength = \"4 km\"\nttrt = \"8 ms\"\n\
                    [stations.near]\nsegment = \"ring\"\n[stations.far]\nsegment = \"ring\"\n";

/// Whether a case measures signatures.
pub(crate) fn is_one(case: Case) -> bool {
    matches!(
        case,
        Case::PipeLatency | Case::PipeVeth | Case::PipeEthernet | Case::PipeAtm | Case::PipeFddi
    )
}

/// The emulated network of a case, if it has one.
pub(crate) fn drawing(case: Case) -> Option<&'static str> {
    match case {
        Case::PipeEthernet => Some(ETHERNET),
        Case::PipeAtm => Some(ATM),
        Case::PipeFddi => Some(FDDI),
        _ => None,
    }
}

/// The smallest and the largest message.
pub(crate) fn range(case: Case) -> (u64, u64) {
    match case {
        Case::PipeLatency => (SMALL, SMALL),
        Case::PipeVeth => (1, 8 << 20),
        _ => (64, 64 << 10),
    }
}

/// `NetPIPE`'s sizes without perturbation.
fn sizes((least, most): (u64, u64)) -> Result<Sizes> {
    Ok(Sizes::Netpipe(Sequence::new(Bytes::new(least), Bytes::new(most), Bytes::ZERO)?))
}

/// Like `sizes`, as numbers of bytes.
fn each(case: Case) -> Vec<u64> {
    // A case without sizes would have nothing to compare, and its test fails.
    sizes(range(case))
        .map_or_else(|_| Vec::new(), |sizes| sizes.list().into_iter().map(Bytes::count).collect())
}

/// The parts in which a signature is measured, from one size to another. On the veth pair each size
/// is a part: the load by other programs changes from one second to the next, so the tools
/// alternate size by size.
pub(crate) fn parts(case: Case) -> Vec<(u64, u64)> {
    if case == Case::PipeVeth {
        each(case).into_iter().map(|bytes| (bytes, bytes)).collect()
    } else {
        vec![range(case)]
    }
}

/// Whether each size of a case is measured by itself, so that every tool can get its repetitions.
pub(crate) fn is_by_size(case: Case) -> bool {
    parts(case).iter().all(|(least, most)| least == most)
}

/// The measurement of btu before the comparison, to learn the times of messages.
pub(crate) fn pilot(seed: u64, range: (u64, u64)) -> Result<PipePlan> {
    // No size may be left out.
    let limit = Precision::standard().limit;
    with_precision(seed, range, Precision { limit, ..Precision::quick() })
}

/// As many repetitions of each size as fill a trial; never fewer than `NPtcp`'s least.
pub(crate) fn repetitions(case: Case, pilot: &[SizeTime]) -> Repetitions {
    let trial = if case == Case::PipeLatency { LATENCY_TRIAL } else { SHORT_TRIAL };
    let wanted = |time: &SizeTime| (trial.seconds() / (2.0 * time.one_way_seconds)).round() as u64;
    pilot.iter().map(|time| (time.bytes, wanted(time).max(u64::from(TRIALS)))).collect()
}

/// The measurement of btu: with the given repetitions, or with as many as fill a trial.
pub(crate) fn plan(seed: u64, range: (u64, u64), told: Option<u64>) -> Result<PipePlan> {
    let own = Precision { trials: TRIALS, target: TRIAL, ..Precision::standard() };
    let precision = match told {
        Some(told) => Precision { least_repetitions: told, most_repetitions: told, ..own },
        None => own,
    };
    with_precision(seed, range, precision)
}

fn with_precision(seed: u64, range: (u64, u64), precision: Precision) -> Result<PipePlan> {
    Ok(PipePlan { sizes: sizes(range)?, precision, ..PipePlan::new(seed, Kind::Tcp, Place::Here) })
}

/// The measures that the case compares, with their bounds.
pub(crate) fn measures(case: Case) -> Vec<(Measure, Option<Bound>)> {
    let (at_size, mean) = match case {
        Case::PipeLatency => return vec![(Measure::OneWayMicroseconds, Some(Bound::AtMost(1.0)))],
        Case::PipeVeth => (Bound::AtLeast(0.98), Bound::AtLeast(1.0)),
        _ => (Bound::Alike, Bound::Alike),
    };
    let each = each(case).into_iter().map(|bytes| (Measure::MegabitsAt(bytes), Some(at_size)));
    std::iter::once((Measure::MegabitsMean, Some(mean))).chain(each).collect()
}

/// One of the numbers of a signature; not-a-number when it has none.
pub(crate) fn measure(times: &[SizeTime], measure: Measure) -> f64 {
    let rate = |time: &SizeTime| time.bytes as f64 * 8.0 / time.one_way_seconds / 1e6;
    match measure {
        Measure::OneWayMicroseconds => {
            times.first().map_or(f64::NAN, |time| time.one_way_seconds * 1e6)
        }
        Measure::MegabitsAt(bytes) => {
            times.iter().find(|time| time.bytes == bytes).map_or(f64::NAN, rate)
        }
        Measure::MegabitsMean => {
            (times.iter().map(|time| rate(time).ln()).sum::<f64>() / times.len() as f64).exp()
        }
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    /// Its sequence from 1 with p = 0 begins 1, 2, 3, 4, 6, 8, 12, 16, 24 and has 46 sizes up to 10
    /// MB (`NetPIPE` 3.7).
    #[test]
    fn sizes_are_those_of_netpipe_without_perturbation() {
        let all = each(Case::PipeVeth);
        assert_eq!(all[..9], [1, 2, 3, 4, 6, 8, 12, 16, 24]);
        assert_eq!((all.len(), all.last()), (46, Some(&8_388_608)));
        assert_eq!(each(Case::PipeLatency), [16]);
        assert_eq!(each(Case::PipeAtm)[..3], [64, 96, 128]);
        assert_eq!(measures(Case::PipeVeth).len(), 47);
    }

    #[test]
    fn every_tool_is_told_the_same_repetitions() {
        let time = |bytes, one_way_seconds| SizeTime { bytes, one_way_seconds };
        let told = repetitions(
            Case::PipeVeth,
            &[time(16, 5e-6), time(1 << 21, 250e-6), time(1 << 23, 1.0)],
        );
        assert_eq!(
            told.into_iter().collect::<Vec<_>>(),
            [(16, 10_000), (1 << 21, 200), (1 << 23, 3)]
        );
        assert_eq!(repetitions(Case::PipeLatency, &[time(16, 5e-6)])[&16], 100_000);
        let plan = plan(1, (16, 16), Some(25_000)).unwrap();
        assert_eq!(
            (plan.precision.least_repetitions, plan.precision.most_repetitions),
            (25_000, 25_000)
        );
        let by_size: Vec<_> = Case::value_variants()
            .iter()
            .filter(|case| is_one(**case) && is_by_size(**case))
            .collect();
        assert_eq!(by_size, [&Case::PipeLatency, &Case::PipeVeth]);
        assert!(Case::value_variants().iter().all(|case| is_one(*case) || !is_by_size(*case)));
    }

    #[test]
    fn the_mean_is_geometric() {
        let times = [
            SizeTime { bytes: 1000, one_way_seconds: 1e-3 },
            SizeTime { bytes: 1000, one_way_seconds: 1e-5 },
        ];
        assert!((measure(&times, Measure::MegabitsMean) - 80.0).abs() < 1e-9);
        assert!((measure(&times, Measure::MegabitsAt(1000)) - 8.0).abs() < 1e-9);
        assert!((measure(&times, Measure::OneWayMicroseconds) - 1000.0).abs() < 1e-9);
        assert!(measure(&times, Measure::MegabitsAt(1)).is_nan());
    }

    #[test]
    fn the_networks_can_be_read() {
        for case in [Case::PipeEthernet, Case::PipeAtm, Case::PipeFddi] {
            let drawing = btu_network::Drawing::read(drawing(case).unwrap(), "bench").unwrap();
            assert_eq!(drawing.stations.len(), 2);
        }
    }
}
