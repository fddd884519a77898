//! The terminal output of a simulation, word for word.

use crate::screen::{assert_fits, without_colour};
use btu_medium::sim::{Settings, simulate};
use btu_network::Drawing;
use btu_report::{TextOptions, sim_text};
use btu_units::Span;

const WIDE: TextOptions = TextOptions { colour: false, width: 100 };

/// A network with all features: an overload, losses, exchanges, a medium with collisions and a
/// link.
const OFFICE: &str = r#"
    name = "office"
    about = "Three desks on a shared Ethernet and a far printer."
    [segments.floor]
    medium = "shared-ethernet"
    [stations.desk]
    segment = "floor"
    count = 3
    [stations.printer]
    [bridges.door]
    segments = ["floor"]
    [links.trunk]
    between = ["door", "printer"]
    rate = "1 Mb/s"
    delay = "2 ms"
    loss = "1 %"
    [traffic.print]
    from = "desk"
    to = "printer"
    size = "1518 B"
    packets_per_s = 40
    [traffic.talk]
    from = "desk"
    to = "desk"
    size = "200 B"
    think = "20 ms"
    reply = "1000 B"
    service = "1 ms"
"#;

fn text(text: &str, stations: bool, options: &TextOptions) -> String {
    let drawing = Drawing::read(text, "office.toml").unwrap();
    let settings =
        Settings { replications: 3, seed: 1995, ..Settings::lasting(Span::from_seconds(20)) };
    sim_text(&simulate(&drawing, &settings).unwrap(), stations, options)
}

#[test]
fn an_office() {
    insta::assert_snapshot!(text(OFFICE, true, &WIDE));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [80, 100, 120] {
        assert_fits(&text(OFFICE, true, &TextOptions { colour: false, width }), width);
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = text(OFFICE, false, &TextOptions { colour: true, ..WIDE });
    assert!(coloured.contains("\x1b["));
    assert_eq!(without_colour(&coloured), text(OFFICE, false, &WIDE));
}

#[test]
fn a_network_without_traffic_says_so() {
    let quiet = "name = \"quiet\"\n[segments.lab]\nmedium = \"shared-ethernet\"\n[stations.a]\nsegment = \"lab\"\n";
    assert!(text(quiet, false, &WIDE).contains("draws no traffic"));
}
