//! The library's networks agree with the comments at their heads.

use btu_network::{Contention, Drawing, Medium, Rate, library, library_text, library_trace};
use btu_units::BitRate;

fn drawing(name: &str) -> Drawing {
    let text = library_text(name).unwrap_or_else(|| panic!("the library has no {name}"));
    Drawing::read(text, name).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_file_is_read_and_goes_by_its_name() {
    for (name, text) in library() {
        let drawing = drawing(name);
        assert_eq!(drawing.name, *name);
        assert!(!drawing.about.is_empty() && !drawing.about.contains('\n'), "{name}");
        assert!(drawing.stations.len() >= 2 && !drawing.traffic.is_empty(), "{name}");
        assert!(
            text.starts_with('#') && text.contains("\n# Traffic: "),
            "{name} has no drawing in its head"
        );
        assert!(text.lines().all(|line| line.len() <= 132), "{name} has long lines");
    }
}

#[test]
fn the_laboratory_has_the_three_workstations() {
    let drawing = drawing("laboratory-1995");
    let names: Vec<&str> = drawing.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["test", "active", "passive"]);
    let Medium::SharedEthernet(cable) = &drawing.segments[0].medium else {
        panic!("no shared Ethernet")
    };
    assert_eq!(cable.rate, BitRate::from_megabits_per_second(10));
}

/// As in the light case of the study's model, but stations contend as real ones do.
#[test]
fn the_copying_study_s_cable_has_real_contention_and_two_pairs_of_background_stations() {
    let (real, ideal) = (drawing("citi-1989"), drawing("citi-1989-light"));
    let [Medium::SharedEthernet(real_cable), Medium::SharedEthernet(ideal_cable)] =
        [&real, &ideal].map(|drawing| drawing.segments[0].medium.clone())
    else {
        panic!("no shared Ethernets")
    };
    assert_eq!((real_cable.rate, real_cable.length), (ideal_cable.rate, ideal_cable.length));
    assert_eq!(
        (real_cable.contention, ideal_cable.contention),
        (Contention::Standard, Contention::Ideal)
    );
    let names: Vec<&str> = real.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["sender", "background-1", "background-2", "receiver", "sink-1", "sink-2"]);
    assert_eq!(real.traffic.iter().find(|flow| flow.name == "background").unwrap().from.len(), 2);
}

#[test]
fn the_office_has_twelve_stations_on_thin_ethernet() {
    let drawing = drawing("office-1988");
    assert_eq!(drawing.stations.len(), 12);
    assert_eq!(drawing.stations.iter().filter(|station| station.group == "station").count(), 10);
    let Medium::SharedEthernet(cable) = &drawing.segments[0].medium else {
        panic!("no shared Ethernet")
    };
    assert_eq!(cable.rate, BitRate::from_megabits_per_second(10));
    // Thin cable: 185 m at most (IEEE 802.3, clause 10).
    assert_eq!(cable.length.millimetres(), 185_000);
}

#[test]
fn the_campus_has_ten_thousand_hosts_on_two_hundred_bridged_floors() {
    let drawing = drawing("campus");
    assert_eq!(drawing.stations.iter().filter(|station| station.group == "host").count(), 10_000);
    assert_eq!(drawing.segments.iter().filter(|segment| segment.group == "floor").count(), 200);
    assert_eq!(drawing.bridges.len(), 200);
    let backbone = drawing.segments.iter().position(|segment| segment.name == "backbone").unwrap();
    for (number, bridge) in drawing.bridges.iter().enumerate() {
        assert_eq!(bridge.segments[0].0.0 as usize, number, "one floor each");
        assert_eq!(bridge.segments[1].0.0 as usize, backbone);
    }
}

#[test]
fn media_have_their_standard_rates() {
    let rate = |name: &str| match &drawing(name).segments[0].medium {
        Medium::SharedEthernet(cable) => cable.rate,
        Medium::TokenRing(ring) => ring.rate,
        Medium::Fddi(ring) => ring.rate,
        Medium::SwitchedEthernet(star) | Medium::Atm(btu_network::Atm { star }) => {
            fixed(&star.up.rate)
        }
    };
    let kilobits = |kilobits: u64| BitRate::from_bits_per_second(kilobits * 1000);
    let expected = [
        ("ethernet-shared-10", 10_000),
        ("ethernet-shared-100", 100_000),
        ("ethernet-switched-10", 10_000),
        ("ethernet-switched-100", 100_000),
        ("ethernet-switched-1000", 1_000_000),
        ("token-ring-4", 4_000),
        ("token-ring-16", 16_000),
        ("fddi", 100_000),
        ("atm-155", 149_760),
    ];
    for (name, expected) in expected {
        assert_eq!(rate(name), kilobits(expected), "{name}");
    }
}

#[test]
fn only_the_fast_ring_frees_its_token_early() {
    for (name, early) in [("token-ring-4", false), ("token-ring-16", true)] {
        let Medium::TokenRing(ring) = drawing(name).segments[0].medium.clone() else {
            panic!("no ring")
        };
        assert_eq!(ring.early_release, early);
    }
}

#[test]
fn the_telephone_lines_run_at_their_names() {
    for name in ["telephone", "stanford-1985"] {
        let drawing = drawing(name);
        let lines = drawing.links.iter().filter(|link| link.name.starts_with("line-"));
        assert_eq!(lines.clone().count(), 4, "{name}");
        for link in lines {
            let bits: u64 = link.name["line-".len()..].parse().unwrap();
            assert_eq!(fixed(&link.forth.rate).bits_per_second(), bits, "{name}");
        }
    }
}

fn fixed(rate: &Rate) -> BitRate {
    match rate {
        Rate::Fixed(rate) => *rate,
        Rate::Trace(_) => panic!("a trace"),
    }
}

/// The rule of the synthetic LTE traces, in whole bits: every 100 ms the rate takes a step of a
/// random walk (down, none or up, by Knuth's 64-bit linear congruential generator), and each
/// millisecond its bits add up to opportunities.
fn synthetic(seed: u64, [start, least, most, step]: [i64; 4]) -> String {
    let (mut state, mut rate, mut bits) = (seed, start, 0);
    let mut text = String::new();
    for millisecond in 1..=30_000 {
        if millisecond % 100 == 1 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let way = i64::try_from((state >> 33) % 3).unwrap() - 1;
            rate = (rate + way * step).clamp(least, most);
        }
        bits += rate;
        while bits >= 1504 * 8 {
            bits -= 1504 * 8;
            text.extend([&millisecond.to_string(), "\n"]);
        }
    }
    text
}

/// Rates in kb/s, which are bits per millisecond.
#[test]
fn the_lte_traces_follow_their_rule() {
    assert_eq!(
        library_trace("lte-down.trace").unwrap(),
        synthetic(1995, [12_000, 1_000, 24_000, 2_000])
    );
    assert_eq!(library_trace("lte-up.trace").unwrap(), synthetic(2026, [4_000, 500, 8_000, 500]));
    assert!(library_trace("none").unwrap_err().contains("lte-up.trace"));
}
