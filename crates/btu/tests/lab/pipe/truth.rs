//! Emulated networks have the signatures of their closed forms, t0 + n/r.

use btu_conditions::judge;

use super::points;
use crate::common::Laboratory;
use crate::support::path;

/// On an Ethernet of 10 Mb/s, n bytes in k full segments of 1448 take k frames of 1538 octets (66
/// of headers and timestamps, 24 of preamble, check sequence and gap): t0 + n/r with r = 10 Mb/s *
/// 1448/1538. The receiver does not wait for the last frame's gap of 12 octets, though n/r counts
/// it: so t0 is the machine's time less the gap, and can be below zero. One short message shows t0:
/// its own frame has 64 + 90 octets. A message of two segments or more is acknowledged at once (RFC
/// 5681, section 4.2), by a frame of 90 octets that goes ahead of the answer; the short one's
/// acknowledgement is in the answer. The fastest tenth of the round trips counts: other load of the
/// machine only makes them longer, and affects a part of them.
#[test]
fn an_emulated_ethernet_has_the_signature_of_its_closed_form() {
    let Some(laboratory) = Laboratory::open_alone() else { return };
    laboratory.json(&[
        "pipe",
        "--network",
        "10 Mb/s",
        "--sizes",
        "64,2896,14480,28960",
        "--trials",
        "3",
        "--target-time",
        "100 ms",
        "--each",
        "--quiet",
    ]);
    let points = points(&laboratory);
    let one_way: Vec<(f64, f64)> = points
        .iter()
        .map(|point| {
            let each = point.each.as_ref().expect("every exchange was timed");
            (point.size.count() as f64, each.quantile(0.1).expect("some were") as f64 * 1e-9 / 2.0)
        })
        .collect();
    let (fixed, gap) = (one_way[0].1 - 154.0 * 8.0 / 10e6, 12.0 * 8.0 / 10e6);
    judge!(laboratory, (-gap..0.3e-3).contains(&fixed), "t0 of {fixed} s: {one_way:?}");
    for (bytes, seconds) in &one_way[1..] {
        let expected = fixed + 90.0 * 8.0 / 10e6 + bytes * 8.0 / (10e6 * 1448.0 / 1538.0);
        judge!(
            laboratory,
            (seconds / expected - 1.0).abs() < 0.03,
            "{bytes} B took {seconds} s, not {expected} s: {one_way:?}"
        );
    }
    laboratory.assert_down();
}

/// A ring of 100 m: its token is back after 2.5 us, so the wait for it is negligible.
const RING: &str = "\
name = \"ring-of-two\"
[segments.ring]
medium = \"fddi\"
length = \"100 m\"
[stations.near]
segment = \"ring\"
[stations.far]
segment = \"ring\"
";

const CELLS: &str = "\
name = \"cells-of-two\"
[segments.switch]
medium = \"atm\"
rate = \"149.76 Mb/s\"
[stations.near]
segment = \"switch\"
[stations.far]
segment = \"switch\"
";

/// UDP's messages have no acknowledgements that would need the line, too. One of n bytes is a
/// datagram of n + 8 (its number) + 8 (UDP), in fragments of 1480, each in a packet of 1500 (RFC
/// 791). On FDDI such a packet takes 1536 octets at 100 Mb/s: 14 of addresses and type, and 22 of
/// preamble, delimiters, LLC/SNAP and check sequence (ISO 9314-2, RFC 1390). On ATM it takes 32
/// cells of 53 octets at 149.76 Mb/s (1500 + 16 in 48s; RFC 2684), and a switch passes whole
/// packets on: one more at the end. So t0 + k T with k fragments, or k + 1. T is the network's; t0
/// is the machine's, the one that fits best. The fastest of all round trips counts: other load of
/// the machine only makes them longer.
#[test]
fn emulated_fddi_and_atm_have_the_signatures_of_their_closed_forms() {
    let Some(laboratory) = Laboratory::open_alone_if_changed() else { return };
    let (ring, cells) = (1536.0 * 8.0 / 100e6, 32.0 * 53.0 * 8.0 / 149.76e6);
    for (name, drawing, packet, hops) in [("ring", RING, ring, 0.0), ("cells", CELLS, cells, 1.0)] {
        let file = path(laboratory.directory.path(), name);
        std::fs::write(&file, drawing).expect("a file");
        let sizes = "1464,2944,14784,65104";
        let asked =
            ["pipe", "--network", &file, "--transport", "udp", "--sizes", sizes, "--trials", "3"];
        laboratory.json(&[&asked[..], &["--target-time", "400 ms", "--each", "--quiet"]].concat());
        let points = points(&laboratory);
        // Seconds one way, and the network's part of them.
        let times: Vec<(f64, f64)> = points
            .iter()
            .map(|point| {
                let each = point.each.as_ref().expect("every exchange was timed");
                let fragments = ((point.size.count() + 16) as f64 / 1480.0).ceil();
                (each.min().expect("some were") as f64 * 1e-9 / 2.0, (fragments + hops) * packet)
            })
            .collect();
        // Least squares of (t - t0 - k T) / t.
        let weights: f64 = times.iter().map(|(time, _)| time.powi(-2)).sum();
        let fixed =
            times.iter().map(|(time, network)| (time - network) / time.powi(2)).sum::<f64>()
                / weights;
        judge!(laboratory, (0.0..0.3e-3).contains(&fixed), "{name}: t0 of {fixed} s: {times:?}");
        for (time, network) in &times {
            let expected = fixed + network;
            judge!(
                laboratory,
                (time / expected - 1.0).abs() < 0.03,
                "{name}: {time} s, not {expected} s: {times:?}"
            );
        }
    }
    laboratory.assert_down();
}

/// All 124 sizes at the default precision: how long a user waits.
#[test]
#[ignore = "takes 50 s: cargo test --release --test lab -- --ignored full_tcp"]
fn a_full_tcp_signature_takes_less_than_a_minute() {
    let Some(laboratory) = Laboratory::open() else { return };
    let begun = std::time::Instant::now();
    let result = laboratory.json(&["pipe", "--quiet"]);
    let took = begun.elapsed();
    assert_eq!(result["result"]["sizes"].as_array().map(Vec::len), Some(124));
    assert!(took.as_secs() < 60, "it took {took:?}");
    println!("124 sizes in {took:?}");
}
