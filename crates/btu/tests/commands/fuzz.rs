//! The table and the seeds of the fuzzers, which no other build compiles: `scripts/fuzz` builds
//! them apart.

// It also writes seeds, for libFuzzer.
#[allow(dead_code, unreachable_pub)]
#[path = "../../../../fuzz/seeds.rs"]
pub(crate) mod seeds;
#[allow(unreachable_pub)]
#[path = "../../../../fuzz/table.rs"]
mod table;

use table::TARGETS;
pub(crate) use table::readback::{imported, study};

#[test]
fn every_target_takes_its_seeds_and_what_becomes_of_them() {
    for (name, target) in TARGETS {
        target(b"");
        for seed in seeds::of(name) {
            target(&seed);
            target(&seed[..seed.len() / 2]);
            let flipped: Vec<u8> = seed.iter().map(|octet| octet ^ 0x20).collect();
            target(&flipped);
        }
    }
}

#[test]
fn targets_are_sorted_and_seeds_are_good() {
    assert!(TARGETS.is_sorted_by_key(|(name, _)| *name));
    for (name, known) in
        [("inventory", 1), ("policy", 1), ("account", 4), ("archive", 2), ("capture", 1)]
    {
        assert_eq!(seeds::of(name).len(), known, "{name}");
    }
    for (name, known) in [
        ("calibration", 1),
        ("app_requests", 8),
        ("import_and_show", 11),
        ("plan", 13),
        ("publication", 5),
        ("stored_network", 4),
        ("trace_file", 1),
    ] {
        assert_eq!(seeds::of(name).len(), known, "{name}");
    }
    for seed in
        seeds::of("import_and_show").into_iter().map(|seed| String::from_utf8(seed).unwrap())
    {
        let kept = table::readback::imported(seed.as_bytes());
        assert_eq!(
            kept,
            Some(1),
            "the seed is believed, so that its changes go past the first check: {seed}"
        );
        // A changed plan, too, which has another hash.
        let changed = seed.replacen("\"version\":1", "\"version\": 1", 1).replacen(
            "\"plan_hash\":\"",
            "\"plan_hash\":\"0",
            1,
        );
        assert!(
            changed.contains("\"study\":\"hosts\"")
                || table::readback::imported(changed.as_bytes()) == Some(1),
            "{changed}"
        );
    }
    for (name, known) in [("import_flent", 1), ("import_hyperfine", 1), ("import_iperf3", 3)] {
        let texts = seeds::of(name).into_iter().map(|seed| String::from_utf8(seed).unwrap());
        let read = texts.map(|text| btu_studies::imports::read(&text).map(|one| one.run.check()));
        assert_eq!(read.collect::<Vec<_>>(), vec![Ok(Ok(())); known], "{name}");
    }
    for seed in seeds::of("stored_network") {
        assert!(serde_json::from_slice::<btu_contract::network::Network>(&seed).is_ok());
    }
    // A new study has a seed, and it is a plan that counts: all but the rating and signatures have
    // scripts.
    assert_eq!(table::readback::STUDIES.len(), plans_of_studies() + 2);
    for seeds::StudySeed { study, plan, .. } in seeds::studies() {
        let read = study.plan(&plan.to_string()).unwrap();
        assert!(read.hash().is_some(), "{study:?}: {read:?}");
    }
    let text = |name| String::from_utf8(seeds::of(name).remove(0)).unwrap();
    assert_eq!(btu_network::Inventory::read(&text("inventory"), "seed").unwrap().hosts.len(), 2);
    let (blocks, left) = btu_testbed::capture::read(&seeds::of("capture")[0]).unwrap();
    assert_eq!((blocks.len(), left), (3, 0), "{blocks:?}");
}

/// The number of plans in the sources of the studies.
fn plans_of_studies() -> usize {
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../studies/src");
    let plans = std::fs::read_dir(sources)
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path().join("plan.rs")).ok());
    plans.filter(|text| text.contains("\nimpl Scripts for ")).count()
}
