//! Figures with their intervals, from replications or from the batches of a single one.

use btu_stats::{Estimate, Interval, Welford, jain, mean_interval};
use btu_units::{BitRate, Span};

use super::outcome::{
    DelayOutcome, DropOutcome, ExchangeOutcome, FlowOutcome, LEVEL, MediumOutcome, StationOutcome,
};
use super::replication::{FlowSum, Replication, Snapshot};
use super::settings::Settings;
use super::tally::{Delays, StationTally};
use crate::account::Cause;
use crate::fabric::Carried;

/// All replications, or the batches of the only one.
pub(super) struct Sample<'a> {
    pub(super) settings: &'a Settings,
    pub(super) replications: &'a [Replication],
}

/// From one snapshot to a later one.
#[derive(Clone, Copy)]
struct Stretch<'a> {
    seconds: f64,
    from: &'a Snapshot,
    to: &'a Snapshot,
}

impl Sample<'_> {
    /// A mean over time: its value over all replications, its interval from them or, of a single
    /// one, from its batches.
    fn mean_over_time(&self, figure: impl Fn(Stretch) -> Option<f64>) -> Option<Estimate> {
        let wholes: Vec<f64> =
            self.replications.iter().filter_map(|one| figure(self.whole(one)?)).collect();
        let estimate = mean_interval(&wholes, LEVEL)?;
        let [only] = self.replications else { return Some(estimate) };
        let batches: Vec<f64> = self.batches(only).filter_map(figure).collect();
        let interval = mean_interval(&batches, LEVEL).and_then(|batches| {
            let half = batches.interval?.width() / 2.0;
            Some(Interval::around(estimate.value, half))
        });
        Some(Estimate { interval, ..estimate })
    }

    /// As [`Self::mean_over_time`], for a value that always exists.
    fn rate(&self, figure: impl Fn(Stretch) -> f64) -> Estimate {
        self.mean_over_time(|stretch| Some(figure(stretch))).unwrap_or(NOTHING)
    }

    /// A mean over replications of a value that has no meaning for a part of one.
    fn mean(&self, figure: impl Fn(&Replication) -> Option<f64>) -> Option<Estimate> {
        let values: Vec<f64> = self.replications.iter().filter_map(figure).collect();
        mean_interval(&values, LEVEL)
    }

    fn whole<'a>(&self, one: &'a Replication) -> Option<Stretch<'a>> {
        let (from, to) = (one.snapshots.first()?, one.snapshots.last()?);
        Some(Stretch { seconds: self.settings.counted().seconds(), from, to })
    }

    fn batches<'a>(&self, one: &'a Replication) -> impl Iterator<Item = Stretch<'a>> {
        let seconds = self.settings.counted().seconds() / f64::from(super::BATCHES);
        one.snapshots.windows(2).filter_map(move |pair| match pair {
            [from, to] => Some(Stretch { seconds, from, to }),
            _ => None,
        })
    }

    pub(super) fn medium(
        &self,
        place: usize,
        name: String,
        medium: &'static str,
        rate: BitRate,
    ) -> MediumOutcome {
        let share = |busy: fn(&Carried) -> Span| {
            self.rate(|stretch| {
                let lines = stretch.to.carried[place].meter.lines.max(1);
                stretch.between(|at| busy(&at.carried[place]).seconds())
                    / stretch.seconds
                    / f64::from(lines)
            })
        };
        let per_second = |figure: &dyn Fn(&Carried) -> f64| {
            self.rate(|stretch| stretch.between(|at| figure(&at.carried[place])) / stretch.seconds)
        };
        let bits = |carried: &Carried| match carried.bits {
            Some(bits) => bits as f64,
            None => carried.meter.data.seconds() * rate.bits_per_second() as f64,
        };
        let collides = medium == "shared-ethernet";
        MediumOutcome {
            medium,
            rate,
            lines: self.lines(place),
            data: share(|carried| carried.meter.data),
            data_and_collisions: share(|carried| carried.meter.data + carried.meter.collisions),
            busy: share(|carried| {
                carried.meter.data + carried.meter.collisions + carried.meter.overhead
            }),
            goodput_bits_per_second: per_second(&bits),
            frames_per_second: per_second(&|carried| carried.frames as f64),
            collisions_per_second: collides
                .then(|| per_second(&|carried| carried.meter.collision_count as f64)),
            name,
        }
    }

    fn lines(&self, place: usize) -> u32 {
        let last = self.replications.last().and_then(|one| one.snapshots.last());
        last.map_or(1, |snapshot| snapshot.carried[place].meter.lines.max(1))
    }

    pub(super) fn flow(&self, place: usize, flow: &btu_network::Flow) -> FlowOutcome {
        let per_second = |figure: fn(&FlowSum) -> u64| {
            self.rate(|stretch| {
                stretch.between(|at| figure(&at.flows[place]) as f64) / stretch.seconds
            })
        };
        let senders: Vec<usize> = flow.from.iter().map(|station| station.0 as usize).collect();
        FlowOutcome {
            name: flow.name.clone(),
            senders: flow.from.len() as u32,
            offered_frames_per_second: per_second(|sum| sum.offered.frames),
            offered_bits_per_second: per_second(|sum| sum.offered.octets * 8),
            delivered_frames_per_second: per_second(|sum| sum.delivered.frames),
            goodput_bits_per_second: per_second(|sum| sum.delivered.octets * 8),
            delay: self.delay(place),
            exchanges: self.exchanges(place),
            drops: self.drops(place),
            duplicates: self.replications.iter().map(|one| one.flows[place].duplicates).sum(),
            fairness: self.fairness(&senders),
            delivered_frames: self
                .replications
                .iter()
                .map(|one| one.flows[place].delivered.frames)
                .sum(),
        }
    }

    /// The delays of a flow; their mean has an interval even in a single replication.
    fn delay(&self, place: usize) -> Option<DelayOutcome> {
        let mean = self.mean_over_time(|stretch| {
            let frames = stretch.between(|at| at.flows[place].delivered.frames as f64);
            (frames > 0.0).then(|| stretch.between(|at| at.flows[place].delays) / frames)
        })?;
        let rest = self.distribution(|one| Some(&one.flows[place].delays))?;
        Some(DelayOutcome { mean, ..rest })
    }

    fn exchanges(&self, place: usize) -> Option<ExchangeOutcome> {
        let seconds = self.settings.counted().seconds();
        let of = |one: &Replication| {
            one.flows[place].exchanges.as_ref().map(|times| times.moments.count())
        };
        let per_second = self.mean(|one| Some(of(one)? as f64 / seconds))?;
        Some(ExchangeOutcome {
            per_second,
            took: self.distribution(|one| one.flows[place].exchanges.as_ref()),
        })
    }

    fn distribution<'a>(
        &'a self,
        delays: impl Fn(&'a Replication) -> Option<&'a Delays>,
    ) -> Option<DelayOutcome> {
        let mean = |figure: &dyn Fn(&Delays) -> Option<f64>| {
            let values: Vec<f64> =
                self.replications.iter().filter_map(|one| figure(delays(one)?)).collect();
            mean_interval(&values, LEVEL)
        };
        let quantile =
            |share: f64| mean(&|delays| Some(delays.distribution.quantile(share)? as f64 / 1e9));
        let mut all = Welford::default();
        self.replications.iter().filter_map(&delays).for_each(|delays| all.merge(&delays.moments));
        Some(DelayOutcome {
            mean: mean(&|delays| delays.moments.mean())?,
            // The deviation of a single value is 0.
            deviation: mean(&|delays| {
                delays.moments.mean().map(|_| delays.moments.deviation().unwrap_or(0.0))
            })?,
            p50: quantile(0.5)?,
            p99: quantile(0.99)?,
            longest: all.extremes()?.1,
        })
    }

    fn drops(&self, place: usize) -> Vec<DropOutcome> {
        let of = |cause: Cause| {
            self.replications.iter().map(move |one| one.flows[place].dropped[cause as usize]).sum()
        };
        let share = |cause: Cause| {
            self.mean(|one| {
                let flow = &one.flows[place];
                let ended = flow.delivered.frames + flow.dropped.iter().sum::<u64>();
                (ended > 0).then(|| flow.dropped[cause as usize] as f64 / ended as f64)
            })
        };
        let taken = Cause::ALL
            .into_iter()
            .map(|cause| (cause, of(cause)))
            .filter(|&(_, frames)| frames > 0);
        taken
            .filter_map(|(cause, frames)| {
                Some(DropOutcome { cause: cause.name(), frames, share: share(cause)? })
            })
            .collect()
    }

    pub(super) fn fairness(&self, senders: &[usize]) -> Option<Estimate> {
        if senders.len() < 2 {
            return None;
        }
        let octets =
            |one: &Replication, station: usize| one.stations[station].delivered.octets as f64;
        self.mean(|one| {
            jain(&senders.iter().map(|&station| octets(one, station)).collect::<Vec<_>>())
        })
    }

    pub(super) fn station(&self, place: usize, name: &str) -> StationOutcome {
        let sum = |figure: fn(&StationTally) -> f64| -> f64 {
            self.replications.iter().map(|one| figure(&one.stations[place])).sum()
        };
        let seconds = (self.settings.counted().seconds() * self.replications.len() as f64)
            .max(f64::MIN_POSITIVE);
        let (delivered, dropped) =
            (sum(|tally| tally.delivered.frames as f64), sum(|tally| tally.dropped as f64));
        StationOutcome {
            name: name.to_owned(),
            sent_frames_per_second: sum(|tally| tally.offered.frames as f64) / seconds,
            delivered_frames_per_second: delivered / seconds,
            goodput_bits_per_second: sum(|tally| tally.delivered.octets as f64) * 8.0 / seconds,
            delay_mean: (delivered > 0.0).then(|| sum(|tally| tally.delay_sum) / delivered),
            lost: (delivered + dropped > 0.0).then(|| dropped / (delivered + dropped)),
            received_frames_per_second: sum(|tally| tally.received.frames as f64) / seconds,
        }
    }
}

impl Stretch<'_> {
    /// How much a sum grew.
    fn between(&self, sum: impl Fn(&Snapshot) -> f64) -> f64 {
        sum(self.to) - sum(self.from)
    }
}

/// The estimate without any value.
const NOTHING: Estimate = Estimate { value: 0.0, interval: None };
