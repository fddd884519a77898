//! The paper's own tables, put through the verdict as if they had been measured here.

use btu_units::Bytes;

use super::super::*;
use super::*;

const BASELINE: &str = include_str!("../../../data/btu95_baseline.csv");
const HOST_BASELINE: &str = include_str!("../../../data/btu95_host_baseline.csv");
const CONCURRENT: &str = include_str!("../../../data/btu95_concurrent.csv");
const PENALTIES: &str = include_str!("../../../data/btu95_penalties.csv");

/// What every component moved.
const PAPER_VOLUME: Bytes = Bytes::new(4_000_000);

fn lines(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table.lines().skip(1).map(|line| line.split(',').collect())
}

fn number(field: &str) -> f64 {
    field.parse().unwrap_or_else(|_| panic!("{field} is not a number"))
}

fn component(name: &str) -> Component {
    *Component::RATED
        .iter()
        .find(|component| component.name() == name)
        .unwrap_or_else(|| panic!("{name}"))
}

fn load(name: &str) -> Load {
    match name {
        "CPU" => Load::Cpu,
        "IO" => Load::Disk,
        "FTP" => Load::Transfer,
        other => panic!("{other}"),
    }
}

fn row(name: &str, bytes: &str, load: Load) -> Row {
    Row::Network {
        component: component(name),
        message: bytes.parse().map(Bytes::new).unwrap(),
        load,
    }
}

/// Tables A1 to A16 of `machine` as cells of one block.
fn cells(machine: &str) -> Vec<CellRecord> {
    let baselines = lines(BASELINE).filter(|fields| fields[0] == machine).map(|fields| {
        network_cell(
            row(fields[1], fields[2], Load::Idle),
            0,
            PAPER_VOLUME,
            number(fields[3]),
            None,
        )
    });
    let hosts = lines(HOST_BASELINE)
        .filter(|fields| fields[0] == machine)
        .map(|fields| host_cell(load(fields[1]), 0, number(fields[2])));
    let rows: Vec<_> = lines(CONCURRENT).filter(|fields| fields[1] == machine).collect();
    let seconds = |activity: &str, measured: &str, component: &str, bytes: &str| {
        let wanted = [activity, measured, component, bytes];
        rows.iter().find(|fields| fields[2..6] == wanted).map(|fields| number(fields[6])).unwrap()
    };
    let together = rows.iter().filter(|fields| fields[3] == "COMM").map(|fields| {
        let (activity, component, bytes) = (fields[2], fields[4], fields[5]);
        let host = seconds(activity, activity, component, bytes);
        network_cell(
            row(component, bytes, load(activity)),
            0,
            PAPER_VOLUME,
            number(fields[6]),
            Some(host),
        )
    });
    baselines.chain(hosts).chain(together).collect()
}

fn verdict(machine: &str) -> Verdict {
    let base = context();
    let context = Context { plan: Plan { volume: Some(PAPER_VOLUME), ..base.plan }, ..base };
    let cells = cells(machine);
    assert_eq!(cells.len(), 30 + 3 + 90, "{machine}: every cell of tables A1 to A16");
    judge(&cells, &context)
}

/// (geometric, arithmetic) mean over loads, geometric over sizes, in Mb/s.
fn btu(machine: &str) -> (f64, f64) {
    let btu = verdict(machine).btu95.unwrap();
    let geometric = btu.geometric_over_loads_bits_per_second.geometric;
    (geometric / 1e6, btu.arithmetic_over_loads_bits_per_second.geometric / 1e6)
}

#[test]
fn the_papers_rule_on_its_raw_rows() {
    let (geometric, arithmetic) = btu("SPARC10");
    assert!(
        (geometric - 2.481).abs() < 5e-4 && (arithmetic - 2.473).abs() < 5e-4,
        "{geometric} {arithmetic}"
    );
    let (geometric, arithmetic) = btu("DEC");
    assert!(
        (geometric - 2.546).abs() < 5e-4 && (arithmetic - 2.373).abs() < 5e-4,
        "{geometric} {arithmetic}"
    );
    assert!((btu("SGI").0 - 1.013).abs() < 5e-4, "{}", btu("SGI").0);
}

#[test]
fn the_rank_of_the_first_two_depends_on_the_mean_over_loads() {
    let (sparc, dec) = (btu("SPARC10"), btu("DEC"));
    assert!(dec.0 > sparc.0 && sparc.1 > dec.1);
}

#[test]
fn our_rating_of_the_same_rows_is_the_geometric_rule() {
    // Goodput is volume over time, so the geometric mean over all cells is the rule with geometric
    // means throughout.
    let verdict = verdict("DEC");
    let rating = verdict.rating.unwrap();
    let rule = verdict.btu95.unwrap().geometric_over_loads_bits_per_second.geometric;
    assert!(close(rating.btu_bits_per_second.value, rule));
    assert_eq!(rating.btu_bits_per_second.interval, None, "nothing was repeated in 1995");
    assert!(rating.low_confidence);
}

/// The 64 KB row of Table 2 follows from no rule that was tried, on any machine; the others of the
/// DEC do exactly.
#[test]
fn table_2_of_the_dec() {
    let verdict = verdict("DEC");
    let mut compared = 0;
    for fields in lines(PENALTIES).filter(|fields| fields[0] == "DEC" && fields[1] != "65536") {
        let message: Bytes = fields[1].parse().map(Bytes::new).unwrap();
        for (index, load) in Load::HOST.into_iter().enumerate() {
            let found = verdict
                .penalties
                .table
                .iter()
                .find(|one| one.message == message && one.load == load)
                .unwrap();
            let sides = [
                (found.network.unwrap(), number(fields[2 + 2 * index])),
                (found.host.unwrap(), number(fields[3 + 2 * index])),
            ];
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
    let expected =
        [("SPARC10", [28.9, 20.7, 21.4, 22.3, 22.0]), ("DEC", [62.4, 10.9, 92.6, 13.3, 10.2])];
    for (machine, sums) in expected {
        for (found, sum) in totals(machine).into_iter().zip(sums) {
            assert!((found - sum).abs() < 0.06, "{machine}: {found}, expected {sum}");
        }
    }
}
