//! The report's statements, compared with its model; expected numbers were computed by hand.

use btu_model::{Answer, FrameTimes, single_queue};

use super::*;

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, not {expected}");
}

fn delay(case: &Case) -> f64 {
    cable(case.background).delay().value.unwrap()
}

/// All traffic, in bits per second.
fn traffic(case: &Case) -> f64 {
    cable(case.background).data() * RATE
}

#[test]
fn the_printed_delays_come_out() {
    let [light, heavy] = &CASES;
    near(delay(light), light.delay, 5e-11);
    near(delay(heavy), heavy.delay, 5e-7);
    for case in &CASES {
        near(cable(case.background).data(), case.utilization, 5e-5);
    }
}

#[test]
fn traffic_packets_and_a_hundred_megabytes() {
    let [light, heavy] = &CASES;
    near(traffic(light), 711_840.0, 1e-6);
    near(cable(light.background).times.mean() * RATE, 10_169.142_857, 1e-6);
    near(cable(heavy.background).times.mean() * RATE, 8489.70, 5e-3);
    near(aggregate_seconds(100.0, light.background), 73.0627, 5e-5);
    near(simple_seconds(100.0), 1141.5525, 5e-5);
    near(traffic(heavy), 9.3726e6, 50.0);
    near(aggregate_seconds(100.0, heavy.background), 1172.0, 0.05);
}

/// One server with one queue gives 1.0559 and 7.19 ms with packets of one size (M/D/1), 1.0949 and
/// 13.53 ms with exponential sizes (M/M/1): neither is the report's model.
#[test]
fn plain_queues_do_not_give_the_printed_delays() {
    let expected = [(1.0559, 1.0949), (7.19, 13.53)];
    for (case, (fixed, exponential)) in CASES.iter().zip(expected) {
        let cable = cable(case.background);
        let time = cable.times.mean();
        let whole = |waiting: Answer| time + waiting.value.unwrap();
        let found = whole(single_queue::waiting(cable.rate, &FrameTimes::fixed(time)));
        assert!(found < case.delay * 0.995, "{found}");
        near(found * 1e3, fixed, 5e-3);
        let found = whole(single_queue::waiting(cable.rate, &FrameTimes::exponential(time)));
        near(found * 1e3, exponential, 5e-3);
    }
}

/// Section 4: "at 1034 packets/s the network has just become the limit". One packet less a second,
/// and it is the sender.
#[test]
fn the_network_becomes_the_limit_at_1034() {
    let limited =
        |background: &u32| aggregate_seconds(100.0, f64::from(*background)) > simple_seconds(100.0);
    assert_eq!((0..2000).find(limited), Some(1034));
    let expected =
        [(0.0, 14.61), (200.0, 14.21), (600.0, 20.54), (1000.0, 113.17), (1034.0, 234.41)];
    for (background, seconds) in expected {
        assert!(FIGURE_11.contains(&background));
        near(aggregate_seconds(20.0, background), seconds, 5e-3);
    }
    near(simple_seconds(20.0), 228.31, 5e-3);
}

/// Packets get shorter on the way from 0 to 200 background packets: the dip of Figure 11 is real.
#[test]
fn some_background_makes_a_transfer_quicker() {
    assert!(aggregate_seconds(20.0, 200.0) < aggregate_seconds(20.0, 0.0));
}

/// Figure 9: the sender's packet has 11,520 bits in one field and 11,880 in another of the scan. The
/// text's 1460 bytes are 11,680 bits; neither of the others gives the printed utilization.
#[test]
fn the_sender_s_packet_has_11_680_bits() {
    near(1460.0 * 8.0, SENDER.1, 0.0);
    for wrong in [11_520.0, 11_880.0] {
        let share = (SENDER.0 * wrong + RECEIVER.0 * RECEIVER.1) / RATE;
        assert!((share - CASES[0].utilization).abs() > 5e-4, "{wrong}: {share}");
    }
}

/// Figure 9, scan: "utilization (data) 8.04 %". The packets are 7.12 %, with collisions 7.35 %.
#[test]
fn the_utilization_of_figure_9_is_not_the_scan_s() {
    let cable = cable(CASES[0].background);
    near(cable.data() * 100.0, 7.12, 5e-3);
    near(cable.data_and_collisions() * 100.0, 7.35, 5e-3);
}

/// Figure 10, scan: "delay 17.118 ms". With the delay of propagation that Figure 9 gives it is
/// 17.112 ms; collisions bring the utilization to 97.36 %.
#[test]
fn the_delay_of_figure_10_is_not_the_scan_s() {
    let heavy = &CASES[1];
    near(delay(heavy) * 1e3, 17.112, 5e-4);
    near(cable(heavy.background).data_and_collisions() * 100.0, 97.36, 5e-3);
}

/// Section 4: "87 % of the network in background traffic, 94 % in all" holds.
#[test]
fn the_background_takes_87_of_94_per_cent() {
    let heavy = &CASES[1];
    near(heavy.background * BACKGROUND_BITS / RATE * 100.0, 87.0, 0.5);
    near(cable(heavy.background).data() * 100.0, 94.0, 0.5);
}

/// Section 4: "background packets of 1000 bytes on average" holds for what they carry: 1047 bytes are
/// on the cable, some 46 of them of UDP, IP and Ethernet.
#[test]
fn background_packets_carry_1000_bytes() {
    near(BACKGROUND_BITS / 8.0, 1046.0, 1.0);
}
