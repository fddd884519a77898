//! Closed forms against the simulator, which is independent of them: where a form says that it
//! holds, both agree.

use btu_medium::sim::{Outcome, Settings, TcpTransfer, simulate, transfer};
use btu_model::Warning;
use btu_model::predict::{Transfer, as_connection, predict, predict_transfer};
use btu_network::{Drawing, library_text};
use btu_units::{Bytes, Span};

fn read(text: &str) -> Drawing {
    Drawing::read(text, "test").unwrap_or_else(|error| panic!("{error}"))
}

fn simulated(drawing: &Drawing, milliseconds: u64, replications: u32) -> Outcome {
    let lasting = Settings::lasting(Span::from_milliseconds(milliseconds));
    simulate(drawing, &Settings { replications, seed: 3, ..lasting }).unwrap()
}

/// A ring on which every station always has another frame for the next.
fn full(stations: u32, medium: &str, size: &str) -> Drawing {
    read(&format!(
        "[segments.ring]\nmedium = {medium}\n[stations.host]\nsegment = \"ring\"\ncount = {stations}\n\
         [traffic.round]\nfrom = \"host\"\nto = \"next\"\nsize = {size}\nsaturated = true\n"
    ))
}

/// Frames of a flow, and the octets of the shortest and the longest.
const SIZES: [(&str, [f64; 2]); 3] = [
    ("\"300 B\"", [300.0; 2]),
    ("\"1518 B\"", [1518.0; 2]),
    ("{ mix = [[\"64 B\", 3], [\"594 B\", 2], [\"1518 B\", 1]] }", [64.0, 1518.0]),
];

/// Nanoseconds that a signal needs for a kilometre, at the least velocity of both rings.
const NANOSECONDS_PER_KILOMETRE: f64 = 5085.0;

/// Whether a frame has reached the next station before the shortest one is sent: a saturated flow
/// of the simulator keeps two frames on the ring, so a longer hop would leave the sender without
/// one.
fn is_kept_busy(kilometres: f64, stations: u32, octets: f64, megabits: f64) -> bool {
    let hop = kilometres * NANOSECONDS_PER_KILOMETRE / f64::from(stations) + 1000.0;
    hop < octets * 8.0 / megabits * 1000.0
}

/// What the form says of a full ring, unless it is saturated and frames' own bits are within this
/// share of the simulator's.
fn misses(drawing: &Drawing, tolerance: f64, what: &str) -> Option<String> {
    let flow = &predict(drawing).flows[0];
    let form = flow.carried_bits_per_second.value.unwrap_or(f64::NAN);
    let simulated = simulated(drawing, 4000, 1).flows[0].goodput_bits_per_second.value;
    let error = form / simulated - 1.0;
    let is_right = flow.delay_seconds.is_saturated() && error.abs() < tolerance;
    (!is_right).then(|| format!("{what}: {:.2} %, {:?}", error * 100.0, flow.delay_seconds))
}

/// Fibres of 1 to 100 km, targets of 4 to 10 ms: half a per cent. A frame that begins within the
/// holding time ends after it; the formula leaves that out, so with the shortest target a quarter
/// of the longest frame's share of the target is allowed.
#[test]
fn a_full_fddi_ring_follows_the_holding_time() {
    let mut missed = Vec::new();
    let all =
        [1.0, 30.0, 100.0].map(|kilometres| [4.0, 8.0, 10.0].map(|target| (kilometres, target)));
    for (kilometres, target) in all.into_iter().flatten() {
        for stations in [2, 10, 40] {
            for (size, [shortest, longest]) in SIZES {
                if !is_kept_busy(kilometres, stations, shortest, 100.0) {
                    continue;
                }
                let medium =
                    format!("\"fddi\"\nlength = \"{kilometres} km\"\nttrt = \"{target} ms\"");
                let tolerance = (longest * 8.0 / 100e6 / (target * 1e-3) / 4.0).max(5e-3);
                let what = format!("{kilometres} km, {target} ms, {stations} stations, {size}");
                missed.extend(misses(&full(stations, &medium, size), tolerance, &what));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_full_token_ring_follows_its_service() {
    let mut missed = Vec::new();
    let rings = [(4.0, 0.5), (16.0, 0.5), (16.0, 5.0), (100.0, 5.0)];
    let services = ["one", "gated", "exhaustive", "3.5 ms", "10 ms"];
    for ((rate, kilometres), service) in
        rings.into_iter().flat_map(|ring| services.map(|one| (ring, one)))
    {
        for stations in [3, 20] {
            for (size, [shortest, _]) in SIZES {
                if !is_kept_busy(kilometres, stations, shortest, rate) {
                    continue;
                }
                let medium = format!(
                    "\"token-ring\"\nrate = \"{rate} Mb/s\"\nlength = \"{kilometres} km\"\nservice = \"{service}\""
                );
                let what =
                    format!("{rate} Mb/s, {kilometres} km, {service}, {stations} stations, {size}");
                missed.extend(misses(&full(stations, &medium, size), 5e-3, &what));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// From a station to the next it is one of thirteen hops; half of the ring would be 3 % too much.
#[test]
fn frames_to_the_next_station_pass_one_hop() {
    let drawing = read(
        "[segments.ring]\nmedium = \"token-ring\"\nrate = \"16 Mb/s\"\nring_latency = \"50 us\"\nservice = \"one\"\n\
         [stations.host]\nsegment = \"ring\"\ncount = 13\n\
         [traffic.round]\nfrom = \"host\"\nto = \"next\"\nsize = \"700 B\"\nload = \"62 %\"\n",
    );
    let form = predict(&drawing).flows[0].delay_seconds.value.unwrap();
    let simulated = simulated(&drawing, 60_000, 4).flows[0].delay.as_ref().unwrap().mean.value;
    assert!((form / simulated - 1.0).abs() < 0.015, "{form} {simulated}");
}

/// The last load of the range, and loads on either side of it: inside the form is within 6 % of the
/// simulator (5 %, and what five replications leave), outside it is not.
#[test]
fn a_shared_ethernet_s_range_ends_where_the_simulator_leaves_the_form() {
    let text = library_text("ethernet-shared-10").unwrap();
    let at = |load: u32| {
        let load = format!("{load} %");
        let settings = [("traffic.everyone.load", load.as_str())];
        let drawing = Drawing::read_with(text, "ethernet-shared-10", &settings).unwrap();
        let form = predict(&drawing).flows[0].delay_seconds;
        let simulated = simulated(&drawing, 20_000, 5).flows[0].delay.as_ref().unwrap().mean.value;
        (form.value.unwrap() / simulated - 1.0, form.warning)
    };
    for load in [10, 20, 25, 28] {
        let (error, warning) = at(load);
        assert!(warning.is_none() && error.abs() < 0.06, "{load} %: {error} {warning:?}");
    }
    for load in [35, 45] {
        let (error, warning) = at(load);
        let is_marked = warning == Some(Warning::Optimistic);
        assert!(is_marked && error < -0.06, "{load} %: {error} {warning:?}");
    }
}

/// 5 MB by Reno on lossy lines, by formula and by forty simulated transfers, and what real ones took in
/// the mean: losses one by one, in bursts, and a transfer that ends before losses matter. One transfer
/// varies by a third.
#[test]
fn a_transfer_with_losses_takes_what_the_simulator_says() {
    let asked = Transfer { size: Bytes::new(5_000_000), ..Transfer::default() };
    let wifi = "rate = \"50 Mb/s\"\ndelay = \"10 ms\"";
    for (line, losses, real) in [
        (wifi, "loss = \"1 %\"", None),
        (wifi, "loss = { p = \"0.5 %\", r = \"30 %\", bad = \"60 %\" }", None),
        ("rate = \"2 Mb/s\"\ndelay = \"270 ms\"", "loss = \"0.1 %\"", Some([27.1, 39.9])),
    ] {
        let drawing = read(&format!(
            "[stations.a]\n[stations.b]\n[links.l]\nbetween = [\"a\", \"b\"]\n{line}\n{losses}\n"
        ));
        let bulk = predict_transfer(&drawing, &asked).unwrap().transfer.unwrap().bulk;
        let formula = bulk.seconds.value.unwrap();
        let drawn = as_connection(&drawing, &asked).unwrap();
        let one = TcpTransfer {
            segments: (5e6 / bulk.segment_bytes).ceil() as u32,
            window: f64::INFINITY,
            begin: Span::ZERO,
            end: Span::from_seconds(1000),
        };
        let seconds = |number| transfer(&drawn, &one, 7, number).unwrap().unwrap().all.seconds();
        let mean = (0..40).map(seconds).sum::<f64>() / 40.0;
        println!("{losses}: formula {formula:.2} s, simulated {mean:.2} s");
        assert!((formula / mean - 1.0).abs() < 0.2, "{losses}: {formula} {mean}");
        let within = |[least, most]: [f64; 2]| (least..most).contains(&mean);
        assert!(real.is_none_or(within), "{losses}: {mean}, measured {real:?} (95 %)");
    }
}
