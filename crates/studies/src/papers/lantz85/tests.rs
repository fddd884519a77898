//! What follows from the paper's tables, and which of its sentences hold; expected numbers were
//! computed by hand.

mod bandwidth;
mod claims;
mod conclusions;
mod factors;
mod repeated;
mod sensitivity;
mod variance;

use super::*;

/// Bytes that adding one item takes on the network (section 8).
const ITEM_BYTES: f64 = 20.0;

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, not {expected}");
}

#[test]
fn every_table_is_read() {
    let tables = tables();
    let numbers: Vec<&str> = tables.iter().map(|table| table.number).collect();
    let expected =
        ["3-1", "3-2", "4-1", "4-2", "4-3", "4-4", "5-1", "5-2", "6-1", "6-2", "8-1", "8-2"];
    assert_eq!(numbers, expected);
    let values: usize =
        tables.iter().flat_map(|table| &table.lines).map(|line| line.cells.len()).sum();
    assert_eq!(values, 116);
    assert_eq!(tables[6].lines[3].value("A-IP"), Some(370.0));
    near(printed("5-1", "10,750,batch structured", "A-IP"), 370.0, 0.0);
}

#[test]
fn sensitivities() {
    let all = sensitivity::all();
    let of = |part: &str, rate: &str| {
        let chosen = all.iter().filter(|one| one.part.starts_with(part) && one.rate == rate);
        chosen.map(|one| one.sensitivity).collect::<Vec<_>>()
    };
    let expected: [(&str, &str, &[f64]); 6] = [
        ("workstation", "batch", &[0.667, 1.067, 0.727, 0.444, 0.182]),
        ("workstation", "text", &[0.597, 1.375, 0.571, 0.778, 0.222]),
        ("host", "construction", &[0.50, 0.615, 0.545]),
        ("host", "text", &[0.049, 0.143, 0.870]),
        ("network", "construction", &[0.0132, 0.0195]),
        ("network", "batch", &[0.0143, 0.0204]),
    ];
    for (part, rate, values) in expected {
        let found = of(part, rate);
        assert_eq!(found.len(), values.len(), "{part} {rate}");
        found.iter().zip(values).for_each(|(found, expected)| near(*found, *expected, 5.1e-4));
    }
}

#[test]
fn ceilings() {
    let ceilings = bandwidth::ceilings();
    let expected = [(7.5, 98.7, 82.7), (15.0, 93.3, 80.0), (30.0, 86.7, 76.7), (60.0, 90.0, 76.7)];
    assert_eq!(ceilings.len(), expected.len());
    for (found, (items, construction, batch)) in ceilings.iter().zip(expected) {
        near(found.items_per_second, items, 1e-12);
        near(found.construction_share * 100.0, construction, 0.05);
        near(found.batch_share * 100.0, batch, 0.05);
    }
    // 7.4 items/s were measured: start and stop bits would not have left room for them.
    assert!(ceilings[0].with_start_stop_items_per_second < 7.4);
}

#[test]
fn the_structured_picture() {
    let structure = bandwidth::structure();
    let expected = [9.286, 5.493, 3.391, 2.438, 2.053];
    for ((_, seconds), expected) in structure.seconds.iter().zip(expected) {
        near(*seconds, expected, 5.1e-4);
    }
    near(structure.bytes_between_neighbours.0, 1138.0, 1.0);
    near(structure.bytes_between_neighbours.1, 1261.0, 1.0);
    near(structure.bytes, 1177.0, 1.0);
    near(structure.fixed_seconds, 1.47, 0.01);
}

#[test]
fn one_configuration_has_several_rates() {
    let repeated = repeated::find();
    let batch = repeated
        .iter()
        .find(|one| (one.line, one.configuration) == ("10,780,batch", "E-IP"))
        .unwrap();
    assert_eq!(batch.rates, [("4-1", 110.0), ("4-3", 380.0)]);
    let construction = repeated
        .iter()
        .find(|one| (one.line, one.configuration) == ("10,750,construction", "E-IP"));
    let expected = [("3-1", 220.0), ("4-2", 110.0), ("4-4", 130.0), ("8-1", 230.0)];
    assert_eq!(construction.unwrap().rates, expected);
    let spreads = repeated.iter().map(repeated::Repeated::spread);
    let expected = [17.61, 3.45, 2.09, 1.76, 1.54, 1.23, 1.18, 1.12, 1.05];
    assert_eq!(repeated.len(), expected.len());
    spreads.zip(expected).for_each(|(spread, expected)| near(spread, expected, 5e-3));
}

/// Table 5-1: ln of 4 x 3 cells; computed apart from this program.
#[test]
fn shares_of_the_variance() {
    let divisions = variance::all();
    let expected = [
        ("3-1", "VAX 750", [99.2, 0.3, 0.5]),
        ("4-1", "batch", [5.5, 93.3, 1.1]),
        ("4-1", "text", [2.0, 97.6, 0.5]),
        ("4-2", "construction", [17.0, 82.9, 0.1]),
        ("4-2", "text", [8.1, 84.6, 7.3]),
        ("5-1", "all", [83.2, 11.5, 5.3]),
        ("5-1", "without stop-and-wait", [84.8, 13.4, 1.8]),
        ("8-1", "56 kb/s to 10 Mb/s", [98.8, 1.1, 0.1]),
        ("8-2", "1.2 to 9.6 kb/s", [27.6, 71.5, 0.9]),
        ("8-2", "9.6 kb/s and 10 Mb/s", [23.7, 69.1, 7.2]),
    ];
    assert_eq!(divisions.len(), expected.len());
    for (division, (table, part, shares)) in divisions.iter().zip(expected) {
        assert_eq!((division.table, division.part), (table, part));
        let found = [division.row_share, division.column_share, division.interaction_share];
        found.iter().zip(shares).for_each(|(found, share)| near(found * 100.0, share, 0.05));
    }
    near(divisions[5].variance, 3.2142, 1e-4);
}

#[test]
fn elasticities_by_piece_of_the_range() {
    let all = sensitivity::all();
    let of = |table: &str, rate: &str| {
        all.iter()
            .filter(|one| one.table == table && one.rate == rate)
            .map(|one| one.elasticity)
            .collect::<Vec<_>>()
    };
    let expected: [(&str, &str, &[f64]); 6] = [
        ("4-1", "batch", &[0.691, 1.059, 0.749, 0.472, 0.199]),
        ("4-2", "text", &[0.069, 0.193, 0.903]),
        ("8-1", "construction", &[0.132, 0.037]),
        ("8-2", "construction", &[0.920, 0.893, 1.054, 0.162, 0.956]),
        ("8-2", "batch", &[0.953, 0.939, 1.0, 0.151, 0.964]),
        ("8-2", "structure", &[0.757, 0.696, 0.476, 0.025, 0.643]),
    ];
    for (table, rate, values) in expected {
        let found = of(table, rate);
        assert_eq!(found.len(), values.len(), "{table} {rate}");
        found.iter().zip(values).for_each(|(found, expected)| near(*found, *expected, 5.1e-4));
    }
}

/// Section 10's order of factors, and what reduces the effect of bandwidth. The three measures
/// (sensitivity, elasticity, variance over the range tried) do not agree, and only the variance can
/// place the protocols, which have no scale.
#[test]
fn conclusions_depend_on_the_measure() {
    let found = |judgement: conclusions::Judgement| match judgement.holds {
        None => "cannot say".to_owned(),
        Some(true) => format!("yes: {}", judgement.found),
        Some(false) => format!("no: {}", judgement.found),
    };
    let all = conclusions::all().into_iter().map(|one| {
        let measures = [one.by_sensitivity, one.by_elasticity, one.by_variance].map(found);
        format!("{}? {}", one.said, measures.join("; "))
    });
    let expected = [
        "the workstation's speed comes before the host's? yes: 0.632 against 0.523; yes: 0.657 against 0.606; \
         no: 0.0057 against 0.0333",
        "the host's speed comes before the level of the protocol? cannot say; cannot say; no: 0.0333 against 1.048",
        "the level of the protocol comes before the transport? cannot say; cannot say; yes: 1.048 against 0.213",
        "the transport comes before bandwidth (56 kb/s to 10 Mb/s)? cannot say; cannot say; yes: 0.213 against 0.0714",
        "bandwidth comes after both processors (1.2 to 9.6 kb/s)? no: 0.632 and 0.523 against 0.892; \
         no: 0.657 and 0.606 against 0.920; no: 0.0057 and 0.0333 against 0.437",
        "bandwidth comes after both processors (9.6 kb/s to 10 Mb/s)? yes: 0.632 and 0.523 against 0.0018; \
         yes: 0.657 and 0.606 against 0.151; no: 0.0057 and 0.0333 against 0.152",
        "bandwidth comes after both processors (56 kb/s to 10 Mb/s)? yes: 0.632 and 0.523 against 0.0169; \
         yes: 0.657 and 0.606 against 0.0854; no: 0.0057 and 0.0333 against 0.0714",
        "structure makes bandwidth matter less (Table 8-2)? \
         yes: 0.690, 0.620, 0.391, 0.0002 against 0.892, 0.857, 1.077, 0.0020; \
         yes: 0.757, 0.696, 0.476, 0.0247 against 0.920, 0.893, 1.054, 0.162; yes: 0.304 against 1.167",
        "pipelining, batching and structure make the network matter less than stop-and-wait (Table 5-1)? \
         yes: 0.0047, 0.0069, 0.0046 against 0.0084, 0.0084, 0.0084; \
         yes: 0.117, 0.154, 0.115 against 0.177, 0.177, 0.177; \
         yes: 0.0919, 0.159, 0.0881 against 0.210, 0.210, 0.210",
    ];
    assert_eq!(all.collect::<Vec<_>>(), expected);
}

#[test]
fn factors_add_up_and_only_speeds_have_a_scale() {
    let factors = factors::all();
    near(factors.iter().map(|factor| factor.share).sum(), 1.0, 1e-12);
    let scaled: Vec<bool> = factors.iter().map(|factor| factor.elasticity.is_some()).collect();
    assert_eq!(scaled, [true, true, false, false, true, true, true]);
    let largest = factors.iter().max_by(|a, b| a.share.total_cmp(&b.share)).unwrap();
    assert!(largest.name.starts_with("protocol level"), "{largest:?}");
    let shares = factors.iter().map(|factor| factor.share * 100.0);
    for (share, expected) in shares.zip([0.3, 1.7, 53.4, 10.9, 3.6, 22.3, 7.8]) {
        near(share, expected, 0.05);
    }
}
