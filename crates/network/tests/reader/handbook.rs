//! The handbook's examples are network files.

use btu_network::Drawing;

const HANDBOOK: &str = include_str!("../../../../docs/network-file.md");

/// The texts between "```toml" and "```".
fn examples() -> Vec<&'static str> {
    HANDBOOK
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect()
}

#[test]
fn every_example_is_read() {
    assert!(examples().len() >= 7);
    for (number, example) in examples().iter().enumerate() {
        Drawing::read(example, &format!("example-{}.toml", number + 1))
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_error_in_the_handbook_is_the_reader_s() {
    let wrong = examples()[0].replace("10 Mb/s", "10 MB/s");
    let message = Drawing::read(&wrong, "lab.toml").unwrap_err().to_string();
    for line in message.lines() {
        assert!(HANDBOOK.contains(line), "the handbook does not say: {line}");
    }
}

#[test]
fn every_key_of_the_reader_is_in_the_handbook() {
    let keys = [
        "medium",
        "count",
        "rate",
        "length",
        "velocity",
        "contention",
        "queue",
        "latency",
        "station_latency",
        "ring_latency",
        "early_release",
        "service",
        "ttrt",
        "segment",
        "position",
        "address",
        "segments",
        "positions",
        "buffer",
        "addresses",
        "mtu",
        "between",
        "trace",
        "framing",
        "delay",
        "jitter",
        "loss",
        "corrupt",
        "duplicate",
        "reorder",
        "from",
        "to",
        "size",
        "arrivals",
        "start",
        "stop",
        "forth",
        "back",
        "changes",
        "up",
        "down",
        "packets_per_s",
        "load",
        "saturated",
        "think",
        "reply",
    ];
    for key in keys {
        let said = [format!("`{key}`"), format!("`{key} ="), format!(".{key}]")];
        assert!(
            said.iter().any(|form| HANDBOOK.contains(form.as_str())),
            "the handbook does not know `{key}`"
        );
    }
}
