//! Whole simulations, from the text of a network file to figures.

use btu_network::Drawing;
use btu_units::{Bytes, Span};

use super::*;

fn read(text: &str) -> Drawing {
    Drawing::read(text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn settings(seconds: u64, replications: u32) -> Settings {
    Settings { replications, seed: 1995, ..Settings::lasting(Span::from_seconds(seconds)) }
}

/// A star with a lossy line, a closed flow, a broadcast and an overload: something of everything.
const MIXED: &str = r#"
    name = "mixed"
    [segments.lab]
    medium = "switched-ethernet"
    rate = "10 Mb/s"
    [segments.floor]
    medium = "shared-ethernet"
    [stations.host]
    segment = "lab"
    count = 3
    [stations.terminal]
    segment = "floor"
    count = 2
    [stations.far]
    [bridges.door]
    segments = ["lab", "floor"]
    [links.trunk]
    between = ["door", "far"]
    rate = "1 Mb/s"
    delay = "5 ms"
    loss = "2 %"
    duplicate = "1 %"
    [traffic.bulk]
    from = "host-1"
    to = "host-2"
    size = "1518 B"
    saturated = true
    [traffic.ask]
    from = "terminal"
    to = "far"
    size = "100 B"
    think = "50 ms"
    reply = "1000 B"
    service = "1 ms"
    [traffic.beat]
    from = "host"
    to = "all"
    size = "64 B"
    packets_per_s = 10
    arrivals = "periodic"
    [traffic.flood]
    from = "far"
    to = "host"
    size = { mix = [["64 B", 1.0], ["1518 B", 1.0]] }
    packets_per_s = 200
"#;

#[test]
fn the_same_seed_gives_the_same_bits() {
    let drawing = read(MIXED);
    let json = |settings: &Settings| {
        serde_json::to_string(&simulate(&drawing, settings).unwrap()).unwrap()
    };
    let first = json(&settings(4, 2));
    assert_eq!(first, json(&settings(4, 2)));
    assert_ne!(first, json(&Settings { seed: 1996, ..settings(4, 2) }));
}

#[test]
fn something_of_everything_adds_up() {
    let drawing = read(MIXED);
    // Accounts are verified inside; an imbalance is an error.
    let outcome = simulate(&drawing, &settings(20, 3)).unwrap();
    let [bulk, ask, beat, flood] = outcome.flows.as_slice() else { panic!("four flows") };
    // A full-duplex line of 10 Mb/s carries 812.74 full frames a second; host-1 also sends 10 short
    // ones of 84 octets.
    let expected = (1e7 - 10.0 * 84.0 * 8.0) / (1538.0 * 8.0);
    let found = bulk.offered_frames_per_second.value;
    assert!((found / expected - 1.0).abs() < 0.001, "{found} of {expected}");
    // Others send to host-2 as well, so the queue of its line down overflows.
    assert!(bulk.delivered_frames_per_second.value < found);
    assert_eq!(beat.senders, 3);
    assert!(
        (beat.offered_frames_per_second.value - 30.0).abs() < 0.1,
        "{:?}",
        beat.offered_frames_per_second
    );
    // They are lost on the trunk only, so every broadcast arrives somewhere.
    assert!(beat.drops.is_empty() && beat.delay.is_some());
    // About 200 * 6552 bits a second on a line of 1 Mb/s.
    assert!(flood.drops.iter().any(|drop| drop.cause == "queue full"), "{:?}", flood.drops);
    assert!(flood.drops.iter().any(|drop| drop.cause == "loss"), "{:?}", flood.drops);
    assert!(outcome.warnings.iter().any(
        |warning| matches!(warning, SimulationWarning::Saturated { flow, .. } if flow == "flood")
    ));
    assert!(flood.duplicates > 0);
    let exchanges = ask.exchanges.as_ref().unwrap();
    assert!(exchanges.per_second.value > 1.0 && exchanges.took.as_ref().unwrap().p50.value > 0.011);
}

/// Ten clients that hardly pause, at a server of 1 ms that takes one request at a time: each waits
/// for all others, so exchanges take 10 ms; one that works on all at once takes 1 ms. The closed
/// form has the same throughput.
#[test]
fn a_server_may_take_one_request_at_a_time() {
    let text = |one: bool| {
        format!(
            "name = \"x\"\n[segments.s]\nmedium = \"switched-ethernet\"\nrate = \"1 Gb/s\"\n[stations.server]\nsegment = \"s\"\n\
             one_at_a_time = {one}\n[stations.pc]\nsegment = \"s\"\ncount = 10\n[traffic.ask]\nfrom = \"pc\"\nto = \"server\"\n\
             size = \"200 B\"\nreply = \"200 B\"\nservice = \"1 ms\"\nthink = \"0.1 ms\"\n"
        )
    };
    for (one, expected) in [(true, 0.0099), (false, 0.001)] {
        let exchanges = simulate(&read(&text(one)), &settings(20, 2)).unwrap().flows[0]
            .exchanges
            .clone()
            .unwrap();
        let found = exchanges.took.unwrap().mean.value;
        // Lines, switch and pauses take less than 1 % of it if each client waits for all others,
        // and 2 % if no client waits.
        assert!((found / expected - 1.0).abs() < 0.02, "{one}: {found}");
    }
}

/// Pollaczek and Khinchine for a line: fixed frames arriving by chance, M/D/1.
#[test]
fn a_line_is_a_queue() {
    let drawing = read(
        r#"
        name = "queue"
        [stations.a]
        [stations.b]
        [links.line]
        between = ["a", "b"]
        rate = "8 Mb/s"
        framing = "bare"
        queue = "60000 frames"
        [traffic.load]
        from = "a"
        to = "b"
        size = "1004 B"
        packets_per_s = 500
        "#,
    );
    let outcome = simulate(&drawing, &settings(400, 4)).unwrap();
    // Bare frames occupy what a driver sees, 1000 octets: 1 ms. Load 0.5: W = rho X / (2 (1 - rho))
    // = 0.5 ms.
    let delay = outcome.flows[0].delay.as_ref().unwrap();
    assert!((delay.mean.value - 1.5e-3).abs() < 0.02e-3, "{delay:?}");
    let interval = delay.mean.interval.unwrap();
    assert!(interval.width() < 0.05e-3, "{interval:?}");
    let line = &outcome.media[0];
    assert_eq!((line.name.as_str(), line.medium), ("line/forth", "link"));
    assert!((line.busy.value - 0.5).abs() < 0.01, "{:?}", line.busy);
}

#[test]
fn a_single_replication_has_intervals_from_its_batches() {
    let drawing = read(MIXED);
    let outcome = simulate(&drawing, &settings(10, 1)).unwrap();
    let bulk = &outcome.flows[0];
    assert!(bulk.delay.as_ref().unwrap().mean.interval.is_some());
    assert!(bulk.goodput_bits_per_second.interval.is_some());
    assert!(bulk.delay.as_ref().unwrap().p99.interval.is_none());
}

#[test]
fn a_network_without_traffic_is_silent() {
    let drawing = read(
        "name = \"quiet\"\n[segments.lab]\nmedium = \"shared-ethernet\"\n[stations.a]\nsegment = \"lab\"\n",
    );
    let outcome = simulate(&drawing, &settings(1, 2)).unwrap();
    assert!(outcome.flows.is_empty() && outcome.accounts.generated == 0);
    assert!((outcome.media[0].busy.value - 0.0).abs() < f64::EPSILON);
}

/// The form of a report of progress is the caller's choice; no figure depends on it.
#[test]
fn watching_changes_nothing() {
    let drawing = read(MIXED);
    let mut told = Vec::new();
    let watched = replicate(&drawing, &settings(2, 1), 0, |at| told.push(at)).unwrap();
    assert_eq!(
        watched.accounts(),
        replicate(&drawing, &settings(2, 1), 0, |_| {}).unwrap().accounts()
    );
    assert!(told.is_sorted() && told.last() == Some(&Span::from_seconds(2)));
}

#[test]
fn sizes_are_those_of_the_file() {
    let drawing = read(MIXED);
    let outcome = simulate(&drawing, &settings(3, 1)).unwrap();
    let bulk = &outcome.flows[0];
    let size = bulk.goodput_bits_per_second.value / bulk.delivered_frames_per_second.value / 8.0;
    assert!((size - Bytes::new(1518).count() as f64).abs() < 1e-9, "{size}");
}

/// One host alone sends full frames at 10^7 / (8 (1518 + 20)) = 812.74 a second, which is 9.870
/// Mb/s.
#[test]
fn one_saturated_host_has_the_cable_to_itself() {
    let drawing = read(
        "name = \"one\"\n[segments.lab]\nmedium = \"shared-ethernet\"\n[stations.host]\nsegment = \"lab\"\ncount = 2\n\
         [traffic.bulk]\nfrom = \"host-1\"\nto = \"host-2\"\nsize = \"1518 B\"\nsaturated = true\n",
    );
    let outcome = simulate(&drawing, &settings(20, 1)).unwrap();
    let rate = outcome.flows[0].delivered_frames_per_second.value;
    assert!((rate / 812.7438 - 1.0).abs() < 1e-4, "{rate}");
    assert!((outcome.media[0].busy.value - 1.0).abs() < 1e-3, "{:?}", outcome.media[0].busy);
    assert!(
        outcome
            .warnings
            .iter()
            .any(|warning| matches!(warning, SimulationWarning::AlwaysMore { .. }))
    );
}

/// Lam's formula for 500 frames of 0.8 ms a second and a propagation delay of 25.6 us (5909.5 m at
/// 0.77 c): 1.220098 ms.
#[test]
fn idealised_contention_gives_lams_delay() {
    let mut drawing = read(
        "name = \"lam\"\n[segments.lab]\nmedium = \"shared-ethernet\"\nlength = \"5909.5 m\"\nvelocity = 0.77\n\
         [stations.host]\nsegment = \"lab\"\ncount = 50\n[traffic.load]\nfrom = \"host\"\nto = \"host\"\nsize = \"1000 B\"\n\
         packets_per_s = 10\n",
    );
    idealise(&mut drawing);
    let outcome = simulate(&drawing, &settings(400, 4)).unwrap();
    let mean = outcome.flows[0].delay.as_ref().unwrap().mean;
    // 720,000 frames: the simulation's own interval is below 0.3 %.
    assert!((mean.value / 1.220_098e-3 - 1.0).abs() < 0.01, "{mean:?}");
    assert!(mean.relative_half_width().unwrap() < 0.005, "{mean:?}");
}
