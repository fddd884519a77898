//! The service that the background stations got.

use std::collections::BTreeMap;

use btu_stats::Histogram;
use serde::Serialize;

use super::reconcile::stations;
use super::{LanCell, Level, Spread, StationDone};
use btu_contract::experiment::Measured;
use btu_contract::network::HostName;

/// Nanoseconds in a second.
const NANO: f64 = 1e-9;

/// The background stations at a level, over all its cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelStations {
    /// The number of them.
    pub count: u32,
    /// The row of each background station.
    pub stations: Vec<StationRow>,
    /// Their comparison; `None` for a single station.
    pub spread: Option<Spread>,
    /// Mean time of all their transactions, in seconds.
    pub mean_seconds: Option<f64>,
    /// The 95th percentile of all their transactions, in seconds.
    pub p95_seconds: Option<f64>,
    /// Transactions of all stations per second.
    pub per_second: Option<f64>,
}

/// A background station and its transactions, over all cells of a level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StationRow {
    /// Its number, from 1.
    pub number: u32,
    /// Its host, which may have several stations.
    pub station: HostName,
    /// The number of its transactions.
    pub transactions: u64,
    /// Their mean time, in seconds.
    pub mean_seconds: Option<f64>,
    /// Its standard deviation, in seconds.
    pub deviation_seconds: Option<f64>,
    /// The median time, in seconds.
    pub p50_seconds: Option<f64>,
    /// The 99th percentile, in seconds.
    pub p99_seconds: Option<f64>,
}

/// A station's cells, put together.
#[derive(Debug, Default)]
struct Pooled {
    times: Histogram,
    /// Of each cell: the number of transactions, their mean and their deviation.
    parts: Vec<(f64, f64, f64)>,
    /// Transactions that have one before them, and the time from each such to the next.
    cycles: f64,
    busy: f64,
}

impl Pooled {
    fn add(&mut self, done: &StationDone) {
        self.times.merge(&done.times);
        let count = done.transactions as f64;
        if let Some(mean) = done.mean_seconds {
            self.parts.push((count, mean, done.deviation_seconds.unwrap_or(0.0)));
        }
        if let Some(cycle) = done.cycle_seconds {
            self.cycles += count - 1.0;
            self.busy += (count - 1.0) * cycle;
        }
    }

    fn count(&self) -> f64 {
        self.parts.iter().map(|(count, ..)| count).sum()
    }

    fn mean(&self) -> Option<f64> {
        let sum: f64 = self.parts.iter().map(|(count, mean, _)| count * mean).sum();
        (self.count() > 0.0).then(|| sum / self.count())
    }

    /// Squares about the mean of all: those within each cell, and those of the cells' means.
    fn deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        let squares = |&(count, own, deviation): &(f64, f64, f64)| {
            (count - 1.0) * deviation * deviation + count * (own - mean) * (own - mean)
        };
        let sum: f64 = self.parts.iter().map(squares).sum();
        (self.count() > 1.0).then(|| (sum / (self.count() - 1.0)).sqrt())
    }

    fn row(&self, number: u32, station: &HostName) -> StationRow {
        let quantile =
            |share| self.times.known_quantile(share).map(|nanoseconds| nanoseconds as f64 * NANO);
        StationRow {
            number,
            station: station.clone(),
            transactions: self.count() as u64,
            mean_seconds: self.mean(),
            deviation_seconds: self.deviation(),
            p50_seconds: quantile(0.5),
            p99_seconds: quantile(0.99),
        }
    }
}

/// The stations at a level; `None` if no cell of it counts, or it has none.
pub(super) fn of_level<'a>(
    count: u32,
    cells: impl Iterator<Item = &'a Measured<LanCell>>,
) -> Option<LevelStations> {
    let own = cells.filter(|cell| cell.cell.level == Level::Stations(count) && cell.is_valid());
    // Several stations may be on one host: their numbers distinguish them.
    let mut pooled: BTreeMap<u32, (&HostName, Pooled)> = BTreeMap::new();
    for cell in own {
        for (number, (host, done)) in (1..).zip(stations(&cell.seen)) {
            pooled.entry(number).or_insert_with(|| (host, Pooled::default())).1.add(done);
        }
    }
    let (mut all, mut sum, mut transactions) = (Histogram::new(), 0.0, 0.0);
    for (_, station) in pooled.values() {
        all.merge(&station.times);
        sum += station.count() * station.mean().unwrap_or(0.0);
        transactions += station.count();
    }
    let compared: Vec<(Option<f64>, &Histogram)> =
        pooled.values().map(|(_, station)| (station.mean(), &station.times)).collect();
    let rate =
        |(_, station): &(_, Pooled)| (station.busy > 0.0).then(|| station.cycles / station.busy);
    (!pooled.is_empty()).then(|| LevelStations {
        count,
        stations: pooled
            .iter()
            .map(|(&number, (host, station))| station.row(number, host))
            .collect(),
        spread: Spread::of(&compared),
        mean_seconds: (transactions > 0.0).then(|| sum / transactions),
        p95_seconds: all.quantile(0.95).map(|nanoseconds| nanoseconds as f64 * NANO),
        per_second: pooled.values().map(rate).sum(),
    })
}
