//! The paper's own tables, judged as if they had been measured here.

use btu_units::Bytes;

use super::super::*;
use super::*;
use crate::papers::btu95::data::{ALONE, COMPONENTS, MessageTimes, PENALTIES, TABLES};
use crate::papers::btu95::{MESSAGE_BYTES, Machine};

/// The volume of every component.
const PAPER_VOLUME: Bytes = Bytes::new(4_000_000);

fn row(component: &str, size: usize, load: Load) -> Row {
    let component = Component::RATED.into_iter().find(|one| one.name() == component);
    let message = Bytes::new(MESSAGE_BYTES[size]);
    Row::Network { component: component.expect("a component of the study"), message, load }
}

/// The cells of a table of the paper, each with the time of the host activity, if one ran.
fn network_cells<'a>(
    times: &'a MessageTimes,
    load: Load,
    host: Option<&'a MessageTimes>,
) -> impl Iterator<Item = CellRecord> + 'a {
    (0..MESSAGE_BYTES.len()).flat_map(move |size| {
        COMPONENTS.iter().enumerate().map(move |(index, name)| {
            let host = host.map(|host| host[size][index]);
            network_cell(row(name, size, load), 0, PAPER_VOLUME, times[size][index], host)
        })
    })
}

/// Tables A1 to A16 of `machine` as cells of one block.
fn cells(machine: Machine) -> Vec<CellRecord> {
    let alone = &ALONE[machine as usize];
    let hosts = Load::HOST.into_iter().zip(alone.host);
    let hosts = hosts.map(|(load, seconds)| host_cell(load, 0, seconds));
    let tables = Load::HOST.into_iter().zip(&TABLES[machine as usize]);
    let together =
        tables.flat_map(|(load, table)| network_cells(&table.network, load, Some(&table.host)));
    network_cells(&alone.network, Load::Idle, None).chain(hosts).chain(together).collect()
}

fn verdict(machine: Machine) -> Verdict {
    let base = context();
    let context = Context { plan: Plan { volume: Some(PAPER_VOLUME), ..base.plan }, ..base };
    let cells = cells(machine);
    assert_eq!(cells.len(), 30 + 3 + 90, "{machine}: every cell of tables A1 to A16");
    judge(&cells, &context)
}

/// (geometric, arithmetic) mean over loads, geometric over sizes, in Mb/s.
fn btu(machine: Machine) -> (f64, f64) {
    let btu = verdict(machine).btu95.unwrap();
    let geometric = btu.geometric_over_loads_bits_per_second.geometric;
    (geometric / 1e6, btu.arithmetic_over_loads_bits_per_second.geometric / 1e6)
}

#[test]
fn the_papers_rule_on_its_raw_rows() {
    let (geometric, arithmetic) = btu(Machine::Sparc10);
    assert!(
        (geometric - 2.481).abs() < 5e-4 && (arithmetic - 2.473).abs() < 5e-4,
        "{geometric} {arithmetic}"
    );
    let (geometric, arithmetic) = btu(Machine::Dec);
    assert!(
        (geometric - 2.546).abs() < 5e-4 && (arithmetic - 2.373).abs() < 5e-4,
        "{geometric} {arithmetic}"
    );
    assert!((btu(Machine::Sgi).0 - 1.013).abs() < 5e-4, "{}", btu(Machine::Sgi).0);
}

#[test]
fn the_rank_of_the_first_two_depends_on_the_mean_over_loads() {
    let (sparc, dec) = (btu(Machine::Sparc10), btu(Machine::Dec));
    assert!(dec.0 > sparc.0 && sparc.1 > dec.1);
}

#[test]
fn our_rating_of_the_same_rows_is_the_geometric_rule() {
    // Goodput is volume over time, so the geometric mean over all cells is the rule with geometric
    // means throughout.
    let verdict = verdict(Machine::Dec);
    let rating = verdict.rating.unwrap();
    let rule = verdict.btu95.unwrap().geometric_over_loads_bits_per_second.geometric;
    assert!(close(rating.btu_bits_per_second.value, rule));
    assert_eq!(rating.btu_bits_per_second.interval, None, "nothing was repeated in 1995");
    assert!(rating.low_confidence);
}

/// The 64 KB row of Table 2 follows from no rule that was tried, for any machine; the other rows of
/// the DEC follow exactly.
#[test]
fn table_2_of_the_dec() {
    let verdict = verdict(Machine::Dec);
    let mut compared = 0;
    let printed = MESSAGE_BYTES.into_iter().zip(PENALTIES[Machine::Dec as usize]);
    for (bytes, printed) in printed.filter(|(bytes, _)| *bytes != 65_536) {
        let message = Bytes::new(bytes);
        for (load, [network, host]) in Load::HOST.into_iter().zip(printed) {
            let found = verdict
                .penalties
                .table
                .iter()
                .find(|one| one.message == message && one.load == load)
                .unwrap();
            let sides = [(found.network.unwrap(), network), (found.host.unwrap(), host)];
            for (side, printed) in sides {
                assert!(
                    (side.clipped_seconds - printed).abs() <= 0.0101,
                    "{message} {load}: {side:?}, printed {printed}"
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 24);
}

#[test]
fn total_penalties() {
    let totals = |machine| {
        verdict(machine)
            .penalties
            .totals
            .iter()
            .map(|total| total.clipped_seconds)
            .collect::<Vec<_>>()
    };
    let expected = [
        (Machine::Sparc10, [28.9, 20.7, 21.4, 22.3, 22.0]),
        (Machine::Dec, [62.4, 10.9, 92.6, 13.3, 10.2]),
    ];
    for (machine, sums) in expected {
        for (found, sum) in totals(machine).into_iter().zip(sums) {
            assert!((found - sum).abs() < 0.06, "{machine}: {found}, expected {sum}");
        }
    }
}
