//! The output of the comparison of simulators, and its bounds.

use std::fmt::Write as _;

use super::{SimulatorSample, Size};
use crate::case::Bound;
use crate::compare::{BoundVerdict, Spread};

/// The number of stations at which the bounds are checked.
const JUDGED_STATIONS: u32 = 24;
const RATIO: Bound = Bound::AtLeast(10.0);
const FRAMES_PER_SECOND: Bound = Bound::AtLeast(1e6);

/// A line for each size, then the bounds; whether one was missed.
pub(super) fn table(sizes: &[Size], samples: &[SimulatorSample]) -> (String, bool) {
    let mut text = String::from(
        "\n                 delivered frames per CPU second             ended   btu CPU s per\nstations  octets            btu           ns-3  btu/ns-3 (95 %)            btu       virtual s\n",
    );
    let mut missed = false;
    for size in sizes {
        let of_size: Vec<&SimulatorSample> =
            samples.iter().filter(|sample| sample.size == *size).collect();
        let spread = |value: &dyn Fn(&SimulatorSample) -> f64| {
            Spread::of(&of_size.iter().map(|sample| value(sample)).collect::<Vec<_>>())
        };
        let ours = spread(&|sample| sample.ours.delivered_per_second());
        let ns3 = spread(&|sample| sample.ns3.delivered_per_second());
        let ratio = spread(&|sample| {
            sample.ours.delivered_per_second() / sample.ns3.delivered_per_second()
        });
        let ended = spread(&|sample| sample.ours.ended_per_second());
        let cost = spread(&|sample| sample.ours.seconds_per_virtual_second(size.our_milliseconds));
        let (Some(ours), Some(ns3), Some(ratio), Some(ended), Some(cost)) =
            (ours, ns3, ratio, ended, cost)
        else {
            continue;
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>8} {:>7} {:>14.0} {:>14.0}  {:<18} {:>11.0} {:>15.5}",
            size.stations,
            size.frame_octets,
            ours.median,
            ns3.median,
            format!("{:.3} ({:.3} .. {:.3})", ratio.median, ratio.interval.0, ratio.interval.1),
            ended.median,
            cost.median
        );
        if size.stations == JUDGED_STATIONS {
            missed |= judge(&mut text, "btu/ns-3 at least 10", &ratio, RATIO);
            missed |= judge(&mut text, "at least 1,000,000 frames/s", &ours, FRAMES_PER_SECOND);
        }
    }
    text.push_str(&memory(samples));
    (text, missed)
}

fn judge(text: &mut String, what: &str, spread: &Spread, bound: Bound) -> bool {
    let verdict = spread.verdict(bound);
    let _ = writeln!(text, "           {what}: {}", format!("{verdict:?}").to_lowercase());
    verdict == BoundVerdict::Missed
}

/// The memory of a station: the difference of the largest and the smallest segment's peak over that
/// of their stations.
fn memory(samples: &[SimulatorSample]) -> String {
    let least = samples.iter().min_by_key(|sample| sample.size.stations);
    let most = samples.iter().max_by_key(|sample| sample.size.stations);
    let difference = least.zip(most).and_then(|(least, most)| {
        let bytes = most.ours.peak_bytes?.checked_sub(least.ours.peak_bytes?)?;
        let stations =
            most.size.stations.checked_sub(least.size.stations).filter(|stations| *stations > 0)?;
        Some(bytes / u64::from(stations))
    });
    difference
        .map_or_else(String::new, |bytes| format!("btu's memory for each station: {bytes} bytes\n"))
}

#[cfg(test)]
mod tests {
    use super::super::SimulatorResult;
    use super::*;

    fn sample(stations: u32, ours: f64, ns3: f64, peak_bytes: u64) -> SimulatorSample {
        let size =
            Size { stations, frame_octets: 64, our_milliseconds: 1000, ns3_milliseconds: 1000 };
        let told = |seconds, peak_bytes| SimulatorResult {
            delivered: 1_000_000,
            dropped: 0,
            seconds,
            peak_bytes,
        };
        SimulatorSample { block: 0, size, ours: told(ours, Some(peak_bytes)), ns3: told(ns3, None) }
    }

    #[test]
    fn bounds_are_held_at_24_stations() {
        let judge = |ours, ns3| {
            let samples = [sample(24, ours, ns3, 0)];
            table(&[samples[0].size], &samples).1
        };
        assert!(!judge(0.5, 20.0));
        assert!(judge(0.5, 4.0), "eight times ns-3");
        assert!(judge(1.5, 60.0), "too few frames a second");
    }

    #[test]
    fn memory_is_told_for_each_station() {
        let samples = [sample(100, 1.0, 1.0, 5_000_000), sample(1100, 1.0, 1.0, 6_000_000)];
        assert_eq!(memory(&samples), "btu's memory for each station: 1000 bytes\n");
    }
}
