//! The speeds of cells with what was read of the processors around them.

use btu_units::Span;

use super::size;
use crate::compare::Reading;
use crate::record::ProcessorReadings;

/// A reading tells of less than a millisecond, before and after a cell; what slows processors lasts for seconds, and single
/// readings scatter around it. So many cells before and after a cell take some ten seconds: what they read on average
/// goes along with goodput three times as much as single readings do.
const NEIGHBOURS: usize = 20;

/// The speed of a valid cell, and what was read of the processors around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlacedReading {
    /// The speed.
    pub reading: Reading,
    /// Where and how quick the processors were.
    pub processors: ProcessorReadings,
    /// The same with the rated cells before and after it.
    pub lasting: ProcessorReadings,
}

impl PlacedReading {
    /// Of the cells of a run in the order of time.
    pub fn in_order(cells: &[(Reading, ProcessorReadings)]) -> Vec<Self> {
        let is_source = |reading: &Reading| reading.counts() && size(reading.row).is_some();
        let sources = Sources::of(cells.iter().filter(|(of, _)| is_source(of)).map(|(_, of)| *of));
        let mut before = 0;
        let place = |&(reading, processors): &(Reading, ProcessorReadings)| {
            let lasting = sources.around(before);
            before += usize::from(is_source(&reading));
            Self { reading, processors, lasting }
        };
        cells.iter().map(place).collect()
    }
}

/// What was read around the rated cells of a run, in the order of time.
struct Sources {
    latencies: Vec<Option<Span>>,
    /// The number of times for arithmetic up to each cell, and the sum of their logarithms.
    arithmetic: Vec<(usize, f64)>,
}

impl Sources {
    fn of(readings: impl Iterator<Item = ProcessorReadings>) -> Self {
        let mut sources = Self { latencies: Vec::new(), arithmetic: vec![(0, 0.0)] };
        let (mut count, mut sum) = (0, 0.0);
        for ProcessorReadings { core_to_core, arithmetic } in readings {
            if let Some(time) = arithmetic {
                count += 1;
                sum += (time.nanoseconds().max(1) as f64).ln();
            }
            sources.arithmetic.push((count, sum));
            sources.latencies.push(core_to_core);
        }
        sources
    }

    /// The geometric mean of the times for arithmetic, and the median of the latencies, of which some may be those of
    /// processors that were moved apart.
    fn around(&self, place: usize) -> ProcessorReadings {
        let end = self.latencies.len().min(place + NEIGHBOURS + 1);
        let range = place.saturating_sub(NEIGHBOURS).min(end)..end;
        let (count, sum) = self.arithmetic[range.end];
        let (before, sum_before) = self.arithmetic[range.start];
        let mean = ((sum - sum_before) / (count - before) as f64).exp();
        let mut latencies: Vec<Span> = self.latencies[range].iter().flatten().copied().collect();
        let middle = latencies.len() / 2;
        ProcessorReadings {
            core_to_core: (middle < latencies.len())
                .then(|| *latencies.select_nth_unstable(middle).1),
            arithmetic: (count > before).then(|| Span::from_nanoseconds(mean.round() as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use btu_units::Bytes;

    use super::*;
    use crate::cell::{Component, Row};

    #[test]
    fn what_lasts_is_told_by_cells_before_and_after() {
        let cell = |row, latency, time| {
            let reading = Reading { row, block: 0, per_second: 1e6 };
            let [core_to_core, arithmetic] = [latency, time].map(Span::from_nanoseconds).map(Some);
            (reading, ProcessorReadings { core_to_core, arithmetic })
        };
        let rated = Row::idle(Component::Send, Bytes::new(100));
        let other = Row::idle(Component::Udp, Bytes::new(1024));
        let mut cells = vec![cell(rated, 60, 1000); 30];
        cells[10] = cell(rated, 300, 4000);
        cells.insert(5, cell(other, 900, 90_000));
        cells.push(cell(rated, 60, 0));
        cells[31].1 = ProcessorReadings::default();
        let placed = PlacedReading::in_order(&cells);
        let lasting = |at: usize| {
            let of: ProcessorReadings = placed[at].lasting;
            [of.core_to_core, of.arithmetic].map(|time| time.unwrap().nanoseconds())
        };
        // By hand: 4^(1/21) among the first and twenty more, and 4^(1/20) among the last and as many before it, of
        // which one has no reading.
        assert_eq!(lasting(0), [60, 1068]);
        assert_eq!(lasting(5), lasting(6), "{:?}", placed[5]);
        assert_eq!(lasting(31), [60, 1072]);
        assert_eq!(placed[11].processors, cells[11].1);
        assert_eq!(PlacedReading::in_order(&[]), []);
    }
}
