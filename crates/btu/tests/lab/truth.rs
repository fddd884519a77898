//! Known truth: the results of the whole program for networks with given properties.

use crate::common::Laboratory;
use crate::recompute_cells::check;
use btu_conditions::judge;

/// TCP with time stamps in full frames: 1448 bytes of payload in 1538 bytes on the line.
const TCP_SHARE: f64 = 1448.0 / 1538.0;

/// Goodput of the row in Mb/s from the rates of `result`: of its slowest and its fastest block.
fn goodputs(result: &serde_json::Value, component: &str) -> [f64; 2] {
    let rates = result["result"]["rates"].as_array().expect("a table of rates");
    let row = rates.iter().find(|row| row["component"] == component).expect("the row was measured");
    [0, 1].map(|end| row["range_bits_per_second"][end].as_f64().expect("a goodput") / 1e6)
}

/// Reno fills the queue and does not pace, so that the line alone limits it, also on a busy
/// machine.
const RENO: [&str; 2] = ["--congestion-control", "reno"];

/// Three blocks of one and a half seconds: `volume` is the data of a line in that time. Where others
/// compute, the link emulator is without a processor for some 30 ms now and then, 2 % of that, and sometimes for
/// more: the line is then slower than asked for, in that block. So the fastest block must have what the line
/// gives, and none may have more.
fn bulk_on(laboratory: &Laboratory, network: &str, megabits: f64, volume: &str) {
    let arguments =
        ["rate", "--volume", volume, "--network", network, "--message", "65536", "--load", "idle"];
    let result = laboratory
        .json(&[&arguments[..], &RENO, &["--component", "SEND,RECV", "--quiet"]].concat());
    let expected = megabits * TCP_SHARE;
    for component in ["SEND", "RECV"] {
        let [slowest, fastest] = goodputs(&result, component);
        // Two per cent: start of the flow (one round trip in a block) and other load of the host.
        judge!(
            laboratory,
            (fastest / expected - 1.0).abs() <= 0.02 && slowest >= 0.8 * expected,
            "{component} on {network}: {slowest} to {fastest} instead of {expected} Mb/s"
        );
    }
    laboratory.assert_down();
}

#[test]
fn ten_megabits() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    bulk_on(&laboratory, "10 Mb/s", 10.0, "1800 KB");
}

#[test]
fn a_hundred_megabits() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    bulk_on(&laboratory, "100 Mb/s", 100.0, "18 MB");
}

#[test]
fn a_fresh_run_shows_what_its_cells_give() {
    let Some(laboratory) = Laboratory::open_once() else { return };
    let plan = ["rate", "--component", "SEND,RECV", "--message", "1024", "--load", "idle,cpu"];
    let shown = laboratory.json(&[&plan[..], &["--time", "3 s", "--quiet"]].concat());
    let cells = laboratory.json(&["show", "latest", "--cells"]);
    // Two loaded rows, two idle ones, their means, and two slowdowns.
    assert_eq!(check(&shown["result"], &cells), 8);
    // The parts of the time that cpu adds to each of both sum to it.
    let added = shown["result"]["added_time"].as_array().expect("added time");
    assert_eq!(added.len(), 2, "{added:?}");
    for one in added {
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        let parts = ["on_processor", "waiting", "blocked"].map(|part| number(&one[part]));
        let sum: f64 = parts.iter().sum();
        assert!((sum - number(&one["added"]["value"])).abs() < 1e-9, "{one}");
    }
}

/// A path with delay: the check before the run measures the round trip within 0.2 ms each way, or a
/// warning is stored.
/// What a run says of waiting for a processor is what goes if the load gives way: most of the predicted gain, and none beyond the
/// intervals.
#[test]
fn a_cause_that_is_taken_away_takes_its_loss_along() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    let plan = ["rate", "--component", "SEND", "--message", "65536", "--load", "idle,cpu"];
    let found = laboratory.json(&[&plan[..], &["--quiet"]].concat());
    let verified = laboratory.json(&["rate", "--verify", "latest", "--quiet"]);
    let one = &verified["result"]["verified"][0];
    println!("{} and {one}", found["result"]["added_time"]);
    let number = |name: &str| one[name].as_f64().unwrap_or_else(|| panic!("no {name}: {one}"));
    let seen = one["seen"]["value"].as_f64().expect("it was measured");
    let gained = (number("found") - seen) / (number("found") - number("without_waiting"));
    judge!(laboratory, (0.7..1.3).contains(&gained), "{gained} of the gain: {one}");
    laboratory.assert_down();
}

#[test]
fn delay_is_as_asked() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    let arguments =
        ["rate", "--network", "100 Mb/s", "--delay", "5 ms", "--component", "INTERACTIVE/UDP"];
    let result = laboratory.json(&[&arguments[..], &["--load", "idle", "--quiet"]].concat());
    let row = &result["result"]["interactive"][0];
    let text = row.to_string();
    let median_ns = find_number(row, "p50").unwrap_or_else(|| panic!("no median in {text}"));
    // 2 x 5 ms of propagation and 2 x 166 bytes at 100 Mb/s; 0.2 ms each way for wire and stations.
    let expected_ns = 10_000_000.0 + 2.0 * 166.0 * 80.0;
    assert!(median_ns >= 10_000_000.0, "faster than light: {median_ns}");
    judge!(
        laboratory,
        median_ns - expected_ns <= 400_000.0,
        "{median_ns} ns instead of {expected_ns}"
    );
}

/// The number under the first key that begins with `key`, anywhere in `value`.
fn find_number(value: &serde_json::Value, key: &str) -> Option<f64> {
    match value {
        serde_json::Value::Object(map) => map
            .iter()
            .find_map(|(name, inner)| if name.starts_with(key) { inner.as_f64() } else { None })
            .or_else(|| map.values().find_map(|inner| find_number(inner, key))),
        serde_json::Value::Array(list) => list.iter().find_map(|inner| find_number(inner, key)),
        _ => None,
    }
}

/// A stream that competes with a transfer for ten megabits: its losses and its arrivals must agree.
#[test]
fn b3_loss_and_goodput_of_a_stream_agree() {
    let Some(laboratory) = Laboratory::open_slow_lines_if_changed() else { return };
    let arguments = [
        "rate",
        "--network",
        "10 Mb/s",
        "--component",
        "UDP",
        "--load",
        "idle,transfer",
        "--quiet",
    ];
    let result = laboratory.json(&arguments);
    let rows = result["result"]["udp"].as_array().expect("rows of the stream");
    assert_eq!(rows.len(), 2, "{rows:?}");
    for row in rows {
        let rate = |key: &str| {
            find_number(&row[key], "value").unwrap_or_else(|| panic!("no {key} in {row}"))
        };
        let (sent, goodput) = (rate("sent_bits_per_second"), rate("goodput_bits_per_second"));
        let offered = row["offered_bits_per_second"].as_f64().unwrap();
        let lost = find_number(&row["lost"], "share").unwrap();
        // The schedule is exact to a nanosecond for each of some hundred datagrams of about a
        // millisecond.
        assert!(sent <= offered * 1.000_01, "{row}");
        // A first datagram that is late shortens the time of the others.
        judge!(laboratory, goodput <= sent * 1.000_01, "{row}");
        // A stream that fills an empty queue ends later at the receiver, by the time for draining
        // the queue: at most a tenth of the time of the quick profile's stream. So the loss by rate
        // equals the loss by count, within a tenth of the rate.
        judge!(laboratory, ((1.0 - goodput / sent) - lost).abs() <= 0.1, "{row}");
    }
    laboratory.assert_down();
}

/// Duplicates and frames out of order: the receiver's counts agree with the path's settings.
#[test]
fn duplicates_and_reordering_are_counted_right() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    let arguments =
        ["rate", "--network", "100 Mb/s", "--component", "UDP", "--load", "idle", "--time", "1 s"];
    for (option, counter, share) in
        [("--duplicate", "duplicates", 0.05), ("--reorder", "reordered", 0.05)]
    {
        let result = laboratory
            .json(&[&arguments[..], &[option, "5%", "--seed", "1995", "--quiet"]].concat());
        let row = &result["result"]["udp"][0];
        let sent =
            find_number(&row["lost"], "trials").unwrap_or_else(|| panic!("no trials in {row}"));
        let seen = row[counter].as_f64().unwrap_or_else(|| panic!("no {counter} in {row}"));
        let lost = find_number(&row["lost"], "events");
        judge!(laboratory, lost == Some(0.0), "nothing is lost: {row}");
        // Four standard deviations; a frame held back at the very end has no later one to overtake
        // it.
        let deviation = (sent * share * (1.0 - share)).sqrt();
        judge!(
            laboratory,
            (seen - sent * share).abs() <= 4.0 * deviation + 1.0,
            "{seen} of {sent} {counter}: {row}"
        );
    }
    laboratory.assert_down();
}

/// One, five and twenty per cent of loss, counted at the receiver, within binomial bounds.
#[test]
fn loss_is_as_asked() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    for (asked, share) in [("1%", 0.01), ("5%", 0.05), ("20%", 0.2)] {
        let arguments = [
            "rate",
            "--network",
            "100 Mb/s",
            "--loss",
            asked,
            "--component",
            "UDP",
            "--load",
            "idle",
            "--time",
            "1 s",
        ];
        let result = laboratory.json(&[&arguments[..], &["--seed", "1995", "--quiet"]].concat());
        let row = &result["result"]["udp"][0];
        let sent =
            find_number(&row["lost"], "trials").unwrap_or_else(|| panic!("no trials in {row}"));
        let lost =
            find_number(&row["lost"], "events").unwrap_or_else(|| panic!("no events in {row}"));
        // Four standard deviations of the binomial distribution: a false alarm in 16,000.
        let deviation = (sent * share * (1.0 - share)).sqrt();
        assert!(sent > 1000.0, "{row}");
        judge!(
            laboratory,
            (lost - sent * share).abs() <= 4.0 * deviation,
            "{lost} of {sent} lost at {asked}"
        );
    }
    laboratory.assert_down();
}
