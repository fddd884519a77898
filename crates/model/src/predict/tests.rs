//! Whole predictions against test vectors and properties.

use btu_network::{Drawing, Reader, library, library_text};
use btu_units::Bytes;
use proptest::prelude::*;

use super::*;
use crate::answer::Answer;
use crate::answer::testing::is;

fn drawing(name: &str, settings: &[(&str, &str)]) -> Drawing {
    let text = library_text(name).expect("the library has it");
    Drawing::read_with(text, name, settings).unwrap_or_else(|error| panic!("{error}"))
}

fn read(text: &str) -> Drawing {
    Drawing::read(text, "test").unwrap_or_else(|error| panic!("{error}"))
}

fn megabytes(size: u64) -> Transfer {
    Transfer { size: Bytes::new(size * 1_000_000), ..Transfer::default() }
}

/// The transfer at its declared rate.
fn paced(prediction: Prediction) -> PacedTransfer {
    prediction.transfer.and_then(|transfer| transfer.paced).unwrap()
}

fn close(value: f64, expected: f64, tolerance: f64) {
    is(Answer::of(value), expected, tolerance);
}

/// The study prints 1.06671584 ms; the formula gives 1.06671586.
#[test]
fn citi_s_light_case() {
    let prediction = predict_transfer(&drawing("citi-1989-light", &[]), &megabytes(100)).unwrap();
    let ether = &prediction.segments[0];
    close(ether.offered_bits_per_second, 711_840.0, 1e-3);
    close(ether.mean_packet_bits.unwrap(), 10_169.142_857, 1e-5);
    is(ether.utilisation_data, 0.0712, 5e-5);
    is(ether.utilisation_data_and_collisions, 0.0735, 5e-5);
    is(ether.effective_throughput, 0.969, 5e-4);
    is(ether.delay_seconds.map(|delay| delay * 1e3), 1.066_715_84, 5e-8);
    assert!(prediction.warnings.is_empty(), "{:?}", prediction.warnings);
    let transfer = paced(prediction);
    close(transfer.packets, 68_493.150_7, 5e-5);
    close(transfer.simple_seconds, 1141.5525, 5e-5);
    is(transfer.aggregate_seconds, 73.0627, 5e-5);
    assert_eq!(transfer.limit, TransferLimit::Software);
    assert_eq!(transfer.bottleneck.as_deref(), Some("ether"));
}

#[test]
fn citi_s_heavy_case_and_where_it_crosses() {
    let prediction = predict_transfer(&drawing("citi-1989-heavy", &[]), &megabytes(100)).unwrap();
    let ether = &prediction.segments[0];
    is(ether.utilisation_data, 0.9373, 5e-5);
    is(ether.utilisation_data_and_collisions, 0.9736, 5e-5);
    is(ether.effective_throughput, 0.963, 5e-4);
    is(ether.delay_seconds.map(|delay| delay * 1e3), 17.112, 5e-4);
    let transfer = paced(prediction);
    is(transfer.aggregate_seconds, 1172.0, 0.05);
    assert_eq!(transfer.limit, TransferLimit::Network);
    let crossing = transfer.overtaken.unwrap();
    assert_eq!((crossing.flow.as_str(), crossing.whole_packets_per_second), ("background", 1034.0));
}

/// Its figure 11: 20 MB under background traffic; the dip at 200 is real, the mean packet gets
/// shorter.
#[test]
fn citi_s_curve() {
    let range: Range = "traffic.background.packets_per_s=0..1000:200".parse().unwrap();
    let transfer = |key: &str, value: &str| {
        let prediction =
            predict_transfer(&drawing("citi-1989-light", &[(key, value)]), &megabytes(20))?;
        Ok::<_, PredictError>(paced(prediction))
    };
    let points = sweep_with(&range, transfer).unwrap();
    for (place, seconds) in [(0, 14.61), (1, 14.21), (3, 20.54), (5, 113.17)] {
        is(points[place].1.aggregate_seconds, seconds, 5e-3);
        close(points[place].1.simple_seconds, 228.31, 5e-3);
    }
    let last = transfer("traffic.background.packets_per_s", "1034").unwrap();
    is(last.aggregate_seconds, 234.41, 5e-3);
}

/// The printed propagation delay has three digits only: 2 in a thousand.
#[test]
fn twenty_stations_on_a_kilometre() {
    let text = "[segments.ether]\nmedium = \"shared-ethernet\"\ncontention = \"ideal\"\nlength = \"1 km\"\n\
                [stations.host]\nsegment = \"ether\"\ncount = 20\n\
                [traffic.even]\nfrom = \"host\"\nto = \"host\"\nsize = \"1000 B\"\nload = \"50 %\"\n";
    for (load, milliseconds) in [
        ("10 %", 0.854),
        ("30 %", 0.987),
        ("50 %", 1.237),
        ("70 %", 1.872),
        ("80 %", 2.77),
        ("90 %", 6.39),
    ] {
        let drawing = Drawing::read_with(text, "test", &[("traffic.even.load", load)]).unwrap();
        let delay = predict(&drawing).segments[0].delay_seconds;
        is(delay.map(|delay| delay * 1e3), milliseconds, milliseconds * 2e-3);
    }
}

/// In units of microseconds: 10 stations, frames of 100, a ring of 50, half a load.
#[test]
fn a_token_ring_by_each_service() {
    // 100 us at 16 Mb/s are 200 octets, of which a ring adds 11.
    let text = "[segments.ring]\nmedium = \"token-ring\"\nrate = \"16 Mb/s\"\nring_latency = \"50 us\"\n\
                [stations.host]\nsegment = \"ring\"\ncount = 10\n\
                [traffic.even]\nfrom = \"host\"\nto = \"next\"\nsize = \"189 B\"\npackets_per_s = 500\n";
    for (service, wait) in [("exhaustive", 97.5), ("gated", 102.5), ("one", 107.895)] {
        // To the next station it is a tenth of the ring, to any other half of it in the mean.
        for (to, way) in [("next", 5.0), ("host", 25.0)] {
            let settings = [("segments.ring.service", service), ("traffic.even.to", to)];
            let segment =
                &predict(&Drawing::read_with(text, "test", &settings).unwrap()).segments[0];
            is(segment.waiting_seconds.map(|wait| wait * 1e6), wait, 5e-3);
            is(segment.delay_seconds.map(|delay| delay * 1e6), wait + 100.0 + way, 5e-3);
        }
    }
}

/// One frame a second of half a second: .25 s of wait if all are alike, .5 s if exponential.
#[test]
fn a_line_is_a_single_queue() {
    let text = "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\nrate = \"16 kb/s\"\nframing = \"bare\"\nmtu = \"65000 B\"\n\
                delay = \"10 ms\"\n[traffic.t]\nfrom = \"a\"\nto = \"b\"\nsize = \"1004 B\"\npackets_per_s = 1\n";
    let link = |size: &str| {
        let drawing = Drawing::read_with(text, "test", &[("traffic.t.size", size)]).unwrap();
        predict(&drawing).links[0].clone()
    };
    is(link("\"1004 B\"").waiting_seconds, 0.25, 1e-9);
    is(link("\"1004 B\"").delay_seconds, 0.25 + 0.5 + 0.01, 1e-9);
    is(link("{ exponential = \"1004 B\" }").waiting_seconds, 0.5, 2e-3);
}

/// A mean of 1400 octets on Ethernet, which takes 1518: the third beyond is dropped. `btu sim`: 2.36
/// Mb/s and 0.63 ms; 22 % of the time in frames of 508 octets in the mean.
#[test]
fn frames_that_are_too_long_are_dropped() {
    let prediction =
        predict(&read(&line("size = { exponential = \"1400 B\" }\nrate = \"8 Mb/s\"", "")));
    let flow = &prediction.flows[0];
    is(flow.carried_bits_per_second, 2.36e6, 0.05e6);
    is(flow.delay_seconds, 0.63e-3, 0.02e-3);
}

/// A line of 10 Mb/s with more in the file, and traffic.
fn line(traffic: &str, more: &str) -> String {
    format!(
        "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mb/s\"\n{more}\n\
         [traffic.t]\nfrom = \"a\"\nto = \"b\"\n{traffic}\n"
    )
}

/// The same with 5 Mb/s of frames of 1000 octets.
fn half_used(more: &str) -> Prediction {
    predict(&read(&line("size = \"1000 B\"\nrate = \"5 Mb/s\"", more)))
}

#[test]
fn a_damaged_frame_is_lost() {
    let flow = half_used("corrupt = \"20 %\"").flows[0].clone();
    is(flow.carried_bits_per_second, 4e6, 1.0);
    let flow = half_used("corrupt = \"20 %\"\nloss = \"50 %\"").flows[0].clone();
    is(flow.carried_bits_per_second, 2e6, 1.0);
}

/// Whether a warning has these words.
fn warns(prediction: &Prediction, words: &str) -> bool {
    prediction.warnings.iter().any(|one| one.message.contains(words))
}

/// Jitter that may be longer than the delay, or that waits for frames before, and reordering.
#[test]
fn a_delay_without_a_form_is_warned_of() {
    for (more, expected) in [
        ("delay = \"20 ms\"\njitter = { spread = \"5 ms\", keep_order = false }", false),
        ("delay = \"20 ms\"\njitter = { spread = \"0.1 ms\", keep_order = true }", false),
        ("delay = \"1 ms\"\njitter = { spread = \"5 ms\", keep_order = false }", true),
        ("delay = \"20 ms\"\njitter = { spread = \"5 ms\", keep_order = true }", true),
        ("delay = \"1 ms\"\nreorder = { share = \"20 %\", depth = 50 }", true),
    ] {
        assert_eq!(warns(&half_used(more), "jitter or reordering"), expected, "{more}");
    }
}

/// Lines from a over x to b, of 100 and of 10 Mb/s.
fn two_lines(first: &str, traffic: &str) -> Prediction {
    predict(&read(&format!(
        "[stations.a]\n[stations.b]\n[bridges.x]\n[links.l1]\nbetween = [\"a\", \"x\"]\n{first}\n\
         [links.l2]\nbetween = [\"x\", \"b\"]\nrate = \"10 Mb/s\"\n\
         [traffic.t]\nfrom = \"a\"\nto = \"b\"\nsize = \"1000 B\"\n{traffic}\n"
    )))
}

/// 60 % of 12 Mb/s in frames of 1020 octets with preamble and gap are 73.4 % of 10 Mb/s.
#[test]
fn what_is_lost_does_not_load_the_next_line() {
    let prediction = two_lines("rate = \"100 Mb/s\"\nloss = \"40 %\"", "rate = \"12 Mb/s\"");
    is(prediction.links[2].utilisation, 0.7344, 1e-4);
    is(prediction.flows[0].carried_bits_per_second, 7.2e6, 1.0);
    assert!(prediction.warnings.is_empty(), "{:?}", prediction.warnings);
}

#[test]
fn equal_lines_one_after_the_other_are_warned_of() {
    let words = "lines of equal rate";
    assert!(warns(&two_lines("rate = \"10 Mb/s\"", "rate = \"8 Mb/s\""), words));
    assert!(!warns(&two_lines("rate = \"10 Mb/s\"", "rate = \"0.1 Mb/s\""), words));
    assert!(!warns(&two_lines("rate = \"100 Mb/s\"", "rate = \"8 Mb/s\""), words));
}

/// Five frames wait at most, of 816 us each; without a limit it would be a wait of 4.6 ms in the
/// mean, at this port alone.
#[test]
fn a_bridge_s_buffer_is_its_queue() {
    let text = "[segments.s1]\nmedium = \"switched-ethernet\"\nrate = \"100 Mb/s\"\n\
                [segments.s2]\nmedium = \"switched-ethernet\"\nrate = \"10 Mb/s\"\n\
                [bridges.x]\nsegments = [\"s1\", \"s2\"]\nbuffer = \"5 frames\"\n\
                [stations.a]\nsegment = \"s1\"\ncount = 5\n[stations.b]\nsegment = \"s2\"\n\
                [traffic.t]\nfrom = \"a\"\nto = \"b\"\nsize = \"1000 B\"\nrate = \"1.8 Mb/s\"\n";
    let prediction = predict(&read(text));
    let port = prediction.segments[1].lines.iter().find(|line| line.name == "x up").unwrap();
    assert!(port.waiting_seconds.value.unwrap() < 5.0 * 816e-6, "{port:?}");
    assert!((0.02..0.10).contains(&port.overflow), "{port:?}");
}

/// A full frame over two empty Ethernet segments of 10 Mb/s: 2 x 1214.4 us, and preambles and
/// propagation.
#[test]
fn a_bridge_stores_and_forwards() {
    let text = "[segments.left]\nmedium = \"shared-ethernet\"\ncontention = \"ideal\"\nlength = \"0 m\"\n\
                [segments.right]\nmedium = \"shared-ethernet\"\ncontention = \"ideal\"\nlength = \"0 m\"\n\
                [bridges.b]\nsegments = [\"left\", \"right\"]\nlatency = \"20 us\"\n\
                [stations.here]\nsegment = \"left\"\n[stations.there]\nsegment = \"right\"\n\
                [traffic.t]\nfrom = \"here\"\nto = \"there\"\npackets_per_s = 1e-6\n";
    let prediction = predict(&read(text));
    is(prediction.flows[0].delay_seconds.map(|delay| delay * 1e6), 2.0 * 1214.4 + 20.0, 1e-3);
    close(prediction.flows[0].hops, 2.0, 1e-12);
    close(prediction.bridges[0].forwarded_packets_per_second, 1e-6, 1e-15);
}

/// 10 s of thought and 1 s of service.
#[test]
fn workstations_that_think() {
    let text = "[stations.user]\ncount = 1\n[stations.server]\n[bridges.b]\n\
                [links.slow]\nbetween = [\"b\", \"server\"]\nrate = \"8 kb/s\"\nframing = \"bare\"\n\
                [links.fast]\nbetween = [\"user\", \"b\"]\nrate = \"1 Tb/s\"\nframing = \"bare\"\n\
                [traffic.t]\nfrom = \"user\"\nto = \"server\"\nsize = \"1004 B\"\nthink = \"10 s\"\n";
    for (users, rate, response) in [
        ("1", 0.09091, 1.0),
        ("5", 0.43605, 1.46663),
        ("10", 0.78542, 2.73208),
        ("20", 0.99813, 10.03745),
    ] {
        let drawing = Drawing::read_with(text, "test", &[("stations.user.count", users)]).unwrap();
        let flow = &predict(&drawing).flows[0];
        is(
            flow.packets_per_second_each.map(|rate| rate * users.parse::<f64>().unwrap()),
            rate,
            1e-5,
        );
        is(flow.response_seconds.unwrap(), response, 1e-4);
    }
}

#[test]
fn saturated_senders_share_what_is_there() {
    let text = "[segments.ether]\nmedium = \"switched-ethernet\"\nrate = \"10 Mb/s\"\n\
                [stations.a]\nsegment = \"ether\"\ncount = 4\n[stations.b]\nsegment = \"ether\"\n\
                [traffic.t]\nfrom = \"a\"\nto = \"b\"\nsaturated = true\n";
    let flow = &predict(&read(text)).flows[0];
    // 812.74 full frames a second on the line to b.
    is(flow.packets_per_second_each, 812.74 / 4.0, 0.005);
    assert!(flow.delay_seconds.is_saturated());
}

/// An opportunity each millisecond takes 1504 octets: a full packet with Mahimahi's 4.
#[test]
fn a_recorded_line_counts_packets_as_its_recorder_did() {
    let text = "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\ntrace = [1, 2, 3, 4]\n\
                [traffic.t]\nfrom = \"a\"\nto = \"b\"\nsize = \"1518 B\"\nsaturated = true\n";
    let carried = |size: &str| {
        let drawing = Drawing::read_with(text, "test", &[("traffic.t.size", size)]).unwrap();
        predict(&drawing).flows[0].packets_per_second_each
    };
    is(carried("1518 B"), 1000.0, 1e-3);
    is(carried("390 B"), 4000.0, 1e-3);
}

fn bulk(text: &str, size: u64) -> BulkTransfer {
    predict_transfer(&read(text), &megabytes(size)).unwrap().transfer.unwrap().bulk
}

/// 5 s at 9.41 Mb/s are 5.88 MB, the other 14.12 MB at 0.941 Mb/s take 120 s. iperf3 took 124.8 s on
/// the emulator.
#[test]
fn a_transfer_on_a_line_that_changes() {
    let text = "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mb/s\"\ndelay = \"5 ms\"\n\
                [[links.l.changes]]\nat = \"5 s\"\nway = \"both\"\nrate = \"1 Mb/s\"\n";
    let bulk = bulk(text, 20);
    let share = 1448.0 / 1538.0 / 8.0;
    let arithmetic = 5.0 + (20e6 - 5.0 * 10e6 * share) / (1e6 * share);
    is(bulk.seconds, arithmetic, 0.3);
    is(bulk.seconds, 124.8, 1.0);
    close(bulk.limited_from_seconds, 5.0, 1e-9);
    close(bulk.bottleneck.rate_bits_per_second, 1e6, 1e-3);
}

/// A lap of 10 s: an opportunity each millisecond in its first second, then one each 10 ms. 2 MB are
/// 1382 segments: at best 1000 of them in the first second and 382 in 3.8 s, at worst 900 in nine
/// seconds and the rest in half a second of the next lap.
#[test]
fn a_transfer_on_a_recording_depends_on_when_it_begins() {
    let first = (1..=1000).map(|ms| ms.to_string());
    let all: Vec<String> = first.chain((101..=1000).map(|ms| (ms * 10).to_string())).collect();
    let text = format!(
        "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\ntrace = [{}]\n",
        all.join(", ")
    );
    let bulk = bulk(&text, 2);
    let [least, most] = bulk.by_start.unwrap();
    close(least, 4.8, 0.2);
    close(most, 9.5, 0.2);
    assert!((least..most).contains(&bulk.seconds.value.unwrap()));
}

/// What the formula does not know is said; nothing of a line that it knows.
#[test]
fn what_may_make_a_transfer_slower_is_said() {
    let line = "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\nrate = \"20 Mb/s\"\ndelay = \"20 ms\"\n";
    for (more, warning) in [
        ("", None),
        ("loss = \"0.1 %\"", None),
        ("queue = \"10 frames\"", Some(TransferWarning::ShortQueue)),
        ("queue = \"codel\"", Some(TransferWarning::ShortQueue)),
        ("loss = { p = \"0.1 %\", r = \"1 %\" }", Some(TransferWarning::LossBursts)),
        ("reorder = { share = \"2 %\", depth = 20 }", Some(TransferWarning::Reordering)),
        (
            "[[links.l.changes]]\nat = \"2 s\"\ndelay = \"30 ms\"",
            Some(TransferWarning::GrowingDelay),
        ),
        ("[[links.l.changes]]\nat = \"99 s\"\ndelay = \"30 ms\"", None),
        ("[[links.l.changes]]\nat = \"2 s\"\ndelay = \"5 ms\"", None),
    ] {
        let bulk = bulk(&format!("{line}{more}\n"), 10);
        assert_eq!(bulk.warnings, Vec::from_iter(warning), "{more}");
    }
    let shared = "[segments.s]\nmedium = \"switched-ethernet\"\n[stations.a]\nsegment = \"s\"\n\
                  [stations.b]\nsegment = \"s\"\n[stations.c]\nsegment = \"s\"\n\
                  [traffic.t]\nfrom = \"c\"\nto = \"b\"\nsaturated = true\n";
    let asked = Transfer { from: Some("a".to_owned()), to: Some("b".to_owned()), ..megabytes(5) };
    let bulk = predict_transfer(&read(shared), &asked).unwrap().transfer.unwrap().bulk;
    assert_eq!(bulk.warnings, [TransferWarning::SaturatedOthers]);
    assert_eq!(bulk.seconds.warning, Some(crate::answer::Warning::Optimistic));
}

/// BBR sends again what is lost, and waits while nothing passes: 10 MB are 4.25 s on an idle line.
#[test]
fn bbr_sends_again_what_is_lost() {
    let line = "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\nrate = \"20 Mb/s\"\ndelay = \"20 ms\"\n";
    let bbr = |more: &str| bulk(&format!("{line}{more}\n"), 10).despite_loss_seconds.unwrap();
    let (few, many) = (bbr("loss = \"1 %\""), bbr("corrupt = \"20 %\""));
    is(few, 4.29 + 0.1, 0.05);
    is(many, 5.32 + 0.1, 0.05);
    let at_least = Some(crate::answer::Warning::Optimistic);
    assert_eq!([few.warning, many.warning], [None, at_least]);
    let outage = "[[links.l.changes]]\nat = \"2 s\"\nloss = \"100 %\"\n[[links.l.changes]]\nat = \"22 s\"\nloss = \"0 %\"";
    is(bbr(outage), 24.39, 0.2);
    assert_eq!(bbr(outage).warning, at_least);
}

/// Four frames wait at most, and 8.1 % of them find the queue full: with the one in transmission
/// there is no delay of more than 10.1 ms.
#[test]
fn no_mean_delay_is_longer_than_a_full_queue() {
    let text = "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\nrate = \"5 Mb/s\"\ndelay = \"2 ms\"\n\
                queue = \"4 frames\"\n[traffic.up]\nfrom = \"a\"\nto = \"b\"\nsize = \"1000 B\"\npackets_per_s = 580\n";
    let flow = predict(&read(text)).flows[0].clone();
    is(flow.delay_seconds, 6.33e-3, 0.02e-3);
    close(1.0 - flow.arriving_share, 0.0805, 1.5e-3);
    is(flow.carried_bits_per_second, 580.0 * 8000.0 * flow.arriving_share, 1.0);
    let managed = text.replace("\"4 frames\"", "\"codel\"");
    let warnings = predict(&read(&managed)).warnings;
    assert!(warnings.iter().any(|one| one.message.contains("before it is full")), "{warnings:?}");
}

/// The library's home, with an upload of 1.1 Mb/s on 1 Mb/s: half of what the call leaves, if the
/// upload gives way.
#[test]
fn next_to_a_full_line_a_transfer_has_a_shared_time() {
    let asked =
        Transfer { from: Some("phone".to_owned()), to: Some("server".to_owned()), ..megabytes(2) };
    let drawing = drawing("home-bloated", &[]);
    let bulk = predict_transfer(&drawing, &asked).unwrap().transfer.unwrap().bulk;
    assert!(bulk.seconds.is_saturated());
    let seconds = bulk.shared_seconds.unwrap().value.unwrap();
    assert!((30.0..58.0).contains(&seconds), "{seconds}");
}

#[test]
fn even_targets_load_all_lines_alike_and_never_their_own_sender() {
    let prediction = predict(&drawing("ethernet-switched-10", &[("traffic.to-first.load", "1 %")]));
    let lines = &prediction.segments[0].lines;
    let into: f64 = lines.iter().filter(|line| line.name.ends_with("up")).map(total).sum();
    let out: f64 = lines.iter().filter(|line| line.name.ends_with("down")).map(total).sum();
    close(into, out, 1e-6);
    assert_eq!(lines.iter().map(|line| line.alike).sum::<u32>(), 16);
}

fn total(line: &LinePrediction) -> f64 {
    line.offered_packets_per_second * f64::from(line.alike)
}

/// 10,000 hosts send half a frame a second to 8 servers, and each of these 150 a second to hosts.
#[test]
fn the_campus_s_traffic_equations() {
    let prediction = predict(&drawing("campus", &[]));
    let floor = &prediction.segments[0];
    close(floor.offered_packets_per_second, 25.0 + 8.0 * 150.0 / 200.0, 1e-6);
    let backbone = prediction.segments.last().unwrap();
    close(backbone.offered_packets_per_second, 5000.0 + 1200.0, 1e-6);
    assert!(
        prediction
            .bridges
            .iter()
            .all(|bridge| (bridge.forwarded_packets_per_second - 31.0).abs() < 1e-9)
    );
}

#[test]
fn broadcasts_pass_every_segment_once() {
    let text = "[segments.hall]\nmedium = \"shared-ethernet\"\ncount = 3\n[segments.spine]\nmedium = \"switched-ethernet\"\n\
                [bridges.b]\nsegments = [\"hall\", \"spine\"]\n[stations.pc]\nsegment = \"hall\"\ncount = 2\n\
                [traffic.t]\nfrom = \"all\"\nto = \"all\"\npackets_per_s = 2\n";
    let prediction = predict(&read(text));
    assert!(
        prediction
            .segments
            .iter()
            .all(|segment| (segment.offered_packets_per_second - 12.0).abs() < 1e-9)
    );
    assert!(prediction.flows[0].delay_seconds.value.unwrap() > 0.0);
}

#[test]
fn a_transfer_of_no_flow_is_refused() {
    let asked = Transfer { flow: Some("fail".to_owned()), ..megabytes(1) };
    let error = predict_transfer(&drawing("campus", &[]), &asked).unwrap_err();
    assert!(error.to_string().contains("requests, files"), "{error}");
    assert_eq!(predict_transfer(&Drawing::default(), &megabytes(1)), Err(PredictError::NoStations));
}

/// Every answer of a prediction.
fn answers(prediction: &Prediction) -> Vec<Answer> {
    let mut all = Vec::new();
    let line = |line: &LinePrediction| {
        [line.utilisation_data, line.utilisation, line.waiting_seconds, line.delay_seconds]
    };
    for segment in &prediction.segments {
        all.extend([segment.utilisation_data, segment.utilisation_data_and_collisions]);
        all.extend([segment.effective_throughput, segment.waiting_seconds, segment.delay_seconds]);
        all.extend([
            Answer::of(segment.offered_packets_per_second),
            Answer::of(segment.offered_bits_per_second),
        ]);
        all.extend(segment.lines.iter().flat_map(line));
    }
    all.extend(prediction.links.iter().flat_map(line));
    for flow in &prediction.flows {
        all.extend([
            flow.packets_per_second_each,
            flow.delay_seconds,
            flow.carried_bits_per_second,
        ]);
        all.extend(flow.response_seconds);
        all.extend([Answer::of(flow.hops), Answer::of(flow.arriving_share)]);
    }
    all.extend(
        prediction
            .transfer
            .iter()
            .filter_map(|transfer| transfer.paced.as_ref())
            .flat_map(|paced| [paced.aggregate_seconds, paced.seconds]),
    );
    let bulk = |transfer: &TransferPrediction| {
        let bulk = &transfer.bulk;
        [bulk.seconds, bulk.alone_seconds, bulk.goodput_bits_per_second, bulk.path_bits_per_second]
    };
    all.extend(prediction.transfer.iter().flat_map(bulk));
    all
}

fn is_sound(prediction: &Prediction) {
    for answer in answers(prediction) {
        match answer.value {
            Some(value) => {
                assert!(value.is_finite() && value >= 0.0, "{answer:?} of {}", prediction.network);
            }
            None => assert!(answer.warning.is_some(), "{answer:?} of {}", prediction.network),
        }
    }
}

#[test]
fn every_network_of_the_library_has_a_sound_prediction() {
    for (name, text) in library() {
        let drawing = Drawing::read(text, name).unwrap();
        let prediction = predict_transfer(&drawing, &megabytes(1)).unwrap();
        is_sound(&prediction);
        assert_eq!(prediction.flows.len(), drawing.traffic.len());
        assert!(!prediction.formulas.is_empty());
    }
}

/// Turns every rate of a drawing.
fn turned(drawing: &Drawing, factor: f64) -> Drawing {
    let mut drawing = drawing.clone();
    for flow in &mut drawing.traffic {
        if let Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } =
            &mut flow.arrivals
        {
            *per_second *= factor;
        }
    }
    drawing
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Higher rates make no delay shorter, until delays no longer exist.
    #[test]
    fn delays_grow_with_load(place in 0..library().len(), factor in 0.001f64..3.0, more in 1.0f64..2.0) {
        let &(name, text) = &library()[place];
        // Senders that wait make way for the others.
        prop_assume!(!["campus", "arpanet", "satellite"].contains(&name));
        let drawing = Drawing::read(text, name).unwrap();
        let (less, more) = (predict(&turned(&drawing, factor)), predict(&turned(&drawing, factor * more)));
        is_sound(&less);
        is_sound(&more);
        for (less, more) in less.flows.iter().zip(&more.flows) {
            match (less.delay_seconds.value, more.delay_seconds.value) {
                (Some(less), Some(more)) => prop_assert!(more >= less * (1.0 - 1e-9), "{} {} {}", name, less, more),
                (None, Some(_)) => prop_assert!(false, "{} has no delay under less load", name),
                _ => {}
            }
        }
    }

    /// Every file that can be read has a sound prediction.
    #[test]
    fn any_settings_are_answered(
        place in 0..library().len(),
        flow in 0usize..8,
        size in 64u64..1518,
        pace in prop::sample::select(vec![
            "packets_per_s=1e-9", "packets_per_s=7", "packets_per_s=1e9", "rate=1 b/s", "rate=1 Tb/s", "load=0.1 %",
            "load=100000 %", "saturated=true", "think=0 s", "think=86400 s",
        ]),
        target in prop::sample::select(vec!["", "all", "next"]),
    ) {
        let (name, text) = library()[place];
        prop_assume!(name != "campus");
        let drawn = Drawing::read(text, name).unwrap();
        let flow = &drawn.traffic[flow % drawn.traffic.len()].name;
        let (key, value) = pace.split_once('=').unwrap();
        let head = format!("[traffic.{flow}]\n");
        let start = text.find(&head).unwrap() + head.len();
        let end = text[start..].find("\n[").map_or(text.len(), |end| start + end);
        let kept = |line: &&str| ["from =", "to ="].iter().any(|key| line.starts_with(key)) || line.starts_with([' ', ']']);
        let kept: Vec<&str> = text[start..end].lines().filter(kept).collect();
        let changed = format!("{}{}\n{}", &text[..start], kept.join("\n"), &text[end..]);
        let to = format!("traffic.{flow}.to");
        let [pace, sizes] = [key, "size"].map(|key| format!("traffic.{flow}.{key}"));
        let size = format!("{size} B");
        let mut reader = Reader::new(name).set(&pace, value).set(&sizes, &size);
        if !target.is_empty() {
            reader = reader.set(&to, target);
        }
        if let Ok(drawing) = reader.read(&changed) {
            is_sound(&predict_transfer(&drawing, &megabytes(1)).unwrap());
        }
    }
}

/// With its packets' real sizes the study's network is a little slower; the study's figures leave
/// this out.
#[test]
fn a_mix_of_sizes_takes_longer_than_its_mean() {
    let delay = |name, sizes| {
        let asked = Question { sizes: Some(sizes), transfer: None };
        predict_with(&drawing(name, &[]), &asked).unwrap().segments[0].delay_seconds.value.unwrap()
    };
    for (name, least, most) in
        [("citi-1989-light", 1.004, 1.006), ("citi-1989-heavy", 1.012, 1.014)]
    {
        let ratio = delay(name, PacketSizes::Drawn) / delay(name, PacketSizes::Mean);
        assert!((least..most).contains(&ratio), "{name}: {ratio}");
    }
}

/// One of a ring's two senders: symmetric polling would give both an equal wait.
#[test]
fn a_ring_on_which_one_sends_most_is_warned_of() {
    let ring = |medium: &str, quiet: f64| {
        format!(
            "name = \"ring\"\n[segments.ring]\nmedium = \"{medium}\"\n[stations.busy]\nsegment = \"ring\"\n[stations.quiet]\n\
             segment = \"ring\"\ncount = 3\n[traffic.much]\nfrom = \"busy\"\nto = \"quiet\"\nsize = \"1000 B\"\n\
             packets_per_s = 100\n[traffic.little]\nfrom = \"quiet\"\nto = \"busy\"\nsize = \"1000 B\"\npackets_per_s = {quiet}\n"
        )
    };
    let said = |text: &str| {
        let warnings = predict(&read(text)).warnings;
        warnings
            .into_iter()
            .find(|warning| warning.message.contains("sending as much"))
            .map(|warning| warning.message)
    };
    for medium in ["token-ring", "fddi"] {
        assert_eq!(said(&ring(medium, 100.0)), None, "all send as much");
        assert_eq!(said(&ring(medium, 34.0)), None, "just below twice the mean");
        let warning = said(&ring(medium, 10.0)).unwrap();
        assert!(warning.starts_with("ring: one station or bridge sends 77 % of all"), "{warning}");
    }
    assert_eq!(said(&ring("switched-ethernet", 10.0)), None, "a star has a line for each");
}
