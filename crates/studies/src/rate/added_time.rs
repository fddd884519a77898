//! Where the time goes that a load adds to a network activity.
//!
//! The thread that moves the data on the machine under test is at each moment on a processor, or ready while others have
//! the processors, or blocked in a call: its time is the sum of the three (getrusage(2), `schedstat`). So is the difference
//! between its time under a load and alone, for the same work in the same block.

use std::collections::BTreeMap;

use btu_contract::load::Load;
use btu_contract::network::HostRole;
use btu_contract::record::Outcome;
use btu_stats::{Estimate, arithmetic_mean, mean_interval};
use btu_units::Bytes;
use serde::Serialize;

use super::LEVEL;
use super::cells::Cells;
use super::context::Context;
use super::record::CellRecord;
use super::row::{Component, Row};

/// The time that a load adds to a component, over all message sizes; of runs of older versions there is none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AddedTime {
    /// The component, which is the network activity.
    pub component: Component,
    /// The load, which is the host activity.
    pub load: Load,
    /// Cells under the load that have one alone in their block, with the same work.
    pub pairs: usize,
    /// The added time over the time alone: 0.5 is half as long again. The mean of the blocks (95 %).
    pub added: Estimate,
    /// Its part on a processor: more processor time for each byte.
    pub on_processor: f64,
    /// Its part ready to run, while others had the processors.
    pub waiting: f64,
    /// Its part blocked: the other end, or the network, was slower. The three sum to `added`.
    pub blocked: f64,
}

impl AddedTime {
    /// The shares of the added time on a processor, waiting and blocked, which sum to 1; `None` unless time
    /// was added beyond chance.
    pub fn shares(&self) -> Option<[f64; 3]> {
        let is_certain = self.added.interval.is_some_and(|ends| ends.low > 0.0);
        is_certain.then(|| {
            [self.on_processor, self.waiting, self.blocked].map(|part| part / self.added.value)
        })
    }
}

/// Seconds of the threads that moved the data on the machine under test.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct ThreadTime {
    whole: f64,
    on_processor: f64,
    waiting: f64,
}

/// One for each component and load with such pairs.
pub(super) fn added_time(cells: &Cells, context: &Context) -> Vec<AddedTime> {
    let combinations = context
        .rated()
        .flat_map(|component| context.host_loads().map(move |load| (component, load)));
    combinations.filter_map(|(component, load)| added(cells, context, component, load)).collect()
}

fn added(cells: &Cells, context: &Context, component: Component, load: Load) -> Option<AddedTime> {
    // Of each pair what is added to the whole, on a processor, and waiting, over the time alone.
    let mut by_block: BTreeMap<u32, Vec<[f64; 3]>> = BTreeMap::new();
    for message in context.messages() {
        let of = |load| cells.of(Row::Network { component, message, load });
        for loaded in of(load) {
            let is_alike =
                |alone: &&&CellRecord| alone.block == loaded.block && work(alone) == work(loaded);
            let Some(alone) = of(Load::Idle).iter().find(is_alike) else { continue };
            if let Some(parts) = added_by(alone, loaded) {
                by_block.entry(loaded.block).or_default().push(parts);
            }
        }
    }
    let mean = |place: usize| -> Vec<f64> {
        let of_block = |pairs: &Vec<[f64; 3]>| {
            pairs.iter().map(|parts| parts[place]).sum::<f64>() / pairs.len() as f64
        };
        by_block.values().map(of_block).collect()
    };
    let [whole, on_processor, waiting] = [0, 1, 2].map(mean);
    let value = arithmetic_mean(&whole)?;
    let interval = mean_interval(&whole, LEVEL).and_then(|estimate| estimate.interval);
    let [on_processor, waiting] = [arithmetic_mean(&on_processor)?, arithmetic_mean(&waiting)?];
    Some(AddedTime {
        component,
        load,
        pairs: by_block.values().map(Vec::len).sum(),
        added: Estimate { value, interval },
        on_processor,
        waiting,
        blocked: value - on_processor - waiting,
    })
}

/// The payload of a cell: only what did the same work is compared.
fn work(record: &CellRecord) -> Option<Bytes> {
    record.network.as_ref().map(|network| network.bytes)
}

/// What a load added to a pair, over the time alone.
fn added_by(alone: &CellRecord, loaded: &CellRecord) -> Option<[f64; 3]> {
    let (alone, loaded) = (ThreadTime::of(alone)?, ThreadTime::of(loaded)?);
    let more = |part: fn(&ThreadTime) -> f64| (part(&loaded) - part(&alone)) / alone.whole;
    Some([more(|one| one.whole), more(|one| one.on_processor), more(|one| one.waiting)])
}

impl ThreadTime {
    /// `None` where no such thread took time, or one has no reading of its waits.
    fn of(record: &CellRecord) -> Option<Self> {
        let mut sum = Self::default();
        let here = record.reports.iter().filter(|placed| placed.station == HostRole::Test);
        let reports = here.filter_map(|placed| placed.result.as_ref().ok());
        let moved = |outcome: &Outcome| matches!(outcome, Outcome::Sent(_) | Outcome::Received(_));
        for report in reports.filter(|report| moved(&report.outcome)) {
            sum.whole += report.duration().seconds();
            sum.on_processor += report.cpu.used().seconds();
            sum.waiting += report.cpu.waited?.seconds();
        }
        (sum.whole > 0.0).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use btu_contract::record::{CpuTime, PlacedReport, Report, Sent, TcpInfo};
    use btu_units::{Span, Time};

    use super::*;
    use crate::rate::tests::network_cell;

    /// A cell of SEND in which the thread's time is so many milliseconds, of them on a processor and waiting.
    fn cell(load: Load, block: u32, [whole, used, waited]: [u64; 3]) -> CellRecord {
        let row = Row::Network { component: Component::Send, message: Bytes::new(65536), load };
        let sent = Sent {
            bytes: Bytes::new(65536),
            messages: 1,
            tcp: TcpInfo::default(),
            moments: Vec::new(),
        };
        let report = Report {
            started: Time::ZERO,
            finished: Time::ZERO + Span::from_milliseconds(whole),
            cpu: CpuTime {
                waited: Some(Span::from_milliseconds(waited)),
                ..CpuTime::of(Span::ZERO, Span::from_milliseconds(used))
            },
            outcome: Outcome::Sent(sent),
        };
        let placed = PlacedReport {
            station: HostRole::Test.into(),
            activity: "tcp-send".to_owned(),
            result: Ok(report),
        };
        CellRecord {
            reports: vec![placed],
            ..network_cell(row, block, Bytes::new(65536), 0.1, None)
        }
    }

    fn found(records: &[CellRecord]) -> Vec<AddedTime> {
        let plan = crate::rate::plan::Plan::whole(
            1,
            crate::rate::plan::Profile::quick(),
            btu_contract::network::Network::Veth,
        );
        added_time(&Cells::new(records), &Context::complete(plan, 2))
    }

    /// 100 ms alone, of them 80 on a processor; 200 ms under the load, of them 100 on a processor and 70 waiting.
    #[test]
    fn the_parts_of_the_added_time_sum_to_it() {
        let records: Vec<CellRecord> = (0..3)
            .flat_map(|block| {
                let more = u64::from(block);
                let alone = cell(Load::Idle, block, [100, 80, 0]);
                [alone, cell(Load::Cpu, block, [200 + more, 100, 70 + more])]
            })
            .collect();
        let [one] = found(&records)[..] else { panic!("one component under one load") };
        assert_eq!((one.component, one.load, one.pairs), (Component::Send, Load::Cpu, 3));
        assert!((one.added.value - 1.01).abs() < 1e-12, "{one:?}");
        let parts = [one.on_processor, one.waiting, one.blocked];
        assert!((parts.iter().sum::<f64>() - one.added.value).abs() < 1e-12, "{one:?}");
        for (found, expected) in parts.into_iter().zip([0.20, 0.71, 0.10]) {
            assert!((found - expected).abs() < 1e-12, "{one:?}");
        }
        let shares = one.shares().unwrap();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12 && shares[1] > 0.69, "{shares:?}");
    }

    #[test]
    fn what_adds_nothing_beyond_chance_has_no_shares() {
        let records: Vec<CellRecord> = [(0, 90), (1, 100), (2, 112)]
            .into_iter()
            .flat_map(|(block, time)| {
                [cell(Load::Idle, block, [100, 80, 0]), cell(Load::Disk, block, [time, 80, 0])]
            })
            .collect();
        let [one] = found(&records)[..] else { panic!("one component under one load") };
        assert_eq!(one.shares(), None);
        let mut older = records.clone();
        for placed in older.iter_mut().flat_map(|record| &mut record.reports) {
            placed.result.as_mut().unwrap().cpu.waited = None;
        }
        assert_eq!(found(&older), []);
    }
}
